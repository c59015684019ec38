"""Positions in sorted rows: `src/search.cu`. One row is searched as NumPy does, in whose order NaN is the largest; of
several each comparison is PyTorch's, as in the reference."""

import numpy as np

from ..arrays import library
from ..arrays.dtypes import kind_of
from ..arrays.namespace import ours
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense
from .scatter import take_along_axis

__all__ = ["searchsorted"]

SEARCH = Kernel("search.cu", "search_sorted",
                "U* out, const T* sorted, const T* values, i64 columns, i64 of_row, i64 n, bool right")


def positions(F, rows, values, right, dtype):
    """The positions of `values` in the sorted last dimension of `rows`: one row for all, or one for
    each row of values."""
    out, one = F.empty(values.shape, np.dtype(dtype)), rows.ndim == 1
    SEARCH(F.machine, -(-values.size // 256), 256, out, dense(F, rows), dense(F, values), rows.shape[-1],
           values.size if one else values.shape[-1], values.size, right, NAN_LAST=one)
    return out


def searchable(F, rows, values):
    """True for arrays of real numbers of one dtype."""
    return isinstance(values, F.ndarray) and values.dtype == rows.dtype and kind_of(rows.dtype) is not None


@ours
def searchsorted(F, a, v, side="left", sorter=None):
    """The positions of the elements of `v` in the sorted vector `a`, as int64."""
    if sorter is not None or a.ndim != 1 or not searchable(F, a, v):
        return library.function(F, "searchsorted")(a, v, side, sorter)
    return positions(F, a, v, side == "right", "int64")


@kernel("searchsorted", when=lambda F, sorted_sequence, input, sorter=None, *, right=False, out_int32=False:
        searchable(F, sorted_sequence, input) and sorted_sequence.shape[:-1] in ((), input.shape[:-1]), halves=True)
def search_rows(F, sorted_sequence, input, sorter=None, *, right=False, out_int32=False):
    if sorter is not None:
        sorted_sequence = take_along_axis(F, sorted_sequence, sorter, -1)
    return positions(F, sorted_sequence, input, bool(right), "int32" if out_int32 else "int64")
