"""``torch.backends.cuda.matmul``: the switches of matrix products on CUDA.

    minitorch.backends.cuda.matmul.allow_tf32 = True       # float32 products on tensor cores, with 10 bits of mantissa
    minitorch.backends.cuda.matmul.library = "cublas"      # CuPy's products instead of our own

`allow_tf32` and `minitorch.set_float32_matmul_precision` are one setting, as in PyTorch: anything but "highest" allows
TF32. `library` is "own" (the default), "cublas" or "auto": the faster one by shape, as measured; `FASTER` is the table
of what was measured, which is empty as yet, so that "auto" means "own".
"""

import sys
from types import ModuleType

from .. import precision

LIBRARIES = ("own", "cublas", "auto")
FASTER: dict = {}                                          # (dtype, log2 of rows, columns, depth) -> "own" or "cublas"

allow_fp16_reduced_precision_reduction = False             # sums of 16-bit floats are always kept in float32
allow_bf16_reduced_precision_reduction = False


class Module(ModuleType):
    """This module, with its switches as properties: values are checked, and kept in one place."""

    @property
    def library(self):
        """The library of products: "own", "cublas" or "auto"."""
        return precision.state[1]

    @library.setter
    def library(self, name):
        if name not in LIBRARIES:
            raise ValueError(f"backends.cuda.matmul.library must be one of {', '.join(LIBRARIES)}, got {name!r}")
        precision.set_library(name)

    @property
    def allow_tf32(self):
        """True if float32 products may be rounded to TF32; see `set_float32_matmul_precision`."""
        return precision.float32_matmul() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        precision.set_float32_matmul("high" if allowed else "highest")


sys.modules[__name__].__class__ = Module


def by_library(a, b):
    """True if a product is left to cuBLAS."""
    if precision.state[1] == "own" or a.dtype.kind != "f":           # nor does CuPy know bfloat16
        return False
    if precision.state[1] == "cublas":
        return True
    sizes = [int(n).bit_length() for n in (a.shape[-2], b.shape[-1], a.shape[-1])]
    return FASTER.get((a.dtype.name, *sizes)) == "cublas"
