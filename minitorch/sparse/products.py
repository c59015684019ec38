"""Products of sparse and dense matrices.

`sparse.mm` gives a sparse factor a gradient of its own pattern, `mm`, ``@`` and the like a dense one, as in PyTorch.
"""

from .. import Tensor, arange
from ..extend import wrap
from ..nn.functional import embedding_bag
from . import kernels
from .arrays import rows_of
from .functions import (
    SparseFunction,
    added,
    build,
    coalesce,
    conjugate,
    dense,
    multiply,
    of_indices,
    products_at,
    reordered,
    values_of,
)
from .patterns import Pattern
from .pointwise import scaled
from .tensor import ANSWERS, SparseTensor, answers, no_out, refused

__all__ = ["addmm", "dsmm", "hsmm", "hspmm", "mm", "saddmm", "sampled_addmm", "smm", "spmm", "sspaddmm"]


def check(name, *tensors, ndim=2):
    """RuntimeError unless these can be factors: matrices (or batches), without dense dimensions, that fit together."""
    for x in tensors:
        if isinstance(x, SparseTensor) and x.dense_dim():
            raise RuntimeError(f"{name}: expected tensors without dense dimensions, but one has sparse_dim "
                               f"{x.sparse_dim()} and dense_dim {x.dense_dim()}")
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): arguments must be Tensors, not {type(x).__name__}")
        if x.ndim != ndim:
            raise RuntimeError(f"{name}: expected tensors of {ndim} dimensions, got {x.ndim}D")
    a, b = tensors
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a.shape))} and "
                           f"{'x'.join(map(str, b.shape))})")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if a.device != b.device:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {a.device} and {b.device}")


def flat(pattern):
    """The pattern of a matrix; of a batch of matrices that of the one matrix with all of them along its diagonal."""
    if len(pattern.sizes) == 2:
        return pattern
    b, n, k = pattern.sizes
    of, rows, cols = pattern.indices
    return Pattern(pattern.F, (b * n, b * k), indices=pattern.F.xp.stack([of * n + rows, of * k + cols]),
                   coalesced=pattern.coalesced)


def times(values, pattern, other):
    """The product of a matrix or a batch of them, by values and pattern, and a dense one."""
    if other.ndim == 2:
        return multiply(values, other, pattern)
    found = multiply(values, other.flatten(0, 1), flat(pattern))
    return found.reshape(*pattern.sizes[:2], other.shape[-1])


class Mm(SparseFunction):
    """``input @ other``, sparse and dense; the gradient of `input` is dense. `transposed`: that of `input` is meant."""

    @staticmethod
    def forward(ctx, input, other, transposed):
        ctx.transposed = transposed
        ctx.save_for_backward(input, other)
        pattern = input.array.pattern.transposed if transposed else flat(input.array.pattern)
        *batch, rows, columns = other.array.shape
        found = kernels.product(pattern.F, pattern, input.array.values, rows_of(other.array, len(batch) + 1))
        return wrap(found.reshape(*batch, input.shape[-1 if transposed else -2], columns), other.backend)

    @staticmethod
    def backward(ctx, g):
        (input, other), g = ctx.saved_tensors, dense(g)
        mine = theirs = None
        if ctx.needs_input_grad[0]:
            mine = g @ conjugate(other).mT
            mine = mine.mT if ctx.transposed else mine
        if ctx.needs_input_grad[1]:
            pattern = input.array.pattern
            pattern = pattern if ctx.transposed else turned(pattern)
            theirs = times(conjugate(values_of(input)), pattern, g)
        return mine, theirs, None


def turned(pattern):
    """The pattern with its last two dimensions exchanged."""
    if len(pattern.sizes) == 2:
        return pattern.transposed
    b, n, k = pattern.sizes
    return Pattern(pattern.F, (b, k, n), indices=pattern.indices[[0, 2, 1]])


@answers("mm")
def plain_mm(input, mat2):
    """``input @ mat2`` of matrices; gradients of sparse factors of dense ones are dense."""
    check("mm", input, mat2)
    if not isinstance(mat2, SparseTensor):
        return Mm.apply(input, mat2, False)
    if not isinstance(input, SparseTensor):
        return Mm.apply(mat2, input.mT, True).mT
    return of_sparse(input, mat2)


def of_sparse(input, other):
    """The product of two sparse matrices, coalesced: entries times rows of entries. Of two compressed ones it is CSR,
    unless both are CSC."""
    F, xp = input.backend, input.backend.xp
    a, b = coalesce(input), coalesce(other)
    starts, cols, _ = b.array.pattern.by_rows
    rows, inner = a.array.pattern.indices
    of_a, of_b = spread(xp, starts, inner)
    found = of_indices(F, xp.stack([rows[of_a], cols[of_b]]), values_of(a)[wrap(of_a, F)] * values_of(b)[wrap(of_b, F)],
                       (input.shape[0], other.shape[1]))
    found = coalesce(found)
    layouts = {x.array.pattern.layout for x in (input, other)}
    if "sparse_coo" in layouts:
        return found
    return reordered(found, "sparse_csc" if layouts == {"sparse_csc"} else "sparse_csr")


def spread(xp, starts, groups):
    """For each member of the groups asked for, one after the other: which request it answers, and its position.

    Group g has the positions from ``starts[g]`` to ``starts[g + 1]``.
    """
    counts = (starts[1:] - starts[:-1])[groups]
    which = xp.repeat(xp.arange(len(groups)), counts)
    before = xp.cumsum(counts) - counts
    return which, xp.arange(len(which)) - before[which] + starts[groups][which]


@answers("matmul")
def matmul(input, other):
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2 and isinstance(other, SparseTensor):
        return plain_mm(input.unsqueeze(0), other)[0]
    if input.ndim == other.ndim == 3:
        return bmm(input, other)
    if input.ndim == other.ndim == 2:
        return plain_mm(input, other)
    sparse = input if isinstance(input, SparseTensor) else other
    raise refused(f"matmul of {input.ndim} and {other.ndim} dimensions", sparse)


@answers("mv")
def mv(input, vec):
    if vec.ndim != 1 or isinstance(vec, SparseTensor):
        raise RuntimeError(f"mv: expected a sparse matrix and a dense vector, got {input.ndim}D and {vec.ndim}D")
    return plain_mm(input, vec.unsqueeze(1)).squeeze(1)


@answers("addmm")
def plain_addmm(input, mat1, mat2, *, beta=1, alpha=1):
    found = scaled(plain_mm(mat1, mat2), alpha)
    return scaled(input, beta) + found


@answers("bmm")
def bmm(input, mat2):
    check("bmm", input, mat2, ndim=3)
    if isinstance(mat2, SparseTensor):
        raise refused("bmm with a sparse second factor", mat2)
    return Mm.apply(input, mat2, False)


@answers("linear")
def linear(input, weight, bias=None):
    if isinstance(input, SparseTensor):
        out = plain_mm(input, weight.t())
    else:
        out = Mm.apply(weight, input.reshape(-1, input.shape[-1]).mT, False).mT
        out = out.reshape(*input.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias


# ---- of minitorch.sparse -----------------------------------------------------------------------------------
def mm(mat1, mat2, reduce="sum"):
    """The product of two matrices; at least one is sparse.

    The gradient of a sparse factor is sparse and has its entries only. `reduce`, of a CSR matrix and a dense one:
    instead of the "sum" of the products of a row, "mean" (over its entries), "amax" or "amin"; 0 for a row without
    entries. """
    check("sparse.mm", mat1, mat2)
    if reduce != "sum":
        return reduced(mat1, mat2, reduce)
    if not isinstance(mat1, SparseTensor):
        if not isinstance(mat2, SparseTensor):
            return mat1.mm(mat2)
        return multiply(values_of(mat2), mat1.mT, mat2.array.pattern.transposed).mT
    if isinstance(mat2, SparseTensor):
        return of_sparse(mat1, mat2)
    return multiply(values_of(mat1), mat2, mat1.array.pattern)


SIGNS = {"amax": 1, "amin": -1}        # the smallest is the negative of the largest of the negatives


def reduced(mat1, mat2, reduce):
    """`mm` with another reduction than the sum."""
    if reduce != "mean" and reduce not in SIGNS:
        raise RuntimeError(f"sparse.mm: reduce must be 'sum', 'mean', 'amax' or 'amin', got {reduce!r}")
    if not isinstance(mat1, SparseTensor) or mat1.layout.name != "sparse_csr" or isinstance(mat2, SparseTensor):
        sparse = mat1 if isinstance(mat1, SparseTensor) else mat2
        raise refused("_sparse_mm_reduce_impl", sparse) if isinstance(sparse, SparseTensor) else RuntimeError(
            "sparse.mm: reduce= needs a CSR matrix")
    pattern, F = mat1.array.pattern, mat1.backend
    if reduce == "mean":
        counts = F.xp.maximum(F.xp.diff(pattern.compressed), 1)[:, None].astype(mat2.array.dtype)
        return multiply(values_of(mat1), mat2, pattern) / wrap(counts, F)
    sign = SIGNS[reduce]
    products = values_of(mat1).unsqueeze(1) * mat2[wrap(pattern.indices[1], F)]
    return scaled(largest_by_row(scaled(products, sign), pattern), sign)


def largest_by_row(rows, pattern):
    """The largest element of each column among the entries of each row, 0 for a row without."""
    entries = arange(pattern.nnz, device=rows.device)
    return embedding_bag(entries, rows, wrap(pattern.compressed, pattern.F), mode="max",
                         include_last_offset=True)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * (mat1 @ mat2)`` of a sparse `mat1`, whose gradient is sparse and has its entries only."""
    return scaled(mat, beta) + scaled(mm(mat1, mat2), alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` at the entries of the CSR matrix `input` alone, as a CSR matrix."""
    no_out("sampled_addmm", out)
    if not isinstance(input, SparseTensor) or input.layout.name != "sparse_csr":
        if isinstance(input, SparseTensor):
            raise refused("sparse_sampled_addmm", input)
        raise RuntimeError("sampled_addmm: expected a sparse CSR matrix, but got a dense one: input.to_sparse_csr()")
    check("sampled_addmm", mat1, mat2)
    if input.shape != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError(f"sampled_addmm: self.shape {list(input.shape)} must be that of the product, "
                           f"{[mat1.shape[0], mat2.shape[1]]}")
    pattern = input.array.pattern
    found = products_at(mat1, mat2.mT, pattern)
    return build(scaled(found, alpha) + scaled(values_of(input), beta), pattern)


# ---- products that are sparse ------------------------------------------------------------------------------
def spmm(input, mat2):
    """``input @ mat2`` of a sparse matrix, as `torch.mm`."""
    return plain_mm(input, mat2)


dsmm = spmm


def hspmm(mat1, mat2, *, out=None):
    """``mat1 @ mat2`` of a COO and a dense matrix, as a COO tensor of rows: those that have entries in `mat1`."""
    no_out("hspmm", out)
    mat1.need("hspmm", "sparse_coo")
    rows = mat1.backend.xp.unique(mat1.array.pattern.indices[0])
    return of_indices(mat1.backend, rows[None], mm(mat1, mat2)[wrap(rows, mat1.backend)], (mat1.shape[0],))


hsmm = hspmm


@answers("smm")
def smm(input, mat):
    """``input @ mat`` of a COO and a dense matrix as a COO matrix, with all elements of the rows that have entries."""
    rows = hspmm(input, mat)
    n, p, xp = rows._nnz(), mat.shape[1], input.backend.xp
    indices = xp.stack([xp.repeat(rows.array.pattern.indices[0], p), xp.tile(xp.arange(p), n)])
    return of_indices(input.backend, indices, values_of(rows).reshape(-1), (input.shape[0], p))


@answers("sspaddmm")
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` of COO matrices `input` and `mat1`, as a COO matrix."""
    no_out("sspaddmm", out)
    return added(ANSWERS["mul"](input, beta), smm(mat1, mat2), alpha)


saddmm = sspaddmm
