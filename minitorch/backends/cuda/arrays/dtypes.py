"""Dtypes of kernels: which ones are supported, and in which dtype they compute."""

import functools

import numpy as np

from ..runtime.kernel import C_NAMES

__all__ = ["compute_dtype", "fits", "is_float", "kind_of"]

FLOAT32 = np.dtype("float32")


@functools.cache
def kind_of(dtype):
    """The kind of a dtype as NumPy's letter, "f" also for bfloat16; None if kernels do not take it."""
    return None if dtype.name not in C_NAMES else "f" if dtype.kind == "V" else dtype.kind


def is_float(dtype):
    """True if there are kernels of floats for a dtype: float16, bfloat16, float32, float64."""
    return dtype.kind == "f" and dtype.itemsize <= 8 or dtype.name == "bfloat16"


def compute_dtype(dtype):
    """The dtype that kernels of floats compute in: float64 for float64, float32 for the others."""
    return dtype if dtype.itemsize == 8 else FLOAT32


def fits(x, dtype):
    """True if an integer dtype can hold a number."""
    info = np.iinfo(dtype)
    return info.min <= x <= info.max
