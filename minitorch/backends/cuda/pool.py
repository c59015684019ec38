"""Pooling over windows of the last 1, 2 or 3 dimensions, forward and backward: `kernels/pool.cu`.

The backward passes gather: they are deterministic.
"""

import functools
from math import prod

import numpy as np

from ...core.backend import takes_halves
from ...core.registry import OPS
from ...ops.nn.pool import Pooling, WindowSizes, rows
from .kernel import C_NAMES, Kernel
from .rows import decline, dense, is_float, wide
from .scatter import gather_add, gather_along

__all__ = ["KERNELS"]

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


def layout(shape, pooling):
    """(planes, struct) for an input of `shape`; None where there are too many dimensions or elements in a plane."""
    n = len(pooling.out)
    size = tuple(shape[len(shape) - n:])
    if n > 3 or prod(size) > MOST or prod(pooling.out) > MOST or 0 in shape:
        return None
    return prod(shape[:len(shape) - n]), record_of(size, pooling)


def blocks(n):
    return -(-n // BLOCK)


# ---- maxima ------------------------------------------------------------------------------------------------
def max_pool(F, input, *, pooling):
    found = layout(input.shape, pooling) if input.dtype.name in C_NAMES else None
    if found is None:
        return decline(F, "max_pool", input, pooling=pooling)
    planes, record = found
    out = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    MAX(F.machine, blocks(out.size), BLOCK, out, None, dense(F, input), planes, record)
    return out


def places(F, input, pooling, planes, record):
    """Where the first maximum of each window stands in its plane."""
    indices = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), np.dtype("int64"))
    MAX(F.machine, blocks(indices.size), BLOCK, None, indices, dense(F, input), planes, record)
    return indices


def max_pool_indices(F, input, *, windows):
    found = layout(input.shape, windows) if isinstance(windows, Pooling) and input.dtype.name in C_NAMES else None
    if found is None:
        return OPS["max_pool_indices"].forward(F, input, windows=windows)
    return places(F, input, windows, *found)


def max_pool_backward(F, grad, input, result, *, pooling):
    found = layout(input.shape, pooling) if is_float(input.dtype) and grad.dtype == input.dtype else None
    if found is None:
        return decline(F, "max_pool_backward", grad, input, result, pooling=pooling)
    indices, out = places(F, input, pooling, *found), F.empty(input.shape, grad.dtype)
    MAX_BACK(F.machine, blocks(out.size), BLOCK, out, dense(F, grad), indices, *found)
    return out


def gather_last(F, input, indices, *, dims):
    return gather_along(F, rows(input, dims), rows(indices, dims), dim=-1).reshape(indices.shape)


def scatter_last(F, grad, indices, *, size):
    lead = indices.shape[:indices.ndim - len(size)]
    grad, indices = rows(grad, len(size)), rows(indices, len(size))
    return gather_add(F, grad, indices, shape=(*lead, prod(size)), dim=len(lead)).reshape(*lead, *size)


# ---- means -------------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def inverse(F, divisor, dtype):
    """One over the divisors of all windows as an array (or None), and as a number, for arrays of `dtype`."""
    if not isinstance(divisor, WindowSizes):
        return None, 1 / divisor
    return F.from_host((1 / divisor.array(np)).astype(wide(F, dtype))), 1.0


def avg_pool(F, input, *, pooling, divisor):
    found = layout(input.shape, pooling) if is_float(input.dtype) else None
    if found is None:
        return decline(F, "avg_pool", input, pooling=pooling, divisor=divisor)
    planes, record = found
    out = F.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    scales, scale = inverse(F, divisor, out.dtype)
    AVG(F.machine, blocks(out.size), BLOCK, out, dense(F, input), scales, planes, record, scale)
    return out


def avg_pool_backward(F, grad, *, pooling, divisor, size):
    found = layout(size, pooling) if is_float(grad.dtype) else None
    if found is None:
        return decline(F, "avg_pool_backward", grad, pooling=pooling, divisor=divisor, size=size)
    planes, record = found
    out = F.empty(size, grad.dtype)
    scales, scale = inverse(F, divisor, out.dtype)
    AVG_BACK(F.machine, blocks(out.size), BLOCK, out, dense(F, grad), scales, planes, record, scale)
    return out


KERNELS = {function.__name__: takes_halves(function) for function in (
    max_pool, max_pool_indices, max_pool_backward, gather_last, scatter_last, avg_pool, avg_pool_backward)}
