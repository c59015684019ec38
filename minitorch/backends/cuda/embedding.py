"""Rows of a table by index, and the sums of rows by index that are their gradients: `kernels/scatter.cu`.

The gradient of a table is deterministic: see `scatter`.
"""

from ...core.backend import takes_halves
from .rows import check_indices, decline
from .scatter import NOBODY, add_slices_to, covered, slices_covered, taken

__all__ = ["KERNELS"]


def take_rows(F, input, weight, *, padding_idx, scale_grad_by_freq):
    if weight.ndim != 2 or not covered(weight, input):
        return decline(F, "take_rows", input, weight, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    rows, width = weight.shape
    check_indices(F, input, rows, lambda wrong: IndexError(
        f"index out of range in self: indices go from 0 to {rows - 1}, got {wrong}"))
    return taken(F, weight, input, (1, rows, width), (*input.shape, width))


def embedding_backward(F, grad, input, *, rows, padding_idx, scale_grad_by_freq):
    width = grad.shape[-1]
    if scale_grad_by_freq or not slices_covered(grad, input, (1, rows, width), input.size):
        return decline(F, "embedding_backward", grad, input, rows=rows, padding_idx=padding_idx,
                       scale_grad_by_freq=scale_grad_by_freq)
    return summed(F, input, grad, rows, padding_idx if padding_idx >= 0 else NOBODY)


def sum_bags(F, input, bags, *, n):
    if not slices_covered(input, bags, (1, n, input.shape[-1]), bags.size) or input.ndim != 2:
        return decline(F, "sum_bags", input, bags, n=n)
    return summed(F, bags, input, n, NOBODY)


def summed(F, index, values, rows, ignored):
    """The rows of `values` added up by index: (rows, width)."""
    width = values.shape[-1]
    out = F.xp.zeros((rows, width), values.dtype)
    add_slices_to(F, out, index, values, (1, rows, width), ignored)
    return out


KERNELS = {function.__name__: takes_halves(function) for function in (take_rows, embedding_backward, sum_bags)}
