"""The op table, running sums and products along a dimension.

The derivative of a running product is a linear recurrence, ``y[i] = x[i] + a[i] * y[i - 1]``, run backwards. It divides
by nothing, so it is right where elements are zero, to any order.
"""

from ..op import op


def along(ndim, dim, part):
    """The index that takes `part`, a slice, of dimension `dim`."""
    return (slice(None),) * (dim % ndim) + (part,)


def accumulate(ufunc, input, dim):
    """`ufunc` over the elements up to each one; integers and bools in int64."""
    kind = input.dtype.kind
    dtype = None if kind == "f" or kind == "c" else "int64"
    if not input.ndim:
        return ufunc.accumulate(input.reshape(1), dim, dtype).reshape(())
    return ufunc.accumulate(input, dim, dtype)


def backwards(F, x, dim):
    """`x` with the order along `dim` reversed; a number as it is."""
    return F.flip_dims(x, dims=(dim,)) if len(x.shape) else x


@op(promotion="any", inplace=True, input=lambda F, g, dim: backwards(F, F.cumsum(backwards(F, g, dim), dim=dim), dim))
def cumsum(F, input, *, dim, dtype=None):
    """The sums of the elements up to and including each one along `dim`. Integers and bools are summed in int64."""
    return accumulate(F.xp.add, input, dim)


@op(promotion="any", inplace=True, input=lambda F, g, out, input, dim: g if not len(input.shape) else (
    F.shift(out, by=1, dim=dim, fill=1) * recur_backwards(F, g, input, dim)))
def cumprod(F, input, *, dim, dtype=None):
    """The products of the elements up to and including each one along `dim`; of integers and bools in int64.

    The derivative by ``x[i]`` of all products together is the product before it times ``y[i]``, where
    ``y[i] = g[i] + x[i + 1] * y[i + 1]``.
    """
    return accumulate(F.xp.multiply, input, dim)


@op(namespace=None, input=lambda F, g, by, dim: F.shift(g, by=-by, dim=dim, fill=0),
    sample=lambda d: ([d.array((3, 2))], dict(by=d.int(-3, 3), dim=d.int(-2, 1), fill=d.int(0, 1))))
def shift(F, input, *, by, dim, fill):
    """The elements moved `by` places up along `dim` (down if negative), `fill` in the places left free."""
    out, n = F.xp.full(input.shape, fill, input.dtype), input.shape[dim]
    take, put = (slice(0, n - by), slice(by, n)) if by >= 0 else (slice(-by, n), slice(0, n + by))
    if abs(by) < n:
        out[along(input.ndim, dim, put)] = input[along(input.ndim, dim, take)]
    return out


def recur_backwards(F, g, factor, dim):
    """``y[i] = g[i] + factor[i + 1] * y[i + 1]`` along `dim`."""
    factor = F.shift(factor, by=-1, dim=dim, fill=0)
    return backwards(F, F.recurrence(backwards(F, g, dim), backwards(F, factor, dim), dim=dim), dim)


def recurrence_slopes(F, g, needs, factor, out, dim):
    """What is added at i counts in y[i] and, times the factors between, in all that follow."""
    slope = recur_backwards(F, g, factor, dim)
    return slope, slope * F.shift(out, by=1, dim=dim, fill=0) if needs[1] else None


@op(promotion="same", namespace=None, joint=recurrence_slopes,
    sample=lambda d: ([d.array((5, 2)), d.array((5, 2))], dict(dim=0)))
def recurrence(F, input, factor, *, dim):
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
