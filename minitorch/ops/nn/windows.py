"""Windows that slide over the last n dimensions of an array, for convolution, pooling and folding.

A window covers ``kernel`` positions that lie ``dilation`` apart; it moves by ``stride``. No op
definitions: functions of raw arrays and tuples of n ints, for any n; `for_ranks` makes PyTorch's functions for n of 1,
2 and 3.
"""

from itertools import product

from ..define import casting, publish
from ..guarded import guarded


def as_tuple(value, n, name, op):
    """An int or a sequence of 1 or n ints as a tuple of n ints; RuntimeError for another length."""
    if value.__class__ is int:
        return (value,) * n
    if isinstance(value, (tuple, list)):
        values = tuple([v.__index__() for v in value])
    else:
        values = (value.__index__(),)
    if len(values) not in (1, n):
        raise RuntimeError(f"{op}: {name} must be an int or {n} ints, got {list(values)}: write {name}={values[0]} or "
                           f"{name}={(values[0],) * n}")
    return values * n if len(values) == 1 else values


def reach(kernel, dilation):
    """The extent of a window, from its first position to behind its last one."""
    return dilation * (kernel - 1) + 1


def pad_sides(xp, x, sides, value=0):
    """A copy of `x` with ``(before, after)`` positions of `value` around each of the last dimensions; `x` if none.

    Negative numbers cut positions off.
    """
    if not any(b or a for b, a in sides):
        return x
    lead = x.ndim - len(sides)
    shape = [n + b + a for n, (b, a) in zip(x.shape[lead:], sides)]
    out = xp.empty((*x.shape[:lead], *shape), x.dtype)
    inner, source = [Ellipsis], [Ellipsis]
    for (b, a), size in zip(sides, shape):
        inner.append(slice(max(b, 0), size - max(a, 0)))
        source.append(slice(max(-b, 0), size - b - max(a, 0)))
    # Only the frame is filled: first whole slabs, then what they leave of each further dimension.
    for i, ((b, a), size) in enumerate(zip(sides, shape)):
        done, rest = tuple(inner[:i + 1]), (slice(None),) * (len(sides) - i - 1)
        if b > 0:
            out[done + (slice(0, b),) + rest] = value
        if a > 0:
            out[done + (slice(size - a, None),) + rest] = value
    out[tuple(inner)] = x[tuple(source)]
    return out


def offsets(kernel, dilation):
    """The offsets of a window's positions, in the order of memory."""
    return product(*[range(0, k * d, d) for k, d in zip(kernel, dilation)])


def shifted(x, offset, stride, out):
    """The view of `x` that holds, for each of the `out` windows, its position at `offset`."""
    return x[(Ellipsis,) + tuple([slice(o, o + s * n, s) for o, s, n in zip(offset, stride, out)])]


def window_view(F, x, kernel, stride, dilation, out):
    """All windows of `x` as a view of shape (..., *kernel, *out)."""
    lead = x.ndim - len(kernel)
    steps = x.strides[lead:]
    strides = (*x.strides[:lead], *[t * d for t, d in zip(steps, dilation)], *[t * s for t, s in zip(steps, stride)])
    return F.strided(x, (*x.shape[:lead], *kernel, *out), strides)


def for_ranks(name, *ranks, packages=("nn.functional",), autocast=None):
    """Publish one function for each number of spatial dimensions: ``name.format(n)`` is what ``make(n)`` returns.

    `{shape}` in its docstring stands for the input's shape. `autocast` is that of composites, by rank.
    """
    def enter(make):
        for n in ranks:
            function = make(n)
            function.__name__ = function.__qualname__ = name.format(n)
            function.__doc__ = (function.__doc__ or "").replace("{shape}", SHAPES[n])
            function = guarded(function)
            if n in (autocast or {}):
                function = casting(function, autocast[n])
            for package in packages:
                publish(function, function.__name__, namespace=package, method=False)
        return make
    return enter


SHAPES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}
