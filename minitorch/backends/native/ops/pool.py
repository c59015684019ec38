"""Maxima and means over windows of one or two dimensions."""

import functools
from math import prod

import numpy as np

from ....ops.nn.pool import Pooling, WindowSizes
from ...cpu.pool import counts, in_pairs
from ..eager import kernel, plain, shared
from ..parts import count_parts

UNIT = 16                      # windows that C takes at a time, as in src/pool.h


def windows(d, most=2):
    """Planes, and windows that may overlap, lie apart, reach into the padding, or pair what there is."""
    n = d.choice([1, 2, 2])
    size = tuple([d.choice([6, 9, 16, 21]) for _ in range(n)])
    if d.choice([False, False, True]):
        size = tuple([s // 2 * 2 for s in size])
        two, one = (2,) * n, (1,) * n
        return d.distinct((2, 3, *size)), Pooling(two, two, (0,) * n, one, tuple([s // 2 for s in size]))
    kernel_ = tuple([d.int(1, 3) for _ in range(n)])
    stride, dilation = tuple([d.int(1, 3) for _ in range(n)]), tuple([d.int(1, most) for _ in range(n)])
    padding = tuple([d.int(0, k // 2) for k in kernel_])
    out = tuple([(s + 2 * p - e * (k - 1) - 1) // t + 1 for s, p, e, k, t in zip(size, padding, dilation, kernel_,
                                                                                  stride)])
    return d.distinct((2, 3, *size)), Pooling(kernel_, stride, padding, dilation, out)


def forward_sample(d):
    x, pooling = windows(d)
    return [x], dict(pooling=pooling)


def backward_sample(d):
    x, pooling = windows(d)
    return [d.array((2, 3, *pooling.out)), x], dict(pooling=pooling)


def mean_sample(d):
    x, pooling = windows(d, 1)
    sizes = WindowSizes(pooling, x.shape[2:], d.bool())
    return [x], dict(pooling=pooling, divisor=d.choice([3, sizes]))


def mean_backward_sample(d):
    [x], attrs = mean_sample(d)
    return [d.array((2, 3, *attrs["pooling"].out))], dict(attrs, size=x.shape)


# ---- which calls --------------------------------------------------------------------------------------------
def takes(F, input, *, pooling):
    n = len(pooling.out)
    return n < 3 and plain(input) and not pooling.miss(input.shape[input.ndim - n:])


def takes_both(F, grad, input, *, pooling):
    return (takes(F, input, pooling=pooling) and grad.dtype == input.dtype and grad.__class__ is np.ndarray
            and prod(input.shape[-len(pooling.out):]) < 1 << 31)


def takes_means(F, grad, *, pooling, divisor, size=None):
    return len(pooling.out) < 3 and max(pooling.out) > 1 and plain(grad)


# ---- the calls ----------------------------------------------------------------------------------------------
def run(name, arrays, x, shape, pooling, more, *values, rows=1):
    """Call a function with arrays, planes, sizes, geometry, and memory for `rows` of a plane; then `more`, `values`.

    One dimension is a row of a plane.
    """
    n = len(pooling.out)
    size, out, row = shape[len(shape) - n:], pooling.out, n == 1
    size, out = ((1, *size), (1, *out)) if row else (size, out)
    how, spans, wide = tables_of(size, Pooling(*[(one, *v) if row else v for v, one in zip(pooling[:4], (1, 1, 0, 1))],
                                               out))
    memory = np.empty((count_parts(x.size), rows * wide), x.dtype)
    shared("pool", name, x, "p" * len(arrays) + "lllll pplpl" + more, *arrays, prod(shape[:len(shape) - n]), *size,
           *out, how, spans, wide, memory, rows * wide, *values)


@functools.lru_cache(maxsize=64)
def tables_of(size, pooling):
    """The geometry for C, what lies inside, and how long rows are with what C reads around them: see src/pool.h."""
    (h, w), (kernel_, stride, padding, dilation, out) = size, pooling
    start = padding[0] - np.arange(out[0]) * stride[0]
    inside = [np.clip(-(-n // dilation[0]), 0, kernel_[0]) for n in (start, start + h)]
    first = np.maximum(-((np.arange(out[1]) * stride[1] - padding[1]) // dilation[1]), 0)
    wide = max((-(-out[1] // UNIT) * UNIT - 1) * stride[1] + (kernel_[1] - 1) * dilation[1] + 1, w + padding[1])
    return np.array(pooling[:4], np.int64), np.concatenate([np.stack(inside, 1).ravel(), first]).astype(np.int64), wide


def pairs_of(input, pooling):
    """1 if the windows pair the numbers of a row, and the rows."""
    return int(in_pairs(pooling, input.shape[-len(pooling.out):]))


@kernel("max_pool", called=True, when=takes, sample=forward_sample)
def max_pool(F, input, *, pooling):
    out = np.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    run("max_pool", (input, out), input, input.shape, pooling, "l", pairs_of(input, pooling))
    return out


@kernel("max_pool_backward", called=True, when=takes_both, sample=backward_sample)
def max_pool_backward(F, grad, input, *, pooling):
    pairs = pairs_of(input, pooling)
    out = (np.empty if pairs else np.zeros)(input.shape, input.dtype)
    rows = 1 if pairs or len(pooling.out) == 1 else input.shape[-2]
    grad = np.ascontiguousarray(grad)
    run("max_pool_backward", (grad, input, out), input, input.shape, pooling, "l", pairs, rows=rows)
    return out


def divided(divisor, dtype):
    """The array of divisors and the number: one of them counts."""
    if isinstance(divisor, WindowSizes):
        return np.ascontiguousarray(counts(divisor), dtype), 1.0
    return None, float(divisor)


@kernel("avg_pool", called=True, when=takes_means, sample=mean_sample)
def avg_pool(F, input, *, pooling, divisor):
    out = np.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    run("avg_pool", (input, out), input, input.shape, pooling, "pd", *divided(divisor, input.dtype))
    return out


@kernel("avg_pool_backward", called=True, when=takes_means, sample=mean_backward_sample)
def avg_pool_backward(F, grad, *, pooling, divisor, size):
    out = np.zeros(size, grad.dtype)
    run("avg_pool_backward", (grad, out), grad, size, pooling, "pd", *divided(divisor, grad.dtype))
    return out
