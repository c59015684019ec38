"""Op definitions: variance, standard deviation, covariance, correlation.

Means are in `reduce.py`, medians and quantiles in `indexing/sort.py`.
"""

from ...core.arrays import is_inexact
from ...explain.callers import warn
from ..define import composite, op
from ..elementwise.complex import complex
from .norms import per_length
from .reduce import axes, count, is_all, mean, restore


def settings(dim, unbiased, correction):
    """The dims and the correction, from PyTorch's two spellings; ``x.var(False)`` means ``unbiased=False``."""
    if dim.__class__ is bool:
        dim, unbiased = None, dim
    if correction is None:
        return dim, 1 if unbiased is None else int(unbiased)
    if unbiased is not None:
        raise TypeError("var() and std() take unbiased or correction, not both: unbiased=False is correction=0")
    return dim, correction


def degrees_of_freedom(name, input, dim, unbiased, correction):
    """The dims as NumPy takes them, how many elements are averaged, and how many degrees of freedom they leave."""
    if not is_inexact(input.dtype):
        raise RuntimeError(f"{name} only support floating point and complex dtypes, not {input.dtype}: convert it "
                           f"first, as in x.float().{name}()")
    dim, correction = settings(dim, unbiased, correction)
    dim = axes(input, dim)
    n = count(input.shape, dim)
    if n <= correction:
        warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
             f"factor (input numel divided by output numel).")
    return dim, n, max(n - correction, 0)


def variance(F, name, input, dim, unbiased, keepdim, correction):
    """The variance, of float32 numbers in float64: their squares leave the range of float32."""
    dim, n, freedom = degrees_of_freedom(name, input, dim, unbiased, correction)
    if input.dtype.char == "f":
        input = input.astype("d")
    centred = input - F.sum(input, dim=dim, keepdim=True) / (n or 1)
    squares = centred * centred if input.dtype.kind != "c" else centred.real ** 2 + centred.imag ** 2
    return F.sum(squares, dim=dim, keepdim=keepdim) / freedom


def variance_slope(F, g, input, dim, unbiased, keepdim, correction, shape, factor=2):
    """``factor (x - mean) / (n - correction)``; without degrees of freedom infinite, and NaN at the mean itself."""
    dim, correction = settings(dim, unbiased, correction)
    every = tuple(range(len(shape))) if is_all(dim) else dim
    g = restore(F, g, dim, keepdim, shape)
    n = count(shape, dim) - correction
    d = input - F.mean(input, dim=every, keepdim=True)
    return g * ((d if factor == 1 else factor * d) / n if n > 0 else d * float("inf"))


@op(dims="* [dim] -> *", complex="conjugate", layout="contiguous", promotion="any",
    sample=lambda d: variance_sample(d),
    input=lambda F, g, input, dim, unbiased, keepdim, correction, input_shape: variance_slope(
        F, g, input, dim, unbiased, keepdim, correction, input_shape))
def var(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    """The variance over `dim`: ``((x - mean) ** 2).sum() / (n - correction)``; `correction` is 1 by default.

    ``unbiased=False`` is another spelling of ``correction=0``. In two passes, so that no digits cancel.
    """
    found = variance(F, "var", input, dim, unbiased, keepdim, correction)
    return found.astype("f") if input.dtype.char == "f" else found


@op(dims="* [dim] -> *", complex="conjugate", layout="contiguous", promotion="any",
    sample=lambda d: variance_sample(d),
    input=lambda F, g, input, out, dim, unbiased, keepdim, correction, input_shape: variance_slope(
        F, per_length(F, g, out), input, dim, unbiased, keepdim, correction, input_shape, factor=1))
def std(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    """The standard deviation over `dim`, the square root of `var`. Its gradient at 0 is 0."""
    found = F.xp.sqrt(variance(F, "std", input, dim, unbiased, keepdim, correction))
    return found.astype("f") if input.dtype.char == "f" else found


def variance_sample(d):
    return [d.array((2, 3))], dict(dim=d.choice([None, 0, 1, (0, 1), -1]), correction=d.choice([None, 0, 1]),
                                   keepdim=d.bool())


@composite(method=False, out=True)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance and the mean over `dim`, as a pair."""
    return var(input, dim, unbiased, keepdim, correction), mean(input, settings(dim, unbiased, correction)[0], keepdim)


@composite(method=False, out=True)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation and the mean over `dim`, as a pair."""
    return std(input, dim, unbiased, keepdim, correction), mean(input, settings(dim, unbiased, correction)[0], keepdim)


# ---- between variables -------------------------------------------------------------------------------------
@composite
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of the rows of `input`, (N, D) to (N, N): each column is one observation of N variables.

    `fweights`, integers, says how often each observation was made, `aweights` how much it weighs; `correction` as in
    `var`.
    """
    if input.array.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.array.ndim} dimensions")
    if input.array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.array.ndim < 2 else input
    weights = observation_weights(rows.array.shape[1], fweights, aweights)
    total = rows.array.shape[1] if weights is None else weights.sum()
    if weights is not None and total == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = ((rows if weights is None else rows * weights).sum(1) / total).unsqueeze(1)
    n = total - correction
    if aweights is not None and correction != 0:
        n = total - correction * (weights * aweights).sum() / total
    if n <= 0:
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
             "observations.")
        n = n * 0
    centred = rows - mean
    weighted = centred if weights is None else centred * weights
    return (centred @ weighted.mH / n).squeeze()


def observation_weights(n, fweights, aweights):
    """The two kinds of weights multiplied, or None; RuntimeError where they do not fit `n` observations."""
    for name, w, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "fV")):
        if w is None:
            continue
        if w.array.ndim > 1 or w.array.size != n:
            raise RuntimeError(f"cov(): expected {name} to have one weight for each of the {n} observations, got shape "
                               f"{list(w.array.shape)}")
        if w.array.dtype.kind not in kinds:
            raise RuntimeError(f"cov(): expected {name} to have {'integral' if kinds == 'iu' else 'floating point'} "
                               f"dtype but got {name} with {w.dtype.name} dtype")
        if (w.array < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@composite
def corrcoef(input):
    """The correlations of the rows of `input`, (N, D) to (N, N): their covariances over their standard deviations."""
    c = cov(input)
    if c.array.ndim == 0:
        return c / c
    scale = c.diagonal().sqrt()
    c = c / scale.unsqueeze(1) / scale
    return complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)
