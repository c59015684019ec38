"""Rows of a table by index, and the sums of rows by index that are their gradients: `src/scatter.cu`.

The gradient of a table is deterministic: see `scatter`. That of a small one for few indices takes one launch.
"""

from ..arrays.dtypes import is_float
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import check_indices, dense
from .scatter import NOBODY, add_slices_to, taken
from .supported import indexable, slices

FEW_ROWS = Kernel("few_rows.cu", "sum_into_few_rows",
                  "T* out, const T* values, const U* index, i64 n, i64 columns, i64 ignored")
FEW = 1 << 17              # pairs of a row and an index, which it compares one by one; so at most this many rows


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
    if rows * index.size <= FEW and is_float(values.dtype):
        out = F.empty((rows, width), values.dtype)
        FEW_ROWS(F.machine, (-(-width // 128), rows), 128, out, dense(F, values), dense(F, index), index.size, width,
                 ignored)
        return out
    out = F.xp.zeros((rows, width), values.dtype)
    add_slices_to(F, out, index, values, (1, rows, width), ignored)
    return out
