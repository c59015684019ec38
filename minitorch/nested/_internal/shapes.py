"""Rules of jagged tensors: elements, views, pieces, and tensors brought together."""

from ... import Tensor, cat
from ...answering import name_of
from ...extend import WrappingTensor
from .nested_tensor import NestedTensor, offsets_of
from .rules import arguments, beside, dense_dim, first, not_there, rule, same_raggedness

__all__: list = []


# ------------------------------------------------------------------ elements
@rule("unbind")
def unbind(func, nt, dim=0):
    """The elements, views of the values."""
    if nt.dim_of(dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    r = nt._ragged_idx - 1
    begins = nt.offsets()[:-1].tolist()
    return tuple([nt._inner.narrow(r, begin, n) for begin, n in zip(begins, nt.sizes(), strict=True)])


@rule("select")
def select(func, nt, dim, index):
    """An element of the batch, or one place of a dense dimension."""
    if nt.dim_of(dim) == 0:
        return element(nt, index)
    dim = dense_dim(func, nt, dim)
    return nt.like(nt._inner.select(dim - 1, index), nt._ragged_idx - (dim < nt._ragged_idx))


def element(nt, index):
    """One element of the batch: a view of the values."""
    if not -len(nt) <= index < len(nt):
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(nt)}")
    index %= len(nt)
    return nt._inner.narrow(nt._ragged_idx - 1, int(nt.offsets()[index]), nt.sizes()[index])


def inner_index(nt, index):
    """An index of dense dimensions as one of the values; the batch and the ragged dimension are taken whole."""
    index = index if isinstance(index, tuple) else (index,)
    at = next((i for i, x in enumerate(index) if x is Ellipsis), len(index))
    rest = index[at + 1:]
    whole = [slice(None)] * (nt.dim() - len(index) + (at < len(index)))
    index = [*index[:at], *whole, *rest]
    if any(x is None or isinstance(x, (Tensor, list)) for x in index) or len(index) != nt.dim():
        raise not_there("indexing", " by more than numbers and slices")
    for dim in (0, nt._ragged_idx):
        if index[dim] != slice(None):
            where = "dim=0" if dim == 0 else "ragged dim"
            raise RuntimeError(f"slice(): not supported for NestedTensor on {where}")
    gone = sum(isinstance(x, int) for x in index[:nt._ragged_idx])
    return tuple(index[1:]), nt._ragged_idx - gone


@rule("__getitem__")
def getitem(func, nt, index):
    if isinstance(index, int):
        return element(nt, index)
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        return element(nt, index[0])[index[1:]]
    index, ragged = inner_index(nt, index)
    return nt.like(nt._inner[index], ragged)


@rule("__setitem__")
def setitem(func, nt, index, value):
    if isinstance(index, int):
        element(nt, index).copy_(value)
        return
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        element(nt, index[0])[index[1:]] = value
        return
    nt._inner[inner_index(nt, index)[0]] = value._inner if isinstance(value, WrappingTensor) else value


# ------------------------------------------------------------------ views
@rule("view reshape")
def view(func, nt, *shape):
    """The same values in another shape: up to the ragged dimension sizes stay what they are."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    r = nt._ragged_idx
    if func.__name__ == "view" and len(shape) == 1 and not isinstance(shape[0], int):
        return nt.like(nt._inner.view(shape[0]))           # x.view(dtype)
    if len(shape) <= r or any(a not in (-1, b) for a, b in zip(shape[:r + 1], nt.shape, strict=False)):
        raise RuntimeError(f"{func.__name__}(): cannot view shape {tuple(nt.shape)} as {tuple(shape)}: sizes up to the "
                           f"ragged dimension have to stay")
    inner = [*nt._inner.shape[:r], *shape[r + 1:]]
    return nt.like(func(nt._inner, inner))


@rule("view_as reshape_as")
def view_as(func, nt, other):
    same_shape_of_batch(func, nt, other)
    return nt.like(func(nt._inner, other._inner))


def same_shape_of_batch(func, nt, other):
    if not isinstance(other, WrappingTensor) or nt.shape[nt._ragged_idx] != other.shape[other._ragged_idx]:
        raise RuntimeError(f"{func.__name__}(): the other tensor has to have the same ragged dimension")


@rule("unflatten")
def unflatten(func, nt, dim, sizes):
    """A dense dimension divided into several."""
    dim = nt.dim_of(dim)
    if dim in (0, nt._ragged_idx):
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
                           f"({nt.shape[dim]}) in the input tensor")
    more = len(sizes) - 1 if dim < nt._ragged_idx else 0
    return nt.like(nt._inner.unflatten(dim - 1, sizes), nt._ragged_idx + more)


@rule("flatten")
def flatten(func, nt, start_dim=0, end_dim=-1):
    """Dense dimensions as one."""
    start, end = dense_dim(func, nt, start_dim), dense_dim(func, nt, end_dim)
    if start < nt._ragged_idx < end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    return nt.like(nt._inner.flatten(start - 1, end - 1), nt._ragged_idx - (end - start if end < nt._ragged_idx else 0))


@rule("permute")
def permute(func, nt, *dims):
    """Dimensions in another order; the batch stays the first."""
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    dims = [nt.dim_of(d) for d in dims]
    if not dims or dims[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return nt.like(nt._inner.permute([d - 1 for d in dims[1:]]), dims.index(nt._ragged_idx))


@rule("transpose swapaxes swapdims")
def transpose(func, nt, dim0, dim1):
    """Two dimensions exchanged."""
    dim0, dim1 = nt.dim_of(dim0), nt.dim_of(dim1)
    if dim0 != dim1 and 0 in (dim0, dim1):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    order = list(range(nt.dim()))
    order[dim0], order[dim1] = dim1, dim0
    return permute(func, nt, order)


@rule("mT mH")
def matrix_transpose(func, nt):
    return transpose(func, nt, -2, -1)


@rule("T H t")
def whole_transpose(func, nt):
    return permute(func, nt, *reversed(range(nt.dim())))


@rule("unsqueeze")
def unsqueeze(func, nt, dim):
    """A dimension of size 1 behind the batch."""
    n = nt.dim()
    if not -n - 1 <= dim <= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n - 1}, {n}], but got {dim})")
    dim %= n + 1
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return nt.like(nt._inner.unsqueeze(dim - 1), nt._ragged_idx + (dim <= nt._ragged_idx))


@rule("squeeze")
def squeeze(func, nt, dim=None):
    """Without a dense dimension of size 1."""
    if dim is None:
        raise not_there("squeeze", " without a dimension")
    dim = dense_dim(func, nt, dim)
    inner = nt._inner.squeeze(dim - 1)
    return nt.like(inner, nt._ragged_idx - (dim < nt._ragged_idx and inner.dim() < nt._inner.dim()))


@rule("expand broadcast_to")
def expand(func, nt, *sizes, implicit=False):
    """Dense dimensions of size 1 repeated."""
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    r = nt._ragged_idx
    if len(sizes) != nt.dim() or any(sizes[d] not in (-1, nt.shape[d]) for d in (0, r)):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(nt.shape)} -> {tuple(sizes)}")
    return nt.like(nt._inner.expand([-1 if i + 1 == r else n for i, n in enumerate(sizes[1:])]))


@rule("expand_as")
def expand_as(func, input, other):
    """`input`, perhaps dense, as large as the jagged tensor `other`."""
    if not isinstance(input, WrappingTensor):
        return other.like(beside(func, other, input).expand(other._inner.shape))
    same_raggedness(func, input, other)
    return input.like(input._inner.expand(other._inner.shape))


@rule("contiguous")
def contiguous(func, nt, memory_format=None):
    """Without holes, and values in order."""
    return nt.like(nt._inner.contiguous()) if nt.lengths() is None else nt.packed()


@rule("to float double half bfloat16 int long short bool char byte cfloat cdouble cpu cuda type pin_memory "
      "detach_ conj resolve_conj resolve_neg real imag")
def converted(func, nt, *args, **kwargs):
    """Another type or device."""
    if args and isinstance(args[0], WrappingTensor):
        args = (args[0]._inner, *args[1:])
    kwargs.pop("layout", None)
    found = func(nt._inner, *args, **kwargs)
    return nt if found is nt._inner else nt.like(found) if isinstance(found, Tensor) else found


@rule("new_zeros new_ones new_empty new_full new_tensor is_same_size")
def unrelated(func, nt, *args, **kwargs):
    """New dense tensors of this one's type."""
    if name_of(func) == "is_same_size":
        return isinstance(args[0], WrappingTensor) and args[0].shape == nt.shape
    return func(nt._inner, *args, **kwargs)


# ------------------------------------------------------------------ pieces
@rule("chunk")
def chunk(func, nt, chunks, dim=0):
    """Pieces of the batch, or along a dense dimension."""
    if nt.dim_of(dim) != 0:
        dim = dense_dim(func, nt, dim)
        return tuple([nt.like(x) for x in nt._inner.chunk(chunks, dim - 1)])
    if nt.lengths() is not None or nt._ragged_idx != 1:
        raise not_there("chunk", " of a batch with holes or transposed elements")
    lengths = nt.offsets().diff().chunk(chunks)
    rows = nt._inner.split([int(n.sum()) for n in lengths])
    return tuple([NestedTensor(x, offsets_of(n)) for x, n in zip(rows, lengths, strict=True)])


@rule("split split_with_sizes narrow")
def pieces(func, nt, *args, **kwargs):
    """Pieces, or one, along a dense dimension."""
    given = arguments(func, (nt, *args), kwargs)
    named = dict(zip(("dim", "start", "length") if name_of(func) == "narrow" else ("sizes", "dim"), args, strict=False))
    dim = dense_dim(func, nt, kwargs.get("dim", named.get("dim", given.get("dim", 0)))) - 1
    if name_of(func) == "narrow":
        start, length = kwargs.get("start", named.get("start")), kwargs.get("length", named.get("length"))
        return nt.like(nt._inner.narrow(dim, start, length))
    sizes = next((kwargs[k] for k in ("split_size_or_sections", "split_size", "split_sizes") if k in kwargs),
                 named.get("sizes"))
    return tuple([nt.like(x) for x in nt._inner.split(sizes, dim)])


# ------------------------------------------------------------------ brought together
@rule("cat concat concatenate")
def concatenate(func, tensors, dim=0):
    """Side by side along a dense dimension."""
    nt = first(tensors)
    dim = dense_dim(func, nt, dim)
    return nt.like(func([beside(func, nt, x) for x in tensors], dim - 1))


@rule("stack")
def stack(func, tensors, dim=0):
    """Along a new dimension behind the batch."""
    return concatenate(cat, [unsqueeze(func, x, dim) for x in tensors], dim)


@rule("broadcast_tensors")
def broadcast_tensors(func, *tensors):
    """Dense tensors as large as the jagged one."""
    nt = first(tensors)
    return tuple([expand_as(func, x, nt) for x in tensors])

