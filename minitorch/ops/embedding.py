"""The op table, embeddings: rows of a table looked up by index, singly or in bags."""

from ..autograd.graph import written
from ..op import Other, composite, op


@op(promotion=None, namespace=None, node_name="EmbeddingBackward0",
    weight=lambda F, g, input, weight_shape, padding_idx, scale_grad_by_freq: F.embedding_backward(
        g, input, rows=weight_shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.integers((2, 3), 0, 3), d.array((4, 2))],
                      dict(padding_idx=-1, scale_grad_by_freq=False)))   # with others it is no derivative
def take_rows(F, input: Other, weight, *, padding_idx, scale_grad_by_freq):
    """``weight[input]``: indices (*) and a table (V, D) give (*, D)."""
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"Expected tensor for argument #1 'indices' to have one of the scalar types Long, "
                           f"Int; but got {input.dtype} instead")
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    if input.size and input.min() < 0:
        raise IndexError(f"index out of range in self: indices go from 0 to {len(weight) - 1}, got {int(input.min())}")
    try:
        return F.xp.take(weight, input, axis=0)
    except IndexError:
        raise IndexError(f"index out of range in self: indices go from 0 to {len(weight) - 1}, got "
                         f"{int(input.max())}") from None


@op(promotion="any", namespace=None,
    grad=lambda F, g, input, padding_idx, scale_grad_by_freq: F.embedding_gather(
        g, input, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.array((2, 3, 2)), d.integers((2, 3), 0, 3)],
                      dict(rows=4, padding_idx=d.choice([-1, 1]), scale_grad_by_freq=d.bool())))
def embedding_backward(F, grad, input: Other, *, rows, padding_idx, scale_grad_by_freq):
    """The gradient of the table: each row of `grad` added to the row that it came from."""
    grad = grad.reshape(-1, grad.shape[-1])
    index = input.reshape(-1)
    out = F.xp.zeros((rows, grad.shape[-1]), grad.dtype)
    if scale_grad_by_freq:
        grad = grad / F.xp.bincount(index, minlength=rows)[index].astype(grad.dtype)[:, None]
    add_rows(F.xp, out, index, grad)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


@op(promotion="any", namespace=None,
    weight=lambda F, g, input, weight_shape, padding_idx, scale_grad_by_freq: F.embedding_backward(
        g, input, rows=weight_shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq),
    sample=lambda d: ([d.array((4, 2)), d.integers((2, 3), 0, 3)],
                      dict(padding_idx=d.choice([-1, 1]), scale_grad_by_freq=d.bool())))
def embedding_gather(F, weight, input: Other, *, padding_idx, scale_grad_by_freq):
    """The transpose of `embedding_backward`: rows of `weight`, 0 for the padding, divided by their frequency."""
    out = F.xp.take(weight, input, axis=0)
    if scale_grad_by_freq:
        out /= F.xp.bincount(input.reshape(-1), minlength=len(weight))[input].astype(out.dtype)[..., None]
    if padding_idx >= 0:
        out[input == padding_idx] = 0
    return out


def add_rows(xp, out, index, rows):
    """``out[index] += rows``, counting repeated indices: runs of equal indices are summed, then added once."""
    if len(index) < 32:
        xp.add.at(out, index, rows)
        return
    order = xp.argsort(index, kind="stable")
    index = index[order]
    starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), index[1:] != index[:-1]]))
    out[index[starts]] += xp.add.reduceat(rows[order], starts, axis=0)


def renormalise(weight, index, max_norm, norm_type):
    """Scale down, in place, the rows of the table that are looked up and whose norm exceeds `max_norm`."""
    xp, table = weight.backend.xp, weight.array
    used = xp.unique(index)
    norms = xp.linalg.norm(table[used], norm_type, 1)
    long = norms > max_norm
    if long.any():
        table[used[long]] *= (max_norm / (norms[long] + 1e-7)).astype(table.dtype)[:, None]
        written(weight, "embedding(max_norm=...)")


@composite(namespace="nn.functional")
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows ``weight[input]``: indices (*) into a table (V, D) give (*, D).

    The row `padding_idx` gets no gradient. Rows whose `norm_type` norm exceeds `max_norm` are scaled down in place
    first. `scale_grad_by_freq` divides a row's gradient by how often it occurs in `input`. `sparse` is accepted and
    has no effect: gradients are dense. IndexError for an index outside the table.
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
    return take_rows(input, weight, padding_idx, scale_grad_by_freq)
