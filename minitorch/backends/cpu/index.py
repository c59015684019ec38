"""Reading and adding by index arrays: ``x[index]``, and sums of elements with equal indices."""

import numpy as np

from ...core.arrays import is_half
from ...host.indices import ALL, is_array
from ...ops.shapes.shape import count
from .backend import kernel


@kernel("index")
def index(F, input, *, index):
    """In the order of the indices, where NumPy's own order in memory depends on the index."""
    return np.ascontiguousarray(input[index]) if input.ndim > 1 else input[index]


@kernel("index_backward")
def index_backward(F, input, *, index, shape):
    out = np.zeros(shape, input.dtype)
    add_at(out, index, input)
    return out


@kernel("index_put_accumulate")
def index_put_accumulate(F, input, values, *, index):
    out = np.array(input)
    add_at(out, index, np.broadcast_to(values, out[index].shape))
    return out


def add_at(out, index, values):
    """``out[index] += values``, counting repeated positions, for index arrays with whole dimensions between them.

    `numpy.add.at` takes 4 times as long with several indices as with one of single elements. So many are made one:
    the index arrays are brought to the front and combined, whole dimensions counted through.
    """
    if is_half(out.dtype):                                 # rounded once, not after each addition
        wide = out.astype("float32")
        add_at(wide, index, values.astype("float32"))
        out[...] = wide
        return
    parts = [i for p in index for i in (p.nonzero() if getattr(p, "dtype", "") == "bool" and p.ndim else [p])]
    at = [d for d, p in enumerate(parts) if is_array(p)]
    if values.size < 1000 or not at or any(p != ALL for d, p in enumerate(parts) if d not in at):
        np.add.at(out, index, values)
        return
    arrays = np.broadcast_arrays(*[parts[d] for d in at])
    n = arrays[0].ndim
    first = at[0] if at == list(range(at[0], at[0] + len(at))) else 0     # where NumPy puts the dimensions of the index
    values = np.moveaxis(values, range(first, first + n), range(n))
    target, places = np.moveaxis(out, at, range(len(at))), 0
    for i, size in zip(arrays, target.shape):
        places = places * size + np.where(i < 0, i + size, i)
    sums = target if target.flags.c_contiguous else np.zeros(target.shape, out.dtype)
    width = count(target.shape[len(at):])
    if width > 1:
        places = places.reshape(-1, 1) * width + np.arange(width)
    np.add.at(sums.reshape(-1), places.reshape(-1), values.reshape(-1))
    if sums is not target:
        target += sums
