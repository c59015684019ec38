"""Op definitions: searches and sets (position in sorted elements, membership, distinct elements).

Sorting is in `sort.py`, counting in `reductions/histogram.py`.
"""

import numbers

from ...core.dtypes import promote_types
from ...core.op import Number, Other
from ...core.tensor import Tensor
from ..define import composite, op
from ..elementwise.special import no_derivative
from ..shapes.view import dim_of


# ---- positions in an order ---------------------------------------------------------------------------------
@op(dims="* [s], * v, * [s] -> * v",
    name="searchsorted", namespace=None, promotion=None, sample=lambda d: (
    [d.array((2, 5)).cumsum(1), d.array((2, 3))], dict(right=d.bool(), out_int32=False)))
def _searchsorted(F, sorted_sequence: Other, input: Number, sorter: Other = None, *, right=False, out_int32=False):
    """How many elements of the innermost dimension of `sorted_sequence` are less than each of `input`.

    With `right` less or equal. By bisection, of all rows at once; one row by the array module's own search.
    """
    xp, n = F.xp, sorted_sequence.shape[-1]
    if sorter is not None:
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    kind = "int32" if out_int32 else "int64"
    if sorted_sequence.ndim == 1:
        return xp.asarray(xp.searchsorted(sorted_sequence, input, "right" if right else "left")).astype(kind)
    low, high = xp.zeros(input.shape, "int64"), xp.full(input.shape, n, "int64")
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        found = xp.take_along_axis(sorted_sequence, xp.minimum(middle, n - 1), -1)
        up = ~(found > input if right else found >= input) & (low < high)
        low, high = xp.where(up, middle + 1, low), xp.where(up, high, middle)
    return low.astype(kind)


@composite(method=False, out=True)
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The positions of the elements of `input` in the sorted innermost dimension of `sorted_sequence`, (*, N), (*, M).

    Before elements equal to it, or with ``side="right"`` (or `right`) after them. A one-dimensional sequence serves an
    `input` of any shape. `sorter` holds the indices that sort a sequence which is not sorted.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                           "right was True")
    shape = sorted_sequence.array.shape
    if not shape:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension")
    if isinstance(input, Tensor):
        if input.array.dtype != sorted_sequence.array.dtype:   # compared in the type that holds both
            found = promote_types(sorted_sequence.dtype, input.dtype)
            sorted_sequence, input = sorted_sequence.to(found), input.to(found)
        if len(shape) > 1 and shape[:-1] != input.array.shape[:-1]:
            raise RuntimeError(f"torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                               f"dimensions of boundaries tensor and input value tensor must match, but we got shapes "
                               f"{list(shape)} and {list(input.array.shape)}")
    elif not isinstance(input, numbers.Number):
        raise TypeError(f"searchsorted(): argument 'input' (position 2) must be Tensor or Number, not "
                        f"{type(input).__name__}")
    elif len(shape) > 1:
        raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is "
                           "1")
    if sorter is not None:
        check_sorter(sorter, shape)
    return _searchsorted(sorted_sequence, input, sorter, right or side == "right", out_int32)


def check_sorter(sorter, shape):
    if sorter.array.dtype != "int64":
        raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got {sorter.dtype.name}")
    if sorter.array.shape != shape:
        raise RuntimeError(f"torch.searchsorted(): boundary and sorter must have the same size, but got shapes "
                           f"{list(shape)} and {list(sorter.array.shape)}")
    if sorter.array.size and not 0 <= sorter.array.min() <= sorter.array.max() < shape[-1]:
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


@composite(method=False, out=True)
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The number of the bucket between sorted `boundaries`, (N,), for each of `input`: i if it is at most boundary i.

    With `right`, i if it is less than boundary i.
    """
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"torch.bucketize(): boundaries tensor must be 1 dimension, but got "
                           f"dim({boundaries.array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op(dims=lambda invert: f"*, t.. -> * by {'min' if invert else 'max'}",
    promotion="common", method=False, refuses="bc")
def isin(F, elements: Number, test_elements: Number, *, assume_unique=False, invert=False):
    """Which of `elements` are equal to one of `test_elements`; with `invert`, to none. One of both may be a number."""
    return F.xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


# ---- distinct elements -------------------------------------------------------------------------------------
@op(name="unique", node_name="Unique2Backward0", promotion="any", refuses="c", namespace=None,
    outputs=(True, False, False),
    by_values=True, input=no_derivative("unique"), sample=lambda d: (
    [d.integers((4, 3), 0, 2)], dict(dim=d.choice([None, 0, 1]), consecutive=d.bool(), full=True)))
def _unique(F, input, *, dim, consecutive, full):
    """The distinct slices along `dim` (elements, if None), the position of each slice among them, and their counts.

    Runs of equal slices are found by comparing neighbours, in order (`consecutive`) or sorted. Unless `full`, positions
    and counts are empty. No NaN is equal to another.
    """
    xp = F.xp
    x = input.reshape(-1) if dim is None else input
    rows = x if dim is None else flat_rows(xp.moveaxis(x, dim, 0))
    if consecutive or not rows.size:
        places = xp.arange(len(rows))
    elif dim is not None:
        places = xp.lexsort(rows.T[::-1])
    else:
        places = xp.argsort(rows, kind="stable")
    new = is_new(xp, rows[places])
    values = xp.take(x, places[new], 0 if dim is None else dim)
    if not full:
        return values, xp.zeros(0, "int64"), xp.zeros(0, "int64")
    inverse = xp.empty(len(rows), "int64")
    inverse[places] = xp.cumsum(new) - 1
    counts = xp.diff(xp.append(xp.flatnonzero(new), len(rows)))
    return values, inverse.reshape(input.shape) if dim is None else inverse, counts


def is_new(xp, rows):
    """True for each row that is not equal to the one before it."""
    new = xp.ones(len(rows), bool)
    changed = rows[1:] != rows[:-1]
    new[1:] = changed.any(1) if rows.ndim > 1 else changed
    return new


def flat_rows(x):
    """`x` as a matrix with its first dimension, also where it has no elements."""
    return x.reshape(len(x), x.size // len(x) if len(x) else 0)


def distinct_parts(input, dim, consecutive, return_inverse, return_counts):
    """The result of `unique` and `unique_consecutive`: the values alone, or a tuple of all that is asked for."""
    if dim is not None:
        shape = input.array.shape
        dim = dim_of(input, dim)
        if 0 in shape and (shape[dim] or shape.count(0) > 1):
            raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: "
                               f"shape {list(shape)}, dim {dim}")
        dim = dim if shape else None
    values, inverse, counts = _unique(input, dim, consecutive, return_inverse or return_counts)
    if not return_inverse and not return_counts:
        return values
    return (values,) + (inverse,) * return_inverse + (counts,) * return_counts


@composite
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along `dim`, in order, also without `sorted`.

    With `return_inverse` also where among them each one of `input` is found, with `return_counts` also how often each
    occurs.
    """
    return distinct_parts(input, dim, False, return_inverse, return_counts)


@composite
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along `dim`, without those equal to the one just before them; see `unique`."""
    return distinct_parts(input, dim, True, return_inverse, return_counts)
