"""Properties of raw arrays and their memory, for any array library. Imports nothing of the package.
"""

import numpy as np


def is_half(dtype):
    """True if a NumPy dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def is_floating(dtype):
    """True if a NumPy dtype is a floating-point type. Its `kind` alone does not say so: that of
    bfloat16 is "V"."""
    return dtype.kind in "fV"


def is_inexact(dtype):
    """True if a NumPy dtype is a floating-point or complex type."""
    return dtype.kind in "fVc"


def counted(array):
    """The array on which writes to `array` are counted: the owner of its memory, except for
    ``x.data``, which has a count of its own."""
    base = array.base
    while base is not None and isinstance(base, (type(array), np.ndarray)):
        # a device array may lie in memory that a NumPy array owns
        array, base = base, base.base
    return array


def owner(array):
    """The array that owns the memory: `array` itself unless it is a view."""
    array = counted(array)
    # `x.data` hides the array below it behind an object with `obj`, see autograd/aside.py
    below = getattr(array if array.base is None else array.base, "obj", None)
    return owner(below) if isinstance(below, (type(array), np.ndarray)) else array


def pointer(array):
    """The address of an array's first element."""
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.data.ptr


def fits_into(shape, target):
    """True if `shape` broadcasts to `target`."""
    pairs = zip(shape[::-1], target[::-1])
    return len(shape) <= len(target) and all([a in (1, b) for a, b in pairs])
