"""Taking elements along a dimension, and adding them back, as a few slices where possible."""

import functools

import numpy as np

from ...core.arrays import is_half
from .backend import kernel


@kernel("outer_index")
def outer_index(F, input, *, places):
    out = input
    for i, there in enumerate(places):
        if there is not None:
            out = take_along_dim(F, out, there, input.ndim - len(places) + i)
    return input.copy() if out is input else out


@kernel("outer_index_backward")
def outer_index_backward(F, grad, *, places, size):
    dtype = grad.dtype
    if is_half(dtype):                                     # many are added to one place
        grad = grad.astype("float32")
    for i, there in enumerate(places):
        if there is not None:
            axis = grad.ndim - len(places) + i
            grad = add_along(F.xp, grad, there, axis, size[axis])
    return grad.astype(dtype)


def take_along_dim(F, x, places, axis):
    """``x[..., index, ...]``, as a few slices where possible."""
    (index, pieces), lead = strips_of(places), (slice(None),) * axis
    if pieces is None:
        return F.xp.take(x, index, axis)
    out = F.xp.empty((*x.shape[:axis], len(index), *x.shape[axis + 1:]), x.dtype)
    for place, position in pieces:
        out[lead + (position,)] = x[lead + (place,)]
    return out


def add_along(xp, grad, places, axis, size):
    """The slices of `grad` added at the positions of one dimension: a few at once, or sorted by position."""
    out = xp.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1:]), grad.dtype)
    (index, pieces), lead = strips_of(places), (slice(None),) * axis
    if pieces is None:
        order = np.argsort(index, kind="stable")
        index = index[order]
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        out[lead + (index[starts],)] = xp.add.reduceat(xp.take(grad, order, axis), starts, axis)
        return out
    for place, position in pieces:
        target, part = out[lead + (place,)], grad[lead + (position,)]
        target += xp.add.reduce(part, axis, keepdims=True) if target.shape[axis] < part.shape[axis] else part
    return out


@functools.lru_cache(maxsize=256)
def strips_of(places):
    """`Places` as an array, to be read only, and as `strips`."""
    index = places.array(np)
    return index, strips(index)


def strips(index):
    """An index as pairs of slices (of the source, of the result), or None if that takes more than a few.

    Within a pair the source positions differ, or all are the same.
    """
    n = len(index)
    if n == 0:
        return []
    times = n // (int(index[-1]) + 1)
    if 1 < times <= 8 and np.array_equal(index, np.arange(n) // times):        # 0 0 1 1 2 2: everything so many times
        return [(slice(0, n // times), slice(t, None, times)) for t in range(times)]
    found, i, steps = [], 0, np.diff(index)
    while i < n:
        if len(found) == 8:
            return None
        step = int(steps[i]) if i < n - 1 else 1
        others = np.flatnonzero(steps[i:] != step)
        end = i + 1 + int(others[0]) if len(others) else n
        first, last = int(index[i]), int(index[end - 1])
        stop = last + (1 if step >= 0 else -1)
        found.append((slice(first, None if stop < 0 else stop, step or 1), slice(i, end)))
        i = end
    return found
