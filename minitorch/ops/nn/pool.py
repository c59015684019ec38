"""The op table, pooling: maxima, means and norms over windows of the last 1, 2 or 3 dimensions.

Maxima and sums over a box are taken one dimension after the other, by whole-array operations on shifted views: far
fewer of them, and far faster, than reducing windows one by one. Indices of maxima are computed when they are asked
for, not in the common forward pass.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from ...core.device import host
from ...core.op import Other, op
from ..elementwise.compare import where
from .resize import adaptive_bounds, mean_taps, resample
from .windows import evenly, for_ranks, pad_sides, reach, spread


class Pooling(NamedTuple):
    """How windows lie: tuples of n ints; `out` is the number of windows in each dimension."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    out: tuple

    def sides(self, size):
        """How much to pad, or cut off, so that the windows cover just all of it."""
        return [(p, (o - 1) * s + reach(k, d) - p - n) for n, (k, s, p, d, o) in zip(size, zip(*self))]

    def slices(self, i):
        """Along dimension `i`: the slice that each place of the window takes."""
        k, s, _, d, o = [values[i] for values in self]
        return [slice(j, j + s * (o - 1) + 1, s) for j in range(0, k * d, d)]

    def in_pairs(self, size):
        """Whether the windows are two places in each dimension, none apart, and cover all of `size`."""
        return (set(self.kernel) == set(self.stride) == {2} and not any(self.padding) and set(self.dilation) == {1}
                and all(n == 2 * o for n, o in zip(size, self.out)))

    def index(self, i, part):
        """An index that takes the slice `part` of dimension `i`."""
        return (Ellipsis, part, *(slice(None),) * (len(self.out) - i - 1))

    def empty(self, xp, i, shape, dtype):
        """An array of `shape` to spread values over along dimension `i`, and whether no place gets two of them."""
        k, s, _, d, o = [values[i] for values in self]
        apart = k <= s and d == 1
        full = apart and s == k and shape[i - len(self.out)] == k * o
        return (xp.empty if full else xp.zeros)(shape, dtype), apart


def window_reduce(F, function, x, pooling, fill):
    """Reduce the windows of `x` by the binary ufunc `function`, with `fill` in the padding."""
    n, given = len(pooling.out), x
    x = pad_sides(F.xp, x, pooling.sides(x.shape[x.ndim - n:]), fill)
    fresh = x is not given
    if all(o == 1 for o in pooling.out) and max(pooling.dilation) == 1:
        return reduce_all(F.xp, function, x, n)
    for i in range(n):
        parts = [x[pooling.index(i, part)] for part in pooling.slices(i)]
        if len(parts) == 1:
            x = parts[0]
        else:
            x, fresh = function(parts[0], parts[1]), True
        for part in parts[2:]:
            function(x, part, out=x)
    return x if fresh else x.copy()


def reduce_all(xp, function, x, n):
    """Reduce the last n dimensions to size 1; sums as a product with ones, which takes a third of the time."""
    if function is xp.add and x.dtype.kind == "f":
        row = x.reshape(-1, prod(x.shape[x.ndim - n:]))
        return xp.matmul(row, xp.ones(row.shape[1], x.dtype)).reshape(*x.shape[:x.ndim - n], *(1,) * n)
    return function.reduce(x, tuple(range(x.ndim - n, x.ndim)), keepdims=True)


BLOCK = 1 << 16                # elements that are worked on at a time, where several passes are made


# ---- maxima ------------------------------------------------------------------------------------------------
OVERLAPPING, APART = Pooling((3,), (2,), (1,), (1,), (4,)), Pooling((3,), (3,), (1,), (1,), (3,))   # of 7 places


def sample_max_backward(d):
    x, pooling = d.distinct((2, 7)), d.choice([OVERLAPPING, APART])
    return [d.array((2, *pooling.out)), x, max_pool.op.bind(host())(x, pooling=pooling)], dict(pooling=pooling)


@op(promotion="any", namespace=None, kinks="ties",
    sample=lambda d: ([d.distinct((2, 7))], dict(pooling=d.choice([OVERLAPPING, APART]))),
    input=lambda F, g, input, out, pooling: F.max_pool_backward(g, input, out, pooling=pooling))
def max_pool(F, input, *, pooling):
    """The largest element of each window; what lies in the padding never is."""
    lowest = F.xp.iinfo(input.dtype).min if input.dtype.kind in "iu" else -F.xp.inf
    return window_reduce(F, F.xp.maximum, input, pooling, lowest)


@op(promotion="any", namespace=None, sample=sample_max_backward,
    grad=lambda F, g, input, pooling: F.gather_last(
        g, F.max_pool_indices(input, windows=pooling), dims=len(pooling.out)))
def max_pool_backward(F, grad, input, result, *, pooling):
    """`grad` put where the first element equal to the maximum stands in each window."""
    xp, n, shape = F.xp, len(pooling.out), input.shape
    size = shape[input.ndim - n:]
    out = xp.empty((prod(shape[:-n]), *size), grad.dtype)
    grad, input, result = [x.reshape(len(out), *x.shape[x.ndim - n:]) for x in (grad, input, result)]
    pairs = pooling.in_pairs(size)
    for part in evenly(len(out), max(1, BLOCK // prod(size))):
        if pairs:
            max_backward_pairs(xp, out[part], grad[part], input[part])
        else:
            out[part] = max_backward_block(xp, grad[part], input[part], result[part], pooling)
    return out.reshape(shape)


def halves(xp, x, run):
    """The even and the odd places of a dimension whose places are `run` elements, each in one piece of memory."""
    pairs = x.reshape(-1, 2, run)
    if run == 1:
        return [xp.ascontiguousarray(pairs[:, i, 0]) for i in (0, 1)]
    return [xp.take(pairs, i, 1).reshape(-1) for i in (0, 1)]                   # views of short runs are slow


def max_backward_pairs(xp, out, grad, x):
    """`max_pool_backward` for windows of two places in each dimension, into `out` (planes, *size).

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


def max_backward_block(xp, grad, x, result, pooling):
    """`max_pool_backward` for (planes, *size): the maximum is looked for one dimension after the other."""
    n = len(pooling.out)
    sides = pooling.sides(x.shape[1:])
    padded = pad_sides(xp, x, sides, xp.nan)               # NaN equals nothing, and fmax passes it over
    stages = [padded]
    for i in range(n - 1, 0, -1):
        parts = [stages[-1][pooling.index(i, part)] for part in pooling.slices(i)]
        best = parts[0]
        for part in parts[1:]:
            best = (xp.maximum if padded is x else xp.fmax)(best, part)
        stages.append(best)
    for i in range(n):                                     # stages[-1] has dimension i and those before it in full
        x = stages.pop()
        wide, apart = pooling.empty(xp, i, x.shape, grad.dtype)
        *before, last = [pooling.index(i, part) for part in pooling.slices(i)]
        rest = grad                                        # what is not placed yet: the first maximum takes all
        for index in before:
            view = wide[index]
            here = xp.multiply(rest, x[index] == result, out=view if apart else None)
            rest = xp.subtract(rest, here, out=wide[last] if apart else None)
            if not apart:
                view += here
        if not apart:
            wide[last] += rest
        elif not before:
            wide[last] = grad
        grad, result = wide, x
    return pad_sides(xp, grad, [(-b, -a) for b, a in sides])


def tables_of(pooling, shape):
    """For each dimension the places in the input, (out, kernel), that each window covers.

    A place in the padding is replaced by the window's first place in the input, so that it never comes first.
    """
    tables = []
    for n, k, s, p, d, o in zip(shape[-len(pooling.out):], *pooling):
        start = np.arange(o) * s - p
        start += -(np.minimum(start, 0) // d) * d          # the first place that is not in the padding
        table = (np.arange(o) * s - p)[:, None] + np.arange(k) * d
        tables.append(np.where((table < 0) | (table >= n), start[:, None], table))
    return tuple(tables)


@op(promotion=None, namespace=None, sample=lambda d: ([d.array((2, 7))], dict(windows=d.choice([OVERLAPPING, APART]))))
def max_pool_indices(F, input, *, windows):
    """Where the first maximum of each window stands: its place in the last dimensions, laid out in one row.

    `windows` is a `Pooling`, or a table for each dimension that gives the places by window, (out, kernel), or by plane
    and window, (N, C, out, kernel).
    """
    tables = tables_of(windows, input.shape) if isinstance(windows, Pooling) else windows
    xp, n = F.xp, len(tables)
    lead, size = input.shape[:input.ndim - n], input.shape[input.ndim - n:]
    windows, places = input, xp.zeros((1,) * (input.ndim + n), "int64")
    for i, table in enumerate(tables):
        table = F.from_host(table)
        out, kernel = table.shape[-2:]
        axis = len(lead) + 2 * i                           # so far: (*lead, out, kernel, ..., size, ...)
        after = (1,) * (n - i - 1)
        if table.ndim == 2:
            windows = xp.take(windows, table, axis)
        else:
            index = table.reshape(*lead, *(1,) * (2 * i), out * kernel, *after)
            windows = xp.take_along_axis(windows, index, axis)
            windows = windows.reshape(*windows.shape[:axis], out, kernel, *windows.shape[axis + 1:])
        table = table.reshape(*(lead if table.ndim > 2 else (1,) * len(lead)), *(1,) * (2 * i), out, kernel,
                              *(1,) * (2 * (n - i - 1)))
        places = places * size[i] + table
    order = (*range(len(lead)), *range(len(lead), windows.ndim, 2), *range(len(lead) + 1, windows.ndim, 2))
    outs = tuple([table.shape[-2] for table in tables])
    shape = (*lead, *outs, prod([table.shape[-1] for table in tables]))
    best = windows.transpose(order).reshape(shape).argmax(-1)
    places = xp.broadcast_to(places, windows.shape).transpose(order).reshape(shape)
    return xp.take_along_axis(places, best[..., None], -1)[..., 0]


@op(promotion=None, namespace=None,
    sample=lambda d: ([d.array((2, 5)), np.array([[0, 3, 3], [1, 2, 4]])], dict(dims=1)),
    input=lambda F, g, indices, dims, input_shape: F.scatter_last(g, indices, size=tuple(input_shape[-dims:])))
def gather_last(F, input, indices: Other, *, dims):
    """The elements of `input` at `indices`, places in its last `dims` dimensions laid out in one row."""
    return F.xp.take_along_axis(rows(input, dims), rows(indices, dims), -1).reshape(indices.shape)


def rows(x, dims):
    """`x` with its last `dims` dimensions laid out in one row."""
    lead = x.ndim - dims
    return x.reshape(*x.shape[:lead], prod(x.shape[lead:]))


@op(promotion="any", namespace=None,
    sample=lambda d: ([d.array((2, 3)), np.array([[0, 3, 3], [1, 2, 4]])], dict(size=(5,))),
    grad=lambda F, g, indices, size: F.gather_last(g, indices, dims=len(size)))
def scatter_last(F, grad, indices: Other, *, size):
    """Zeros with `grad` added at `indices`: the transpose of `gather_last`."""
    xp, lead = F.xp, indices.shape[:indices.ndim - len(size)]
    out = xp.zeros(prod(lead) * prod(size), grad.dtype)
    first = xp.arange(prod(lead)).reshape(*lead, 1) * prod(size)
    xp.add.at(out, (rows(indices, len(size)) + first).ravel(), grad.ravel())
    return out.reshape(*lead, *size)


# ---- means -------------------------------------------------------------------------------------------------
@op(promotion="any", namespace=None,
    sample=lambda d: ([d.array((2, 7))], dict(divisor=3, pooling=d.choice([OVERLAPPING, APART]))),
    input=lambda F, g, pooling, divisor, input_shape: F.avg_pool_backward(
        g, pooling=pooling, divisor=divisor, size=tuple(input_shape)))
def avg_pool(F, input, *, pooling, divisor):
    """The sum of each window divided by `divisor`, a number or an array; the padding counts as zeros."""
    return divide(F, window_reduce(F, F.xp.add, input, pooling, 0), divisor)


@op(promotion="any", namespace=None,
    sample=lambda d: ([d.array((2, 4))], dict(divisor=3, size=(2, 7), pooling=OVERLAPPING)),
    grad=lambda F, g, pooling, divisor: F.avg_pool(g, pooling=pooling, divisor=divisor))
def avg_pool_backward(F, grad, *, pooling, divisor, size):
    """The transpose of `avg_pool`: ``grad / divisor`` added all over each window of zeros of shape `size`."""
    xp, n = F.xp, len(pooling.out)
    x = divide(F, grad.copy(), divisor)
    sides = pooling.sides(size[-n:])
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        wide, apart = pooling.empty(xp, i, (*x.shape[:axis], size[axis] + sum(sides[i]), *x.shape[axis + 1:]), x.dtype)
        for part in pooling.slices(i):
            view = wide[pooling.index(i, part)]
            if apart:
                view[...] = x
            else:
                view += x
        x = wide
    return pad_sides(xp, x, [(-b, -a) for b, a in sides])


def divide(F, x, divisor):
    """``x / divisor`` into `x`; integers are rounded towards zero."""
    divisor = F.from_host(divisor) if hasattr(divisor, "shape") else divisor
    if x.dtype.kind in "iu":
        return (x / divisor).astype(x.dtype)
    x /= divisor
    return x


# ---- checking, and placing windows -------------------------------------------------------------------------
def windows_of(name, n, input, kernel_size, stride, padding, dilation=1, ceil_mode=False):
    """The `Pooling` of a public call, checked."""
    if not hasattr(input, "array"):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kernel = spread(kernel_size, n, "kernel_size", name)
    stride = kernel if stride is None or stride == () or stride == [] else spread(stride, n, "stride", name)
    padding, dilation = spread(padding, n, "padding", name), spread(dilation, n, "dilation", name)
    for what, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) < 1:
            raise RuntimeError(f"{name}: {what} must be greater than zero, but got {list(values)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > reach(k, d) // 2:
            raise RuntimeError(f"{name}: pad should be at most half of effective kernel size, but got pad={p}, "
                               f"kernel_size={k} and dilation={d}")
    check_rank(name, n, input)
    out = []
    for size, k, s, p, d in zip(input.shape[input.ndim - n:], kernel, stride, padding, dilation):
        count = (size + 2 * p - reach(k, d) + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= size + p:      # the last window must begin inside
            count -= 1
        out.append(count)
    if min(out) < 1:
        raise RuntimeError(f"{name}: given input size {tuple(input.shape)} and kernel_size {kernel}, the calculated "
                           f"output size {tuple(out)} is too small")
    return Pooling(kernel, stride, padding, dilation, tuple(out))


def check_rank(name, n, input):
    """The input must be (C, *size) or (N, C, *size); only N may be 0."""
    if input.ndim not in (n + 1, n + 2) or 0 in input.shape[input.ndim - n - 1:]:
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size "
                           f"for input, but got: {list(input.shape)}")


# ---- sliding windows: the public functions -----------------------------------------------------------------
BOTH = ("", "nn.functional")


@for_ranks("max_pool{}d", 1, 2, 3, packages=BOTH)
def max_pool_nd(n):
    def max_pool_of_rank(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The maximum of each window of {shape}, N being optional; nothing is larger than padding.

        `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
        reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
        """
        pooling = windows_of(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
        if not return_indices:
            return max_pool(input, pooling)
        return max_with_indices(input, pooling)
    return max_pool_of_rank


@for_ranks("max_pool{}d_with_indices", 1, 2, 3, packages=BOTH)
def max_pool_nd_with_indices(n):
    def max_pool_of_rank(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The maximum of each window of {shape}, and where it stands: `max_pool` with ``return_indices=True``."""
        pooling = windows_of(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
        return max_with_indices(input, pooling)
    return max_pool_of_rank


def max_with_indices(input, windows):
    """The maximum of each window and its index."""
    indices = max_pool_indices(input, windows)
    return gather_last(input, indices, len(windows.out if isinstance(windows, Pooling) else windows)), indices


def average(n, name, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    """`avg_pool1d`, `avg_pool2d` and `avg_pool3d`."""
    pooling = windows_of(name, n, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError(f"{name}: divisor must be not zero")
        divisor = divisor_override
    elif any(pooling.padding) or ceil_mode:
        divisor = window_sizes(pooling, input.shape[-n:], count_include_pad)
    else:
        divisor = prod(pooling.kernel)
    return avg_pool(input, pooling, divisor)


def window_sizes(pooling, size, count_include_pad):
    """How many places each window covers: of the input, and of the padding if that counts."""
    total = np.ones(())
    for n, k, s, p, _, o in zip(size, *pooling):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        total = np.multiply.outer(total, (end - start).astype("float32"))
    return total


@for_ranks("avg_pool{}d", 1, packages=BOTH)
def avg_pool_1d(n):
    def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        """The mean of each window of {shape}, as `avg_pool2d`."""
        return average(1, "avg_pool1d", input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool1d


@for_ranks("avg_pool{}d", 2, 3)
def avg_pool_nd(n):
    def avg_pool_of_rank(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                         divisor_override=None):
        """The mean of each window of {shape}, N being optional.

        `stride` is the kernel size by default, `padding` (zeros) at most half of it. `ceil_mode` allows a last window
        that reaches over the end. Padding counts as elements unless `count_include_pad` is false;
        `divisor_override` divides the sums by another number.
        """
        return average(n, f"avg_pool{n}d", input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                       divisor_override)
    return avg_pool_of_rank


@for_ranks("lp_pool{}d", 1, 2, 3)
def lp_pool_nd(n):
    def lp_pool_of_rank(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        """``(sum of x ** p) ** (1 / p)`` over each window of {shape}, p being `norm_type`; the maximum if that is inf.

        The gradient of a sum of 0 is 0.
        """
        name = f"lp_pool{n}d"
        if norm_type == float("inf"):
            return max_pool(input, windows_of(name, n, input, kernel_size, stride, 0, 1, ceil_mode))
        mean = average(n, name, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True)
        total = mean * prod(spread(kernel_size, n, "kernel_size", name))
        return where(total == 0, 0.0, total).pow(1 / norm_type)
    return lp_pool_of_rank


# ---- adaptive windows: the public functions ----------------------------------------------------------------
def adaptive_size(name, n, input, output_size):
    """The output size of an adaptive pooling, None standing for the input's."""
    if n > 1 and input.ndim < n + 1:
        raise ValueError(f"Input dimension should be at least {n + 1}, got {input.ndim}")
    check_rank(name, n, input)
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(wanted) != n:
        raise RuntimeError(f"{name}: output_size must be {n} ints, got {list(wanted)}")
    out = tuple([have if want is None else want for have, want in zip(input.shape[-n:], wanted)])
    if min(out) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, got {list(out)}")
    return out


def even(size, out):
    """The `Pooling` that does the same as adaptive windows, if all sizes are multiples; else None."""
    if any(o == 0 or m % o for m, o in zip(size, out)):
        return None
    kernel = tuple([m // o for m, o in zip(size, out)])
    return Pooling(kernel, kernel, (0,) * len(out), (1,) * len(out), out)


def adaptive_tables(size, out):
    """For each dimension the places, (out, longest window), that each window covers, its last one repeated."""
    tables = []
    for m, o in zip(size, out):
        start, end = adaptive_bounds(m, o)
        longest = int((end - start).max(initial=1))
        tables.append(np.minimum(start[:, None] + np.arange(longest), end[:, None] - 1))
    return tuple(tables)


@for_ranks("adaptive_avg_pool{}d", 1, packages=BOTH)
@for_ranks("adaptive_avg_pool{}d", 2, 3)
def adaptive_avg_pool_nd(n):
    def adaptive_avg_pool_of_rank(input, output_size):
        """The means of windows that divide {shape} into `output_size` parts; None keeps a dimension's size.

        Window i of `out` in a dimension of n places covers those from ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
        """
        out, size = adaptive_size(f"adaptive_avg_pool{n}d", n, input, output_size), input.shape[-n:]
        pooling = even(size, out)
        if pooling:
            return avg_pool(input, pooling, prod(pooling.kernel))
        return resample(input, tuple([None if m == o else mean_taps(m, o) for m, o in zip(size, out)]))
    return adaptive_avg_pool_of_rank


@for_ranks("adaptive_max_pool{}d", 1, packages=BOTH)
@for_ranks("adaptive_max_pool{}d", 2, 3)
def adaptive_max_pool_nd(n):
    def adaptive_max_pool_of_rank(input, output_size, return_indices=False):
        """The maxima of windows that divide {shape} into `output_size` parts; None keeps a dimension's size.

        The windows are those of `adaptive_avg_pool`. With `return_indices` also where the maxima stand.
        """
        out = adaptive_size(f"adaptive_max_pool{n}d", n, input, output_size)
        pooling = even(input.shape[-n:], out)
        if pooling and not return_indices:
            return max_pool(input, pooling)
        found = max_with_indices(input, adaptive_tables(input.shape[-n:], out))
        return found if return_indices else found[0]
    return adaptive_max_pool_of_rank


@for_ranks("adaptive_max_pool{}d_with_indices", 1, 2, 3)
def adaptive_max_pool_nd_with_indices(n):
    def adaptive_max_pool_of_rank(input, output_size, return_indices=False):
        """The maxima of adaptive windows of {shape}, and where they stand."""
        out = adaptive_size(f"adaptive_max_pool{n}d", n, input, output_size)
        return max_with_indices(input, adaptive_tables(input.shape[-n:], out))
    return adaptive_max_pool_of_rank
