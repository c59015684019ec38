"""Rules of functions that tell the elements of a batch apart, or refuse what PyTorch refuses."""

from ...extend import WrappingTensor
from .calls import as_written, name_of, not_there, rule
from .nested_tensor import NestedTensor, offsets_of

__all__: list = []


# ---- the batch and its structure -----------------------------------------------------------------
def element(nt, index):
    """One element of the batch: a view of the values."""
    if not -len(nt) <= index < len(nt):
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(nt)}")
    return nt.elements()[index]


@rule("select")
def select(func, nt, dim, index):
    """An element of the batch, or one place of a dense dimension."""
    return element(nt, index) if dim in (0, -nt.dim()) else as_written(func, nt, dim, index)


@rule("__getitem__ __setitem__")
def item(func, nt, index, *value):
    """An element or a part of it; or the same part of all."""
    first, *rest = index if isinstance(index, tuple) and index else (index,)
    if isinstance(first, int) and isinstance(nt, WrappingTensor):
        return func(element(nt, first), (*rest, ...), *value)
    return as_written(func, nt, index, *value)


@rule("chunk")
def chunk(func, nt, chunks, dim=0):
    """Pieces of the batch, or along a dense dimension."""
    if dim not in (0, -nt.dim()):
        return as_written(func, nt, chunks, dim)
    if not isinstance(nt, NestedTensor) or nt.lengths() is not None or nt._ragged_idx != 1:
        raise not_there("chunk", " of a batch with holes or transposed elements")
    lengths = nt.offsets().diff().chunk(chunks)
    rows = nt._inner.split([int(n.sum()) for n in lengths])
    return tuple([NestedTensor(x, offsets_of(n)) for x, n in zip(rows, lengths, strict=True)])


@rule("equal")
def equal(func, input, other):
    """True if two nested tensors have equal elements, whatever their offsets are."""
    if not all([isinstance(x, WrappingTensor) for x in (input, other)]) or len(input) != len(other):
        return False
    return all(map(func, input.elements(), other.elements()))


# ---- random numbers go by the place of an element in memory --------------------------------------
@rule("bernoulli normal_")
def of_values(func, nt, *args, **kwargs):
    """The function of the values."""
    found = func(nt._inner, *[getattr(x, "_inner", x) for x in args], **kwargs)
    return nt if found is nt._inner else nt.like(found)


# ---- attention: what PyTorch refuses, and elements without keys ----------------------------------
@rule("scaled_dot_product_attention")
def attention(func, query, key, value, attn_mask=None, *args, **options):
    """Attention of each element, (heads, its length, size of a head), without padding: its weights
    have two ragged dimensions.

    `key` and `value` have one ragged size, `query` may have another. Masks are refused, as in
    PyTorch.
    """
    parts = query, key, value
    if not all([isinstance(x, type(query)) for x in parts]):
        raise ValueError("Expected query, key, and value to all be nested tensors of the layout "
                         f"torch.jagged, but got {', '.join([type(x).__name__ for x in parts])}")
    if not isinstance(query, NestedTensor):
        return as_written(func, *parts, attn_mask, *args, **options)
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported! attention of nested tensors takes is_causal "
                         "only")
    if query.dim() < 3 or not query.dim() == key.dim() == value.dim():
        raise ValueError("Expected query, key, and value to all be at least 3 dimensional and of "
                         f"equally many, but got Query dim: {query.dim()}, Key dim: {key.dim()} "
                         f"and Value dim: {value.dim()} instead.")
    if any([x._ragged_idx != x.dim() - 2 for x in parts]):
        raise ValueError("Expected the ragged dimension of query, key, and value before the last: "
                         "(batch, heads, ragged length, size), as transpose(1, 2) makes it")
    if key.sizes() != value.sizes() or len(query) != len(key):
        raise ValueError("Expected key and value to have the same sequence lengths and batch sizes "
                         f"to be equal, got {key.sizes()} and {value.sizes()} for {len(query)} "
                         f"queries")
    found = [func(*part, None, *args, **options)
             for part in zip(*[x.elements() for x in parts], strict=True)]
    return query.of_elements(found)


# ---- normalisation: PyTorch's refusal ------------------------------------------------------------
@rule("layer_norm rms_norm")
def norm(func, input, normalized_shape, *args, **kwargs):
    """Over dense dimensions at the end."""
    if isinstance(input, NestedTensor) and input._ragged_idx >= input.dim() - len(normalized_shape):
        raise ValueError(f"{name_of(func)}(): not supported for nested tensors over the ragged "
                         f"dimension")
    return as_written(func, input, normalized_shape, *args, **kwargs)
