"""Op definitions: padding, with constant, mirrored, repeated or wrapped elements around the last dimensions.

`pad` counts from the last dimension: (left, right, top, bottom, ...). Negative numbers crop.
"""

from typing import NamedTuple

from ...core.ranges import number_of
from ..define import casting, composite, op
from .windows import pad_sides


def sides_of(pad):
    """PyTorch's flat list, last dimension first, as (before, after) pairs, last dimension last."""
    return [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]


@op(dims="* -> *=padded(*, pad) by moving",
    layout="channels", namespace=None, tangent="transpose",
    input=lambda F, g, pad: F.constant_pad_nd(g, pad=tuple([-p for p in pad]), value=0),
    sample=lambda d: ([d.array((2, 3, 4))], dict(pad=(d.int(-1, 2), 1, d.int(0, 2), d.int(-1, 1)), value=0.5)))
def constant_pad_nd(F, input, *, pad, value):
    """`input` with elements `value` around its last dimensions."""
    out = pad_sides(F.xp, input, sides_of(pad), value)
    return input.copy() if out is input else out


# ---- where positions come from -----------------------------------------------------------------------------
def reflect(xp, n, before, after):
    places = xp.abs(xp.arange(-before, n + after))
    return xp.where(places >= n, 2 * (n - 1) - places, places)


def replicate(xp, n, before, after):
    return xp.clip(xp.arange(-before, n + after), 0, n - 1)


def circular(xp, n, before, after):
    first, last = max(-before, 0), n - max(-after, 0)
    return first + (xp.arange(last - first + max(before, 0) + max(after, 0)) - max(before, 0)) % (last - first)


def nearest(xp, n, out, scale, exact):
    """The input position that each output copies, computed in float32 as PyTorch does."""
    single = xp.dtype("float32").type
    step = single(1 / scale if scale else single(n) / single(out))
    i = xp.arange(out, dtype="float32") + single(0.5 if exact else 0)
    return xp.minimum((i * step).astype("int64"), n - 1)


RULES = {"reflect": reflect, "replicate": replicate, "circular": circular, "nearest": nearest}


class Places(NamedTuple):
    """An index along one dimension, as the name of the function that computes it and its arguments."""

    rule: str
    numbers: tuple

    @property
    def size(self):
        """The number of positions to take from."""
        return self.numbers[0]

    @property
    def out(self):
        """The number of positions taken."""
        return self.numbers[1] if self.rule == "nearest" else sum(self.numbers)

    def array(self, xp):
        """The positions as integers, in the order in which they are taken."""
        return RULES[self.rule](xp, *self.numbers)


# ---- taking positions, and adding them back ----------------------------------------------------------------
def sample_take(d):
    rows = d.choice([Places("circular", (3, 1, 2)), Places("nearest", (3, 6, None, False)), None])
    return [d.array((2, 3, 4))], dict(places=(rows, d.choice([None, Places("reflect", (4, 2, -1))])))


def sample_add(d):
    rows = d.choice([Places("circular", (3, 1, 0)), Places("nearest", (3, 4, None, False))])
    return [d.array((2, 4, 2))], dict(places=(rows, Places("replicate", (4, -1, -1))), size=(2, 3, 4))


def resized(maps, back=False):
    """Index notation of an op that maps each of the last dimensions by itself, from `size` to `out`
    positions, or back; None leaves a dimension as it is."""
    before = [f"d{i}" if m is None else f"[x{i}]" for i, m in enumerate(maps)]
    after = [f"d{i}" if m is None else f"y{i}={m.size if back else m.out}"
             for i, m in enumerate(maps)]
    return f"* {' '.join(before)} -> * {' '.join(after)}"


@op(dims=lambda places: resized(places),
    layout="channels", node_name="TakePlacesBackward0", promotion=None, namespace=None,
    sample=sample_take,
    flat=("input",),
    input=lambda F, g, places, input_shape: F.outer_index_backward(g, places=places, size=tuple(input_shape)))
def outer_index(F, input, *, places):
    """``input[..., p, q]`` for the `Places` p, q of the last dimensions, each by itself; None is all."""
    out = input.copy()
    for axis, there in enumerate(places, input.ndim - len(places)):
        if there is not None:
            out = F.index_select(out, there.array(F.xp), dim=axis)
    return out


@op(dims=lambda places: resized(places, back=True) + " of size",
    promotion="any", namespace=None, sample=sample_add,
    grad=lambda F, g, places: F.outer_index(g, places=places))
def outer_index_backward(F, grad, *, places, size):
    """Zeros of shape `size` with `grad` added at `places`: the transpose of `outer_index`."""
    for axis, there in enumerate(places, grad.ndim - len(places)):
        if there is not None:
            shape = (*grad.shape[:axis], size[axis], *grad.shape[axis + 1:])
            grad = F.index_select_backward(grad, there.array(F.xp), shape=shape, dim=axis)
    return grad.copy()


# ---- the public function -----------------------------------------------------------------------------------
def check_reflect(n, before, after):
    if max(before, after) >= n:
        raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got: padding "
                           f"({before}, {after}) at a dimension of size {n}")


def check_circular(n, before, after):
    if max(before, after) > n:
        raise RuntimeError(f"Padding value causes wrapping around more than once: padding ({before}, {after}) at a "
                           f"dimension of size {n}")
    kept = n + min(before, 0) + min(after, 0)
    if kept < 0 or kept == 0 and max(before, after) > 0:
        raise RuntimeError(f"Negative padding value is resulting in an empty dimension: ({before}, {after}) of {n}")


# In mixed precision PyTorch casts for all that has an op of its own, but not for "reflect" in 3 dimensions.
wide_index = casting(outer_index, "float32 on cpu")
CHECKS = {"reflect": check_reflect, "replicate": lambda n, before, after: None, "circular": check_circular}


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """`input` padded around its last dimensions: ``pad`` is (left, right, top, bottom, ...), the last dimension first.

    `mode`: "constant" puts `value` there (0 by default); "reflect" mirrors without repeating the edge, "replicate"
    repeats the edge, "circular" goes on at the other end; these three pad the last 1, 2 or 3 dimensions of an input
    with one or two more. Negative numbers crop.

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
        value = number_of(value) if hasattr(value, "item") else value
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in CHECKS or n not in (1, 2, 3) or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, in "
                                  f"modes {', '.join(CHECKS)}: got mode '{mode}', padding {list(pad)} and an input of "
                                  f"{input.ndim} dimensions")
    check_sizes(input, pad, n)
    if 0 in input.shape[-n:]:
        raise RuntimeError(f"{mode} padding: expected non-zero sizes in the padded dimensions, but got input of shape "
                           f"{list(input.shape)}")
    places = []
    for size, sides in zip(input.shape[input.ndim - n:], sides_of(pad)):
        if any(sides):
            CHECKS[mode](size, *sides)
        places.append(Places(mode, (size, *sides)) if any(sides) else None)
    alike = mode == "circular" or mode == "reflect" and n == 3
    input = input.contiguous() if mode == "circular" else input
    return (outer_index if alike else wide_index)(input, tuple(places))


def check_sizes(input, pad, n):
    """RuntimeError where cutting leaves less than nothing."""
    for size, (before, after) in zip(input.shape[input.ndim - n:], sides_of(pad)):
        if size + before + after < 0 or size + min(before, 0) < 0 or size + min(after, 0) < 0:
            raise RuntimeError(f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
                               f"negative output size, which is invalid")
