"""Rules of matrix products: where one factor is the same for all elements of the batch, one large product."""

from math import prod

from ..array import aligned, batched, is_shared, lifted
from ..backend import rule


def product(F, a, b):
    """The product of matrices (..., n, k) and (..., k, m)."""
    inner = F.inner
    if is_shared(b) and b.ndim == 2 and not is_shared(a):  # (h, ..., n, k) by one matrix
        v, m = a.value, b.value[0]
        if v.ndim > 2:
            found = inner.gemm(v.reshape((prod(v.shape[:-1]), v.shape[-1])), m)
            return batched(F, found.reshape((*v.shape[:-1], m.shape[-1])))
        return batched(F, inner.gemm(v, m))
    x, y = aligned(F, (a, b))
    return batched(F, inner.gemm(x, y))


def matrix_vector(F, a, b):
    """The product of matrices (..., n, k) and vectors (k)."""
    if is_shared(a) and a.ndim == 2:
        return batched(F, F.inner.gemm(b.value, a.value[0].swapaxes(0, 1)))
    if is_shared(b):
        return batched(F, F.inner.matmul(a.value, b.value[0]))
    found = product(F, a, b.reshape((*b.shape, 1)))
    return found.reshape(found.shape[:-1])


@rule("gemm")
def gemm(F, input, other):
    return product(F, lifted(F, input), lifted(F, other))


@rule("matmul")
def matmul(F, input, other):
    a, b = lifted(F, input), lifted(F, other)
    if a.ndim > 1 and b.ndim > 1:
        return product(F, a, b)
    if a.ndim > 1 and b.ndim == 1 and a.shape[-1] == b.shape[0]:
        return matrix_vector(F, a, b)
    return F.xp.matmul(a, b)


@rule("mm")
def mm(F, input, mat2):
    a, b = lifted(F, input), lifted(F, mat2)
    return product(F, a, b) if a.ndim == b.ndim == 2 else F.reference.mm(a, b)


@rule("bmm")
def bmm(F, input, mat2):
    a, b = lifted(F, input), lifted(F, mat2)
    fits = a.ndim == b.ndim == 3 and a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]
    return product(F, a, b) if fits else F.reference.bmm(a, b)


@rule("mv")
def mv(F, input, vec):
    a, b = lifted(F, input), lifted(F, vec)
    if a.ndim != 2 or b.ndim != 1 or a.shape[1] != b.shape[0]:
        return F.reference.mv(a, b)                        # which says what is wrong
    return matrix_vector(F, a, b)


@rule("dot")
def dot(F, input, tensor):
    a, b = lifted(F, input), lifted(F, tensor)
    if a.ndim != 1 or a.shape != b.shape:
        return F.reference.dot(a, b)
    if is_shared(a):
        a, b = b, a
    if is_shared(b):
        return batched(F, F.inner.matmul(a.value, b.value[0]))
    return batched(F, F.inner.sum(a.value * b.value, dim=1, keepdim=False, dtype=None))


@rule("linear")
def linear(F, input, weight, bias=None):
    x, w = lifted(F, input), lifted(F, weight)
    b = None if bias is None else lifted(F, bias)
    if is_shared(w) and (b is None or is_shared(b)):
        out = F.inner.linear(x.value, w.value[0], None if b is None else b.value[0])
        return batched(F, out)
    if w.ndim != 2:
        return F.reference.linear(x, w, b)
    if is_shared(w):
        out = batched(F, F.inner.linear(x.value, w.value[0], None))
    elif x.ndim == 1:
        out = matrix_vector(F, w, x)
    else:
        rows = x if x.ndim == 2 else x.reshape((prod(x.shape[:-1]), x.shape[-1]))
        out = product(F, rows, batched(F, w.value.swapaxes(1, 2)))
        out = out if x.ndim == 2 else out.reshape((*x.shape[:-1], w.shape[0]))
    return out if b is None else out + b


@rule("addmm")
def addmm(F, input, mat1, mat2, *, beta=1, alpha=1):
    a, b = lifted(F, mat1), lifted(F, mat2)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        return F.reference.addmm(input, a, b, beta=beta, alpha=alpha)
    out = product(F, a, b)
    out = out if alpha == 1 else out * alpha
    return out if beta == 0 else out + (input if beta == 1 else input * beta)
