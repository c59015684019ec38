"""Op definitions: pooling (maxima, means and norms over windows of the last 1, 2 or 3 dimensions).

The inverse of max pooling is in `unpool.py`.

Indices of maxima are computed when they are asked for, not in the common forward pass.
"""

import functools
from math import prod
from typing import NamedTuple

from ...core.arrays import is_floating
from ...core.op import Other
from ..define import op
from ..elementwise.compare import where
from .resize import Taps, _interpolate, adaptive_bounds
from .windows import as_tuple, for_ranks, offsets, pad_sides, reach, shifted, window_view


class Pooling(NamedTuple):
    """Geometry of the windows: tuples of n ints; `out` is the number of windows in each dimension."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    out: tuple

    def sides(self, size):
        """The amount to pad (or crop, if negative) on each side, so that the windows cover all of `size`."""
        return [(p, (o - 1) * s + reach(k, d) - p - n) for n, (k, s, p, d, o) in zip(size, zip(*self))]

    def windows(self, F, x, fill):
        """All windows of `x`, with `fill` in the padding, as a view (..., *out, *kernel)."""
        n, lead = len(self.out), x.ndim - len(self.out)
        padded = pad_sides(F.xp, x, self.sides(x.shape[lead:]), fill)
        view = window_view(F, padded, self.kernel, self.stride, self.dilation, self.out)
        return view.transpose(*range(lead), *range(lead + n, lead + 2 * n), *range(lead, lead + n))

    def miss(self, size):
        """True if a window may cover padding only, which takes positions that lie apart."""
        return any(d > 1 and -before % d >= n for n, _, s, p, d, _ in zip(size, *self) for before in range(p, 0, -s))

    def axes(self):
        """The dimensions of `windows` that run over the positions of a window."""
        return tuple(range(-len(self.out), 0))

    def tables(self, xp, size):
        """For each dimension the positions in the input, (out, kernel), that each window covers.

        A position in the padding is replaced by the window's first or last one in the input, the nearer one, so that it
        is found neither before the first nor after the last.
        """
        tables = []
        for n, k, s, p, d, o in zip(size, *self):
            start = xp.arange(o) * s - p
            first = xp.minimum(start - xp.minimum(start, 0) // d * d, n - 1)   # the first position not in the padding
            table, last = start[:, None] + xp.arange(k) * d, start + (n - 1 - start) // d * d
            tables.append(xp.where(table < 0, first[:, None], xp.where(table < n, table, xp.maximum(last, 0)[:, None])))
        return tables


class Adaptive(NamedTuple):
    """Windows that divide each dimension of `size` into `out` parts."""

    size: tuple
    out: tuple

    def tables(self, xp, size):
        """For each dimension the positions, (out, longest window), that each window covers, its last one repeated."""
        tables = []
        for n, o in zip(self.size, self.out):
            start, end = adaptive_bounds(xp, n, o)
            longest = max([-(-(i + 1) * n // o) - i * n // o for i in range(o)], default=1)
            tables.append(xp.minimum(start[:, None] + xp.arange(longest), end[:, None] - 1))
        return tables


class WindowSizes(NamedTuple):
    """How many positions each window covers: of an input of `size`, and of the padding if that counts."""

    pooling: Pooling
    size: tuple
    count_include_pad: bool

    def array(self, xp):
        total = xp.ones(())
        for n, k, s, p, _, o in zip(self.size, *self.pooling):
            start = xp.arange(o) * s - p
            end = xp.minimum(start + k, n + p)
            if not self.count_include_pad:
                start, end = xp.maximum(start, 0), xp.minimum(end, n)
            total = total[..., None] * (end - start)
        return total


# ---- maxima ------------------------------------------------------------------------------------------------
OVERLAPPING, APART = Pooling((3,), (2,), (1,), (1,), (4,)), Pooling((3,), (3,), (1,), (1,), (3,))   # of 7 positions


def sample_max_backward(d):
    pooling = d.choice([OVERLAPPING, APART])
    return [d.array((2, *pooling.out)), d.distinct((2, 7))], dict(pooling=pooling)


@op(dims="* [x..] -> * y..=pooling.out",
    layout="channels", promotion="any", refuses="c", namespace=None, kinks="ties", flat=("input",),
    sample=lambda d: ([d.distinct((2, 7))], dict(pooling=d.choice([OVERLAPPING, APART]))),
    input=lambda F, g, input, pooling: F.max_pool_backward(g, input, pooling=pooling))
def max_pool(F, input, *, pooling):
    """The largest element of each window, padding excluded."""
    return pooling.windows(F, input, lowest(F.xp, input.dtype)).max(pooling.axes())


def lowest(xp, dtype):
    """The smallest number of a dtype."""
    return -xp.inf if is_floating(dtype) else xp.iinfo(dtype).min if dtype.kind in "iu" else False


@op(dims="* [y..=pooling.out], * [x..] -> * [x..]",
    promotion="any", namespace=None, sample=sample_max_backward,
    grad=lambda F, g, input, pooling: F.gather_last(
        g, F.max_pool_indices(input, windows=pooling), dims=len(pooling.out)))
def max_pool_backward(F, grad, input, *, pooling):
    """`grad` put where the maximum stands in each window."""
    indices = F.max_pool_indices(input, windows=pooling)
    return F.scatter_last(grad, indices, size=input.shape[input.ndim - len(pooling.out):])


def places_dims(windows):
    """None for tables, which may differ from plane to plane."""
    return "* [x..] -> * y..=windows.out" if isinstance(windows, (Pooling, Adaptive)) else None


@op(dims=places_dims,
    layout="channels",
    promotion=None, namespace=None, sample=lambda d: ([d.array((2, 7))], dict(windows=d.choice([OVERLAPPING, APART]))))
def max_pool_indices(F, input, *, windows):
    """The position of the first maximum of each window, or of its last NaN, in the flattened last dimensions.

    `windows` is a `Pooling`, an `Adaptive`, or a table for each dimension that gives the positions by plane and window,
    (N, C, out, kernel).
    """
    tables = tables_of(F, windows, input.shape)
    n = len(tables)
    places = flat_places(tables, input.shape[input.ndim - n:])                  # (..., *out, positions of a window)
    places = F.xp.broadcast_to(places, (*input.shape[:input.ndim - n], *places.shape[-n - 1:]))
    values = F.xp.take_along_axis(rows(input, n), rows(places, n + 1), -1).reshape(places.shape)
    return place_of_maximum(F.xp, values, places)


def place_of_maximum(xp, values, places):
    """The place of the first maximum in the last dimension; of the last NaN, if there is one, as in PyTorch's loops."""
    best = values.argmax(-1)[..., None]
    first = xp.take_along_axis(places, best, -1)[..., 0]
    if not is_floating(values.dtype):
        return first
    missing = xp.isnan(xp.take_along_axis(values, best, -1)[..., 0])
    if missing.any():
        first[missing] = xp.where(xp.isnan(values[missing]), places[missing], -1).max(-1)
    return first


def tables_of(F, windows, shape):
    """The positions that the windows cover: a table for each dimension."""
    if isinstance(windows, (Pooling, Adaptive)):
        return windows.tables(F.xp, shape[len(shape) - len(windows.out):])
    return [F.from_host(table) for table in windows]


def flat_places(tables, size):
    """The positions in the last dimensions, laid out in one row, that each window covers: (..., *out, positions)."""
    n, places = len(tables), 0
    for i, (table, places_there) in enumerate(zip(tables, size)):
        (out, kernel), before, after = table.shape[-2:], (1,) * i, (1,) * (n - i - 1)
        table = table.reshape(*table.shape[:-2], *before, out, *after, *before, kernel, *after)
        places = places * places_there + table
    return rows(places, n)


def gather_dims(dims):
    x, y = [" ".join([f"{letter}{i}" for i in range(dims)]) for letter in "xy"]
    return f"* [{x}], * {y} -> * {y}"


@op(dims=gather_dims,
    promotion=None, namespace=None, flat=("input",),
    sample=lambda d: ([d.array((2, 5)), d.integers((2, 3), 0, 4)], dict(dims=1)),
    input=lambda F, g, indices, dims, input_shape: F.scatter_last(g, indices, size=tuple(input_shape[-dims:])))
def gather_last(F, input, indices: Other, *, dims):
    """The elements of `input` at `indices`, positions in its last `dims` dimensions laid out in one row."""
    return F.xp.take_along_axis(rows(input, dims), rows(indices, dims), -1).reshape(indices.shape)


def rows(x, dims):
    """`x` with its last `dims` dimensions laid out in one row."""
    lead = x.ndim - dims
    return x.reshape(*x.shape[:lead], prod(x.shape[lead:]))


@op(dims="* i.., * i.. -> * x..=size",
    promotion="any", namespace=None,
    sample=lambda d: ([d.array((2, 3)), d.integers((2, 3), 0, 4)], dict(size=(5,))),
    grad=lambda F, g, indices, size: F.gather_last(g, indices, dims=len(size)))
def scatter_last(F, grad, indices: Other, *, size):
    """Zeros with `grad` added at `indices`: the transpose of `gather_last`."""
    xp, lead = F.xp, indices.shape[:indices.ndim - len(size)]
    out = xp.zeros(prod(lead) * prod(size), grad.dtype)
    first = xp.arange(prod(lead)).reshape(*lead, 1) * prod(size)
    xp.add.at(out, (rows(indices, len(size)) + first).ravel(), grad.ravel())
    return out.reshape(*lead, *size)


# ---- means -------------------------------------------------------------------------------------------------
@op(dims="* [x..] -> * y..=pooling.out",
    layout="channels", promotion="any", refuses="c", namespace=None, flat=("input",),
    sample=lambda d: ([d.array((2, 7))], dict(divisor=3, pooling=d.choice([OVERLAPPING, APART]))),
    input=lambda F, g, pooling, divisor, input_shape: F.avg_pool_backward(
        g, pooling=pooling, divisor=divisor, size=tuple(input_shape)))
def avg_pool(F, input, *, pooling, divisor):
    """The sum of each window divided by `divisor`, a number or `WindowSizes`; the padding counts as zeros."""
    return divide(F, pooling.windows(F, input, 0).sum(pooling.axes(), input.dtype), divisor)


@op(dims="* [y..=pooling.out] -> * x.. of size",
    promotion="any", refuses="c", namespace=None,
    sample=lambda d: ([d.array((2, 4))], dict(divisor=3, size=(2, 7), pooling=OVERLAPPING)),
    grad=lambda F, g, pooling, divisor: F.avg_pool(g, pooling=pooling, divisor=divisor))
def avg_pool_backward(F, grad, *, pooling, divisor, size):
    """The transpose of `avg_pool`: ``grad / divisor`` added all over each window of zeros of shape `size`."""
    x, n = divide(F, grad, divisor), len(pooling.out)
    sides = pooling.sides(size[len(size) - n:])
    image = pad_sides(F.xp, F.xp.zeros(size, grad.dtype), sides)
    for offset in offsets(pooling.kernel, pooling.dilation):
        part = shifted(image, offset, pooling.stride, pooling.out)
        part += x
    return pad_sides(F.xp, image, [(-b, -a) for b, a in sides])


def divide(F, x, divisor):
    """``x / divisor`` in the dtype of `x`; integers are rounded towards zero."""
    return (x / (divisor.array(F.xp) if isinstance(divisor, WindowSizes) else divisor)).astype(x.dtype)


# ---- checking, and placing windows -------------------------------------------------------------------------
def windows_of(name, n, input, kernel_size, stride, padding, dilation=1, ceil_mode=False):
    """The `Pooling` of a public call, checked."""
    if not hasattr(input, "array"):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kernel = as_tuple(kernel_size, n, "kernel_size", name)
    stride = kernel if stride is None or stride == () or stride == [] else as_tuple(stride, n, "stride", name)
    padding, dilation = as_tuple(padding, n, "padding", name), as_tuple(dilation, n, "dilation", name)
    return checked_windows(name, n, input.array.shape, kernel, stride, padding, dilation, bool(ceil_mode))


@functools.lru_cache(maxsize=1024)
def checked_windows(name, n, shape, kernel, stride, padding, dilation, ceil_mode):
    """The `Pooling` for an input of `shape`; the same ones are asked for in every step of a program."""
    for what, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) < 1:
            raise RuntimeError(f"{name}: {what} must be greater than zero, but got {list(values)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > reach(k, d) // 2:
            raise RuntimeError(f"{name}: pad should be at most half of effective kernel size, but got pad={p}, "
                               f"kernel_size={k} and dilation={d}")
    check_rank(name, n, shape)
    out = []
    for size, k, s, p, d in zip(shape[len(shape) - n:], kernel, stride, padding, dilation):
        count = (size + 2 * p - reach(k, d) + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= size + p:      # the last window must begin inside
            count -= 1
        out.append(count)
    if min(out) < 1:
        raise RuntimeError(f"{name}: given input size {shape} and kernel_size {kernel}, the calculated "
                           f"output size {tuple(out)} is too small")
    return Pooling(kernel, stride, padding, dilation, tuple(out))


def check_rank(name, n, shape):
    """The input must be (C, *size) or (N, C, *size); only N may be 0."""
    if len(shape) not in (n + 1, n + 2) or 0 in shape[len(shape) - n - 1:]:
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size "
                           f"for input, but got: {list(shape)}")


# ---- sliding windows: the public functions -----------------------------------------------------------------
BOTH = ("", "nn.functional")


@for_ranks("max_pool{}d", 1, 2, 3, packages=BOTH, autocast={3: "float32 on cpu"})
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


@for_ranks("max_pool{}d_with_indices", 1, 2, 3, packages=BOTH, autocast={3: "float32 on cpu"})
def max_pool_nd_with_indices(n):
    def max_pool_of_rank(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The maximum of each window of {shape}, and where it stands: `max_pool` with ``return_indices=True``."""
        pooling = windows_of(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
        return max_with_indices(input, pooling)
    return max_pool_of_rank


def max_with_indices(input, windows):
    """The maximum of each window and its index."""
    indices = max_pool_indices(input, windows)
    if isinstance(windows, Pooling) and windows.miss(input.shape[-len(windows.out):]):
        return max_pool(input, windows), indices           # -inf where there is nothing to point to
    n = len(windows.out if isinstance(windows, (Pooling, Adaptive)) else windows)
    return gather_last(input, indices, n), indices


def average(n, name, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    """`avg_pool1d`, `avg_pool2d` and `avg_pool3d`."""
    pooling = windows_of(name, n, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError(f"{name}: divisor must be not zero")
        divisor = divisor_override
    elif any(pooling.padding) or ceil_mode:
        divisor = WindowSizes(pooling, tuple(input.shape[-n:]), count_include_pad)
    else:
        divisor = prod(pooling.kernel)
    return avg_pool(input.contiguous() if n == 3 else input, pooling, divisor)


@for_ranks("avg_pool{}d", 1, packages=BOTH)
def avg_pool_1d(n):
    def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        """The mean of each window of {shape}, as `avg_pool2d`."""
        return average(1, "avg_pool1d", input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool1d


@for_ranks("avg_pool{}d", 2, 3, autocast={3: "float32 on cpu"})
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
        total = mean * prod(as_tuple(kernel_size, n, "kernel_size", name))
        return where(total == 0, 0.0, total).pow(1 / norm_type)
    return lp_pool_of_rank


# ---- adaptive windows: the public functions ----------------------------------------------------------------
def adaptive_size(name, n, input, output_size):
    """The output size of an adaptive pooling, None standing for the input's."""
    if n > 1 and input.ndim < n + 1:
        raise ValueError(f"Input dimension should be at least {n + 1}, got {input.ndim}")
    check_rank(name, n, input.array.shape)
    if output_size is None:
        raise TypeError(f"{name}(): argument 'output_size' (position 2) must be int or tuple of ints, not NoneType")
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


@for_ranks("adaptive_avg_pool{}d", 1, packages=BOTH)
@for_ranks("adaptive_avg_pool{}d", 2, 3, autocast={3: "float32 on cpu"})
def adaptive_avg_pool_nd(n):
    def adaptive_avg_pool_of_rank(input, output_size):
        """The means of windows that divide {shape} into `output_size` parts; None keeps a dimension's size.

        Window i of `out` in a dimension of size n covers ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
        """
        out, size = adaptive_size(f"adaptive_avg_pool{n}d", n, input, output_size), input.shape[-n:]
        pooling = even(size, out)
        if pooling:
            return avg_pool(input, pooling, prod(pooling.kernel))
        return _interpolate(input, tuple([None if m == o else Taps("mean", m, o) for m, o in zip(size, out)]))
    return adaptive_avg_pool_of_rank


@for_ranks("adaptive_max_pool{}d", 1)
@for_ranks("adaptive_max_pool{}d", 2, 3, autocast={3: "float32 on cpu"})
def adaptive_max_pool_nd(n):
    def adaptive_max_pool_of_rank(input, output_size, return_indices=False):
        """The maxima of windows that divide {shape} into `output_size` parts; None keeps a dimension's size.

        The windows are those of `adaptive_avg_pool`. With `return_indices` also where the maxima stand.
        """
        out = adaptive_size(f"adaptive_max_pool{n}d", n, input, output_size)
        pooling = even(input.shape[-n:], out)
        if pooling and not return_indices:
            return max_pool(input, pooling)
        found = max_with_indices(input, Adaptive(tuple(input.shape[-n:]), out))
        return found if return_indices else found[0]
    return adaptive_max_pool_of_rank


@for_ranks("adaptive_max_pool{}d_with_indices", 1, 2, 3, autocast={3: "float32 on cpu"})
def adaptive_max_pool_nd_with_indices(n):
    def adaptive_max_pool_of_rank(input, output_size, return_indices=False):
        """The maxima of adaptive windows of {shape}, and where they stand."""
        out = adaptive_size(f"adaptive_max_pool{n}d", n, input, output_size)
        return max_with_indices(input, Adaptive(tuple(input.shape[-n:]), out))
    return adaptive_max_pool_of_rank


@for_ranks("adaptive_max_pool{}d", 1, packages=("",))
def adaptive_max_pool_and_places(n):
    def adaptive_max_pool_of_rank(input, output_size):
        """The maxima of adaptive windows of {shape}, and where they stand (`nn.functional`: without)."""
        out = adaptive_size(f"adaptive_max_pool{n}d", n, input, output_size)
        return max_with_indices(input, Adaptive(tuple(input.shape[-n:]), out))
    return adaptive_max_pool_of_rank
