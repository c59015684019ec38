"""Pooling over windows of the last 1, 2 or 3 dimensions, forward and backward: `src/pool.cu`.

The backward passes gather: they are deterministic.
"""

import functools
from math import prod

import numpy as np

from ....ops.nn.pool import Pooling, WindowSizes, rows
from ..arrays.dtypes import compute_dtype, is_float, kind_of
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense

MAX = Kernel("pool.cu", "max_pool", "T* out?, i64* indices?, const T* input, i64 planes, Windows windows")
MAX_BACK = Kernel("pool.cu", "max_pool_backward",
                  "T* result, const T* grad, const i64* indices, i64 planes, Windows windows")
AVG = Kernel("pool.cu", "avg_pool",
             "T* out, const T* input, const V* scales?, i64 planes, Windows windows, f64 scale")
AVG_BACK = Kernel("pool.cu", "avg_pool_backward",
                  "T* result, const T* grad, const V* scales?, i64 planes, Windows windows, f64 scale")
FIELDS = ("size", "out", "kernel", "stride", "padding", "dilation")
WINDOWS = np.dtype([(name, "i4", 3) for name in FIELDS])
BLOCK, MOST = 256, 2**31 - 1


@functools.lru_cache(maxsize=256)
def record_of(size, pooling):
    """The struct of the kernels: three dimensions, those in front of size 1."""
    record, missing = np.zeros((), WINDOWS), 3 - len(size)
    values = dict(size=size, **pooling._asdict())
    for name in FIELDS:
        fill = 0 if name == "padding" else 1
        record[name] = (fill,) * missing + tuple(values[name])
    return record


def fits(shape, pooling):
    """Predicate: up to three dimensions are pooled, and the elements of a plane can be counted in 31 bits."""
    n = len(pooling.out)
    return n <= 3 and 0 not in shape and prod(shape[len(shape) - n:]) <= MOST and prod(pooling.out) <= MOST


def layout(shape, pooling):
    """(planes, struct) for an input of `shape`."""
    n = len(shape) - len(pooling.out)
    return prod(shape[:n]), record_of(tuple(shape[n:]), pooling)


def blocks(n):
    return -(-n // BLOCK)


# ---- maxima ------------------------------------------------------------------------------------------------
@kernel("max_pool", when=lambda F, input, *, pooling: kind_of(input.dtype) is not None and fits(input.shape, pooling),
        halves=True)
def max_pool(F, input, *, pooling):
    planes, record = layout(input.shape, pooling)
    out = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    MAX(F.machine, blocks(out.size), BLOCK, out, None, dense(F, input), planes, record)
    return out


def places(F, input, pooling, planes, record):
    """The position of the first maximum of each window in its plane."""
    indices = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), np.dtype("int64"))
    MAX(F.machine, blocks(indices.size), BLOCK, None, indices, dense(F, input), planes, record)
    return indices


@kernel("max_pool_indices", when=lambda F, input, *, windows: isinstance(windows, Pooling)
        and kind_of(input.dtype) is not None and fits(input.shape, windows), halves=True)
def max_pool_indices(F, input, *, windows):
    return places(F, input, windows, *layout(input.shape, windows))


@kernel("max_pool_backward", when=lambda F, grad, input, *, pooling:
        is_float(input.dtype) and grad.dtype == input.dtype and fits(input.shape, pooling), halves=True)
def max_pool_backward(F, grad, input, *, pooling):
    found = layout(input.shape, pooling)
    indices, out = places(F, input, pooling, *found), F.empty(input.shape, grad.dtype)
    MAX_BACK(F.machine, blocks(out.size), BLOCK, out, dense(F, grad), indices, *found)
    return out


@kernel("gather_last", halves=True)
def gather_last(F, input, indices, *, dims):
    return F.gather(rows(input, dims), rows(indices, dims), dim=-1).reshape(indices.shape)


@kernel("scatter_last", halves=True)
def scatter_last(F, grad, indices, *, size):
    lead = indices.shape[:indices.ndim - len(size)]
    grad, indices = rows(grad, len(size)), rows(indices, len(size))
    return F.gather_backward(grad, indices, shape=(*lead, prod(size)), dim=len(lead)).reshape(*lead, *size)


# ---- means -------------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def inverse(F, divisor, dtype):
    """One over the divisors of all windows as an array (or None), and as a number, for arrays of `dtype`."""
    if not isinstance(divisor, WindowSizes):
        return None, 1 / divisor
    return F.from_host((1 / divisor.array(np)).astype(compute_dtype(dtype))), 1.0


@kernel("avg_pool", when=lambda F, input, *, pooling, divisor: is_float(input.dtype) and fits(input.shape, pooling),
        halves=True)
def avg_pool(F, input, *, pooling, divisor):
    planes, record = layout(input.shape, pooling)
    out = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    scales, scale = F.machine.lasting(inverse, F, divisor, out.dtype)
    AVG(F.machine, blocks(out.size), BLOCK, out, dense(F, input), scales, planes, record, scale)
    return out


@kernel("avg_pool_backward", when=lambda F, grad, *, pooling, divisor, size:
        is_float(grad.dtype) and fits(size, pooling), halves=True)
def avg_pool_backward(F, grad, *, pooling, divisor, size):
    planes, record = layout(size, pooling)
    out = F.empty(size, grad.dtype)
    scales, scale = F.machine.lasting(inverse, F, divisor, out.dtype)
    AVG_BACK(F.machine, blocks(out.size), BLOCK, out, dense(F, grad), scales, planes, record, scale)
    return out
