"""Depthwise convolution: one input channel a group.

There is nothing for a matrix product to sum but the kernel positions. So the last dimension is treated in tiles: a
row of `span` inputs times a banded matrix (span, outputs), which holds the kernel once for each output, shifted by the
stride. Only a tenth or so of the products count, and still BLAS is several times faster than NumPy's loops.

Letters: N images, C channels, M outputs a channel, K kernel positions.
"""

from math import prod

from ....ops.nn.windows import offsets, pad_sides, reach, shifted, window_view
from ..blocks import evenly
from .im2col import BLOCK, blocks

TILE = 32                      # outputs that a banded matrix makes


def bands(F, x, kernel, geometry, out, multiple):
    """Blocks of unfolded `x`: slices of channels, of images and of outputs in the last dimension, and the rows
    (channels, images, *other outputs, other positions of K, span)."""
    xp, n, channels = F.xp, len(kernel), x.shape[1]
    stride, width = geometry.stride[-1], reach(kernel[-1], geometry.dilation[-1])
    order = (1, 0, *range(n + 2, 2 * n + 1), *range(2, n + 2), 2 * n + 1)
    sides = [(p, p) for p in geometry.padding]
    tiles = evenly(out[-1], TILE)
    longest = (tiles[0].stop - 1) * stride + width
    row = prod(kernel[:-1]) * longest * x.itemsize
    some = evenly(channels, max(1, BLOCK // max(row * multiple * TILE, row * prod(out[:-1]) * min(len(x), 4))))
    for part in some:                                      # channels whose matrices, or a few images, fill a block
        for images in evenly(len(x), max(1, BLOCK // (some[0].stop * row * prod(out[:-1])))):
            padded = pad_sides(xp, x[images, part], sides)
            for outputs in tiles:
                span = (outputs.stop - outputs.start - 1) * stride + width
                tile = padded[..., outputs.start * stride:outputs.start * stride + span]
                view = window_view(F, tile, (*kernel[:-1], 1), (*geometry.stride[:-1], 1),
                                   (*geometry.dilation[:-1], 1), (*out[:-1], span))
                yield part, images, outputs, xp.ascontiguousarray(view.transpose(order))


def diagonals(F, band, k, geometry):
    """The view (C, other positions of K, k, M, outputs) of banded matrices (C, other positions, span, M, outputs)
    that holds each output's kernel."""
    *lead, down, multiple, right = band.strides
    shape = (*band.shape[:2], k, *band.shape[3:])
    return F.strided(band, shape, (*lead, down * geometry.dilation[-1], multiple, down * geometry.stride[-1] + right))


def by_channel(x, channels):
    """(N, C * M, *size) as (C, N, *size without the last, M, last)."""
    x = x.reshape(len(x), channels, -1, *x.shape[2:])                           # a view: channels are only split
    return x.transpose(1, 0, *range(3, x.ndim - 1), 2, x.ndim - 1)


def forward(F, x, weight, bias, geometry, out):
    xp, channels, k = F.xp, x.shape[1], weight.shape[-1]
    taps = weight.reshape(channels, len(weight) // channels, -1, k).transpose(0, 2, 3, 1)[..., None]
    target, band, made_for = by_channel(out, channels), None, None
    for part, images, outputs, rows in bands(F, x, weight.shape[2:], geometry, out.shape[2:], taps.shape[3]):
        count = outputs.stop - outputs.start
        if made_for != (part, count):
            made_for = part, count
            band = xp.zeros((len(rows), taps.shape[1], rows.shape[-1], taps.shape[3], count), x.dtype)
            diagonals(F, band, k, geometry)[...] = taps[part]
        places = band.shape[1] * band.shape[2]
        values = xp.matmul(rows.reshape(len(rows), -1, places), band.reshape(len(rows), places, -1))
        view = target[part, images, ..., outputs]
        view[...] = values.reshape(view.shape)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))


def weight(F, x, grad, geometry, out):
    xp, channels, k = F.xp, x.shape[1], out.shape[-1]
    sums = out.reshape(channels, len(out) // channels, -1, k).transpose(0, 2, 3, 1)
    source = by_channel(grad, channels)
    for part, images, outputs, rows in bands(F, x, out.shape[2:], geometry, grad.shape[2:], sums.shape[3]):
        g = source[part, images, ..., outputs]
        band = (len(rows), sums.shape[1], rows.shape[-1], *g.shape[-2:])
        rows = rows.reshape(len(rows), -1, band[1] * band[2]).swapaxes(1, 2)
        band = xp.matmul(rows, g.reshape(len(g), -1, band[3] * band[4])).reshape(band)
        sums[part] += diagonals(F, band, k, geometry).sum(-1)


def input(F, grad, weight, geometry, out):
    """The gradient of the input for strided or multiplied depthwise convolutions, one place of the kernel at a time."""
    xp, channels, n = F.xp, out.shape[1], len(geometry.stride)
    grad = grad.reshape(len(grad), channels, -1, *grad.shape[2:])
    places = weight.reshape(channels, grad.shape[2], -1, *(1,) * n)
    sides = [(p, p) for p in geometry.padding]
    for images, part in blocks(len(grad), channels, 4 * grad[0, 0].nbytes):
        g = grad[images, part]
        block = pad_sides(xp, xp.zeros_like(out[images, part]), sides)
        for j, offset in enumerate(offsets(weight.shape[2:], geometry.dilation)):
            view = shifted(block, offset, geometry.stride, grad.shape[3:])
            product = g * places[part, :, j]
            view += xp.add.reduce(product, 2) if g.shape[2] > 1 else product[:, :, 0]
        out[images, part] = pad_sides(xp, block, [(-p, -p) for p in geometry.padding])
