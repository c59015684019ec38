"""The op table, convolution: one n-dimensional op and its two transposes, for 1, 2 and 3 dimensions.

Convolution is linear in the input and in the weight, so the three rows are each other's derivatives to any order:

    y = convolution(x, w)    dx = convolution_input(dy, w)    dw = convolution_weight(x, dy)

Shapes: x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out). `conv_transpose` is `convolution_input`.

How they are computed is in `minitorch/ops/convolve.py`.
"""

from typing import NamedTuple

from ..op import composite, op
from .convolve import choose
from .pad import constant_pad
from .windows import reach, spread


class Geometry(NamedTuple):
    """How windows lie: tuples of n ints, and the number of groups."""

    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int

    def out_size(self, size, kernel):
        """How many windows fit in each dimension."""
        return tuple([(n + 2 * p - reach(k, d)) // s + 1 for n, k, s, p, d in
                      zip(size, kernel, self.stride, self.padding, self.dilation)])


# ---- the three rows ----------------------------------------------------------------------------------------
@op(promotion="any", namespace=None,
    input=lambda F, g, weight, geometry, input_shape: F.convolution_input(
        g, weight, geometry=geometry, size=tuple(input_shape[2:])),
    weight=lambda F, g, input, geometry, weight_shape: F.convolution_weight(
        input, g, geometry=geometry, size=tuple(weight_shape[2:])),
    bias=lambda F, g: F.sum(g, dim=(0, *range(2, g.ndim))))
def convolution(F, input, weight, bias=None, *, geometry=None):
    """Each output is the sum of a window of `input` times `weight`, plus `bias` (O)."""
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    out = F.xp.empty((input.shape[0], weight.shape[0], *size), input.dtype)
    if out.size:
        run = choose("forward", input.shape[1], weight.shape, geometry, len(input), size)
        run(F, input, weight, bias, geometry, out)
    return out


@op(promotion="any", namespace=None,
    grad=lambda F, g, weight, geometry: F.convolution(g, weight, geometry=geometry),
    weight=lambda F, g, grad, geometry, weight_shape: F.convolution_weight(
        g, grad, geometry=geometry, size=tuple(weight_shape[2:])))
def convolution_input(F, grad, weight, *, geometry, size):
    """The transpose of `convolution` in its input: `grad` (N, O, *out) spread back over an input of `size`."""
    shape = (grad.shape[0], weight.shape[1] * geometry.groups, *size)
    out = F.xp.empty(shape, grad.dtype) if grad.size else F.xp.zeros(shape, grad.dtype)
    if grad.size and out.size:
        run = choose("input", out.shape[1], weight.shape, geometry, len(grad), grad.shape[2:])
        run(F, grad, weight, geometry, out)
    return out


@op(promotion="any", namespace=None,
    input=lambda F, g, grad, geometry, input_shape: F.convolution_input(
        grad, g, geometry=geometry, size=tuple(input_shape[2:])),
    grad=lambda F, g, input, geometry: F.convolution(input, g, geometry=geometry))
def convolution_weight(F, input, grad, *, geometry, size):
    """The transpose of `convolution` in its weight, for a kernel of `size`."""
    out = F.xp.zeros((grad.shape[1], input.shape[1] // geometry.groups, *size), grad.dtype)
    if grad.size and out.size:
        run = choose("weight", input.shape[1], out.shape, geometry, len(input), grad.shape[2:])
        run(F, input, grad, geometry, out)
    return out


# ---- the public functions ----------------------------------------------------------------------------------
def conv(n, input, weight, bias, stride, padding, dilation, groups):
    """`conv1d`, `conv2d` and `conv3d` with `n` spatial dimensions."""
    name = f"conv{n}d"
    check_ranks(name, n, input, weight)
    stride, dilation = spread(stride, n, "stride", name), spread(dilation, n, "dilation", name)
    single = input.ndim == n + 1
    if single:
        input = input.unsqueeze(0)
    if isinstance(padding, str):
        input, padding = resolve_padding(name, n, input, weight, stride, padding, dilation)
    else:
        padding = spread(padding, n, "padding", name)
    check_conv(name, n, input, weight, bias, stride, padding, dilation, groups)
    out = convolution(input, weight, bias, Geometry(stride, padding, dilation, groups))
    return out[0] if single else out


def resolve_padding(name, n, input, weight, stride, padding, dilation):
    """The padding that a word stands for; an input that is padded already where the two sides differ."""
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"{name}: padding must be an int, a tuple of ints, 'valid' or 'same', got '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions: stride is {list(stride)}")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if any(t % 2 for t in total):
        sides = [side for t in reversed(total) for side in (0, t % 2)]
        input = constant_pad(input, tuple(sides), 0)
    return input, tuple([t // 2 for t in total])


def check_ranks(name, n, input, weight):
    for what, t, ranks in (("input", input, (n + 1, n + 2)), ("weight", weight, (n + 2,))):
        if not hasattr(t, "array"):
            raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {type(t).__name__}")
        if t.ndim not in ranks:
            raise RuntimeError(f"{name}: expected a {n + 2}D weight (O, C / groups, ...) and a {n + 1}D (unbatched) or "
                               f"{n + 2}D (batched) input, but got {what} of size: {list(t.shape)}")


def check_conv(name, n, input, weight, bias, stride, padding, dilation, groups):
    """The errors of a convolution; `input` is batched."""
    check_common(name, input, weight, bias, stride, padding, dilation, groups)
    channels, per_group = input.shape[1], weight.shape[1]
    if channels != per_group * groups:
        raise RuntimeError(f"{name}: given groups={groups}, weight of size {list(weight.shape)}, expected input"
                           f"{list(input.shape)} to have {per_group * groups} channels, but got {channels} channels "
                           f"instead")
    if weight.shape[0] % groups:
        raise RuntimeError(f"{name}: expected weight to be divisible by {groups} at dimension 0, but got weight of "
                           f"size {list(weight.shape)}")
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(f"{name}: given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
                           f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)}")
    for i, (size, k, p, d) in enumerate(zip(input.shape[2:], weight.shape[2:], padding, dilation)):
        if size + 2 * p < reach(k, d):
            raise RuntimeError(f"{name}: calculated padded input size ({size + 2 * p}) of spatial dimension {i} is "
                               f"smaller than the kernel ({reach(k, d)}): kernel size can't be greater than actual "
                               f"input size")


def check_common(name, input, weight, bias, stride, padding, dilation, groups):
    for what, values, least in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)):
        if min(values) < least:
            raise RuntimeError(f"{name}: {what} must be at least {least}, got {list(values)}")
    if groups < 1:
        raise RuntimeError(f"{name}: groups must be positive, got {groups}")
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.dtype is not input.dtype:
            raise RuntimeError(f"{name}: input type ({input.dtype}) and {what} type ({t.dtype}) should be the same: "
                               f"cast one of them, as in `{what}.to({input.dtype})`")


@composite(namespace="nn.functional")
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolve sequences: see `conv2d`, with (N, C, L) and (O, C / groups, K)."""
    return conv(1, input, weight, bias, stride, padding, dilation, groups)


@composite(namespace="nn.functional")
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolve images with kernels: each output is the sum of a window of `input` times `weight`, plus `bias`."""
    return conv(2, input, weight, bias, stride, padding, dilation, groups)


@composite(namespace="nn.functional")
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolve volumes: see `conv2d`, with (N, C, D, H, W) and (O, C / groups, kD, kH, kW)."""
    return conv(3, input, weight, bias, stride, padding, dilation, groups)
