"""Pooling on the CPU.

Maxima and sums over a box are taken one dimension after the other, by whole-array operations on shifted views: far
fewer of them, and far faster, than reducing windows one by one.
"""

import functools
from math import prod

import numpy as np

from ...core.arrays import is_floating
from ...ops.nn.pool import Adaptive, Pooling, WindowSizes, lowest, place_of_maximum
from ...ops.nn.windows import pad_sides
from .backend import kernel
from .blocks import evenly
from .reduce import has_nan
from .sums import row_sums


# ---- windows, one dimension after the other ----------------------------------------------------------------
def slices(pooling, i):
    """Along dimension `i`: the slice that each place of the window takes."""
    k, s, _, d, o = [values[i] for values in pooling]
    return [slice(j, j + s * (o - 1) + 1, s) for j in range(0, k * d, d)]


def in_pairs(pooling, size):
    """True if the windows are two positions in each dimension, none apart, and cover all of `size`."""
    return (set(pooling.kernel) == set(pooling.stride) == {2} and not any(pooling.padding)
            and set(pooling.dilation) == {1} and all(n == 2 * o for n, o in zip(size, pooling.out)))


def along(pooling, i, part):
    """An index that takes the slice `part` of dimension `i`."""
    return (Ellipsis, part, *(slice(None),) * (len(pooling.out) - i - 1))


def empty(pooling, xp, i, shape, dtype):
    """An array of `shape` to expand values over along dimension `i`, and whether no position gets two of them."""
    k, s, _, d, o = [values[i] for values in pooling]
    apart = k <= s and d == 1
    full = apart and s == k and shape[i - len(pooling.out)] == k * o
    return (xp.empty if full else xp.zeros)(shape, dtype), apart


def window_reduce(F, function, x, pooling, fill):
    """Reduce the windows of `x` by the binary ufunc `function`, with `fill` in the padding."""
    n, given = len(pooling.out), x
    x = pad_sides(F.xp, x, pooling.sides(x.shape[x.ndim - n:]), fill)
    fresh = x is not given
    if all(o == 1 for o in pooling.out) and max(pooling.dilation) == 1:
        return reduce_all(F.xp, function, x, n)
    for i in range(n):
        parts = [x[along(pooling, i, part)] for part in slices(pooling, i)]
        if len(parts) == 1:
            x = parts[0]
        else:
            x, fresh = function(parts[0], parts[1]), True
        for part in parts[2:]:
            function(x, part, out=x)
    return x if fresh else x.copy()


def reduce_all(xp, function, x, n):
    """Reduce the last n dimensions to size 1; sums as a product with ones, which takes a third of the time."""
    if function is xp.add and is_floating(x.dtype):
        row = x.reshape(-1, prod(x.shape[x.ndim - n:]))
        return row_sums(xp, row).reshape(*x.shape[:x.ndim - n], *(1,) * n)
    return function.reduce(x, tuple(range(x.ndim - n, x.ndim)), keepdims=True)


BLOCK = 1 << 16                # elements that are worked on at a time, where several passes are made


# ---- maxima ------------------------------------------------------------------------------------------------
@kernel("max_pool")
def max_pool(F, input, *, pooling):
    return window_reduce(F, F.xp.maximum, input, pooling, lowest(F.xp, input.dtype))


@kernel("max_pool_backward")
def max_pool_backward(F, grad, input, *, pooling):
    xp, n, shape = F.xp, len(pooling.out), input.shape
    size = shape[input.ndim - n:]
    out = xp.empty((prod(shape[:-n]), *size), grad.dtype)
    grad, input = [x.reshape(len(out), *x.shape[x.ndim - n:]) for x in (grad, input)]
    pairs = in_pairs(pooling, size)
    for part in evenly(len(out), max(1, BLOCK // prod(size))):
        if has_nan(xp, input[part]):                       # the last NaN of a window, not the first maximum
            out[part] = F.reference.max_pool_backward(grad[part], input[part], pooling=pooling)
        elif pairs:
            max_backward_pairs(xp, out[part], grad[part], input[part])
        else:
            out[part] = max_backward_block(xp, grad[part], input[part], pooling)
    return out.reshape(shape)


def halves(xp, x, run):
    """The even and the odd positions of a dimension whose positions are `run` elements, each contiguous."""
    pairs = x.reshape(-1, 2, run)
    if run == 1:
        return [xp.ascontiguousarray(pairs[:, i, 0]) for i in (0, 1)]
    return [xp.take(pairs, i, 1).reshape(-1) for i in (0, 1)]                   # views of short runs are slow


def max_backward_pairs(xp, out, grad, x):
    """`max_pool_backward` for windows of two positions in each dimension, into `out` (planes, *size).

    The last dimension is halved first: of equal elements the first in the order of memory takes the gradient.
    """
    stages, run = [], 1
    for size in reversed(x.shape[1:]):
        first, second = halves(xp, x, run)
        stages.append((run, second > first))
        x, run = xp.maximum(first, second), run * (size // 2)
    bits = f"i{grad.itemsize}"
    grad = xp.ascontiguousarray(grad).reshape(-1).view(bits)                    # as bits, so that infinity times 0 is 0
    while stages:
        run, later = stages.pop()
        wide = xp.empty(2 * grad.size, bits) if stages else out.view(bits).reshape(-1)
        pairs = wide.reshape(-1, 2, run)
        second = grad * later
        pairs[:, 1] = second.reshape(-1, run)
        pairs[:, 0] = xp.bitwise_xor(grad, second).reshape(-1, run)
        grad = wide


def max_backward_block(xp, grad, x, pooling):
    """`max_pool_backward` for (planes, *size): the maximum is looked for one dimension after the other."""
    n, floats, bits = len(pooling.out), grad.dtype, f"i{grad.itemsize}"
    sides = pooling.sides(x.shape[1:])
    padded = pad_sides(xp, x, sides, xp.nan)               # NaN equals nothing, and fmax passes it over
    stages = [padded]
    for i in range(n - 1, -1, -1):
        parts = [stages[-1][along(pooling, i, part)] for part in slices(pooling, i)]
        best = parts[0]
        for k, part in enumerate(parts[1:]):
            best = (xp.maximum if padded is x else xp.fmax)(best, part, out=best if k else None)
        stages.append(best)
    result = stages.pop()
    grad = xp.ascontiguousarray(grad)
    for i in range(n):                                     # stages[-1] has dimension i and those before it in full
        x = stages.pop()
        wide, apart = empty(pooling, xp, i, x.shape, floats)
        *before, last = [along(pooling, i, part) for part in slices(pooling, i)]
        rest, into = grad.view(bits), wide.view(bits)      # not yet placed; as bits, so that infinity times 0 is 0
        for index in before:                               # the first maximum takes all
            here = xp.multiply(rest, x[index] == result, out=into[index] if apart else None)
            rest = xp.bitwise_xor(rest, here, out=into[last] if apart else None)
            if not apart:
                wide[index] += here.view(floats)
        if not apart:
            wide[last] += rest.view(floats)
        elif not before:
            wide[last] = grad
        grad, result = wide, x
    return pad_sides(xp, grad, [(-b, -a) for b, a in sides])


@functools.lru_cache(maxsize=64)
def tables_of(windows, size):
    """The positions that each window covers, for each dimension; to be read only."""
    return windows.tables(np, size)


@kernel("max_pool_indices")
def max_pool_indices(F, input, *, windows):
    tables = windows
    if isinstance(windows, (Pooling, Adaptive)):
        tables = tables_of(windows, tuple(input.shape[input.ndim - len(windows.out):]))
    xp, n = F.xp, len(tables)
    lead, size = input.shape[:input.ndim - n], input.shape[input.ndim - n:]
    windows, places = input, xp.zeros((1,) * (input.ndim + n), "int64")
    for i, table in enumerate(tables):
        out, longest = table.shape[-2:]
        axis = len(lead) + 2 * i                           # so far: (*lead, out, longest, ..., size, ...)
        after = (1,) * (n - i - 1)
        if table.ndim == 2:
            windows = xp.take(windows, table, axis)
        else:
            index = table.reshape(*lead, *(1,) * (2 * i), out * longest, *after)
            windows = xp.take_along_axis(windows, index, axis)
            windows = windows.reshape(*windows.shape[:axis], out, longest, *windows.shape[axis + 1:])
        table = table.reshape(*(lead if table.ndim > 2 else (1,) * len(lead)), *(1,) * (2 * i), out, longest,
                              *(1,) * (2 * (n - i - 1)))
        places = places * size[i] + table
    order = (*range(len(lead)), *range(len(lead), windows.ndim, 2), *range(len(lead) + 1, windows.ndim, 2))
    outs = tuple([table.shape[-2] for table in tables])
    shape = (*lead, *outs, prod([table.shape[-1] for table in tables]))
    places = xp.broadcast_to(places, windows.shape).transpose(order).reshape(shape)
    return place_of_maximum(xp, windows.transpose(order).reshape(shape), places)


# ---- means -------------------------------------------------------------------------------------------------
@kernel("avg_pool")
def avg_pool(F, input, *, pooling, divisor):
    return divide(window_reduce(F, F.xp.add, input, pooling, 0), divisor)


@kernel("avg_pool_backward")
def avg_pool_backward(F, grad, *, pooling, divisor, size):
    xp, n = F.xp, len(pooling.out)
    x = divide(grad.copy(), divisor)
    sides = pooling.sides(size[-n:])
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        wide, apart = empty(pooling, xp, i, (*x.shape[:axis], size[axis] + sum(sides[i]), *x.shape[axis + 1:]), x.dtype)
        for part in slices(pooling, i):
            view = wide[along(pooling, i, part)]
            if apart:
                view[...] = x
            else:
                view += x
        x = wide
    return pad_sides(xp, x, [(-b, -a) for b, a in sides])


@functools.lru_cache(maxsize=64)
def counts(sizes):
    """The array of `WindowSizes`, to be read only."""
    return sizes.array(np)


def divide(x, divisor):
    """``x / divisor`` into `x`; integers are rounded towards zero."""
    divisor = counts(divisor) if isinstance(divisor, WindowSizes) else divisor
    if x.dtype.kind in "iu":
        return (x / divisor).astype(x.dtype)
    x /= divisor
    return x
