"""Elementwise work in pieces that stay in the processor's cache, for ops that take many steps an element.

On a million floats a chain of NumPy calls is bound by memory: in blocks of 32k, with `out=`, it takes half the time.
"""


def in_blocks(F, kernel, first, *rest):
    """``kernel(xp, out, first, *rest)`` in blocks of flat, contiguous memory where possible; returns `out`.

    The kernel fills `out`, which is like `first`, from arrays of that one shape.
    """
    out = F.xp.empty_like(first)
    block, n = F.block, first.size
    if block is None or n <= block or not all([x.flags.c_contiguous and x.size == n for x in (out, first, *rest)]):
        kernel(F.xp, out, first, *rest)
        return out
    flat = [x.reshape(-1) for x in (out, first, *rest)]
    for start in range(0, n, block):
        kernel(F.xp, *[x[start:start + block] for x in flat])
    return out


def in_double(F, function, *inputs):
    """``function(xp, *flat)`` on flat arrays of float64, for functions that take hundreds of steps an element.

    `inputs` are float arrays of one dtype and Python numbers, which broadcast; the result has the arrays' dtype,
    rounded once. In blocks, so that what is computed on the way stays in the cache.
    """
    xp = F.xp
    dtype = next(x.dtype for x in inputs if hasattr(x, "dtype"))
    arrays = xp.broadcast_arrays(*[xp.asarray(x, "float64") for x in inputs]) if len(inputs) > 1 else inputs
    shape = arrays[0].shape
    flat = [x.reshape(-1) for x in arrays]
    out = xp.empty(flat[0].size, dtype)
    block = F.block or max(out.size, 1)
    with xp.errstate(all="ignore"):
        for start in range(0, out.size, block):
            out[start:start + block] = function(xp, *[x[start:start + block].astype("float64") for x in flat])
    return out.reshape(shape)


def piecewise(xp, arrays, cases):
    """A function in pieces: ``f(*arrays)`` where its condition is the first to hold, NaN where none does.

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
