"""Convolution by matrix products over inputs that are unfolded whole (im2col).

Each algorithm is a function of raw arrays that fills `out`. There are three tasks, named after the op definitions of
`minitorch/ops/nn/conv.py`: "forward", "input" and "weight" (the gradients). The other algorithms are in the files next
to this one, the choice between them is in `methods.py`.

Memory decides the speed, not arithmetic: windows are unfolded into the columns of a matrix block by block, so that
a block is still in a cache when the matrix product reads it. A block is some images, or some rows of one image.

Letters: N images, C and O channels, G groups, K kernel positions, P positions of the output.
"""

from math import prod

from ....ops.nn.windows import offsets, pad_sides, shifted, window_view
from ..blocks import evenly

BLOCK = 1 << 21                # bytes of columns in a block; less makes the products small, more leaves the cache


def not_cut(kernel, geometry):
    """True if the padding is smaller than the kernel, so that the transposed convolution pads too."""
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
