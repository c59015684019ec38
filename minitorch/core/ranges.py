"""The range of each dtype, and the conversion of Python numbers that are written into tensors."""

from functools import cache
from math import inf

import numpy as np

from . import dtypes

__all__ = ["fit", "limits", "number_of"]


def fit(x, d):
    """The Python number `x`, converted to be written into a tensor of dtype `d`; RuntimeError if it
    is out of range.

    As in PyTorch, integer types drop the fraction, and negative numbers wrap around in unsigned
    types. A number that a compiled program reads in each run stays as it is (`number_of`).
    """
    if hasattr(x, "number"):
        return x
    if d.category == dtypes.COMPLEX or d.category == dtypes.BOOL:
        return x if d.category == dtypes.COMPLEX else bool(x)
    try:
        if isinstance(x, complex):
            raise ValueError
        if d.category == dtypes.FLOATING:
            fits = not -inf < x < inf or abs(x) <= limits(d).max
            x = float(x)
        else:
            x, lo, hi = int(x), limits(d).min, limits(d).max
            x += hi + 1 if lo == 0 and -hi <= x < 0 else 0
            fits = lo <= x <= hi
    except (ValueError, OverflowError):                    # complex, NaN, infinity
        fits = False
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow: got {x}")
    return x


def number_of(x):
    """``x.item()``, for a parameter that takes a number. A compiled program reads it in each run:
    in a trace its arrays give a number that has no value yet (their method `number`)."""
    array = getattr(x, "array", x)
    return array.number() if hasattr(array, "number") and array.size == 1 else x.item()


@cache
def limits(d):
    """NumPy's description of a type, with its `min` and `max`."""
    if d.name in dtypes.EXTENDED:
        import ml_dtypes
        return ml_dtypes.finfo(d.np)
    return np.finfo(d.np) if d.category >= dtypes.FLOATING else np.iinfo(d.np)
