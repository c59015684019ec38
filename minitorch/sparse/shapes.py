"""Sparse tensors with their dimensions in another order, parts of them, and several joined."""

from .. import Tensor
from .. import cat as of_dense
from ..extend import checked_dim, wrap
from .arrays import SparseArray
from .functions import SparseFunction, build, of_indices, values_of
from .patterns import Pattern, sorted_order
from .products import spread
from .tensor import SparseTensor, answers, made, refused

__all__ = []


# ---- order -------------------------------------------------------------------------------------------------
@answers("t")
def t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                           f"{input.sparse_dim()} sparse and {input.dense_dim()} dense dimensions")
    return transpose(input, 0, 1) if input.ndim == 2 else input


@answers("transpose")
def transpose(input, dim0, dim1):
    a, b = checked_dim(dim0, input.ndim), checked_dim(dim1, input.ndim)
    order = list(range(input.ndim))
    order[a], order[b] = order[b], order[a]
    return permuted(input, order, "transpose")


@answers("permute")
def permute(input, *dims):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = [checked_dim(d, input.ndim) for d in dims]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(f"permute(sparse_coo): each dimension of {input.ndim} must occur once, got {list(dims)}")
    return permuted(input, order, "permute")


def permuted(input, order, name):
    """The tensor with its dimensions in this order; sparse dimensions stay among themselves."""
    n = input.sparse_dim()
    if order == list(range(input.ndim)):
        return input
    if any((d < n) != (i < n) for i, d in enumerate(order)):
        raise RuntimeError(f"{name}: sparse and dense dimensions cannot change places: got the order {order} of {n} "
                           f"sparse and {input.dense_dim()} dense dimensions")
    return Permute.apply(input, order)


class Permute(SparseFunction):
    """The tensor with its dimensions in another order; the gradient is put back, be it sparse or dense."""

    @staticmethod
    def forward(ctx, input, order):
        n, pattern, values = input.sparse_dim(), input.array.pattern, input.array.values
        ctx.back = [order.index(d) for d in range(len(order))]
        values = values.transpose(0, *[d - n + 1 for d in order[n:]])
        if order[:n] == [1, 0]:
            pattern = pattern.transposed
        elif order[:n] != list(range(n)):
            pattern = Pattern(pattern.F, [pattern.sizes[d] for d in order[:n]], indices=pattern.indices[order[:n]],
                              once=pattern.once)
        return made(SparseArray(pattern, values), input.backend)

    @staticmethod
    def backward(ctx, g):
        return g.permute(ctx.back), None


# ---- parts -------------------------------------------------------------------------------------------------
def chosen(input, which, dim, along, size, is_coalesced=False):
    """The entries `which` as a COO tensor, with indices `along` in dimension `dim`, of `size`."""
    pattern, F = input.array.pattern, input.backend
    indices = pattern.indices[:, which]
    indices[dim] = along
    sizes = [size if d == dim else n for d, n in enumerate(pattern.sizes)]
    return of_indices(F, indices, values_of(input)[wrap(which, F)], sizes, is_coalesced)


def along(name):
    """Decorator of what `name` does along a sparse dimension of a COO tensor; along a dense one it
    is the function of the values."""
    def enter(function):
        def apply(input, dim, *args, **kwargs):
            if not input.is_sparse:
                raise refused(name, input)
            dim, n = checked_dim(dim, input.ndim), input.sparse_dim()
            if dim < n:
                return function(input, dim, *args, **kwargs)
            found = getattr(values_of(input), name)(dim - n + 1, *args, **kwargs)
            return build(found, input.array.pattern)
        return answers(name)(apply)
    return enter


@answers("select")
def select(input, dim, index):
    dim, n = checked_dim(dim, input.ndim), input.sparse_dim()
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension "
                         f"{dim}")
    index %= size
    values, pattern = values_of(input), input.array.pattern
    if dim >= n:
        return build(values.select(dim - n + 1, index), pattern)
    which = input.backend.xp.flatnonzero(pattern.indices[dim] == index)
    values = values[wrap(which, input.backend)]
    if n == 1:
        return values.sum(0)
    rest = [d for d in range(n) if d != dim]
    return of_indices(input.backend, pattern.indices[rest][:, which], values, [pattern.sizes[d] for d in rest],
                      pattern.in_order)


@answers("unbind")
def unbind(input, dim=0):
    return tuple([select(input, dim, i) for i in range(input.shape[checked_dim(dim, input.ndim)])])


@answers("__getitem__")
def getitem(input, index):
    """Numbers, ``None`` and ``...`` with whole dimensions behind them: other indices are refused, as in PyTorch."""
    if not isinstance(input, SparseTensor):
        indices = index if isinstance(index, (tuple, list)) else (index,)
        raise refused("index", next(x for x in indices if isinstance(x, SparseTensor)))
    dim = 0
    for i in index if isinstance(index, tuple) else (index,):
        if i is None:
            input, dim = unsqueeze(input, dim), dim + 1
        elif isinstance(i, slice) and i == slice(None):
            dim += 1
        elif i is ... and i is (index[-1] if isinstance(index, tuple) else index):
            break
        elif isinstance(i, int) and not isinstance(i, bool):
            input = select(input, dim, i) if isinstance(input, SparseTensor) else input.select(dim, i)
        else:
            raise refused("index" if isinstance(i, (Tensor, list)) else "as_strided", input)
    return input


@along("index_select")
def index_select(input, dim, index):
    if not isinstance(index, Tensor) or index.ndim > 1 or index.array.dtype.kind not in "iu":
        raise IndexError("index_select() argument index must be 1-D int tensor")
    pattern, xp = input.array.pattern, input.backend.xp
    size, wanted = pattern.sizes[dim], index.reshape(-1).array.astype("int64")
    if wanted.size and not (-size <= int(wanted.min()) and int(wanted.max()) < size):
        raise IndexError(f"index_select(): index contains {int(wanted.max())} that is out of range for tensor of size "
                         f"{list(input.shape)} at dimension {dim}")
    order = sorted_order(xp, pattern.indices[dim])
    starts = xp.concatenate([xp.zeros(1, "int64"), xp.cumsum(xp.bincount(pattern.indices[dim], minlength=size))])
    which, at = spread(xp, starts, wanted % max(size, 1))
    return chosen(input, order[at], dim, which, len(wanted))


@along("narrow_copy")
def narrow_copy(input, dim, start, length):
    size = input.shape[dim]
    start = start + size if start < 0 else start
    if not (0 <= start and length >= 0 and start + length <= size):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    pattern, xp = input.array.pattern, input.backend.xp
    index = pattern.indices[dim]
    which = xp.flatnonzero((index >= start) & (index < start + length))
    return chosen(input, which, dim, index[which] - start, length, pattern.coalesced)


# ---- more dimensions, several tensors ----------------------------------------------------------------------
@answers("unsqueeze")
def unsqueeze(input, dim):
    if not input.is_sparse:
        raise refused("unsqueeze", input)
    dim, n = checked_dim(dim, input.ndim + 1), input.sparse_dim()
    values, pattern, xp = values_of(input), input.array.pattern, input.backend.xp
    if dim > n:
        return build(values.unsqueeze(dim - n + 1), pattern)
    none = xp.zeros((1, pattern.nnz), "int64")
    indices = xp.concatenate([pattern.indices[:dim], none, pattern.indices[dim:]])
    sizes = (*pattern.sizes[:dim], 1, *pattern.sizes[dim:])
    return of_indices(input.backend, indices, values, sizes, pattern.coalesced)


@answers("cat")
def cat(tensors, dim=0):
    require_several(tensors, "torch.cat")
    sparse = next(x for x in tensors if isinstance(x, SparseTensor))
    if not all(isinstance(x, SparseTensor) and x.is_sparse for x in tensors):
        if all(isinstance(x, SparseTensor) for x in tensors):
            raise refused("cat", sparse)
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found: all must be sparse COO tensors")
    first, n = tensors[0], sparse.sparse_dim()
    dim, xp = checked_dim(dim, first.ndim), first.backend.xp
    check_alike(tensors, first, n, dim)
    values, patterns = [values_of(x) for x in tensors], [x.array.pattern for x in tensors]
    if dim >= n:
        values = with_zeros_beside(values, dim - n + 1)
        indices = xp.concatenate([p.indices for p in patterns], 1)
        return of_indices(first.backend, indices, of_dense(values), first.shape[:n])
    moved, start = [], 0
    for p in patterns:
        indices = p.indices.copy()
        indices[dim] += start
        start += p.sizes[dim]
        moved.append(indices)
    sizes = [start if d == dim else s for d, s in enumerate(first.shape[:n])]
    return of_indices(first.backend, xp.concatenate(moved, 1), of_dense(values), sizes)


def require_several(tensors, name):
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                        "Tensor")


def with_zeros_beside(values, dim):
    """Each of the values to be joined along `dim`, with zeros where the others are."""
    found, before, total = [], 0, sum(v.shape[dim] for v in values)
    for v in values:
        def zeros(size, v=v):
            shape = [size if d == dim else m for d, m in enumerate(v.shape)]
            return wrap(v.backend.xp.zeros(shape, v.array.dtype), v.backend)
        found.append(of_dense([zeros(before), v, zeros(total - before - v.shape[dim])], dim))
        before += v.shape[dim]
    return found


def check_alike(tensors, first, n, dim):
    """All tensors of one shape, except along `dim`, and with `n` sparse dimensions."""
    for i, x in enumerate(tensors):
        if x.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != dim):
            raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the "
                               f"concatenating dimension), but found shape: {list(x.shape)} at position {i}")
        if x.sparse_dim() != n:
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {n}, {first.dense_dim()}, "
                               f"but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}")


@answers("stack")
def stack(tensors, dim=0):
    require_several(tensors, "stack")
    return cat([unsqueeze(x, dim) for x in tensors], dim)
