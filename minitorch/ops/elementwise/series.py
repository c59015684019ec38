"""Helpers of numerical series: polynomials, piecewise functions, computation in float64.

Functions of `xp`, an array module, and arrays; no op definitions. The series themselves are in `erf.py`, `gamma.py`
and `bessel.py`.
"""


def in_double(F, function, *inputs):
    """``function(xp, *flat)`` on flat arrays of float64; the result has the inputs' shape and dtype, rounded once.

    `inputs` are float arrays of one dtype and Python numbers, which broadcast.
    """
    xp, dtype = F.xp, next(x.dtype for x in inputs if hasattr(x, "dtype"))
    arrays = xp.broadcast_arrays(*[xp.asarray(x, "float64") for x in inputs])
    return function(xp, *[x.reshape(-1) for x in arrays]).astype(dtype).reshape(arrays[0].shape)


def piecewise(xp, arrays, cases):
    """A piecewise function: ``f(*arrays)`` where its condition is the first to hold, NaN where none does.

    `arrays` are of one shape, `cases` a list of (condition, f); a condition is a bool array, or True for the rest.
    """
    first = arrays[0]
    out, left = xp.full(first.shape, xp.nan, first.dtype), xp.ones(first.shape, bool)
    for condition, f in cases:
        here = left & condition
        if here.all():
            return f(*arrays)
        if here.any():
            out[here] = f(*[x[here] for x in arrays])
            left = left & ~here
    return out


def horner(x, coefficients):
    """The polynomial with these coefficients, lowest power first, at `x`."""
    out = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        out += c
        out *= x
    out += coefficients[0]
    return out
