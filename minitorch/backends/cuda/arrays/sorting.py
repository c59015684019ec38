"""NumPy's `sort` and `argsort` by our kernels (`ops/sort.py`), stable whatever `kind` says; of complex numbers by the
library."""

from math import prod

from ..ops.rows import dense
from ..ops.sort import MOST_SELECTED, selected_rows, sorted_rows
from ..ops.supported import MOST_KEYS
from . import library
from .dtypes import kind_of
from .namespace import ours

__all__ = ["first_along", "is_sortable", "sorted_along", "sorted_like"]


def is_sortable(array):
    """True for real numbers and bools with a dimension, whose positions 32 bits can count."""
    return array.ndim > 0 and array.size <= MOST_KEYS and kind_of(array.dtype) is not None


def sorted_along(F, array, axis, descending=False):
    """The elements in order along an axis, and where along it they were (int64); axes lie in memory as is quickest."""
    moved, rows = rows_along(F, array, axis)
    return [x.reshape(moved).swapaxes(axis, -1) for x in sorted_rows(F, rows, descending)]


def rows_along(F, array, axis):
    """The shape of an array whose last axis is `axis`, and its rows."""
    moved = dense(F, array.swapaxes(axis, -1))
    return moved.shape, moved.reshape(prod(moved.shape[:-1]), moved.shape[-1])


def first_along(F, array, axis, k, descending=False):
    """The first `k` along an axis of what `sorted_along` gives, contiguous."""
    if not (array.size and 0 < k <= MOST_SELECTED):
        part = (slice(None),) * (axis % array.ndim) + (slice(0, k),)
        return [x[part].copy() for x in sorted_along(F, array, axis, descending)]
    moved, rows = rows_along(F, array, axis)
    found = selected_rows(F, rows, (*moved[:-1], k), descending)
    return found if axis % array.ndim == array.ndim - 1 else [x.swapaxes(axis, -1).copy() for x in found]


def sorted_like(F, array, axis, descending=False):
    """`sorted_along`, with the axes in the order in which those of `array` lie in memory, as in PyTorch."""
    found = sorted_along(F, array, axis, descending)
    for i, x in enumerate(found):
        out = F.xp.empty_like(array, x.dtype)
        if out.strides != x.strides:
            F.xp.copyto(out, x)
            found[i] = out
    return found


def either(name, which):
    """`sort` (which is 0) or `argsort` (1)."""
    def call(F, a, axis=-1, kind=None, order=None, *, stable=None):
        if axis is None:
            a, axis = a.reshape(-1), 0
        if order is not None or not is_sortable(a):
            return library.function(F, name)(a, axis)
        return sorted_like(F, a, axis)[which]
    ours(call, name=name, planned=True)


either("sort", 0)
either("argsort", 1)
