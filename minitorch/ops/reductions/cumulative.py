"""Op definitions: running sums, products and extremes along a dimension, differences and integrals.

The derivative of a running product is a linear recurrence, ``y[i] = x[i] + a[i] * y[i - 1]``, run backwards. It divides
by nothing, so it is right where elements are zero, to any order.
"""

from ... import return_types
from ...core.arrays import is_inexact
from ...core.tensor import Tensor
from ..define import composite, op
from ..elementwise.arithmetic import sub
from ..elementwise.compare import ne
from ..indexing.index import _slice
from ..indexing.sort import along
from ..shapes.join import cat
from ..shapes.view import dim_of
from .reduce import size_along, sum_dtype


def accumulate(ufunc, input, dim):
    """`ufunc` over the elements up to each one; integers and bools in int64."""
    dtype = sum_dtype(input)
    if not input.ndim:
        return ufunc.accumulate(input.reshape(1), dim, dtype).reshape(())
    return ufunc.accumulate(input, dim, dtype)


def backwards(F, x, dim):
    """`x` with the order along `dim` reversed; a number as it is."""
    return F.flip(x, dims=(dim,)) if len(x.shape) else x


@op(casts=True, dims="* [dim] -> * [dim] by sum", layout="contiguous", promotion="any",
    inplace=True,
    autocast="float32 on cuda",
    input=lambda F, g, dim: backwards(F, F.cumsum(backwards(F, g, dim), dim=dim), dim))
def cumsum(F, input, *, dim, dtype=None):
    """The sums of the elements up to and including each one along `dim`. Integers and bools are summed in int64."""
    return accumulate(F.xp.add, input, dim)


@op(casts=True, dims="* [dim] -> * [dim] by product", complex="holomorphic", layout="contiguous",
    promotion="any", inplace=True, autocast="float32 on cuda",
    input=lambda F, g, out, input, dim: g if not len(input.shape) else (
    F.shift(out, by=1, dim=dim, fill=1) * recur_backwards(F, g, input, dim)))
def cumprod(F, input, *, dim, dtype=None):
    """The products of the elements up to and including each one along `dim`; of integers and bools in int64.

    The derivative by ``x[i]`` of all products together is the product before it times ``y[i]``, where
    ``y[i] = g[i] + x[i + 1] * y[i + 1]``.
    """
    return accumulate(F.xp.multiply, input, dim)


@op(dims="* [dim] -> * [dim]", namespace=None,
    input=lambda F, g, by, dim: F.shift(g, by=-by, dim=dim, fill=0), tangent="transpose",
    sample=lambda d: ([d.array((3, 2))], dict(by=d.int(-3, 3), dim=d.int(-2, 1), fill=d.int(0, 1))))
def shift(F, input, *, by, dim, fill):
    """The elements moved `by` positions up along `dim` (down if negative), `fill` in the positions left free."""
    out, n = F.xp.full(input.shape, fill, input.dtype), input.shape[dim]
    take, put = (slice(0, n - by), slice(by, n)) if by >= 0 else (slice(-by, n), slice(0, n + by))
    if abs(by) < n:
        out[along(input.ndim, dim, put)] = input[along(input.ndim, dim, take)]
    return out


def recur_backwards(F, g, factor, dim):
    """``y[i] = g[i] + factor[i + 1] * y[i + 1]`` along `dim`."""
    factor = F.shift(factor, by=-1, dim=dim, fill=0)
    return backwards(F, F.linear_recurrence(backwards(F, g, dim), backwards(F, factor, dim), dim=dim), dim)


def recurrence_slopes(F, g, needs, factor, out, dim):
    """An element added at i counts in y[i] and, times the factors between, in all that follow."""
    slope = recur_backwards(F, g, factor, dim)
    return slope, slope * F.shift(out, by=1, dim=dim, fill=0) if needs[1] else None


@op(dims="* [dim], * [dim] -> * [dim]",
    complex="holomorphic", node_name="RecurrenceBackward0", promotion="same", namespace=None,
    joint=recurrence_slopes,
    sample=lambda d: ([d.array((5, 2)), d.array((5, 2))], dict(dim=0)))
def linear_recurrence(F, input, factor, *, dim):
    """``y[i] = input[i] + factor[i] * y[i - 1]`` along `dim`, in log2(n) steps, each on the whole array.

    Hillis and Steele, Data parallel algorithms (1986): after the step of length s, ``y[i]`` holds the terms of the
    last 2 s inputs, and ``a[i]`` the product of as many factors.
    """
    y, a, n, s = input.copy(), factor.copy(), input.shape[dim], 1
    while s < n:
        upper, lower = along(y.ndim, dim, slice(s, None)), along(y.ndim, dim, slice(0, -s))
        y[upper] += a[upper] * y[lower]
        a[upper] = a[upper] * a[lower]
        s *= 2
    return y


# ---- extremes so far ---------------------------------------------------------------------------------------
def running(F, ufunc, returned, input, dim):
    """The extremes so far, and where the last one equal to each of them is; a NaN stays."""
    if not input.ndim and size_along(input, dim):
        return returned(input.copy(), F.xp.zeros((), "int64"))
    values = ufunc.accumulate(input, dim)
    places = F.xp.arange(input.shape[dim]).reshape((-1,) + (1,) * ((-1 - dim) % input.ndim))
    found = (input == values) | (input != input)
    return returned(values, F.xp.maximum.accumulate(F.xp.where(found, places, 0), dim))


def running_sample(d):
    return [d.distinct((4, 3))], dict(dim=d.int(-2, 1))


def put_back(F, g, index, shape, dim):
    """Add the gradient at the chosen positions, which may repeat."""
    return F.gather_backward(g, index, shape=shape, dim=dim)


@op(dims="* [dim] -> * [dim], * [dim] by max", layout="contiguous", promotion="any", refuses="c",
    outputs=(True, False), kinks="ties", sample=running_sample,
    joint=lambda F, g, needs, out1, input_shape, dim: (put_back(F, g[0], out1, input_shape, dim),))
def cummax(F, input, *, dim):
    """The largest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
    return running(F, F.xp.maximum, return_types.cummax, input, dim)


@op(dims="* [dim] -> * [dim], * [dim] by min", layout="contiguous", promotion="any", refuses="c",
    outputs=(True, False), kinks="ties", sample=running_sample,
    joint=lambda F, g, needs, out1, input_shape, dim: (put_back(F, g[0], out1, input_shape, dim),))
def cummin(F, input, *, dim):
    """The smallest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
    return running(F, F.xp.minimum, return_types.cummin, input, dim)


# ---- in logarithms -----------------------------------------------------------------------------------------
def logcumsumexp_slope(F, g, input, out, dim):
    """``exp(x[i]) * sum(g[k] exp(-out[k]), k >= i)`` as a recurrence whose every factor is at most 1."""
    if not len(input.shape):
        return g
    step = F.exp(F.shift(out, by=1, dim=dim, fill=0) - out)
    return F.exp(input - out) * recur_backwards(F, g, step, dim)


@op(dims="* [dim] -> * [dim] by max", complex="holomorphic", layout="contiguous",
    promotion="any", refuses="iub", input=lambda F, g, input, out, dim: logcumsumexp_slope(F, g, input, out, dim))
def logcumsumexp(F, input, *, dim):
    """``log(cumsum(exp(input)))`` along `dim`, without overflow."""
    if input.dtype.kind != "c" or not input.ndim:
        return accumulate(F.xp.logaddexp, input, dim) if input.dtype.kind != "c" else input.copy()
    out = input.copy()
    for i in range(1, input.shape[dim]):
        here, before = [along(input.ndim, dim, k) for k in (i, i - 1)]
        out[here] = F.logaddexp(out[before], input[here])
    return out


# ---- differences, sums under curves ------------------------------------------------------------------------
def part(x, dim, start, stop=None):
    """The view of `x` from `start` to `stop` along `dim`."""
    return _slice(x, along(x.array.ndim, dim, slice(start, stop)))


@composite(out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The differences of neighbours along `dim`, `n` times over, of `input` between `prepend` and `append`."""
    if not input.array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = dim_of(input, dim)
    pieces = [t for t in (prepend, input, append) if t is not None]
    for t in pieces:
        if t.array.ndim != input.array.ndim:
            raise RuntimeError(f"diff expects prepend or append to be the same dimension as input: {t.array.ndim} and "
                               f"{input.array.ndim} dimensions")
    x = cat(pieces, d) if len(pieces) > 1 else input
    minus = ne if x.array.dtype.kind == "b" else sub
    for _ in range(min(n, x.array.shape[d])):
        x = minus(part(x, d, 1), part(x, d, 0, -1))
    return x if n else input.clone()


def areas(name, y, x, dx, dim):
    """Twice the area under each step of `y` along `dim`, and that dimension."""
    if y.array.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported: use y.int()")
    if x is not None and dx is not None:
        raise TypeError(f"{name}(): x or dx says how far apart the values are, not both")
    if not y.array.ndim:
        raise IndexError(f"{name}(): y needs at least one dimension")
    d = dim_of(y, dim)
    if x is not None:
        x = x.reshape((-1,) + (1,) * (y.array.ndim - d - 1)) if x.array.ndim == 1 else x
        if x.array.ndim > y.array.ndim or x.array.shape[d - y.array.ndim] != y.array.shape[d]:
            raise RuntimeError(f"{name}(): There must be one `x` value for each sample point: shapes "
                               f"{list(x.array.shape)} and {list(y.array.shape)}")
        dx = diff(x, dim=d - y.array.ndim)
    y = y if is_inexact(y.array.dtype) else y.long()
    both = part(y, d, 1) + part(y, d, 0, -1)
    return both if dx is None else both * dx, d


@composite(method=False, aliases=("trapz",))
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of `y` along `dim` by the trapezoidal rule, at points `x` or at distances `dx` (1)."""
    twice, d = areas("trapezoid", y, x, dx, dim)
    return twice.sum(d) / 2


@composite(method=False)
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals of `y` from the first point up to each of the others, by the trapezoidal rule."""
    twice, d = areas("cumulative_trapezoid", y, x, dx, dim)
    return twice.cumsum(d) / 2


# ---- derivatives by finite differences ---------------------------------------------------------------------
@composite(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivative of `input` along each dimension (or each of `dim`), from samples: a tuple of tensors.

    Second order inside, one-sided and of `edge_order` 1 or 2 at both ends. `spacing` is one distance, one for each
    dimension, or a tensor of coordinates for each. Fornberg, Generation of finite difference formulas on arbitrarily
    spaced grids (1988), for three points.
    """
    if input.array.dtype == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input: differences would wrap around; use x.int()")
    dims = range(input.array.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [dim_of(input, d) for d in dims]
    spacing = 1 if spacing is None else spacing
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                           f"{len(dims)}, one for each dim, but got a list of length {len(spacings)}")
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim {max(dims, key=dims.count)} appears multiple times in the list of dims")
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    for d in dims:
        if input.array.shape[d] < edge_order + 1:
            raise RuntimeError(f"torch.gradient expected each dimension size to be at least edge_order+1: dimension "
                               f"{d} has {input.array.shape[d]}")
    return tuple([slope_along(input, d, h, edge_order) for d, h in zip(dims, spacings)])


def slope_along(x, d, spacing, edge_order):
    """The derivative along dimension `d`, as `gradient` describes it."""
    n, even = x.array.shape[d], not (isinstance(spacing, Tensor) and spacing.array.ndim)
    h = None if even else diff(spacing).reshape((-1,) + (1,) * (x.array.ndim - d - 1))

    def step(start, stop):
        return spacing if even else h[start:stop]

    def first(at):
        return (part(x, d, at + 1, at + 2) - part(x, d, at, at + 1)) / step(at, at + 1)

    def inside(start, stop):
        """At the points from `start` to `stop`: the slopes on both sides, each weighted by the other side's length."""
        if even:
            return (part(x, d, start + 1, stop + 1) - part(x, d, start - 1, stop - 1)) / (2 * spacing)
        left = (part(x, d, start, stop) - part(x, d, start - 1, stop - 1)) / step(start - 1, stop - 1)
        right = (part(x, d, start + 1, stop + 1) - part(x, d, start, stop)) / step(start, stop)
        a, b = step(start - 1, stop - 1), step(start, stop)
        return (left * b + right * a) / (a + b)

    parts = [first(0), inside(1, n - 1), first(n - 2)] if n > 2 else [first(0), first(0)]
    if edge_order == 2:                                    # the parabola through three points, at its ends
        second = [2 * first(i) - inside(j, j + 1) for i, j in ((0, 1), (n - 2, n - 2))]
        parts = [second[0], parts[1], second[1]]
    return cat(parts, d)
