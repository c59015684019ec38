"""Running sums and products: of float32 accumulated in float64, as each is rounded as often as it is long.

So they are as exact as sums in pairs, and still in order: a running sum of numbers that are not negative never falls.
"""

from math import prod

import numpy as np

from ...ops.reductions.cumulative import accumulate
from .backend import kernel

SHORT = 64                     # so many numbers are added as they are
BLOCK = 1 << 15                # elements in float64 at a time


def widely(ufunc, input, dim):
    """`accumulate`, of float32 along more than a few elements in float64."""
    if input.dtype != np.float32 or not -input.ndim <= dim < input.ndim:
        return accumulate(ufunc, input, dim)
    dim %= input.ndim
    if input.shape[dim] <= SHORT:
        return accumulate(ufunc, input, dim)
    n, after = input.shape[dim], prod(input.shape[dim + 1:])
    x = input.reshape(-1, n, after)
    out = np.empty(x.shape, x.dtype)
    step = BLOCK // (n * after)
    if step:                                               # some rows at a time, or parts of one
        for i in range(0, len(x), step):
            out[i:i + step] = ufunc.accumulate(x[i:i + step].astype(np.float64), 1)
    else:
        for row, target in zip(x, out):
            accumulate_row(ufunc, row, target, max(1, BLOCK // after))
    return out.reshape(input.shape)


def accumulate_row(ufunc, x, out, step):
    """Fill `out` (N, D) with `x` accumulated over N, `step` at a time."""
    last = None
    for i in range(0, len(x), step):
        part = x[i:i + step].astype(np.float64)
        if last is not None:
            part[0] = ufunc(last, part[0])
        part = ufunc.accumulate(part, 0, out=part)
        out[i:i + step], last = part, part[-1]


def long_row(d):
    return [d.array(d.choice([(3, 100), (70_000,), (2, 300, 150)]))], dict(dim=d.choice([0, -1]))


@kernel("cumsum", sample=long_row)
def cumsum(F, input, *, dim, dtype=None):
    if input.size <= SHORT:
        return accumulate(F.xp.add, input, dim)
    return widely(F.xp.add, input, dim)


@kernel("cumprod", sample=long_row)
def cumprod(F, input, *, dim, dtype=None):
    if input.size <= SHORT:
        return accumulate(F.xp.multiply, input, dim)
    return widely(F.xp.multiply, input, dim)


@kernel("logcumsumexp", sample=long_row)
def logcumsumexp(F, input, *, dim):
    if input.dtype.kind == "c":
        return F.reference.logcumsumexp(input, dim=dim)
    if input.size <= SHORT:
        return accumulate(F.xp.logaddexp, input, dim)
    return widely(F.xp.logaddexp, input, dim)
