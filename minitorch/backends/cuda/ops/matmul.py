"""Matrix products: NumPy's `matmul` and `dot`, and the ops that are products."""

import numpy as np

from ....core.registry import OPS
from ...precision import float32_matmul
from ..arrays import library
from ..arrays.namespace import ours
from ..backend import kernel
from ..matmul import by_library
from .product import product, product_and_sums
from .supported import multipliable

__all__ = ["dot", "matmul", "matrices"]


def matrices(F, a, b, addend=None, *, alpha=1, beta=1, activation=None, out=None):
    """`product` of arrays of two or more dimensions, by our kernels or cuBLAS, as the switches say."""
    if not multipliable(a, b) or activation is None and addend is None and alpha == 1 and by_library(a, b):
        return library.function(F, "matmul")(a, b, **({} if out is None else {"out": out}))
    tf32 = a.dtype == np.float32 and float32_matmul() != "highest"
    return product(F, a, b, addend, alpha=alpha, beta=beta, activation=activation, out=out, tf32=tf32)


# ---- NumPy's names -----------------------------------------------------------------------------------------
@ours(planned=True)
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


@ours(planned=True)
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


# ---- ops ---------------------------------------------------------------------------------------------------
@kernel("matmul", halves=True)
@kernel("gemm", halves=True)
def gemm(F, input, other):
    return matmul(F, input, other)


@kernel("weight_and_bias", halves=True)
def weight_and_bias(F, grad, input):
    """In one product, where a kernel adds up what it reads."""
    found = None
    if grad.dtype == input.dtype and grad._c_contiguous and input._c_contiguous:
        rows = [x.reshape(-1, x.shape[-1]) for x in (grad, input)]
        found = product_and_sums(F, rows[0].T, rows[1])
    return found or OPS["weight_and_bias"].forward(F.fp32, grad, input)


@kernel("mm", when=lambda F, input, mat2: input.ndim == mat2.ndim == 2, halves=True)
def mm(F, input, mat2):
    return matmul(F, input, mat2)


@kernel("bmm", when=lambda F, input, mat2:
        input.ndim == mat2.ndim == 3 and mat2.shape[:2] == (input.shape[0], input.shape[2]), halves=True)
def bmm(F, input, mat2):
    return matmul(F, input, mat2)


@kernel("mv", when=lambda F, input, vec: input.ndim == 2 and vec.shape == input.shape[1:], halves=True)
def mv(F, input, vec):
    return matmul(F, input, vec)


@kernel("dot", when=lambda F, input, tensor: input.ndim == 1 and input.shape == tensor.shape, halves=True)
def dot_of_vectors(F, input, tensor):
    return matmul(F, input, tensor)


def is_matrix_sum(F, input, mat1, mat2, *, beta=1, alpha=1):
    """Predicate: matrices that fit, and an `input` that is not larger than the product."""
    fits = mat1.ndim == mat2.ndim == 2 and mat1.shape[1] == mat2.shape[0] and input.ndim <= 2
    return fits and multipliable(input, mat1, mat2) and input.dtype.kind != "i"


@kernel("addmm", when=is_matrix_sum, halves=True)
def addmm(F, input, mat1, mat2, *, beta=1, alpha=1):
    return matrices(F, mat1, mat2, input if beta else None, alpha=alpha, beta=beta)


def is_layer(F, input, weight, bias=None):
    """Predicate: a matrix of weights, and one bias or one for each output."""
    simple = input.ndim >= 1 and weight.ndim == 2 and (bias is None or bias.shape in ((), (weight.shape[0],)))
    return simple and multipliable(input, weight, *() if bias is None else (bias,))


@kernel("linear", when=is_layer, halves=True)
def linear(F, input, weight, bias=None):
    """One kernel with the bias added before the result is rounded and written."""
    if input.ndim == 1:
        return matrices(F, input[None], weight.T, bias)[0]
    return matrices(F, input, weight.T, bias)
