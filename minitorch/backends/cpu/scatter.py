"""Gather and scatter by one flat index instead of several, which NumPy reads and adds faster."""

import functools

import numpy as np

from ...core.arrays import is_half
from ...ops.indexing.scatter import axis, check_bounds, check_flat, check_shapes, check_slices, moved
from ...ops.shapes.view import row_major
from .backend import kernel
from .index import add_at

CACHED = 4096              # offsets of so many elements are remembered


# ---- an index for every element ----------------------------------------------------------------------------
def places(name, shape, index, dim):
    """The position in a contiguous array of `shape` of each element that `index` names along `dim`; all checked."""
    if not index.size:
        return np.zeros(index.shape, "int64")
    check_shapes(name, shape, index, dim)
    check_bounds(index, shape[dim] if shape else 1, dim)
    if index.ndim < 2:
        return index
    small = index.size <= CACHED
    step, rest = (offsets if small else offsets.__wrapped__)(shape, index.shape, dim)
    return (index if step == 1 else index * np.int64(step)) + rest


@functools.lru_cache(256)
def offsets(shape, within, dim):
    """How far apart neighbours along `dim` are, and the positions of the elements of an index that is all 0."""
    steps, rest = row_major(shape), 0
    for i, n in enumerate(within):
        if i != dim and n > 1:
            rest = rest + (np.arange(n) * steps[i]).reshape((n,) + (1,) * (len(within) - i - 1))
    return steps[dim], rest


@kernel("gather")
def gather(F, input, index, *, dim):
    return input.reshape(-1)[places("gather", input.shape, index, axis(input, dim))]


@kernel("gather_backward")
def gather_backward(F, input, index, *, shape, dim):
    if is_half(input.dtype):
        return F.reference.gather_backward(input, index, shape=shape, dim=dim)
    out = np.zeros(shape, input.dtype)
    at = places("gather", shape, index, dim % max(len(shape), 1))
    np.add.at(out.reshape(-1), at.reshape(-1), input.reshape(-1))
    return out


@kernel("scatter")
def scatter(F, input, index, src, *, dim):
    out = np.array(input, order="C")
    out.reshape(-1)[places("scatter", input.shape, index, axis(input, dim))] = src
    return out


@kernel("scatter_add")
def scatter_add(F, input, index, src, *, dim):
    return accumulate(np.add, input, index, src, dim)


@kernel("scatter_reduce_prod")
def scatter_reduce_prod(F, input, index, src, *, dim):
    return accumulate(np.multiply, input, index, src, dim)


@kernel("scatter_reduce_extremum")
def scatter_reduce_extremum(F, input, index, src, *, dim, name):
    return accumulate(getattr(np, name), input, index, src, dim)


def accumulate(ufunc, input, index, src, dim):
    """A copy of `input` with `src` combined, by a ufunc, with what `index` names along `dim`."""
    out = np.array(input, order="C")
    at = places("scatter", input.shape, index, axis(input, dim))
    ufunc.at(out.reshape(-1), at.reshape(-1), src.reshape(-1))
    return out


# ---- an index for every slice, or for elements in flattened order ------------------------------------------
@kernel("index_select_backward")
def index_select_backward(F, input, index, *, shape, dim):
    out = np.zeros(shape, input.dtype)
    add_at(moved(out, dim), (index.reshape(-1),), moved(input, dim))
    return out


@kernel("index_add")
def index_add(F, input, index, source, *, dim):
    check_slices("index_add", input, index, source, axis(input, dim))
    out = np.array(input, order="C")
    add_at(moved(out, dim), (index.reshape(-1),), moved(source, dim))
    return out


@kernel("put")
def put(F, input, index, source, *, accumulate):
    check_flat("put_", index, input.size)
    out = np.array(input, order="C")
    at, source = index.reshape(-1), source.reshape(-1) if hasattr(source, "reshape") else source
    if accumulate:
        add_at(out.reshape(-1), (at,), np.asarray(source, out.dtype))
    else:
        out.reshape(-1)[at] = source
    return out
