"""Rules of functions that tell the elements of a batch apart, or refuse what PyTorch refuses."""

from ...extend import asked
from .calls import as_written, name_of, not_there, rewritten, rule
from .jagged import offsets_of
from .nested_tensor import NestedTensor

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


@rule("unbind")
def unbind(func, nt, dim=0):
    """The elements of the batch, or the places of a dense dimension."""
    return tuple(nt.elements()) if dim in (0, -nt.dim()) else as_written(func, nt, dim)


@rule("__getitem__ __setitem__")
def item(func, nt, index, *value):
    """An element or a part of it; or the same part of all."""
    first, *rest = index if isinstance(index, tuple) and index else (index,)
    if not isinstance(first, int) or not nt.is_nested:
        return as_written(func, nt, index, *value)
    if not value:
        return func(element(nt, first), (*rest, ...))
    return rewritten(nt, "__setitem__", lambda held: func(element(held, first), (*rest, ...),
                                                          *value))


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
    if not input.is_nested or not other.is_nested or len(input) != len(other):
        return False
    return all(map(func, input.elements(), other.elements()))


@rule("register_hook")
def register_hook(func, nt, hook):
    """A hook, which gets the gradient as a nested tensor."""
    return func(nt, lambda g: asked(hook, g))


@rule("register_post_accumulate_grad_hook")
def register_post_accumulate_grad_hook(func, nt, hook):
    """A hook, which is called once the gradient is there."""
    return func(nt, lambda x: asked(hook, x))


@rule("grad")
def gradient(func, nt, *value):
    """The gradient; one that is assigned has to be nested."""
    if value and value[0] is not None and type(value[0]) is not type(nt):
        raise TypeError(f"assigned grad expected to be a {type(nt).__name__} or None but got grad "
                        f"of type {type(value[0]).__name__}")
    return func(nt, *value)


# ---- random numbers go by the place of an element in memory --------------------------------------
@rule("bernoulli normal_")
def of_values(func, nt, *args, **kwargs):
    """The function of the values."""
    args = [getattr(x, "_inner", x) for x in args]
    if func.__name__.endswith("_"):
        return rewritten(nt, func.__name__, lambda held: func(held._inner, *args, **kwargs))
    return nt.like(func(nt._inner, *args, **kwargs))


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
