"""Op definitions: convolution in 1, 2 and 3 dimensions, one op and its two transposes.

Convolution is linear in the input and in the weight, so the three ops are each other's derivatives to any order:

    y = convolution(x, w)    dx = convolution_backward_input(dy, w)    dw = convolution_backward_weight(x, dy)

Shapes: x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out). `conv_transpose` is `convolution_backward_input`.

Each reference is a sum over the kernel positions: the slice of the input at a position, a matrix of channels by
windows, is multiplied by the weight's matrix (outputs by channels) of that position.
"""

import functools
from typing import NamedTuple

from ...core.grad_mode import mixed_precision
from ..define import op
from ..shapes.shape import count
from .pad import constant_pad_nd
from .windows import as_tuple, for_ranks, offsets, pad_sides, reach, shifted


class Geometry(NamedTuple):
    """Geometry of the windows: tuples of n ints, and the number of groups."""

    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int

    def out_size(self, size, kernel):
        """How many windows fit in each dimension."""
        return tuple([(n + 2 * p - reach(k, d)) // s + 1 for n, k, s, p, d in
                      zip(size, kernel, self.stride, self.padding, self.dilation)])

    def windows(self, size, kernel):
        """How many windows fit in all."""
        return count(self.out_size(size, kernel))


# ---- the three ops -----------------------------------------------------------------------------------------
def sample(d):
    """Input, weight, bias, output and geometry of a small convolution, for derived tests."""
    n, groups = d.int(1, 2), d.int(1, 2)
    def numbers(lo, hi):
        return tuple([d.int(lo, hi) for _ in range(n)])
    geometry = Geometry(numbers(1, 2), numbers(0, 2), numbers(1, 2), groups)
    x = d.array((d.int(1, 2), groups * d.int(1, 2), *numbers(3, 5)))
    w = d.array((groups * d.int(1, 2), x.shape[1] // groups, *numbers(1, 2)))
    y = d.array((len(x), len(w), *geometry.out_size(x.shape[2:], w.shape[2:])))
    return x, w, d.array((len(w),)), y, geometry


def sample_forward(d):
    x, w, b, y, geometry = sample(d)
    return [x, w, b], dict(geometry=geometry)


def sample_input(d):
    x, w, b, y, geometry = sample(d)
    return [y, w], dict(geometry=geometry, size=x.shape[2:])


def sample_weight(d):
    x, w, b, y, geometry = sample(d)
    return [x, y], dict(geometry=geometry, size=w.shape[2:])


def convolution_flops(out, input, weight, *rest):
    """Each element of the result is a sum over a window and the channels of a group."""
    return 2 * int(out.size) * int(weight.size) // max(weight.shape[0], 1)


def transposed_flops(out, grad, weight, *rest):
    """Those of the convolution whose transpose it is."""
    return convolution_flops(grad, out, weight)


def convolution_dims(geometry):
    """In groups the channels of input and output belong together: they are needed whole."""
    if geometry.groups == 1:
        return "n c [x..], o c [k..], + o -> n o y..=geometry.out_size(x, k)"
    return "n [c x..], [o d k..], [o] -> n [o] y..=geometry.out_size(x, k)"


def transposed_dims(geometry):
    if geometry.groups == 1:
        return "n o [y..], o c [k..] -> n c x..=size"
    return "n [o y..], [o d k..] -> n c=times(d, geometry.groups) x..=size"


def weight_dims(geometry):
    if geometry.groups == 1:
        return "n c [x..], n o [y..] -> o c k..=size"
    return "n [c x..], n [o y..] -> [o] d=over(c, geometry.groups) k..=size"


@op(dims=convolution_dims,
    layout="channels of two", promotion="any", complex="holomorphic", namespace=None,
    autocast="lower",
    flops=convolution_flops,
    flat=("bias",), sample=sample_forward,
    input=lambda F, g, weight, geometry, input_shape: F.convolution_backward_input(
        g, weight, geometry=geometry, size=tuple(input_shape[2:])),
    weight=lambda F, g, input, geometry, weight_shape: F.convolution_backward_weight(
        input, g, geometry=geometry, size=tuple(weight_shape[2:])),
    bias=lambda F, g: over_places(F, g))
def convolution(F, input, weight, bias=None, *, geometry=None):
    """Each output is the sum of a window of `input` times `weight`, plus `bias` (O)."""
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    out = F.xp.zeros((input.shape[0], weight.shape[0], *size), input.dtype)
    padded = pad_sides(F.xp, input, [(p, p) for p in geometry.padding])
    for matrix, offset in kernel_places(weight, geometry):
        seen = shifted(padded, offset, geometry.stride, size)
        out += (matrix @ by_group(seen, geometry.groups)).reshape(out.shape)
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(size))


def kernel_places(weight, geometry):
    """For each kernel position the weight there, (G, O / G, C / G), and its offset in a window."""
    outputs, channels, *kernel = weight.shape
    matrices = weight.reshape(geometry.groups, outputs // geometry.groups, channels, count(kernel))
    return [(matrices[..., k], offset) for k, offset in enumerate(offsets(kernel, geometry.dilation))]


def by_group(x, groups):
    """(N, C, *size) as matrices (N, G, C / G, positions)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, count(x.shape[2:]))


def over_places(F, g):
    """Sum over all dimensions except the channels: over the positions of each image first."""
    return F.sum(F.sum(F.reshape(g, shape=(*g.shape[:2], count(g.shape[2:]))), dim=2), dim=0)


def cut(F, y, shape):
    """`y` without the last positions, added by `output_padding`; mostly `y` itself."""
    if tuple(y.shape) == tuple(shape):
        return y
    return F.slice(y, index=tuple([slice(0, n) for n in shape]))


@op(dims=transposed_dims,
    layout="channels of two", node_name="ConvolutionBackward0", promotion="any",
    complex="holomorphic",
    namespace=None, autocast="lower",
    flops=transposed_flops, sample=sample_input,
    grad=lambda F, g, weight, geometry, grad_shape: cut(F, F.convolution(g, weight, geometry=geometry), grad_shape),
    weight=lambda F, g, grad, geometry, weight_shape: F.convolution_backward_weight(
        g, grad, geometry=geometry, size=tuple(weight_shape[2:])))
def convolution_backward_input(F, grad, weight, *, geometry, size):
    """The transpose of `convolution` in its input: `grad` (N, O, *out) added over an input of `size`."""
    frame = [n + 2 * p for n, p in zip(size, geometry.padding)]
    image = F.xp.zeros((grad.shape[0], weight.shape[1] * geometry.groups, *frame), grad.dtype)
    for matrix, offset in kernel_places(weight, geometry):
        seen = shifted(image, offset, geometry.stride, grad.shape[2:])
        seen += (matrix.swapaxes(1, 2) @ by_group(grad, geometry.groups)).reshape(seen.shape)
    return pad_sides(F.xp, image, [(-p, -p) for p in geometry.padding])


@op(dims=weight_dims,
    node_name="ConvolutionWeightBackward0", promotion="any", complex="holomorphic", namespace=None,
    sample=sample_weight,
    input=lambda F, g, grad, geometry, input_shape: F.convolution_backward_input(
        grad, g, geometry=geometry, size=tuple(input_shape[2:])),
    grad=lambda F, g, input, geometry, grad_shape: cut(F, F.convolution(input, g, geometry=geometry), grad_shape))
def convolution_backward_weight(F, input, grad, *, geometry, size):
    """The transpose of `convolution` in its weight, for a kernel of `size`."""
    padded, places = pad_sides(F.xp, input, [(p, p) for p in geometry.padding]), []
    for offset in offsets(size, geometry.dilation):
        seen = by_group(shifted(padded, offset, geometry.stride, grad.shape[2:]), geometry.groups)
        places.append(F.sum(by_group(grad, geometry.groups) @ seen.swapaxes(2, 3), dim=0).astype(grad.dtype))
    return F.xp.stack(places, -1).reshape(grad.shape[1], input.shape[1] // geometry.groups, *size)


# ---- the public functions ----------------------------------------------------------------------------------
@for_ranks("conv{}d", 1, 2, 3, packages=("", "nn.functional"))
def conv_nd(n):
    def conv_of_rank(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

        Shapes: `input` {shape}, N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
        ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
        `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
        size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

        As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
        """
        try:                                               # the common case, in one look at all arguments
            x, w, b = input.array, weight.array, bias if bias is None else bias.array
            geometry = None
            if x.dtype == w.dtype and (b is None or b.dtype == x.dtype):
                geometry = plain_geometry(n, x.shape, w.shape, b if b is None else b.shape, stride, padding, dilation,
                                          groups)
        except (AttributeError, TypeError, ValueError, RuntimeError):      # the checks below find the words
            geometry = None
        if geometry is not None:
            return convolution(input, weight, bias, geometry)
        return checked_convolution(n, input, weight, bias, stride, padding, dilation, groups)
    return conv_of_rank


@functools.lru_cache(maxsize=1024, typed=True)
def plain_geometry(n, x, w, b, stride, padding, dilation, groups):
    """The geometry of a convolution of a batched input, a weight and a bias of shapes that go with it; else None."""
    stride, padding, dilation = [as_tuple(v, n, "", "") for v in (stride, padding, dilation)]
    if (len(x) == len(w) == n + 2 and groups > 0 and min(stride) > 0 and min(dilation) > 0 and min(padding) >= 0
            and w[0] >= groups and not w[0] % groups and x[1] == w[1] * groups and (b is None or b == w[:1])
            and all([size + 2 * p > d * (k - 1) for size, k, p, d in zip(x[2:], w[2:], padding, dilation)])):
        return Geometry(stride, padding, dilation, groups)
    return None


def checked_convolution(n, input, weight, bias, stride, padding, dilation, groups):
    """A convolution of any arguments: one that is unbatched, padded by a word, or wrong."""
    name = f"conv{n}d"
    check_ranks(name, n, input, weight)
    stride, dilation = as_tuple(stride, n, "stride", name), as_tuple(dilation, n, "dilation", name)
    check_numbers(name, groups, stride=stride, dilation=dilation)
    single = input.ndim == n + 1
    if single:
        input = input.unsqueeze(0)
    if isinstance(padding, str):
        input, padding = resolve_padding(name, n, input, weight, stride, padding, dilation)
    else:
        padding = as_tuple(padding, n, "padding", name)
    check_conv(name, input, weight, bias, padding, dilation, groups)
    out = convolution(input, weight, bias, Geometry(stride, padding, dilation, groups))
    return out[0] if single else out


@for_ranks("conv_transpose{}d", 1, 2, 3, packages=("", "nn.functional"))
def conv_transpose_nd(n):
    def conv_transpose_of_rank(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

        It is the gradient of a convolution with the same numbers. Shapes: `input` {shape}, N being optional, `weight`
        (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
        (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
        a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
        """
        name = f"conv_transpose{n}d"
        check_ranks(name, n, input, weight)
        stride, dilation = as_tuple(stride, n, "stride", name), as_tuple(dilation, n, "dilation", name)
        padding, extra = as_tuple(padding, n, "padding", name), as_tuple(output_padding, n, "output_padding", name)
        check_numbers(name, groups, stride=stride, dilation=dilation)
        single = input.ndim == n + 1
        if single:
            input = input.unsqueeze(0)
        size = tuple([(m - 1) * s - 2 * p + reach(k, d) + e for m, k, s, p, d, e in
                      zip(input.shape[2:], weight.shape[2:], stride, padding, dilation, extra)])
        check_transpose(name, input, weight, bias, stride, padding, dilation, extra, size, groups)
        out = convolution_backward_input(input, weight, Geometry(stride, padding, dilation, groups), size)
        if bias is not None:
            out = out + bias.reshape((-1,) + (1,) * n)
        return out[0] if single else out
    return conv_transpose_of_rank


def resolve_padding(name, n, input, weight, stride, padding, dilation):
    """The padding that a word stands for; the input is padded already where its two sides differ."""
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"{name}: padding must be an int, a tuple of ints, 'valid' or 'same', got '{padding}'")
    if max(stride) != 1:
        raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions (stride={list(stride)})")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if any(t % 2 for t in total):
        sides = [side for t in reversed(total) for side in (0, t % 2)]
        input = constant_pad_nd(input, tuple(sides), 0)
    return input, tuple([t // 2 for t in total])


# ---- checks ------------------------------------------------------------------------------------------------
def check_ranks(name, n, input, weight):
    for what, t, ranks in (("input", input, (n + 1, n + 2)), ("weight", weight, (n + 2,))):
        if not hasattr(t, "array"):
            raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {type(t).__name__}")
        if t.ndim not in ranks:
            raise RuntimeError(f"{name}: expected a {n + 2}D weight and a {n + 1}D (unbatched) or {n + 2}D (batched) "
                               f"input, but got {what} of size: {list(t.shape)}")


def check_numbers(name, groups, **settings):
    for what, values in settings.items():
        if min(values) < 1:
            raise RuntimeError(f"{name}: {what} must be greater than zero, got {list(values)}")
    if groups < 1:
        raise RuntimeError(f"{name}: groups must be greater than zero, got {groups}")


def check_types(name, input, weight, bias, padding, outputs):
    """The errors that both kinds of convolution share."""
    if min(padding) < 0:
        raise RuntimeError(f"{name}: negative padding is not supported, got {list(padding)}")
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.dtype is not input.dtype and not mixed_precision.enabled:
            advice = f"input.to({t.dtype})" if what == "weight" else f"bias.to({input.dtype})"
            raise RuntimeError(f"{name}: input type ({input.dtype}) and {what} type ({t.dtype}) should be the same: "
                               f"cast one of them, as in `{advice}`")
    if bias is not None and bias.shape != (outputs,):
        raise RuntimeError(f"{name}: given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
                           f"{outputs} elements, but got bias of size {list(bias.shape)}")


def check_conv(name, input, weight, bias, padding, dilation, groups):
    """The errors of a convolution; `input` is batched."""
    check_types(name, input, weight, bias, padding, weight.shape[0])
    if weight.shape[0] % groups or weight.shape[0] < groups:
        raise RuntimeError(f"{name}: expected weight to be at least {groups} at dimension 0, and divisible by "
                           f"{groups}, but got weight of size {list(weight.shape)}")
    if input.shape[1] != weight.shape[1] * groups:
        wanted, last = weight.shape[1] * groups, input.ndim - 1
        order = (0, last, *range(1, last))
        hint = (f"; its last dimension has that size: put channels first, as input.permute{order} of a batch"
                if input.shape[-1] == wanted else "")
        raise RuntimeError(f"{name}: given groups={groups}, weight of size {list(weight.shape)}, expected input"
                           f"{list(input.shape)} to have {wanted} channels, but got {input.shape[1]} channels "
                           f"instead{hint}")
    for i, (size, k, p, d) in enumerate(zip(input.shape[2:], weight.shape[2:], padding, dilation)):
        if size + 2 * p < reach(k, d):
            raise RuntimeError(f"{name}: calculated padded input size of dimension {i}: {size + 2 * p}. Kernel size: "
                               f"{reach(k, d)}. Kernel size can't be greater than actual input size")


def check_transpose(name, input, weight, bias, stride, padding, dilation, extra, size, groups):
    """The errors of a transposed convolution; `input` is batched."""
    check_types(name, input, weight, bias, padding, weight.shape[1] * groups)
    if weight.shape[0] % groups or weight.shape[0] != input.shape[1]:
        raise RuntimeError(f"{name}: given transposed=1, groups={groups}, weight of size {list(weight.shape)}, "
                           f"expected input{list(input.shape)} to have {weight.shape[0]} channels (a multiple of "
                           f"{groups}), but got {input.shape[1]} channels instead")
    if input.shape[0] and any(e < 0 or e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(f"{name}: output padding must be smaller than either stride or dilation, but got "
                           f"output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}")
    if min(size) < 1:
        raise RuntimeError(f"{name}: given input size per channel: {list(input.shape[2:])}. Calculated output size per "
                           f"channel: {list(size)}. Output size is too small")
