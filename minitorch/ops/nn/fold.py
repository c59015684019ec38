"""Op definitions: windows of an image as columns (`unfold`), and columns added up to an image (`fold`).

The two are each other's transposes. Shapes: images (N, C, H, W), columns (N, C * kH * kW, L), L the number of windows;
N is optional.
"""

from math import prod

from ..define import composite, op
from .conv import Geometry
from .windows import as_tuple, offsets, pad_sides, shifted, window_view


def sample(d):
    return (d.int(1, 2), d.int(1, 2)), Geometry((d.int(1, 2), 1), (d.int(0, 1), 1), (1, d.int(1, 2)), 1)


def sample_unfold(d):
    kernel, geometry = sample(d)
    return [d.array((2, 2, 3, 4))], dict(kernel=kernel, geometry=geometry)


def sample_fold(d):
    kernel, geometry = sample(d)
    columns = d.array((2, 2 * prod(kernel), prod(geometry.out_size((3, 4), kernel))))
    return [columns], dict(size=(3, 4), kernel=kernel, geometry=geometry)


@op(dims="n [c x..] -> n r=times(c, kernel) l=geometry.windows(x, kernel)",
    promotion=None, namespace=None, node_name="Im2ColBackward0", sample=sample_unfold,
    input=lambda F, g, kernel, geometry, input_shape: F.col2im(
        g, size=tuple(input_shape[2:]), kernel=kernel, geometry=geometry))
def im2col(F, input, *, kernel, geometry):
    """The windows of (N, C, *size) as columns (N, C * K, L)."""
    out = geometry.out_size(input.shape[2:], kernel)
    padded = pad_sides(F.xp, input, [(p, p) for p in geometry.padding])
    view = window_view(F, padded, kernel, geometry.stride, geometry.dilation, out)
    return view.copy().reshape(len(input), input.shape[1] * prod(kernel), prod(out))


@op(dims="n [r l] -> n c=over(r, kernel) x..=size",
    promotion="any", namespace=None, node_name="Col2ImBackward0", sample=sample_fold,
    input=lambda F, g, kernel, geometry: F.im2col(g, kernel=kernel, geometry=geometry))
def col2im(F, input, *, size, kernel, geometry):
    """Columns (N, C * K, L) added up to (N, C, *size), each where `im2col` takes it from."""
    xp = F.xp
    out = geometry.out_size(size, kernel)
    columns = input.reshape(len(input), input.shape[1] // prod(kernel), prod(kernel), *out)
    image = xp.zeros((*columns.shape[:2], *[n + 2 * p for n, p in zip(size, geometry.padding)]), input.dtype)
    for i, offset in enumerate(offsets(kernel, geometry.dilation)):
        view = shifted(image, offset, geometry.stride, out)
        view += columns[:, :, i]
    return pad_sides(xp, image, [(-p, -p) for p in geometry.padding])


def settings(name, kernel_size, dilation, padding, stride):
    kernel, stride = as_tuple(kernel_size, 2, "kernel_size", name), as_tuple(stride, 2, "stride", name)
    padding, dilation = as_tuple(padding, 2, "padding", name), as_tuple(dilation, 2, "dilation", name)
    for what, values, least in (("kernel_size", kernel, 1), ("stride", stride, 1), ("dilation", dilation, 1),
                                ("padding", padding, 0)):
        if min(values) < least:
            raise RuntimeError(f"{name}: {what} should be at least {least}, but got {list(values)}")
    return kernel, Geometry(stride, padding, dilation, 1)


@composite(namespace="nn.functional")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images (N, C, H, W) as columns (N, C * kH * kW, L); N is optional.

    >>> import minitorch
    >>> unfold(minitorch.arange(9.).reshape(1, 3, 3), 2)[:, 0]
    tensor([0., 1., 3., 4.])
    """
    kernel, geometry = settings("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(f"unfold: expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                           f"non-zero dimensions for input, but got: {list(input.shape)}")
    out = geometry.out_size(input.shape[-2:], kernel)
    if min(out) < 1:
        raise RuntimeError(f"unfold: given input with spatial size {list(input.shape[-2:])}, kernel_size={kernel}, "
                           f"dilation={geometry.dilation}, padding={geometry.padding}, the array of sliding blocks "
                           f"would have shape {out}, but its components must be at least one")
    if input.ndim == 3:
        return im2col(input.unsqueeze(0), kernel, geometry)[0]
    return im2col(input, kernel, geometry)


@composite(namespace="nn.functional")
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C * kH * kW, L) added up to images (N, C, *output_size): the transpose of `unfold`; N is optional."""
    size = as_tuple(output_size, 2, "output_size", "fold")
    kernel, geometry = settings("fold", kernel_size, dilation, padding, stride)
    if min(size) < 1:
        raise RuntimeError(f"fold: output_size should be greater than zero, but got {list(size)}")
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(f"fold: expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
                           f"non-zero dimensions for input, but got: {list(input.shape)}")
    out = geometry.out_size(size, kernel)
    if input.shape[-2] % prod(kernel):
        raise RuntimeError(f"fold: expected size of input's dimension 1 to be divisible by the product of kernel_size, "
                           f"but got input.size(1)={input.shape[-2]} and kernel_size={kernel}")
    if min(out) < 1 or input.shape[-1] != prod(out):
        raise RuntimeError(f"fold: given output_size={size}, kernel_size={kernel}, dilation={geometry.dilation}, "
                           f"padding={geometry.padding}, stride={geometry.stride}, expected size of input's dimension "
                           f"2 to match the calculated number of sliding blocks {out[0]} * {out[1]} = {prod(out)}, but "
                           f"got input.size(2)={input.shape[-1]}")
    if input.ndim == 2:
        return col2im(input.unsqueeze(0), size, kernel, geometry)[0]
    return col2im(input, size, kernel, geometry)
