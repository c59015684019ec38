"""Matrix products on CUDA: the op rows that are products, NumPy's `matmul` and `dot`, and PyTorch's switches.

    minitorch.backends.cuda.matmul.allow_tf32 = True       # float32 products on tensor cores, with 10 bits of mantissa
    minitorch.backends.cuda.matmul.library = "cublas"      # CuPy's products instead of ours

`allow_tf32` and `minitorch.set_float32_matmul_precision` are one setting, as in PyTorch: anything but "highest" allows
TF32. `library` is "own" (the default), "cublas" or "auto": the faster one by shape, as measured; `FASTER` is the table
of what was measured, which is empty as yet, so that "auto" means "own".
"""

import sys
from types import ModuleType

import numpy as np

from ...core.arrays import is_half
from ...core.backend import takes_halves
from ...ops.linalg.matmul import check_dims
from . import library as rooms
from .namespace import ours
from .product import product

__all__ = ["KERNELS"]

LIBRARIES = ("own", "cublas", "auto")
FASTER: dict = {}                                          # (dtype, log2 of rows, columns, depth) -> "own" or "cublas"
_state = {"library": "own"}

allow_fp16_reduced_precision_reduction = False             # sums of 16-bit floats are always kept in float32
allow_bf16_reduced_precision_reduction = False


class Module(ModuleType):
    """This module, with its switches as properties: what is set is checked, and kept in one place."""

    @property
    def library(self):
        """Whose products: "own", "cublas" or "auto"."""
        return _state["library"]

    @library.setter
    def library(self, name):
        if name not in LIBRARIES:
            raise ValueError(f"backends.cuda.matmul.library must be one of {', '.join(LIBRARIES)}, got {name!r}")
        _state["library"] = name

    @property
    def allow_tf32(self):
        """Whether float32 products may be rounded to TF32; see `set_float32_matmul_precision`."""
        from ... import settings
        return settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        from ... import settings
        settings.set_float32_matmul_precision("high" if allowed else "highest")


sys.modules[__name__].__class__ = Module
switches = sys.modules[__name__]


# ---- whose product -----------------------------------------------------------------------------------------
def covered(*arrays):
    """Whether our kernels take these: real numbers of one dtype."""
    dtype = arrays[0].dtype
    return all(x.dtype == dtype for x in arrays) and (dtype.kind in "fi" or is_half(dtype))


def by_library(a, b):
    """Whether a product is left to cuBLAS."""
    if _state["library"] == "own" or a.dtype.kind != "f":
        return False
    if _state["library"] == "cublas":
        return True
    sizes = [int(n).bit_length() for n in (a.shape[-2], b.shape[-1], a.shape[-1])]
    return FASTER.get((a.dtype.name, *sizes)) == "cublas"


def matrices(F, a, b, addend=None, *, alpha=1, beta=1, activation=None, out=None):
    """`product` of arrays of two or more dimensions, by whom the switches say."""
    if not covered(a, b) or activation is None and addend is None and alpha == 1 and by_library(a, b):
        return rooms.function(F, "matmul")(a, b, **({} if out is None else {"out": out}))
    tf32 = a.dtype == np.float32 and switches.allow_tf32
    return product(F, a, b, addend, alpha=alpha, beta=beta, activation=activation, out=out, tf32=tf32)


# ---- NumPy's names -----------------------------------------------------------------------------------------
@ours
def matmul(F, a, b, out=None):
    """The matrix product, batched by broadcasting; a vector on the left is a row, on the right a column."""
    if a.dtype != b.dtype:
        dtype = np.result_type(a.dtype, b.dtype)
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: both arguments must have at least one dimension, got a number")
    if a.ndim > 1 and b.ndim > 1:
        return matrices(F, a, b, out=out)
    target = None if out is None else F.xp.expand_dims(out, [d for d, x in ((-2, a), (-1, b)) if x.ndim == 1])
    result = matrices(F, a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b, out=target)
    if out is not None:
        return out
    return result.reshape(result.shape[:-2] + result.shape[-2:][a.ndim == 1:2 - (b.ndim == 1)])


@ours
def dot(F, a, b, out=None):
    """Sums of products over the last dimension of `a` and the last but one of `b`; a number multiplies."""
    if not a.ndim or not b.ndim:
        return F.xp.multiply(a, b)
    if b.ndim <= 2:
        if a.ndim > 2 and b.ndim == 2 or a.ndim <= 2:
            return matmul(F, a, b, out)
        return matmul(F, a, b[:, None], None).reshape(a.shape[:-1])
    last = b.ndim - 2
    b = b.transpose(last, *[d for d in range(b.ndim) if d != last])
    result = matmul(F, a, b.reshape(b.shape[0], -1))
    return result.reshape(*a.shape[:-1], *b.shape[1:])


# ---- the op rows -------------------------------------------------------------------------------------------
@takes_halves
def gemm(F, input, other):
    return matmul(F, input, other)


@takes_halves
def mm(F, input, mat2):
    check_dims(input, 2, "self must be a matrix")
    check_dims(mat2, 2, "mat2 must be a matrix")
    return matmul(F, input, mat2)


def by_reference(name):
    """The row's own forward pass, which checks and calls `matmul` or `dot`."""
    def kernel(F, *arrays):
        from ...core.registry import OPS
        return OPS[name].forward(F, *arrays)
    return takes_halves(kernel)


@takes_halves
def addmm(F, input, mat1, mat2, *, beta=1, alpha=1):
    """One kernel, where `input` is not larger than the product."""
    from ...core.registry import OPS
    fits = mat1.ndim == mat2.ndim == 2 and mat1.shape[1] == mat2.shape[0] and input.ndim <= 2
    if not fits or not covered(input, mat1, mat2) or input.dtype.kind == "i":
        return OPS["addmm"].forward(F, input, mat1, mat2, beta=beta, alpha=alpha)
    return matrices(F, mat1, mat2, input if beta else None, alpha=alpha, beta=beta)


@takes_halves
def linear(F, input, weight, bias=None):
    """One kernel with the bias added before the result is rounded and written."""
    from ...core.registry import OPS
    simple = input.ndim >= 1 and weight.ndim == 2 and (bias is None or bias.shape in ((), (weight.shape[0],)))
    if not simple or not covered(input, weight, *() if bias is None else (bias,)):
        return OPS["linear"].forward(F, input, weight, bias)
    if input.ndim == 1:
        return matrices(F, input[None], weight.T, bias)[0]
    return matrices(F, input, weight.T, bias)


KERNELS = {"matmul": gemm, "gemm": gemm, "mm": mm, "addmm": addmm, "linear": linear,
           **{name: by_reference(name) for name in ("bmm", "mv", "dot")}}
