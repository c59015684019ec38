"""Special functions on the CPU, in blocks: the series take hundreds of steps an element, which stay in the cache."""

import math

import numpy as np

from ...ops.elementwise import bessel, erf, gamma
from .backend import kernel
from .blocks import in_blocks, in_double


def one_number(function):
    def in_float64(F, input):
        return in_double(F, function, input)
    return in_float64


def two_numbers(function):
    def in_float64(F, input, other):
        return in_double(F, function, input, other)
    return in_float64


for name, function in {"erfcx": erf.erfcx, "erfinv": erf.erfinv, "ndtr": erf.ndtr, "ndtri": erf.ndtri,
                       "log_ndtr": erf.log_ndtr, "digamma": gamma.digamma, "i0": bessel.i0, "i0e": bessel.i0e,
                       "i1": bessel.i1, "i1e": bessel.i1e}.items():
    kernel(name)(one_number(function))

for name, pairwise in {"igamma": gamma.igamma, "igammac": gamma.igammac, "zeta": gamma.zeta}.items():
    kernel(name)(two_numbers(pairwise))


@kernel("polygamma")
def polygamma(F, input, *, n):
    return in_double(F, lambda xp, x: gamma.polygamma(xp, x, n), input)


# ---- what Python's `math` has ------------------------------------------------------------------------------
def erf_block(xp, out, x):
    out[...] = erf.erf(xp, x)


def erf_in_blocks(F, input):
    return in_blocks(F, erf_block, input)


def of_few(name, of_many):
    """A kernel that calls Python's own function for a few numbers: a vectorised one costs dozens of NumPy calls."""
    function = getattr(math, name)

    def few(F, input):
        if input.size <= 128:
            try:
                found = [function(x) for x in input.ravel().tolist()]
                return np.array(found, input.dtype).reshape(input.shape)
            except (ValueError, OverflowError):            # a pole, or a result beyond float64
                pass
        return of_many(F, input)
    return few


for name, of_many in {"erf": erf_in_blocks, "erfc": one_number(erf.erfc), "lgamma": one_number(gamma.lgamma)}.items():
    kernel(name)(of_few(name, of_many))                   # NumPy has none of these
