"""Order, places and sets, with the array API standard's arguments and named tuples."""

from typing import NamedTuple

import minitorch as torch

from .elementwise import where
from .promotion import together

__all__ = ["argsort", "isin", "nonzero", "searchsorted", "sort", "unique_all", "unique_counts", "unique_inverse",
           "unique_values", "where"]


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """`x` in order along an axis."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Indices that put `x` in order along an axis."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def nonzero(x, /):
    """The indices of elements that are not zero, a vector for each axis; ValueError for a 0-d tensor."""
    if not x.ndim:
        raise ValueError("nonzero() does not support zero-dimensional arrays")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """The places in the ordered vector `x1` where elements of `x2` keep it in order."""
    x1, x2 = together(x1, x2)
    return torch.searchsorted(x1, x2, side=side, sorter=sorter)


def isin(x1, x2, /, *, invert=False):
    """For each element of `x1` whether `x2` has it."""
    return torch.isin(*together(x1, x2), invert=invert)


# ---- sets: NaNs differ from each other, as they do by ``==``
class Unique(NamedTuple):
    """Values, each once, in order; where each comes first; which of them each element is; how often each is there."""

    values: torch.Tensor
    indices: torch.Tensor
    inverse_indices: torch.Tensor
    counts: torch.Tensor


class UniqueCounts(NamedTuple):
    """Values, each once, in order, and how often each is there."""

    values: torch.Tensor
    counts: torch.Tensor


class UniqueInverse(NamedTuple):
    """Values, each once, in order, and which of them each element is."""

    values: torch.Tensor
    inverse_indices: torch.Tensor


def unique_all(x, /):
    """Values, each once, in order, with first places, inverse indices and counts."""
    flat = x.flatten()
    if x.is_complex():                                     # by the real part, then by the imaginary part
        order = torch.argsort(flat.imag, stable=True)
        order = order[torch.argsort(flat.real[order], stable=True)]
    else:
        order = torch.argsort(flat, stable=True)
    ordered = flat[order]
    first = torch.ones(flat.shape, dtype=torch.bool, device=x.device)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = torch.nonzero(first)[:, 0]
    inverse = torch.empty_like(order)
    inverse[order] = torch.cumsum(first, 0) - 1
    ends = torch.cat([starts[1:], torch.full((min(len(flat), 1),), len(flat), device=x.device)])
    return Unique(ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_values(x, /):
    """Values, each once, in order."""
    return unique_all(x).values


def unique_counts(x, /):
    """Values, each once, in order, with counts."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """Values, each once, in order, with inverse indices."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)
