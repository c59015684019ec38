"""The op table, pooling: maxima, means and norms over windows of the last 1, 2 or 3 dimensions.

Maxima and sums over a box are taken one dimension after the other, by whole-array operations on shifted views: far
fewer of them, and far faster, than reducing windows one by one.
"""

from typing import NamedTuple

import numpy as np

from ..op import composite, op
from .resize import resample
from .windows import offsets, pad_sides, reach, shifted, spread


class Pooling(NamedTuple):
    """How windows lie: tuples of n ints; `out` is the number of windows in each dimension."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    out: tuple

    def sides(self, size):
        """How much to pad, or cut off, so that the windows cover just all of it."""
        return [(p, (o - 1) * s + reach(k, d) - p - n) for n, k, s, p, d, o in zip(size, *self)]


def window_reduce(F, function, x, pooling, fill):
    """Reduce the windows of `x` by ``function(a, b, out)``, padding with `fill`."""
    n = len(pooling.kernel)
    x = pad_sides(F.xp, x, pooling.sides(x.shape[x.ndim - n:]), fill)
    for axis, (k, s, _, d, o) in enumerate(zip(*pooling), x.ndim - n):
        if k == s == 1:
            continue
        parts = [x[(slice(None),) * axis + (slice(j, j + s * (o - 1) + 1, s),)] for j in range(0, k * d, d)]
        x = parts[0].copy() if k == 1 else function(parts[0], parts[1])
        for part in parts[2:]:
            function(x, part, x)
    return x


# ---- maxima ------------------------------------------------------------------------------------------------
def lowest(xp, dtype):
    """What no element of `dtype` is below."""
    return -xp.inf if dtype.kind not in "iub" else xp.iinfo(dtype).min


@op(promotion="any", namespace=None, kinks="ties",
    input=lambda F, g, input, out, pooling: F.max_pool_backward(g, input, out, pooling=pooling))
def max_pool(F, input, *, pooling):
    """The largest element of each window; what lies in the padding never is."""
    out = window_reduce(F, F.xp.maximum, input, pooling, lowest(F.xp, input.dtype))
    return input.copy() if out is input else out


@op(promotion="any", namespace=None,
    grad=lambda F, g, input, result, pooling: g)
def max_pool_backward(F, grad, input, result, *, pooling):
    """`grad` put where the first element equal to the maximum stands in each window."""
    xp, n = F.xp, len(pooling.kernel)
    size = input.shape[input.ndim - n:]
    sides = pooling.sides(size)
    x = pad_sides(xp, input, sides, xp.nan)                # NaN equals nothing
    out = xp.zeros(x.shape, grad.dtype)
    free = xp.ones(result.shape, bool)                     # the windows whose maximum was not found yet
    for offset in offsets(pooling.kernel, pooling.dilation):
        hit = shifted(x, offset, pooling.stride, pooling.out) == result
        hit &= free
        free ^= hit
        view = shifted(out, offset, pooling.stride, pooling.out)
        view += grad * hit
    return pad_sides(xp, out, [(-b, -a) for b, a in sides])


# ---- sums and means ----------------------------------------------------------------------------------------
@op(promotion="any", namespace=None,
    input=lambda F, g, pooling, input_shape: F.sum_pool_backward(g, pooling=pooling, size=tuple(input_shape)))
def sum_pool(F, input, *, pooling):
    """The sum of each window; the padding counts as zeros."""
    out = window_reduce(F, F.xp.add, input, pooling, 0)
    return input.copy() if out is input else out


@op(promotion="any", namespace=None, grad=lambda F, g, pooling: F.sum_pool(g, pooling=pooling))
def sum_pool_backward(F, grad, *, pooling, size):
    """The transpose of `sum_pool`: each element of `grad` added all over its window of zeros of shape `size`."""
    xp, n = F.xp, len(pooling.kernel)
    sides = pooling.sides(size[-n:])
    out = xp.zeros((*size[:-n], *[m + b + a for m, (b, a) in zip(size[-n:], sides)]), grad.dtype)
    for offset in offsets(pooling.kernel, pooling.dilation):
        view = shifted(out, offset, pooling.stride, pooling.out)
        view += grad
    return pad_sides(xp, out, [(-b, -a) for b, a in sides])


# ---- the public functions ----------------------------------------------------------------------------------
def windows_of(name, n, input, kernel_size, stride, padding, dilation=1, ceil_mode=False):
    """The `Pooling` of a public call, checked."""
    kernel = spread(kernel_size, n, "kernel_size", name)
    stride = kernel if stride is None or stride == () or stride == [] else spread(stride, n, "stride", name)
    padding, dilation = spread(padding, n, "padding", name), spread(dilation, n, "dilation", name)
    out = []
    for size, k, s, p, d in zip(input.shape[input.ndim - n:], kernel, stride, padding, dilation):
        count = (size + 2 * p - reach(k, d) + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= size + p:      # the last window must begin inside
            count -= 1
        out.append(count)
    return Pooling(kernel, stride, padding, dilation, tuple(out))


def max_pool_nd(name, n, input, kernel_size, stride, padding, dilation, ceil_mode):
    return max_pool(input, windows_of(name, n, input, kernel_size, stride, padding, dilation, ceil_mode))


@composite(namespace="nn.functional")
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The maximum of each window of (N, C, H, W)."""
    return max_pool_nd("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


def divisors(xp, pooling, size, count_include_pad):
    """By what each window's sum is divided: how many places it covers of the input, and of the padding if that counts."""
    total = 1
    for n, k, s, p, _, o in zip(size, *pooling):
        start = xp.arange(o) * s - p
        end = xp.minimum(start + k, n + p)
        if not count_include_pad:
            start, end = xp.maximum(start, 0), xp.minimum(end, n)
        total = xp.multiply.outer(total, end - start)
    return total


def avg_pool_nd(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    pooling = windows_of(name, n, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        return sum_pool(input, pooling) / divisor_override
    total = 1
    for k in pooling.kernel:
        total *= k
    if any(pooling.padding) or ceil_mode:
        counts = divisors(input.backend.xp, pooling, input.shape[-n:], count_include_pad)
        from ..tensor import wrap
        return sum_pool(input, pooling) * wrap((1 / counts).astype(input.array.dtype), input.backend)
    return sum_pool(input, pooling) * (1 / total)


@composite(namespace="nn.functional")
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):
    """The mean of each window of (N, C, H, W)."""
    return avg_pool_nd("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                       divisor_override)


# ---- adaptive windows --------------------------------------------------------------------------------------
def adaptive_size(name, n, input, output_size):
    """The output size of an adaptive pooling, None standing for the input's, and the input's size."""
    size = input.shape[-n:]
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(wanted) != n:
        raise RuntimeError(f"{name}: output_size must be {n} ints, got {list(wanted)}")
    return tuple([have if want is None else want for have, want in zip(size, wanted)]), size


def adaptive_bounds(size, out):
    """Where the `out` windows that divide `size` places begin and end."""
    return [i * size // out for i in range(out)], [-(-(i + 1) * size // out) for i in range(out)]


def averaging_matrix(size, out):
    """The matrix (out, size) that takes the mean of each adaptive window."""
    matrix = np.zeros((out, size))
    for i, (start, end) in enumerate(zip(*adaptive_bounds(size, out))):
        matrix[i, start:end] = 1 / (end - start)
    return matrix


def even_windows(size, out):
    """The `Pooling` that does the same as adaptive windows, where `out` divides the size."""
    kernel = tuple([n // o for n, o in zip(size, out)])
    zeros = (0,) * len(out)
    return Pooling(kernel, kernel, zeros, (1,) * len(out), out)


def adaptive_avg_pool_nd(name, n, input, output_size):
    out, size = adaptive_size(name, n, input, output_size)
    if all(o and m % o == 0 for m, o in zip(size, out)):
        pooling = even_windows(size, out)
        total = 1
        for k in pooling.kernel:
            total *= k
        return sum_pool(input, pooling) * (1 / total)
    return resample(input, tuple([None if m == o else averaging_matrix(m, o) for m, o in zip(size, out)]))


@composite(namespace="nn.functional")
def adaptive_avg_pool2d(input, output_size):
    """The means of windows that divide (N, C, H, W) into `output_size` parts; None keeps a dimension's size."""
    return adaptive_avg_pool_nd("adaptive_avg_pool2d", 2, input, output_size)
