"""Sums of sparse tensors, and softmax over their entries."""

from .. import int64
from ..extend import OPS, checked_dim, wrap
from .convert import to_layout
from .functions import SparseFunction, build, coalesce, of_indices, values_of
from .tensor import SparseTensor, answers

__all__ = ["log_softmax", "softmax", "sum"]


def dimensions(dim, ndim):
    """The dimensions, counted from the front and in order; all for None or none."""
    if dim is None:
        return list(range(ndim))
    found = [checked_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim appears multiple times in the list of dims: {dim}")
    return sorted(found) or list(range(ndim))


def sum(input, dim=None, dtype=None):
    """The sum over `dim`, all dimensions by default: sparse (COO) while a sparse dimension is left, else dense.

    The gradient is sparse and has the entries of `input` alone. `dtype`: that of the result. RuntimeError unless
    `input` is a COO tensor.
    """
    if not isinstance(input, SparseTensor):
        raise RuntimeError("sparse.sum: expected a sparse tensor, but got a dense one: x.sum()")
    input.need("sparse.sum", "sparse_coo")
    return summed_over(input, dimensions(dim, input.ndim), dtype)


def summed_over(input, dims, dtype=None, keepdim=False):
    """The sum over these dimensions."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = int64
    values = values_of(input) if dtype is None else values_of(input).to(dtype)
    sparse, F = input.sparse_dim(), input.backend
    gone, inner = [d for d in dims if d < sparse], [d - sparse + 1 for d in dims if d >= sparse]
    values = values.sum(inner, keepdim=keepdim) if inner else values
    if len(gone) == sparse:
        out = values.sum(0)
        return out.reshape([1] * sparse + list(out.shape)) if keepdim else out
    pattern = input.array.pattern
    if not gone:
        return build(values, pattern)
    kept = [d for d in range(sparse) if d not in gone]
    if keepdim:
        indices, sizes = pattern.indices.copy(), [1 if d in gone else n for d, n in enumerate(pattern.sizes)]
        indices[gone] = 0
    else:
        indices, sizes = pattern.indices[kept], [pattern.sizes[d] for d in kept]
    return coalesce(of_indices(F, indices, values, sizes))


class Total(SparseFunction):
    """The sum of all elements, whose gradient is dense."""

    @staticmethod
    def forward(ctx, input):
        ctx.shape = input.shape
        return wrap(input.backend.xp.asarray(wrap(input.array.values, input.backend).sum().array), input.backend)

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape)


@answers("sum")
def tensor_sum(input, dim=None, keepdim=False, *, dtype=None):
    dims = dimensions(dim, input.ndim)
    if len(dims) == input.ndim and dtype is None and (input.is_sparse or not keepdim):
        out = Total.apply(input)
        return out.reshape([1] * input.ndim) if keepdim else out
    if input.is_sparse:
        return summed_over(input, dims, dtype, keepdim)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return to_layout(summed_over(coalesce(input), dims, dtype, keepdim), input.array.pattern.layout)


@answers("norm")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    if p not in ("fro", 2, 2.0) or dim is not None or keepdim:
        raise NotImplementedError("norm_sparse: only the 2-norm of all elements is supported")
    return values_of(coalesce(input)).norm(dtype=dtype)


@answers("any")
def any_(input, dim=None, keepdim=False):
    if dim is not None:
        raise NotImplementedError("any: only the reduction over all elements is supported for "
                                  "sparse tensors")
    return values_of(coalesce(input)).any()


# ---- softmax -----------------------------------------------------------------------------------------------
def softmax(input, dim, *, dtype=None):
    """Softmax along `dim` over the entries of a COO tensor; other elements count as -inf."""
    return over_entries(input, dim, dtype, "softmax")


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`: the entries minus the logarithm of the sum of their exponentials
    along `dim`."""
    return over_entries(input, dim, dtype, "log_softmax")


def over_entries(input, dim, dtype, name):
    if not isinstance(input, SparseTensor):
        raise RuntimeError(f"sparse.{name}: expected a sparse COO tensor, but got a dense one: x.{name}(dim)")
    input.need(f"sparse.{name}", "sparse_coo")
    input, F = coalesce(input), input.backend
    values = values_of(input) if dtype is None else values_of(input).to(dtype)
    dim, pattern, xp = checked_dim(dim, input.ndim), input.array.pattern, F.xp
    if dim >= input.sparse_dim():
        return build(getattr(values, name)(dim - input.sparse_dim() + 1), pattern)
    if not pattern.nnz:
        return build(values, pattern)
    rest = xp.concatenate([pattern.indices[:dim], pattern.indices[dim + 1:]])
    sizes = [n for d, n in enumerate(pattern.sizes) if d != dim]
    groups, place, _ = type(pattern)(F, sizes, indices=rest).merged
    flat = values.reshape(pattern.nnz, -1)
    group = wrap(place, F)
    largest = xp.full((groups.nnz, flat.shape[1]), -xp.inf, flat.array.dtype)
    xp.maximum.at(largest, place, flat.array)
    shifted = flat - wrap(largest[place], F)
    powers = shifted.exp()
    totals = OPS["segment_sum"].call(powers, group, n=groups.nnz)
    out = powers / totals[group] if name == "softmax" else shifted - totals.log()[group]
    return build(out.reshape(values.shape), pattern)
