"""Sorting and selecting by NumPy's quicksort and partition, which are faster than its stable sort."""

import numpy as np

from ... import return_types
from ...ops.indexing.search import is_new
from ...ops.indexing.sort import along, check_k, check_rank, picked
from .backend import kernel


# ---- all in order ------------------------------------------------------------------------------------------
@kernel("sort")
def sort(F, input, *, dim=-1, descending=False, stable=False):
    if not input.ndim:
        return F.reference.sort(input, dim=dim)
    return return_types.sort(*order(input, dim, descending))


def order(x, dim, descending):
    """The sorted elements along `dim` and their indices in `x`; equal elements stay in order.

    NumPy's quicksort takes a third of the time of its stable sort, so the order among equal elements, usually few, is
    put right afterwards.
    """
    back = along(x.ndim, dim, slice(None, None, -1))
    turned = x[back] if descending else x
    quick = x.itemsize > 2                                 # the stable sort of small types is the faster one
    index = np.argsort(turned, dim, kind=None if quick else "stable")
    values = take(turned, index, dim)
    if quick and not settle_ties(values.swapaxes(dim, -1), index.swapaxes(dim, -1)):
        index = np.argsort(turned, dim, kind="stable")
        values = take(turned, index, dim)
    if descending:                                         # the reverse of a stable sort of the reverse
        index, values = x.shape[dim] - 1 - index[back], values[back].copy()
    return values, index


def settle_ties(rows, index):
    """Put the indices of equal elements in sorted `rows` in order, in place; False if there are too many of them."""
    left, right = rows[..., :-1], rows[..., 1:]
    same = (left == right) | ((left != left) & (right != right))
    places = np.flatnonzero(same)
    if not places.size or places.size > rows.size // 2:
        return not places.size
    starts, tied = np.ones(rows.shape, bool), np.zeros(rows.shape, bool)
    starts[..., 1:] = ~same
    tied[..., 1:] = same
    tied[..., :-1] |= same
    found = index[tied]
    right_order = np.lexsort(np.stack([found, np.cumsum(starts[tied])]))
    index[tied], rows[tied] = found[right_order], rows[tied][right_order]
    return True


def take(x, index, dim):
    """``take_along_axis``, faster where `dim` is the last dimension."""
    if x.ndim == 1:
        return x[index]
    if dim not in (-1, x.ndim - 1) or not x.size:
        return np.take_along_axis(x, index, dim)
    starts = np.arange(0, x.size, x.shape[-1]).reshape((*x.shape[:-1], 1))
    return np.take(x.reshape(-1), index + starts)


@kernel("unique", sample=lambda d: ([d.integers((40, 3), 0, 20)], dict(dim=None, consecutive=False, full=False)))
def unique(F, input, *, dim, consecutive, full):
    """Sorts the values without their positions if only these are wanted."""
    if full or consecutive or dim is not None or not input.size:
        return F.reference.unique(input, dim=dim, consecutive=consecutive, full=full)
    rows, none = np.sort(input.reshape(-1)), np.zeros(0, "int64")
    return rows[is_new(np, rows)], none, none


# ---- some of them ------------------------------------------------------------------------------------------
@kernel("topk")
def topk(F, input, *, k, dim=-1, largest=True, sorted=True):
    if not input.ndim:
        return F.reference.topk(input, k=k, dim=dim)
    check_k(input, k, dim)
    n = input.shape[dim]
    best = along(input.ndim, dim, slice(n - k, n) if largest else slice(0, k))
    index = np.argpartition(input, n - k if largest else k - 1, dim) if 0 < k < n else np.argsort(input, dim)
    index = index[best]
    values = take(input, index, dim)
    inner = np.argsort(values, dim)
    if largest:
        inner = inner[along(input.ndim, dim, slice(None, None, -1))]
    return return_types.topk(take(values, inner, dim), take(index, inner, dim))


@kernel("kthvalue")
def kthvalue(F, input, *, k, dim=-1, keepdim=False):
    if not input.ndim:
        return F.reference.kthvalue(input, k=k, dim=dim)
    check_rank(input, k, dim)
    index = at_rank(input, k - 1, dim)
    return picked(return_types.kthvalue, np, input, index, dim, keepdim)


def at_rank(x, k, dim):
    """The index of the `k`-th smallest element along `dim`, counted from 0."""
    return np.argpartition(x, k, dim)[along(x.ndim, dim, slice(k, k + 1))]


@kernel("median")
def median(F, input, *, dim, keepdim):
    if not input.ndim:
        return F.reference.median(input, dim=dim, keepdim=keepdim)
    return picked(return_types.median, np, input, middle(input, dim), dim, keepdim)


@kernel("median_all")
def median_all(F, input, *, skip_nan):
    if skip_nan or not input.size:
        return F.reference.median_all(input, skip_nan=skip_nan)
    x = input.reshape(-1)
    return x[middle(x, 0)].reshape(())


def middle(x, dim):
    """The index of the lower median along `dim`; of the first NaN, if there is one."""
    is_nan = x != x
    index = at_rank(x, (x.shape[dim] - 1) // 2, dim)
    return np.where(is_nan.any(dim, keepdims=True), np.argmax(is_nan, dim, keepdims=True), index)
