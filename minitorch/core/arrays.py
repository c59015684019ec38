"""Questions about raw arrays and their memory, of whatever array library: a leaf that everything
may import."""

import numpy as np


def is_half(dtype):
    """Whether a NumPy dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def is_floating(dtype):
    """Whether a NumPy dtype is a floating-point type, which `kind` does not say: bfloat16's is
    "V"."""
    return dtype.kind in "fV"


def is_inexact(dtype):
    """Whether a NumPy dtype is a floating-point or complex type."""
    return dtype.kind in "fVc"


def counted(array):
    """The array whose writes are counted: the owner of the memory, but for ``x.data``."""
    base = array.base
    while base is not None and isinstance(base, (type(array), np.ndarray)):
        # whose memory may be NumPy's
        array, base = base, base.base
    return array


def owner(array):
    """The array that owns the memory: `array` itself unless it is a view."""
    array = counted(array)
    # see autograd/aside.py
    below = getattr(array if array.base is None else array.base, "obj", None)
    return owner(below) if isinstance(below, (type(array), np.ndarray)) else array


def pointer(array):
    """The address of an array's first element."""
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.data.ptr


def fits_into(shape, target):
    """Whether `shape` broadcasts to `target`."""
    pairs = zip(shape[::-1], target[::-1])
    return len(shape) <= len(target) and all([a in (1, b) for a, b in pairs])
