"""Prefixes of a sequence under an associative function: ``torch._higher_order_ops.associative_scan``."""

from .. import cat, stack
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """``y[0] = x[0]``, ``y[i] = combine_fn(y[i - 1], x[i])`` along `dim`, in a logarithmic number of calls.

    Neighbours are combined, their prefixes found by the same rule, and the others follow from these: Blelloch,
    "Prefix sums and their applications", 1990. `combine_fn` must be associative, and work on many elements at once.

    Args:
        combine_fn: a function of two structures like `xs`, which returns a third.
        xs: a tensor, or tensors in lists, tuples and dicts, of the same size along `dim`.
        reverse: begin at the end.
        combine_mode: accepted; both of PyTorch's modes compute the same.
    """
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if len({x.shape[dim] for x in leaves}) > 1:
        raise ValueError(f"All xs leaves must have the same size along dim {dim}, got "
                         f"{[tuple(x.shape) for x in leaves]}")

    def combine(a, b):
        return tree_flatten(combine_fn(tree_unflatten(a, spec), tree_unflatten(b, spec)))[0]

    rows = [(x.flip(dim) if reverse else x).movedim(dim, 0) for x in leaves]
    found = [x.movedim(0, dim) for x in prefixes(combine, rows)]
    return tree_unflatten([x.flip(dim) if reverse else x for x in found], spec)


def prefixes(combine, rows):
    """The prefixes of `rows` along dimension 0."""
    count = rows[0].shape[0]
    if count < 2:
        return rows
    odd = prefixes(combine, combine([x[:-1:2] for x in rows], [x[1::2] for x in rows]))
    even = combine([x[:(count - 1) // 2] for x in odd], [x[2::2] for x in rows])
    even = [cat([x[:1], y]) for x, y in zip(rows, even)]
    pairs = [stack([x[:len(y)], y], 1).flatten(0, 1) for x, y in zip(even, odd)]
    return [cat([p, x[len(y):]]) for p, x, y in zip(pairs, even, odd)]
