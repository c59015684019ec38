"""Convolution by one matrix product over all images, whose columns lie side by side.

Where images are small and channels many, as in the last layers of a network, the weight is the largest array by far.
Here it is read as it lies, (O, C * kernel), in all three tasks: no copy of it is turned. The inputs, which are small,
are turned instead: images innermost, so that what is copied are runs of all images.

Letters: N images, C and O channels. One group only.
"""

from math import prod

from ....ops.nn.windows import offsets, pad_sides, shifted
from ..blocks import evenly

BLOCK = 1 << 22                # bytes of columns in a block, which is some images


def applies(geometry):
    """True if the method applies."""
    return geometry.groups == 1


def images_at_a_time(count, unfolded_bytes):
    return evenly(count, max(1, BLOCK // max(unfolded_bytes, 1)))


def last(x):
    """An array (N, C, *size) as one (C, *size, N)."""
    return x.transpose(*range(1, x.ndim), 0)


def first(x):
    """An array (C, *size, N) as one (N, C, *size)."""
    return x.transpose(x.ndim - 1, *range(x.ndim - 1))


def columns(F, x, kernel, geometry, out):
    """Pairs of slices of images and their columns, a matrix (C * kernel, out * N)."""
    xp = F.xp
    rows, frame = x.shape[1] * prod(kernel), [(p, p) for p in geometry.padding]
    for images in images_at_a_time(len(x), rows * prod(out) * x.itemsize):
        padded = pad_sides(xp, xp.ascontiguousarray(last(x[images])), [*frame, (0, 0)])
        steps = padded.strides[1:-1]
        view = F.strided(padded, (len(padded), *kernel, *out, padded.shape[-1]),
                         (padded.strides[0], *[s * d for s, d in zip(steps, geometry.dilation)],
                          *[s * d for s, d in zip(steps, geometry.stride)], padded.strides[-1]))
        yield images, xp.ascontiguousarray(view).reshape(rows, -1)


def forward(F, x, weight, bias, geometry, out):
    matrix = weight.reshape(len(weight), -1)
    for images, block in columns(F, x, weight.shape[2:], geometry, out.shape[2:]):
        part = F.xp.matmul(matrix, block)
        if bias is not None:
            part += bias.reshape(-1, 1)
        out[images] = first(part.reshape(*out.shape[1:], -1))


def weight(F, x, grad, geometry, out):
    xp, total = F.xp, out.reshape(len(out), -1)
    for images, block in columns(F, x, out.shape[2:], geometry, grad.shape[2:]):
        part = xp.ascontiguousarray(last(grad[images])).reshape(len(out), -1)
        if images.start == 0:
            xp.matmul(part, block.T, out=total)
        else:
            total += xp.matmul(part, block.T)


def scatter(F, grad, weight, geometry, out):
    """The gradient of the input: the columns that belong to `grad`, each added where it was unfolded from."""
    xp, kernel, size = F.xp, weight.shape[2:], grad.shape[2:]
    matrix = weight.reshape(len(weight), -1).T
    frame = [m + 2 * p for m, p in zip(out.shape[2:], geometry.padding)]
    inner = tuple([slice(p, p + m) for m, p in zip(out.shape[2:], geometry.padding)])
    for images in images_at_a_time(len(grad), len(matrix) * prod(size) * grad.itemsize):
        part = xp.ascontiguousarray(last(grad[images]))
        count = part.shape[-1]
        block = xp.matmul(matrix, part.reshape(len(weight), -1)).reshape(out.shape[1], -1, *size, count)
        padded = xp.zeros((out.shape[1], *frame, count), out.dtype)
        below = padded.transpose(0, len(frame) + 1, *range(1, len(frame) + 1))   # windows are counted in the last
        for j, offset in enumerate(offsets(kernel, geometry.dilation)):
            view = shifted(below, offset, geometry.stride, size)
            view += block[:, j].transpose(0, len(frame) + 1, *range(1, len(frame) + 1))
        out[images] = first(padded[(slice(None),) + inner])
