"""Op definitions: embeddings (rows of a table looked up by index, singly or in bags)."""

from ...core.grad_mode import grad_mode
from ...core.graph import bump_version
from ...core.op import Other
from ...core.registry import guests
from ...core.tensor import wrap
from ..creation.create import zeros
from ..define import composite, op
from ..elementwise.compare import where
from ..indexing.index import of_one_batch


@op(dims="*, [v] d -> * d by moving",
    name="embedding", promotion=None, namespace=None,
    weight=lambda F, g, input, weight_shape, padding_idx, scale_grad_by_freq: F.embedding_backward(
        g, input, rows=weight_shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.integers((2, 3), 0, 3), d.array((4, 2))],
                      dict(padding_idx=-1, scale_grad_by_freq=False)))   # others: not a derivative
def _embedding(F, input: Other, weight, *, padding_idx, scale_grad_by_freq):
    """``weight[input]``: indices (*) and a table (V, D) give (*, D)."""
    check_lookup(input, weight)
    try:
        return weight[input]
    except IndexError:
        raise outside_table(weight, input.max()) from None


def check_lookup(input, weight):
    """Raise an error for non-integer or negative indices, and for a table that is not a matrix."""
    if input.dtype.kind != "i" or input.dtype.itemsize < 4:
        raise RuntimeError(f"Expected tensor for argument #1 'indices' to have one of the scalar "
                           f"types Long, Int; but got {input.dtype} instead: write indices.long()")
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    if input.size and input.min() < 0:
        raise outside_table(weight, input.min())


def outside_table(weight, index):
    """IndexError for an index outside the table."""
    return IndexError(f"index out of range in self: indices go from 0 to {len(weight) - 1}, got {int(index)}")


def embedding_backward_dims(scale_grad_by_freq):
    """The frequency of a row is counted in all of `input`."""
    return "[*] d, [*] -> r=rows d" if scale_grad_by_freq else "* d, * -> r=rows d"


def double_backward_dims(scale_grad_by_freq):
    return "[v] d, [*] -> [*] d" if scale_grad_by_freq else "[v] d, * -> * d"


@op(dims=embedding_backward_dims,
    promotion="any", namespace=None,
    grad=lambda F, g, input, padding_idx, scale_grad_by_freq: F.embedding_double_backward(
        g, input, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.array((2, 3, 2)), d.integers((2, 3), 0, 3)],
                      dict(rows=4, padding_idx=d.choice([-1, 1]), scale_grad_by_freq=d.bool())))
def embedding_backward(F, grad, input: Other, *, rows, padding_idx, scale_grad_by_freq):
    """The gradient of the table: each row of `grad` added to the row that it came from."""
    grad = grad.reshape(input.size, grad.shape[-1])        # whose rows may be of no elements
    index = input.reshape(-1)
    if scale_grad_by_freq:
        grad = grad / F.xp.bincount(index, minlength=rows)[index].astype(grad.dtype)[:, None]
    out = F.segment_sum(grad, index, n=rows)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


@op(dims=double_backward_dims,
    promotion="any", namespace=None,
    weight=lambda F, g, input, weight_shape, padding_idx, scale_grad_by_freq: F.embedding_backward(
        g, input, rows=weight_shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.array((4, 2)), d.integers((2, 3), 0, 3)],
                      dict(padding_idx=d.choice([-1, 1]), scale_grad_by_freq=d.bool())))
def embedding_double_backward(F, weight, input: Other, *, padding_idx, scale_grad_by_freq):
    """The transpose of `embedding_backward`: rows of `weight`, 0 for the padding, divided by their frequency."""
    out = F.xp.take(weight, input, axis=0)
    if scale_grad_by_freq:
        out /= F.xp.bincount(input.reshape(-1), minlength=len(weight))[input].astype(out.dtype)[..., None]
    if padding_idx >= 0:
        out[input == padding_idx] = 0
    return out


def sum_rows(xp, index, rows, n):
    """(n, D): the sums of the rows of each index."""
    out = xp.zeros((n, rows.shape[1]), rows.dtype)
    xp.add.at(out, index, rows)
    return out


def renormalise(weight, index, max_norm, norm_type):
    """Scale down, in place, the rows of the table that are looked up and whose norm exceeds `max_norm`.

    That has no derivative: a tangent of the table stays as it is.
    """
    plain = weight.detach()
    xp, table = plain.backend.xp, plain.array
    used = xp.unique(index)
    norms = xp.linalg.norm(table[used], norm_type, 1)
    long = norms > max_norm
    if long.any():
        table[used[long]] *= (max_norm / (norms[long] + 1e-7)).astype(table.dtype)[:, None]
        bump_version(weight, "embedding(max_norm=...)")


@composite(namespace="nn.functional")
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows ``weight[input]``: indices (*) into a table (V, D) give (*, D).

    The row `padding_idx` gets no gradient. Rows whose `norm_type` norm exceeds `max_norm` are scaled down in place
    first. `scale_grad_by_freq` divides a row's gradient by how often it occurs in `input`. With `sparse` the gradient
    of the table is a sparse COO tensor of the rows looked up. IndexError for an index outside the table.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.array.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings: from {-rows} to {rows - 1}, "
                                 f"got {padding_idx}")
        padding_idx %= rows
    if max_norm is not None:
        renormalise(weight, input.array, max_norm, norm_type)
    return (guests.sparse_embedding if sparse else _embedding)(input, weight, padding_idx, scale_grad_by_freq)


# ---- bags --------------------------------------------------------------------------------------------------
@op(dims="r d, r -> b=n d",
    node_name="EmbeddingBagBackward0", promotion="any", namespace=None,
    input=lambda F, g, bags: F.embedding(bags, g, padding_idx=-1,
                                                                       scale_grad_by_freq=False),
    sample=lambda d: ([d.array((5, 2)), d.integers((5,), 0, 1).cumsum()], dict(n=6)))
def segment_sum(F, input, bags: Other, *, n):
    """The sums of the rows of each of `n` bags; `bags` is the bag of each row."""
    return sum_rows(F.xp, bags, input, n)


@op(dims="[r] d, [r] -> b=n d",
    promotion="any", namespace=None,
    sample=lambda d: ([d.distinct((5, 2)), d.integers((5,), 0, 1).cumsum()], dict(n=6)))
def argmax_bags(F, input, bags: Other, *, n):
    """(n, D): the first row of each bag with the largest element of each column, the last row of all if it is empty.

    As in PyTorch, NaN is the largest where it comes first in a bag, and is passed over where it comes later.
    """
    xp, (rows, width) = F.xp, input.shape
    unknown = xp.isnan(input)
    known = xp.where(unknown, -xp.inf, input)
    largest = xp.full((n, width), -xp.inf, input.dtype)
    xp.maximum.at(largest, bags, known)
    first = xp.full((n, width), rows - 1.0)                # CuPy has no `minimum.at` of int64
    begins = xp.concatenate([xp.ones(1, bool), bags[1:] != bags[:-1]])[:, None]
    found = (known == largest[bags]) & ~unknown | unknown & begins
    xp.minimum.at(first, bags, xp.where(found, xp.arange(float(rows))[:, None], rows - 1.0))
    return first.astype("int64")


@composite(namespace="nn.functional")
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums, means or maxima of the rows of each bag of indices: (B, N), or (N,) with `offsets` (B,), gives (B, D).

    `offsets` says where each bag begins; with `include_last_offset` its last element is where the last bag ends.
    `per_sample_weights`, shaped as the indices, weigh the rows of a sum. Indices equal to `padding_idx` do not
    count. An empty bag gives zeros. The other arguments are `embedding`'s.
    """
    check_bag(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)
    if grad_mode.batches:
        weight = of_one_batch(weight, (input, offsets))
    backend, xp = weight.backend, weight.backend.xp
    index = input.to(weight.device).array
    offsets = offsets if offsets is None else offsets.to(weight.device).array
    bags, n = bag_numbers(xp, index, offsets, include_last_offset)
    index = index.reshape(-1)
    if max_norm is not None:
        renormalise(weight, index, max_norm, norm_type)
    counted = n
    if padding_idx is not None and backend.depth and mode != "max":
        bags, n = xp.where(index == padding_idx % len(weight.array), n, bags), n + 1
    elif padding_idx is not None:
        padding_idx %= len(weight.array)
        kept = xp.flatnonzero(index != padding_idx)
        index, bags = index[kept], bags[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)[wrap(kept, backend)]
    rows = (guests.sparse_embedding if sparse else _embedding)(wrap(index, backend), weight, -1, scale_grad_by_freq)
    if mode == "max":
        return max_bags(rows, bags, n)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    out = segment_sum(rows, wrap(bags, backend), n)
    if mode == "mean":
        sizes = xp.maximum(xp.bincount(bags, minlength=n), 1).astype(weight.array.dtype)
        out = out / wrap(sizes[:, None], backend)
    return out if n == counted else out[:counted]          # without the bag of the padding


def check_bag(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse):
    if per_sample_weights is not None and input.array.shape != per_sample_weights.array.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(f"if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                         f"length sequences. However, found offsets of type {type(offsets)}")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets if offsets is None else offsets.shape}")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if mode != "sum" and per_sample_weights is not None:
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}')")


def bag_numbers(xp, index, offsets, include_last_offset):
    """The bag that each index is in, and the number of bags."""
    if index.ndim == 2:
        return xp.repeat(xp.arange(len(index)), index.shape[1]), len(index)
    starts = offsets[:-1] if include_last_offset else offsets
    if include_last_offset and not offsets.size:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {int(starts[0])}")
    if starts.size and starts[-1] > len(index):
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {len(index)} but got offsets[-1] of "
                           f"{int(starts[-1])}")
    return xp.searchsorted(starts, xp.arange(len(index)), side="right") - 1, len(starts)


def max_bags(rows, bags, n):
    """The largest element of each column in each bag, zeros for an empty bag; the gradient goes to the first one."""
    backend, xp = rows.backend, rows.backend.xp
    if not rows.array.size:
        return zeros(n, rows.array.shape[1], dtype=rows.dtype, device=rows.device)
    first = argmax_bags(rows.detach(), wrap(bags, backend), n)
    chosen = rows[first, wrap(xp.arange(rows.array.shape[1]), backend)]
    return where(wrap(xp.bincount(bags, minlength=n)[:, None] > 0, backend), chosen, 0.0)
