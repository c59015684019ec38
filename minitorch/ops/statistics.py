"""The op table, statistics: variance and standard deviation."""

import warnings

from ..op import op
from .reduce import axes, count, restore


def settings(dim, unbiased, correction):
    """The dims and the correction, from PyTorch's two spellings; ``x.var(False)`` means ``unbiased=False``."""
    if dim.__class__ is bool:
        dim, unbiased = None, dim
    if correction is None:
        return dim, 1 if unbiased is None else int(unbiased)
    if unbiased is not None:
        raise TypeError("var() and std() take unbiased or correction, not both: unbiased=False is correction=0")
    return dim, correction


def centred(xp, input, dim):
    """The elements less their mean over `dim`."""
    total = xp.add.reduce(input, dim, None, None, True)
    total /= count(input.shape, dim) or 1
    return input - total


def variance(F, name, input, dim, unbiased, keepdim, correction):
    if input.dtype.kind not in "f":
        raise RuntimeError(f"{name} only support floating point dtypes, not {input.dtype}: convert it first, as in "
                           f"x.float().{name}()")
    dim, correction = settings(dim, unbiased, correction)
    dim = axes(input, dim)
    n = count(input.shape, dim) - correction
    if n <= 0:
        warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
                      f"factor (input numel divided by output numel).", stacklevel=4)
    d = centred(F.xp, input, dim)
    out = F.xp.add.reduce(F.xp.multiply(d, d, d), dim, None, None, keepdim)
    with F.xp.errstate(divide="ignore", invalid="ignore"):
        return out / out.dtype.type(max(n, 0))


def variance_slope(F, g, input, dim, unbiased, keepdim, correction, shape):
    """``2 (x - mean) / (n - correction)``; without degrees of freedom infinite, and NaN at the mean itself."""
    dim, correction = settings(dim, unbiased, correction)
    every = tuple(range(len(shape))) if dim is None or dim == () or dim == [] else dim
    g = restore(F, g, dim, keepdim, shape)
    n = count(shape, dim) - correction
    d = input - F.mean(input, dim=every, keepdim=True)
    return g * F.where(d == 0, float("nan"), float("inf")) if n <= 0 else g * (2 / n) * d


@op(promotion="any", sample=lambda d: variance_sample(d),
    input=lambda F, g, input, dim, unbiased, keepdim, correction, input_shape: variance_slope(
        F, g, input, dim, unbiased, keepdim, correction, input_shape))
def var(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    """The variance over `dim`: ``((x - mean) ** 2).sum() / (n - correction)``; `correction` is 1 by default.

    ``unbiased=False`` is another spelling of ``correction=0``. In two passes, so that no digits cancel.
    """
    return variance(F, "var", input, dim, unbiased, keepdim, correction)


@op(promotion="any", sample=lambda d: variance_sample(d),
    input=lambda F, g, input, out, dim, unbiased, keepdim, correction, input_shape: variance_slope(
        F, F.where(out == 0, 0.0, g / (2 * out)), input, dim, unbiased, keepdim, correction, input_shape))
def std(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    """The standard deviation over `dim`, the square root of `var`. Its gradient at 0 is 0."""
    return F.xp.sqrt(variance(F, "std", input, dim, unbiased, keepdim, correction))


def variance_sample(d):
    return [d.array((2, 3))], dict(dim=d.choice([None, 0, 1, (0, 1), -1]), correction=d.choice([None, 0, 1]),
                                   keepdim=d.bool())
