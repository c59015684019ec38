"""Neutral elements: they may stand for elements that do not count, and change nothing."""

import math

from ..extend import from_np, worded

__all__ = ["neutral", "require_average"]

NEUTRAL = {"sum": 0, "avg": 0, "product": 1, "max": -math.inf, "min": math.inf,
           "nanmedian": math.nan}


def neutral(by, dtype, name):
    """The number that changes nothing where elements of a (NumPy) dtype are combined: in a "sum", a
    "product", for the "max". NotImplementedError, naming the function, if the dtype has none.
    """
    found = NEUTRAL[by]
    if not math.isinf(found) or dtype.kind in "fV":
        return found
    if dtype.kind == "c" and name == "logsumexp":
        return complex(found, 0)
    if dtype.kind not in "iu":
        raise worded(NotImplementedError(f"identity of {name} on {from_np(dtype)} input"))
    bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    if found > 0:
        return 2 ** (bits - signed) - 1
    return -(2 ** (bits - 1)) if signed else 0


def require_average(dtype, which="Input"):
    """ValueError unless numbers of this dtype have a mean of the same dtype."""
    if dtype.np.kind in "biu":
        raise worded(ValueError(f"mean(): Could not infer output dtype. {which} dtype must be "
                                f"either a floating point or complex dtype. Got: {dtype}"))
