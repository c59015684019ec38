"""Interpolation along the last dimensions, one after the other, and its transpose: `src/resize.cu`."""

import functools

import numpy as np

from ..arrays.dtypes import compute_dtype, is_float
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense, split_at

RESAMPLE = Kernel("resize.cu", "resample", "U* out, const T* input, const i32* starts, const i32* places, "
                  "const V* weights, u32 total, u32 length, u32 size, u32 after")


@functools.lru_cache(maxsize=64)
def table(F, taps, transposed, dtype):
    """Starts, positions and weights of a map, or of its transpose, on the device, and how many outputs it has."""
    place, weight = taps.table(np, dtype)
    output = np.repeat(np.arange(taps.out, dtype=np.int32), place.shape[1])
    place, weight = place.astype(np.int32).reshape(-1), weight.reshape(-1)
    kept = weight != 0
    to, of, weight = (place if transposed else output)[kept], (output if transposed else place)[kept], weight[kept]
    length = taps.size if transposed else taps.out
    order = np.argsort(to, kind="stable")
    starts = np.searchsorted(to[order], np.arange(length + 1)).astype(np.int32)
    return [F.from_host(x) for x in (starts, of[order], weight[order].astype(dtype))], length


def map_dims(F, x, taps, transposed):
    """Each map, or its transpose, applied to its dimension; intermediate results in the kernels' compute dtype."""
    dtype, sums, first = x.dtype, compute_dtype(x.dtype), x.ndim - len(taps)
    todo = [(first + d, tap) for d, tap in enumerate(taps) if tap is not None]
    for k, (d, tap) in enumerate(todo):
        arrays, length = F.machine.lasting(table, F, tap, transposed, sums)
        _, size, after = split_at(x.shape, d)
        shape = (*x.shape[:d], length, *x.shape[d + 1:])
        out = F.empty(shape, dtype if k == len(todo) - 1 else sums)
        RESAMPLE(F.machine, -(-out.size // 256), 256, out, dense(F, x), *arrays, out.size, length, size, after)
        x = out
    return x if todo else x.copy()


def countable(F, x, *, taps):
    """Predicate: floats with elements, in 32 bits before and after."""
    sizes = [(tap.size, tap.out) for tap in taps if tap is not None]
    largest = max([x.size, *[x.size * max(s) // max(min(s), 1) for s in sizes]])
    return is_float(x.dtype) and x.size > 0 and largest < 2**31 and not any(0 in s for s in sizes)


@kernel("interpolate", when=countable, halves=True)
def interpolate(F, input, *, taps):
    return map_dims(F, input, taps, False)


@kernel("interpolate_backward", when=countable, halves=True)
def interpolate_backward(F, grad, *, taps):
    return map_dims(F, grad, taps, True)
