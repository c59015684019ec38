"""Rows of a table by index, and the sums of rows by index that are their gradients: `src/scatter.cu`.

The gradient of a table is deterministic: see `scatter`.
"""

from ..backend import kernel
from .rows import check_indices
from .scatter import NOBODY, add_slices_to, taken
from .supported import indexable, slices


@kernel("embedding", when=lambda F, input, weight, **attrs: weight.ndim == 2 and indexable(weight, input), halves=True)
def embedding(F, input, weight, *, padding_idx, scale_grad_by_freq):
    rows, width = weight.shape
    check_indices(F, input, rows, lambda wrong: IndexError(
        f"index out of range in self: indices go from 0 to {rows - 1}, got {wrong}"))
    return taken(F, weight, input, (1, rows, width), (*input.shape, width))


@kernel("embedding_backward", when=lambda F, grad, input, *, rows, padding_idx, scale_grad_by_freq:
        not scale_grad_by_freq and slices(grad, input, (1, rows, grad.shape[-1]), input.size), halves=True)
def embedding_backward(F, grad, input, *, rows, padding_idx, scale_grad_by_freq):
    return summed(F, input, grad, rows, padding_idx if padding_idx >= 0 else NOBODY)


@kernel("segment_sum", when=lambda F, input, bags, *, n:
        input.ndim == 2 and slices(input, bags, (1, n, input.shape[-1]), bags.size), halves=True)
def segment_sum(F, input, bags, *, n):
    return summed(F, bags, input, n, NOBODY)


def summed(F, index, values, rows, ignored):
    """The rows of `values` added up by index: (rows, width)."""
    width = values.shape[-1]
    out = F.xp.zeros((rows, width), values.dtype)
    add_slices_to(F, out, index, values, (1, rows, width), ignored)
    return out
