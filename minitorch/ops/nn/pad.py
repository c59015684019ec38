"""The op table, padding: constants, mirrored, repeated or wrapped places around the last dimensions.

`pad` counts from the last dimension: (left, right, top, bottom, ...). Negative numbers cut places off.
"""

import numpy as np

from ...core.op import composite, op
from .windows import pad_sides


def sides_of(pad):
    """PyTorch's flat list, last dimension first, as (before, after) pairs, last dimension last."""
    return [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]


@op(namespace=None, node_name="ConstantPadNdBackward0",
    input=lambda F, g, pad: F.constant_pad(g, pad=tuple([-p for p in pad]), value=0),
    sample=lambda d: ([d.array((2, 3, 4))], dict(pad=(d.int(-1, 2), 1, d.int(0, 2), d.int(-1, 1)), value=0.5)))
def constant_pad(F, input, *, pad, value):
    """`input` with places of `value` around its last dimensions."""
    out = pad_sides(F.xp, input, sides_of(pad), value)
    return input.copy() if out is input else out


# ---- taking places, and adding them back -------------------------------------------------------------------
@op(promotion=None, namespace=None, sample=lambda d: ([d.array((2, 3, 4))], dict(
        places=(d.choice([np.array([2, 0, 0, 1]), np.array([0, 0, 1, 1, 2, 2])]), d.choice([None, np.array([1, 1])])))),
    input=lambda F, g, places, input_shape: F.add_places(g, places=places, size=tuple(input_shape)))
def take_places(F, input, *, places):
    """``input[..., p, q]`` for the integer arrays `places` of the last dimensions, each by itself; None is all."""
    out = input
    for i, index in enumerate(places):
        if index is not None:
            out = take_along(F, out, index, input.ndim - len(places) + i)
    return input.copy() if out is input else out


@op(promotion="any", namespace=None, sample=lambda d: ([d.array((2, 4, 2))], dict(
        places=(d.choice([np.array([2, 0, 0, 1]), np.array([0, 0, 1, 1])]), np.array([1, 1])), size=(2, 3, 4))),
    grad=lambda F, g, places: F.take_places(g, places=places))
def add_places(F, grad, *, places, size):
    """Zeros of shape `size` with `grad` added at `places`: the transpose of `take_places`."""
    for i, index in enumerate(places):
        if index is not None:
            axis = grad.ndim - len(places) + i
            grad = add_along(F.xp, grad, index, axis, size[axis])
    return grad.copy()


def take_along(F, x, index, axis):
    """``x[..., index, ...]``, as a few slices where that will do."""
    pieces, lead = strips(index), (slice(None),) * axis
    if pieces is None:
        return F.xp.take(x, F.from_host(index), axis)
    out = F.xp.empty((*x.shape[:axis], len(index), *x.shape[axis + 1:]), x.dtype)
    for place, position in pieces:
        out[lead + (position,)] = x[lead + (place,)]
    return out


def add_along(xp, grad, index, axis, size):
    """The slices of `grad` added at the places `index` of one dimension: a few at once, or sorted by place."""
    out = xp.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1:]), grad.dtype)
    pieces, lead = strips(index), (slice(None),) * axis
    if pieces is None:
        order = np.argsort(index, kind="stable")
        index = index[order]
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        out[lead + (index[starts],)] = xp.add.reduceat(xp.take(grad, order, axis), starts, axis)
        return out
    for place, position in pieces:
        target, part = out[lead + (place,)], grad[lead + (position,)]
        target += xp.add.reduce(part, axis, keepdims=True) if target.shape[axis] < part.shape[axis] else part
    return out


def strips(index):
    """The places `index` as pairs of slices (of places, of positions), or None if that takes more than a few.

    Within a pair the places differ, or there is one place for all positions.
    """
    n = len(index)
    if n == 0:
        return []
    times = n // (int(index[-1]) + 1)
    if 1 < times <= 8 and np.array_equal(index, np.arange(n) // times):        # 0 0 1 1 2 2: everything so many times
        return [(slice(0, n // times), slice(t, None, times)) for t in range(times)]
    found, i, steps = [], 0, np.diff(index)
    while i < n:
        if len(found) == 8:
            return None
        step = int(steps[i]) if i < n - 1 else 1
        others = np.flatnonzero(steps[i:] != step)
        end = i + 1 + int(others[0]) if len(others) else n
        first, last = int(index[i]), int(index[end - 1])
        stop = last + (1 if step >= 0 else -1)
        found.append((slice(first, None if stop < 0 else stop, step or 1), slice(i, end)))
        i = end
    return found


# ---- where padded places come from -------------------------------------------------------------------------
def reflect(n, before, after):
    if max(before, after) >= n:
        raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got: padding "
                           f"({before}, {after}) at a dimension of size {n}")
    places = np.abs(np.arange(-before, n + after))
    return np.where(places >= n, 2 * (n - 1) - places, places)


def replicate(n, before, after):
    return np.clip(np.arange(-before, n + after), 0, n - 1)


def circular(n, before, after):
    if max(before, after) > n:
        raise RuntimeError(f"Padding value causes wrapping around more than once: padding ({before}, {after}) at a "
                           f"dimension of size {n}")
    inner = np.arange(max(-before, 0), n - max(-after, 0))
    if not inner.size:
        raise RuntimeError(f"Negative padding value is resulting in an empty dimension: ({before}, {after}) of {n}")
    return inner[np.arange(-max(before, 0), inner.size + max(after, 0)) % inner.size]


PLACES = {"reflect": reflect, "replicate": replicate, "circular": circular}


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """`input` with places around its last dimensions: ``pad`` is (left, right, top, bottom, ...), the last one first.

    `mode`: "constant" puts `value` there (0 by default); "reflect" mirrors without repeating the edge, "replicate"
    repeats the edge, "circular" goes on at the other end; these three pad the last 1, 2 or 3 dimensions of an input
    with one or two more. Negative numbers cut places off.

    >>> import minitorch
    >>> pad(minitorch.tensor([[1., 2., 3.]]), (2, 1), "reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    pad = tuple([p.__index__() for p in pad])
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {len(pad)} numbers")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(pad)} and input of dimension {input.ndim}")
    n = len(pad) // 2
    if mode == "constant":
        check_sizes(input, pad, n)
        return constant_pad(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in PLACES or n not in (1, 2, 3) or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, in "
                                  f"modes {', '.join(PLACES)}: got mode '{mode}', padding {list(pad)} and an input of "
                                  f"{input.ndim} dimensions")
    check_sizes(input, pad, n)
    if 0 in input.shape[-n:]:
        raise RuntimeError(f"{mode} padding: expected non-zero sizes in the padded dimensions, but got input of shape "
                           f"{list(input.shape)}")
    sizes = zip(input.shape[input.ndim - n:], sides_of(pad))
    places = [PLACES[mode](size, *sides) if any(sides) else None for size, sides in sizes]
    return take_places(input, tuple(places))


def check_sizes(input, pad, n):
    """RuntimeError where cutting leaves less than nothing."""
    for size, (before, after) in zip(input.shape[input.ndim - n:], sides_of(pad)):
        if size + before + after < 0:
            raise RuntimeError(f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
                               f"negative output size, which is invalid")
