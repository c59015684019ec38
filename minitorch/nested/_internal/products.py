"""Rules of jagged tensors: linear maps, products, normalisation, attention, losses."""

from ... import cat, matmul, stack
from ...answering import name_of
from ...extend import WrappingTensor
from .nested_tensor import NestedTensor
from .rules import arguments, first, not_there, rule, same_raggedness

__all__: list = []


def dense_end(func, nt, n=1):
    """RuntimeError unless the last `n` dimensions are dense."""
    if nt._ragged_idx >= nt.dim() - n:
        raise ValueError(f"{name_of(func)}(): not supported for nested tensors over the ragged dimension")


@rule("linear embedding")
def linear(func, input, weight, *args, **kwargs):
    """On the values: the last dimension is dense."""
    if isinstance(weight, WrappingTensor) or not isinstance(input, WrappingTensor):
        raise RuntimeError(f"{name_of(func)}(): the input may be a nested tensor, the weight may not")
    if name_of(func) == "linear":
        dense_end(func, input)
    return input.like(func(input._inner, weight, *args, **kwargs))


@rule("prelu")
def prelu(func, input, weight):
    """With one slope: a slope for each channel would need the channel first."""
    if weight.numel() != 1:
        raise not_there("prelu", " with a slope for each channel")
    return input.like(func(input._inner, weight))


@rule("layer_norm rms_norm")
def layer_norm(func, input, normalized_shape, *args, **kwargs):
    """Over dense dimensions at the end."""
    dense_end(func, input, len(normalized_shape))
    return input.like(func(input._inner, normalized_shape, *args, **kwargs))


@rule("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits")
def loss(func, *args, **kwargs):
    """A loss of the values of two nested tensors, without holes."""
    given = {**arguments(func, args, kwargs)}
    nt = first([args, kwargs])
    tensors = {k: x if not isinstance(x, WrappingTensor) else same(func, nt, x).packed()._inner
               for k, x in given.items()}
    result = func(**tensors)
    return nt.packed().like(result) if result.dim() else result


def same(func, nt, x):
    same_raggedness(func, nt, x)
    return x


# ------------------------------------------------------------------ products of matrices
@rule("matmul bmm")
def product(func, input, other):
    """Matrix products of each element: with one matrix for all, one for each, or elements of another batch."""
    if isinstance(input, WrappingTensor) and not isinstance(other, WrappingTensor):
        if other.dim() <= 2 and input._ragged_idx < input.dim() - 1:
            return input.like(matmul(input._inner, other), min(input._ragged_idx, input.dim() - 1))
        if other.dim() == input.dim() and len(other) == len(input):
            return of_each(func, input, input.unbind(), other.unbind())
    elif isinstance(input, WrappingTensor) and isinstance(other, WrappingTensor):
        return of_two(func, input, other)
    elif other.dim() == input.dim() and len(other) == len(input):
        return of_each(func, other, input.unbind(), other.unbind())
    elif input.dim() <= 2 and other._ragged_idx == other.dim() - 1:
        return other.like(matmul(input, other._inner))
    raise refused(input, other)


def refused(input, other):
    return RuntimeError(f"matmul(): not supported between inputs of shapes {tuple(input.shape)} and "
                        f"{tuple(other.shape)}")


def of_each(func, nt, lefts, rights):
    """A product for each element, as a batch with the ragged dimension of `nt`."""
    if nt._ragged_idx == nt.dim() - 1 and nt is not None and lefts[0].shape[-1] != rights[0].shape[-2]:
        raise refused(nt, rights[0])
    found = [matmul(a, b) for a, b in zip(lefts, rights, strict=True)]
    ragged = nt._ragged_idx
    if any(x.shape[ragged - 1] != n for x, n in zip(found, nt.sizes(), strict=True)):
        raise refused(nt, rights[0])
    return nt.packed().like(cat(found, ragged - 1))


def of_two(func, input, other):
    """Products of two batches: the ragged dimension is summed over, or it is one of both and stays."""
    n, a, b = input.dim(), input._ragged_idx, other._ragged_idx
    if other.dim() != n or input.shape[a] != other.shape[b]:
        raise refused(input, other)
    if a == n - 1 and b == n - 2:                          # (B, D, j1) @ (B, j1, E): dense
        return stack([matmul(x, y) for x, y in zip(input.unbind(), other.unbind(), strict=True)])
    if a == b < n - 2:                                     # (B, j1, N, D) @ (B, j1, D, E)
        return input.like(matmul(input._inner, other._inner))
    raise refused(input, other)


# ------------------------------------------------------------------ attention
@rule("scaled_dot_product_attention")
def attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention of each element, (heads, its length, size of a head), without padding.

    `key` and `value` have one ragged size, `query` may have another. Masks are refused, as in PyTorch.
    """
    parts = query, key, value
    if not all(isinstance(x, NestedTensor) for x in parts):
        raise ValueError(f"Expected query, key, and value to all be nested tensors of the layout torch.jagged, but got "
                         f"{', '.join(type(x).__name__ for x in parts)}")
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported! attention of nested tensors takes is_causal only")
    if query.dim() < 3 or not query.dim() == key.dim() == value.dim():
        raise ValueError(f"Expected query, key, and value to all be at least 3 dimensional and of equally many, but "
                         f"got Query dim: {query.dim()}, Key dim: {key.dim()} and Value dim: {value.dim()} instead.")
    if any(x._ragged_idx != x.dim() - 2 for x in parts):
        raise ValueError("Expected the ragged dimension of query, key, and value before the last: (batch, heads, "
                         "ragged length, size), as transpose(1, 2) makes it")
    if key.sizes() != value.sizes() or len(query) != len(key):
        raise ValueError(f"Expected key and value to have the same sequence lengths and batch sizes to be equal, got "
                         f"{key.sizes()} and {value.sizes()} for {len(query)} queries")
    options = dict(dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    found = [func(q, k, v, **options) if k.shape[-2] else q.new_zeros((*q.shape[:-1], v.shape[-1]))
             for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)]
    return query.packed().like(cat(found, -2))


@rule("equal")
def equal(func, input, other):
    """True if two nested tensors have equal lengths and equal values."""
    both = isinstance(input, WrappingTensor) and isinstance(other, WrappingTensor)
    return both and input.sizes() == other.sizes() and func(input.packed()._inner, other.packed()._inner)
