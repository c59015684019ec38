"""The matrix products of the BLAS that NumPy computes with, for C: `cblas_sgemm` and `cblas_dgemm`.

They are not part of NumPy's interface, so they are looked up, and checked on small products before
anybody relies on them. If there are none, products are computed by NumPy calls.
"""

import ctypes
import functools
import os
import sys
from typing import NamedTuple

import numpy as np

__all__ = ["Products", "libraries", "products"]

# The wheels of NumPy rename OpenBLAS's functions; "64_" means that integers have 64 bits.
NAMES = ("scipy_cblas_{}gemm64_", "cblas_{}gemm64_", "scipy_cblas_{}gemm", "cblas_{}gemm")
ROWS, COLUMNS, PLAIN, TURNED = 101, 102, 111, 112          # CBLAS_ORDER and CBLAS_TRANSPOSE


class Products(NamedTuple):
    """The addresses of the two functions."""

    sgemm: ctypes.c_void_p
    dgemm: ctypes.c_void_p
    name: str


def libraries():
    """The paths of the libraries that may be NumPy's BLAS, the likely ones first."""
    root = os.path.dirname(np.__file__)                    # no pathlib: `settings` imports this with the package
    for folder in (f"{root}.libs", os.path.join(root, ".dylibs"), os.path.join(root, ".libs")):
        if os.path.isdir(folder):
            yield from sorted(os.path.join(folder, name) for name in os.listdir(folder) if "blas" in name)
    try:                                                   # a distribution's, or MKL: what this process has loaded
        with open("/proc/self/maps") as maps:
            yield from dict.fromkeys(line.split()[-1] for line in maps if is_blas(line.split()[-1]))
    except OSError:
        if sys.platform == "darwin":
            yield "/System/Library/Frameworks/Accelerate.framework/Accelerate"


def is_blas(path):
    name = path.rsplit("/", 1)[-1]
    return path.startswith("/") and ("blas" in name or "mkl_rt" in name) and ".so" in name


@functools.lru_cache(maxsize=1)
def products():
    """The `Products` that were found to work; None if there are none."""
    for path in libraries():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in NAMES:
            names = [name.format(letter) for letter in "sd"]
            if all(hasattr(library, n) for n in names) and (sys.platform != "darwin" or "64_" in name):
                found = [getattr(library, n) for n in names]
                if all(works(f, dtype) for f, dtype in zip(found, ("float32", "float64"))):
                    return Products(*[ctypes.cast(f, ctypes.c_void_p) for f in found], name)
    return None


def works(gemm, dtype):
    """True if a function gives the right products, of plain and of transposed matrices.

    Sizes are passed as 64 bits each. A function that takes 32 reads the lower half of a register or of a place on the
    stack, and finds the same number there, on the processors of today's Linux (not on Apple's, whose stack is packed).
    """
    number = ctypes.c_float if dtype == "float32" else ctypes.c_double
    size = ctypes.c_int64
    gemm.restype, gemm.argtypes = None, [ctypes.c_int] * 3 + [size] * 3 + [number, ctypes.c_void_p, size,
                                                                         ctypes.c_void_p, size, number,
                                                                         ctypes.c_void_p, size]
    m, n, k = 3, 5, 4
    a, b = np.arange(m * k, dtype=dtype).reshape(m, k) - 5, np.arange(k * n, dtype=dtype).reshape(k, n) % 7
    right = a @ b * 2
    for x, turn_x in ((a, PLAIN), (np.ascontiguousarray(a.T), TURNED)):
        for y, turn_y in ((b, PLAIN), (np.ascontiguousarray(b.T), TURNED)):
            c = np.full((m, n + 1), 9, dtype)
            gemm(ROWS, turn_x, turn_y, m, n, k, 2, x.ctypes.data, x.shape[1], y.ctypes.data, y.shape[1], 0,
                 c.ctypes.data, n + 1)
            if not (np.array_equal(c[:, :n], right) and (c[:, n] == 9).all()):
                return False
    return True
