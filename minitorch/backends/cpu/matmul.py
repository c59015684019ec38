"""Matrix products on the CPU, in the layouts that BLAS likes best.

All array calls go through ``F.xp``, as the compiler runs `linear` on arrays that record them.
"""

from ...ops.linalg.einsum import contract_all
from ...ops.linalg.linear import require_matrix
from .backend import kernel
from .tuning import tuning


@kernel("gemm")
def gemm(F, input, other):
    if input.shape[-1] == 1:                               # an outer product: 10 times as fast without BLAS
        return F.xp.multiply(input, other)
    if other.ndim > 2 and other.strides[-1] != other.itemsize and other.shape[-2] <= 32 and input.shape[-2] >= 4:
        other = F.xp.ascontiguousarray(other)              # many small transposed ones take twice as long as copied
    return F.xp.matmul(input, other)


def linear_sample(d):
    input, weight = d.choice([((7, 5, 30), (20, 30)), ((50, 30), (20, 30)), ((30,), (30,))])
    return [d.array(input), d.array(weight), d.choice([None, d.array(weight[:-1])])], {}


@kernel("linear", sample=linear_sample)
def linear(F, input, weight, bias=None):
    """One large product instead of a batch of small ones, and the bias added in place."""
    if weight.ndim > 2:
        require_matrix(weight)
    if input.ndim > 2 and weight.ndim == 2 and input.size:
        out = F.xp.dot(input.reshape(-1, input.shape[-1]), weight.T).reshape(*input.shape[:-1], weight.shape[0])
    elif not input.ndim or not weight.ndim:
        out = F.xp.matmul(input, weight)                   # refused, where `dot` would multiply by the number
    else:
        out = F.xp.dot(input, weight.T)
    if bias is None:
        return out
    if out.ndim and bias.ndim <= out.ndim:
        out += bias
        return out
    return out + bias


@kernel("weight_int8pack_mm", sample=lambda d: (
    [d.array((2, 300)), d.integers((500, 300), -127, 127).astype("int8"), d.array((500,))], {}))
def weight_int8pack_mm(F, input, mat2, scales):
    """A block of rows of the weight at a time, so that they are made float within the cache."""
    out = F.empty((len(input), len(mat2)), input.dtype)
    rows = max((tuning.block or mat2.size) // max(mat2.shape[1], 1), 1)
    for i in range(0, len(mat2), rows):
        F.xp.matmul(input, mat2[i:i + rows].T.astype(input.dtype), out=out[:, i:i + rows])
    out *= scales
    return out


@kernel("einsum")
def einsum(F, *operands, equation):
    """As the reference, of operands that are copied where their matrices have no unit stride, which BLAS needs."""
    def with_unit_stride(x):
        return x if x.itemsize in x.strides[-2:] else F.xp.ascontiguousarray(x)
    return contract_all(F, lambda a, b: F.gemm(with_unit_stride(a), with_unit_stride(b)), operands, equation)
