"""Sums and the like, with the array API standard's axes: None for all, an int, several, or none, the empty tuple."""

import minitorch as torch

from .manipulation import axes_of

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max",
           "mean", "min", "prod", "std", "sum", "var"]


def over(function, x, axis, keepdims):
    """``function(x, axes)`` with or without axes of size 1 in the place of those that it takes away.

    No axis at all means an axis of one element, which PyTorch's functions, that read ``()`` as all, cannot say.
    """
    axes = axes_of(axis, x.ndim)
    found = function(x, axes) if axes else function(x.unsqueeze(-1), (-1,))
    return found.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else found


def joined(x, axes):
    """`x` with these axes as one, the last."""
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.movedim(tuple(axes), tuple(range(len(kept), x.ndim))).flatten(len(kept)) if len(axes) > 1 else \
        x.movedim(axes[0], -1)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of elements; of integers, in 64 bits unless `dtype` says otherwise."""
    return over(lambda x, axes: torch.sum(x, axes, dtype=dtype), x, axis, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of elements; of integers, in 64 bits unless `dtype` says otherwise."""
    return over(lambda x, axes: torch.prod(joined(x, axes), -1, dtype=dtype), x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of elements."""
    return over(torch.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The mean squared distance from the mean, divided by n - correction."""
    return over(lambda x, axes: torch.var(x, axes, correction=correction), x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of `var`."""
    return over(lambda x, axes: torch.std(x, axes, correction=correction), x, axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest elements."""
    return over(torch.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest elements."""
    return over(torch.amin, x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """True if all elements are true; bool for every dtype."""
    return over(torch.all, x.to(torch.bool), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """True if an element is true; bool for every dtype."""
    return over(torch.any, x.to(torch.bool), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero."""
    return over(torch.count_nonzero, x, axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The index of the first largest element along an axis; with None, in all elements in one row."""
    return over(lambda x, axes: torch.argmax(joined(x, axes), -1), x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The index of the first smallest element along an axis; with None, in all elements in one row."""
    return over(lambda x, axes: torch.argmin(joined(x, axes), -1), x, axis, keepdims)


def running(function, x, axis, dtype, initial):
    """Sums or products of the first elements along an axis, which only a vector can leave out."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be specified when ndim > 1: this tensor has {x.ndim}")
        axis = 0
    found = function(x, axis, dtype=dtype)
    if initial is None:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, initial, dtype=found.dtype, device=found.device), found], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the first elements; with `include_initial`, that of none, 0, before them."""
    return running(torch.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the first elements; with `include_initial`, that of none, 1, before them."""
    return running(torch.cumprod, x, axis, dtype, 1 if include_initial else None)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis, `n` times."""
    return torch.diff(x, n, axis, prepend, append)
