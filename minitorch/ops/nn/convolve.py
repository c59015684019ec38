"""Convolution by matrix products over inputs that are unfolded whole, and depthwise convolution.

Each algorithm is a function of raw arrays that fills `out`. There are three tasks, named after the rows of
`conv.py`: "forward", "input" and "weight" (the gradients). More algorithms, and the choice between them,
are in `convolution_methods.py`.

Memory decides the speed, not arithmetic: windows are unfolded into the columns of a matrix block by block, so that
a block is still in a cache when the matrix product reads it. A block is some images, or some rows of one image.

Letters: N images, C and O channels, G groups, K places of the kernel, P places of the output.
"""

from math import prod

from .windows import evenly, offsets, pad_sides, reach, shifted, window_view

BLOCK = 1 << 21                # bytes of columns in a block; less makes the products small, more leaves the cache


def not_cut(kernel, geometry):
    """Whether the padding is smaller than the kernel, so that the transposed convolution pads too."""
    return all(d * (k - 1) >= p for k, p, d in zip(kernel, geometry.padding, geometry.dilation))


# ---- blocks of columns -------------------------------------------------------------------------------------
def blocks(count, rows, row_bytes):
    """Pairs of slices (of images, of rows of the output) whose columns fill about a block."""
    images = BLOCK // max(rows * row_bytes, 1)
    if images:
        return [(part, slice(0, rows)) for part in evenly(count, images)]
    return [(slice(i, i + 1), part) for i in range(count) for part in evenly(rows, max(1, BLOCK // row_bytes))]


def columns(F, x, kernel, out, geometry, by_pixels):
    """Unfold `x` (N, C, *size) block by block: triples of slices of images and rows, and their columns.

    The columns are (images, C, *kernel, *out), or `by_pixels` (images, *out, *kernel, C), always in the same buffer.
    """
    xp, n, channels = F.xp, len(kernel), x.shape[1]
    if prod(kernel) == 1 and not by_pixels and set(geometry.stride) == {1} and not any(geometry.padding):
        x = x[(Ellipsis,) + tuple([slice(0, m) for m in out])]                  # 1x1: the input is its own columns
        yield slice(0, len(x)), slice(0, out[0]), x
        return
    row_bytes = channels * prod(kernel) * prod(out[1:]) * x.itemsize
    last, buffer = None, None
    for images, rows in blocks(len(x), out[0], row_bytes):
        if images != last:
            last, padded = images, pad_block(xp, x[images], geometry.padding, by_pixels)
        view = window_view(F, padded[:, :, rows.start * geometry.stride[0]:], kernel, geometry.stride,
                           geometry.dilation, (rows.stop - rows.start, *out[1:]))
        if by_pixels:
            view = view.transpose(0, *range(n + 2, 2 * n + 2), *range(2, n + 2), 1)
        buffer = xp.empty(view.size, x.dtype) if buffer is None else buffer
        block = buffer[:view.size].reshape(view.shape)
        xp.copyto(block, view)
        yield images, rows, block


def pad_block(xp, x, padding, by_pixels):
    """`x` with zeros around it, in memory channel by channel, or pixel by pixel."""
    sides, axes = [(p, p) for p in padding], range(1, len(padding) + 1)
    if not by_pixels:
        return pad_sides(xp, x, sides)
    x = pad_sides(xp, x.transpose(0, *[a + 1 for a in axes], 1), [*sides, (0, 0)])
    return xp.ascontiguousarray(x).transpose(0, len(x.shape) - 1, *axes)


def per_group(weight, groups):
    """The weight (O, C / G, *kernel) as matrices (G, O / G, C / G * K)."""
    return weight.reshape(groups, weight.shape[0] // groups, -1)


# ---- by channels: columns as they lie in images; the product is the output as it lies in memory -----------------
def forward_by_channels(F, x, weight, bias, geometry, out):
    groups = geometry.groups
    matrix = per_group(weight, groups)
    for images, rows, block in columns(F, x, weight.shape[2:], out.shape[2:], geometry, False):
        part = out[images, :, rows]
        part = part.reshape(len(part), groups, matrix.shape[1], -1)             # a view: only whole rows were cut
        F.xp.matmul(matrix, block.reshape(len(block), groups, matrix.shape[2], -1), out=part)
        if bias is not None:
            part += bias.reshape(groups, -1, 1)


def weight_by_channels(F, x, grad, geometry, out):
    xp, groups = F.xp, geometry.groups
    shape = (groups, out.shape[0] // groups, -1)
    total = out.reshape(shape)
    # BLAS likes its transposed operand small, but then the result has to be transposed.
    turned = total.shape[1] <= total.shape[2] and 4 * out.shape[0] <= len(x) * prod(grad.shape[2:])
    if turned:
        total = total.swapaxes(1, 2).copy()
    for images, rows, block in columns(F, x, out.shape[2:], grad.shape[2:], geometry, False):
        part = grad[images, :, rows].reshape(len(block), groups, out.shape[0] // groups, -1)
        block = block.reshape(len(block), groups, -1, part.shape[-1])
        one = xp.matmul(block, part.swapaxes(2, 3)) if turned else xp.matmul(part, block.swapaxes(2, 3))
        total += xp.add.reduce(one, 0) if len(one) > 1 else one[0]
    if turned:
        out[...] = total.swapaxes(1, 2).reshape(out.shape)


# ---- by pixels: columns with the channels innermost, for small images with many channels -----------------------------
def forward_by_pixels(F, x, weight, bias, geometry, out):
    xp = F.xp
    axes = range(2, weight.ndim)
    matrix = weight.transpose(*axes, 1, 0).reshape(-1, len(weight))             # (*kernel, C), O
    for images, rows, block in columns(F, x, weight.shape[2:], out.shape[2:], geometry, True):
        part = xp.matmul(block.reshape(-1, len(matrix)), matrix)
        if bias is not None:
            part += bias
        target = out[images, :, rows].transpose(0, *axes, 1)
        target[...] = part.reshape(target.shape)


def weight_by_pixels(F, x, grad, geometry, out):
    xp = F.xp
    total = xp.zeros((len(out), out[0].size), out.dtype)
    for images, rows, block in columns(F, x, out.shape[2:], grad.shape[2:], geometry, True):
        part = grad[images, :, rows].swapaxes(0, 1).reshape(len(out), -1)
        total += xp.matmul(part, block.reshape(part.shape[1], -1))
    out[...] = xp.moveaxis(total.reshape(len(out), *out.shape[2:], -1), -1, 1)


# ---- the gradient of the input -----------------------------------------------------------------------------
def turned_weight(F, weight, groups):
    """The weight of the transposed convolution: mirrored in space, input and output channels swapped."""
    kernel = weight.shape[2:]
    split = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
    mirrored = F.xp.flip(split.reshape(-1, split.shape[2], *kernel), tuple(range(2, 2 + len(kernel))))
    return F.xp.ascontiguousarray(mirrored)                # BLAS takes no negative strides


def scatter_by_channels(F, grad, weight, geometry, out):
    """With any stride: the columns that belong to `grad`, each added where it was unfolded from."""
    xp, groups = F.xp, geometry.groups
    kernel, size = weight.shape[2:], grad.shape[2:]
    matrix = per_group(weight, groups).swapaxes(1, 2)
    sides = [(p, p) for p in geometry.padding]
    row_bytes = out.shape[1] * prod(kernel) * prod(size[1:]) * grad.itemsize
    for images, rows in blocks(len(grad), size[0], row_bytes):
        if rows.start == 0:
            padded = pad_sides(xp, xp.zeros_like(out[images]), sides)
        part = grad[images, :, rows]
        block = xp.matmul(matrix, part.reshape(len(part), groups, matrix.shape[2], -1))
        block = block.reshape(len(part), out.shape[1], -1, *part.shape[2:])
        below = padded[:, :, rows.start * geometry.stride[0]:]
        for j, offset in enumerate(offsets(kernel, geometry.dilation)):
            view = shifted(below, offset, geometry.stride, part.shape[2:])
            view += block[:, :, j]
        if rows.stop == size[0]:
            out[images] = pad_sides(xp, padded, [(-b, -a) for b, a in sides])


def scatter_by_pixels(F, grad, weight, geometry, out):
    """The same with the channels innermost."""
    xp, kernel, size = F.xp, weight.shape[2:], grad.shape[2:]
    n = len(kernel)
    axes, first, last = range(2, n + 2), (0, *range(2, n + 2), 1), (0, n + 1, *range(1, n + 1))
    matrices = weight.transpose(*axes, 0, 1).reshape(-1, *weight.shape[:2])     # K, O, C
    frame = [m + 2 * p for m, p in zip(out.shape[2:], geometry.padding)]
    inner = tuple([slice(p, p + m) for m, p in zip(out.shape[2:], geometry.padding)])
    row_bytes = out.shape[1] * len(matrices) * prod(size[1:]) * grad.itemsize
    for images, rows in blocks(len(grad), size[0], row_bytes):
        part = grad[images, :, rows].transpose(first)
        block = xp.matmul(part.reshape(-1, part.shape[-1]), matrices)
        block = block.reshape(len(matrices), *part.shape[:-1], out.shape[1])
        if rows.start == 0:
            padded = xp.zeros((len(part), *frame, out.shape[1]), out.dtype).transpose(last)
        below = padded[:, :, rows.start * geometry.stride[0]:]
        for columns_, offset in zip(block, offsets(kernel, geometry.dilation)):
            view = shifted(below, offset, geometry.stride, part.shape[1:-1])
            view += columns_.transpose(last)
        if rows.stop == size[0]:
            out[images] = padded[(Ellipsis,) + inner]


# ---- depthwise: one input channel a group ------------------------------------------------------------------
# There is nothing for a matrix product to sum but the places of the kernel. So the last dimension is treated in tiles:
# a row of `span` inputs times a banded matrix (span, outputs), which holds the kernel once for each output, shifted by
# the stride. Only a tenth or so of the products count, and still BLAS is several times faster than NumPy's loops.
TILE = 32                      # outputs that a banded matrix makes


def bands(F, x, kernel, geometry, out, multiple):
    """Blocks of unfolded `x`: slices of channels, of images and of outputs in the last dimension, and the rows
    (channels, images, *other outputs, other places of K, span)."""
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
    """The view (C, other places of K, k, M, outputs) of banded matrices (C, other places, span, M, outputs) that holds
    each output's kernel."""
    *lead, down, multiple, right = band.strides
    shape = (*band.shape[:2], k, *band.shape[3:])
    return F.strided(band, shape, (*lead, down * geometry.dilation[-1], multiple, down * geometry.stride[-1] + right))


def by_channel(x, channels):
    """(N, C * M, *size) as (C, N, *size without the last, M, last)."""
    x = x.reshape(len(x), channels, -1, *x.shape[2:])                           # a view: channels are only split
    return x.transpose(1, 0, *range(3, x.ndim - 1), 2, x.ndim - 1)


def forward_depthwise(F, x, weight, bias, geometry, out):
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


def weight_depthwise(F, x, grad, geometry, out):
    xp, channels, k = F.xp, x.shape[1], out.shape[-1]
    sums = out.reshape(channels, len(out) // channels, -1, k).transpose(0, 2, 3, 1)
    source = by_channel(grad, channels)
    for part, images, outputs, rows in bands(F, x, out.shape[2:], geometry, grad.shape[2:], sums.shape[3]):
        g = source[part, images, ..., outputs]
        band = (len(rows), sums.shape[1], rows.shape[-1], *g.shape[-2:])
        rows = rows.reshape(len(rows), -1, band[1] * band[2]).swapaxes(1, 2)
        band = xp.matmul(rows, g.reshape(len(g), -1, band[3] * band[4])).reshape(band)
        sums[part] += diagonals(F, band, k, geometry).sum(-1)


def input_depthwise(F, grad, weight, geometry, out):
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
