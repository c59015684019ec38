"""The op table, convolution: one n-dimensional op and its two transposes, for 1, 2 and 3 dimensions.

Convolution is linear in the input and in the weight, so the three rows are each other's derivatives to any order:

    y = convolution(x, w)    dx = convolution_input(dy, w)    dw = convolution_weight(x, dy)

Shapes: x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out). `conv_transpose` is `convolution_input`.

How it is computed: blocks of windows that fit in the L2 cache are unfolded into the columns of a matrix (im2col), so
that the rest is one matrix product for each block.
"""

from typing import NamedTuple

from ..op import composite, op
from .pad import constant_pad
from .windows import offsets, pad_sides, reach, shifted, spread, window_view

BLOCK = 1 << 19                # bytes of unfolded columns that are worked on at a time: half of a common L2 cache


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

    def sides(self):
        return [(p, p) for p in self.padding]


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
        choose(input, weight, geometry)[0](F, input, weight, bias, geometry, out)
    return out


@op(promotion="any", namespace=None,
    grad=lambda F, g, weight, geometry: F.convolution(g, weight, geometry=geometry),
    weight=lambda F, g, grad, geometry, weight_shape: F.convolution_weight(
        g, grad, geometry=geometry, size=tuple(weight_shape[2:])))
def convolution_input(F, grad, weight, *, geometry, size):
    """The transpose of `convolution` in its input: `grad` (N, O, *out) spread back over an input of `size`."""
    out = F.xp.zeros((grad.shape[0], weight.shape[1] * geometry.groups, *size), grad.dtype)
    if grad.size and out.size:
        choose(grad, weight, geometry)[1](F, grad, weight, geometry, out)
    return out


@op(promotion="any", namespace=None,
    input=lambda F, g, grad, geometry, input_shape: F.convolution_input(
        grad, g, geometry=geometry, size=tuple(input_shape[2:])),
    grad=lambda F, g, input, geometry: F.convolution(input, g, geometry=geometry))
def convolution_weight(F, input, grad, *, geometry, size):
    """The transpose of `convolution` in its weight, for a kernel of `size`."""
    out = F.xp.zeros((grad.shape[1], input.shape[1] // geometry.groups, *size), grad.dtype)
    if grad.size and out.size:
        choose(input, out, geometry)[2](F, input, grad, geometry, out)
    return out


def choose(input, weight, geometry):
    """The algorithm for these shapes: its forward pass, its gradient of the input, its gradient of the weight."""
    return by_columns, by_columns_input, by_columns_weight


# ---- by columns (im2col) -----------------------------------------------------------------------------------
def column_blocks(F, x, kernel, out, geometry):
    """Unfold `x` block by block: pairs of a slice of images and (C, *kernel, images, *out) columns."""
    count, channels = x.shape[:2]
    width = channels * x.itemsize
    for n in (*kernel, *out):
        width *= n
    step = max(1, min(count, BLOCK // max(width, 1)))
    columns = F.xp.empty((channels, *kernel, step, *out), x.dtype)
    n = len(kernel)
    order = (1, *range(2, n + 2), 0, *range(n + 2, 2 * n + 2))
    for i in range(0, count, step):
        block = pad_sides(F.xp, x[i:i + step], geometry.sides())
        view = window_view(F, block, kernel, geometry.stride, geometry.dilation, out).transpose(order)
        images = block.shape[0]
        if images < step:
            columns = F.xp.empty(view.shape, x.dtype)
        F.xp.copyto(columns, view)
        yield slice(i, i + images), columns


def by_columns(F, input, weight, bias, geometry, out):
    xp, groups = F.xp, geometry.groups
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    for images, columns in column_blocks(F, input, weight.shape[2:], out.shape[2:], geometry):
        product = xp.matmul(matrix, columns.reshape(groups, matrix.shape[2], -1))
        product = product.reshape(out.shape[1], -1, *out.shape[2:])
        if bias is not None:
            product += bias.reshape(-1, *(1,) * (product.ndim - 1))
        out[images] = product.swapaxes(0, 1)


def by_columns_input(F, grad, weight, geometry, out):
    xp, groups = F.xp, geometry.groups
    kernel, size = weight.shape[2:], grad.shape[2:]
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    step = images_per_block(out.shape[1], kernel, size, grad)
    frame = [n + 2 * p for n, p in zip(out.shape[2:], geometry.padding)]
    inner = tuple([slice(p, p + n) for n, p in zip(out.shape[2:], geometry.padding)])
    for i in range(0, grad.shape[0], step):
        part = grad[i:i + step].swapaxes(0, 1)
        columns = xp.matmul(matrix, part.reshape(groups, matrix.shape[2], -1))
        columns = columns.reshape(out.shape[1], -1, part.shape[1], *size)
        block = xp.zeros((out.shape[1], part.shape[1], *frame), out.dtype)
        for j, offset in enumerate(offsets(kernel, geometry.dilation)):
            view = shifted(block, offset, geometry.stride, size)
            view += columns[:, j]
        out[i:i + step] = block[(Ellipsis, *inner)].swapaxes(0, 1)


def by_columns_weight(F, input, grad, geometry, out):
    groups = geometry.groups
    total = out.reshape(groups, out.shape[0] // groups, -1)
    for images, columns in column_blocks(F, input, out.shape[2:], grad.shape[2:], geometry):
        part = grad[images].swapaxes(0, 1).reshape(groups, total.shape[1], -1)
        total += F.xp.matmul(part, columns.reshape(groups, total.shape[2], -1).swapaxes(1, 2))


def images_per_block(channels, kernel, size, like):
    width = channels * like.itemsize
    for n in (*kernel, *size):
        width *= n
    return max(1, min(like.shape[0], BLOCK // max(width, 1)))


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
