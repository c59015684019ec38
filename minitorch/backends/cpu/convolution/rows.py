"""Convolution by matrix products over inputs that are unfolded in all dimensions but the first.

Unfolding all dimensions copies each input once for every place of the kernel. Here windows that follow each other in
the first dimension share their memory. For the forward pass the input lies as (rows, kernel positions in a row,
channels, positions of a row of the output): an output row depends on `kernel` consecutive rows, which are
already a matrix. For the gradient of the weight it lies as (kernel positions in a row, channels, rows, positions of a
row): a row of the kernel is multiplied with a matrix, the same one for the next row a little further on.

A block is some images, or some rows of one, and stays in the cache. Products are written to where they belong; where
rows are short, `several` images lie side by side, so that the matrices are not too narrow.

Letters: N images, G groups, C and O channels of a group. A one-dimensional input is one row.
"""

from itertools import product
from math import prod

from ..blocks import evenly

BLOCK = 1 << 20                # bytes of unfolded input in a block
NARROW = 32                    # positions in a row that make a matrix wide enough


def in_rows(x, n=1):
    """The sizes of a one-dimensional convolution as those of a two-dimensional one."""
    return tuple(x) if len(x) > 1 else (n, *x)


def applies(task, kernel, geometry):
    """True if the method applies: windows that share memory must lie at equal steps."""
    if task == "weight":
        return in_rows(geometry.stride)[0] == 1
    return in_rows(geometry.dilation)[0] == 1 or in_rows(kernel)[0] == 1


class Rows:
    """Division of a convolution into blocks, and the unfolding of each."""

    def __init__(self, x, kernel, geometry, out):
        self.x = x if x.ndim > 3 else x[:, :, None]
        self.kernel, self.out = in_rows(kernel), in_rows(out)
        self.stride, self.dilation = in_rows(geometry.stride), in_rows(geometry.dilation)
        self.padding, self.groups = in_rows(geometry.padding, 0), geometry.groups
        self.places, self.row = prod(self.kernel[1:]), prod(self.out[1:])
        self.moves = [self.move(place) for place in product(*map(range, self.kernel[1:]))]
        self.buffer = None

    def move(self, place):
        """Target and source slices of the inputs for a kernel position in a row; the rest is padding."""
        to, source = [], []
        for k, size, out, step, apart, before in zip(place, self.x.shape[3:], self.out[1:], self.stride[1:],
                                                     self.dilation[1:], self.padding[1:]):
            first = k * apart - before
            start, stop = -(min(first, 0) // step), min(out, (size - 1 - first) // step + 1)
            stop = max(start, stop)
            to.append(slice(start, stop))
            source.append(slice(start * step + first, max((stop - 1) * step + first + 1, 0), step))
        return tuple(to), tuple(source)

    def blocks(self, several=1):
        """Pairs of slices, of images and of rows of the output."""
        down = (self.out[0] - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1
        row_bytes = self.x.shape[1] * self.places * self.row * self.x.itemsize
        images = BLOCK // (row_bytes * down) // several * several
        if images:
            return [(part, slice(0, self.out[0])) for part in evenly(len(self.x) // several, images // several)]
        rows = evenly(self.out[0], max(1, BLOCK // (row_bytes * several * self.stride[0])))
        return [(slice(i, i + 1), part) for i in range(len(self.x) // several) for part in rows]

    def unfold(self, F, x, rows, order):
        """Images x (N, several, G, C, *size) unfolded for some rows of the output.

        As (N, G, rows, positions, C, several, *row) if `order` is "forward", else (N, G, positions, C, rows, several,
        *row).
        """
        xp, (count, several, groups, channels, height), lead = F.xp, x.shape[:5], len(self.out) - 1
        first = rows.start * self.stride[0] - self.padding[0]
        down = (rows.stop - rows.start - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1
        shape = (count, groups, down, self.places, channels, several, *self.out[1:])
        if self.buffer is None or self.buffer.shape != shape:
            self.made = xp.zeros([shape[d] for d in ORDER[order]] + list(shape[6:]), x.dtype)
            inverse = sorted(range(6), key=ORDER[order].__getitem__)
            self.buffer = self.made.transpose(*inverse, *range(6, 6 + lead))
        source = x.transpose(0, 2, 4, 3, 1, *range(5, 5 + lead))                # (N, G, rows, C, several, *size)
        start = min(max(-first, 0), down)
        inside = slice(start, max(start, min(down, height - first)))
        self.buffer[:, :, :inside.start] = 0
        self.buffer[:, :, inside.stop:] = 0
        for place, (to, where) in enumerate(self.moves):
            self.buffer[:, :, inside, place][(Ellipsis,) + to] = source[
                :, :, inside.start + first:inside.stop + first][(Ellipsis,) + where]
        return self.made


ORDER = {"forward": (0, 1, 2, 3, 4, 5), "weight": (0, 1, 3, 4, 2, 5)}


def forward(F, x, weight, bias, geometry, out):
    xp, groups = F.xp, geometry.groups
    r = Rows(x, weight.shape[2:], geometry, out.shape[2:])
    outputs, channels = len(weight) // groups, weight.shape[1]
    matrix = weight.reshape(groups, outputs, channels, r.kernel[0], r.places).transpose(0, 1, 3, 4, 2)
    matrix = xp.ascontiguousarray(matrix.reshape(groups, 1, outputs, -1))
    several = max([n for n in range(1, 1 + NARROW // r.row) if len(x) % n == 0], default=1)
    x = r.x.reshape(-1, several, groups, channels, *r.x.shape[2:])
    target = out.reshape(-1, several, groups, outputs, r.out[0], r.row).transpose(0, 2, 4, 3, 1, 5)
    for images, rows in r.blocks(several):
        made = r.unfold(F, x[images], rows, "forward")
        by_image, by_group, by_row, _, by_channel = made.strides[:5]
        shape = (len(made), groups, rows.stop - rows.start, matrix.shape[3], several * r.row)
        windows = F.strided(made, shape, (by_image, by_group, by_row * r.stride[0], by_channel, made.itemsize))
        part = target[images, :, rows]
        if several == 1:
            xp.matmul(matrix, windows, out=part[:, :, :, :, 0])
        else:
            part[...] = xp.matmul(matrix, windows).reshape(part.shape)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))


def weight(F, x, grad, geometry, out):
    xp, groups = F.xp, geometry.groups
    r = Rows(x, out.shape[2:], geometry, grad.shape[2:])
    outputs, channels = len(out) // groups, out.shape[1]
    x = r.x.reshape(len(x), 1, groups, channels, *r.x.shape[2:])
    grad = grad.reshape(len(x), groups, 1, outputs, r.out[0], r.row)
    total = xp.zeros((groups, r.kernel[0], r.places * channels, outputs), out.dtype)
    for images, rows in r.blocks():
        made = r.unfold(F, x[images], rows, "weight")
        by_image, by_group, _, by_channel, by_row = made.strides[:5]
        part = grad[images, :, :, :, rows].reshape(len(made), groups, 1, outputs, -1)
        shape = (len(made), groups, r.kernel[0], r.places * channels, part.shape[-1])
        windows = F.strided(made, shape, (by_image, by_group, by_row * r.dilation[0], by_channel, made.itemsize))
        products = xp.matmul(windows, part.swapaxes(3, 4))
        total += xp.add.reduce(products, 0) if len(products) > 1 else products[0]
    total = total.reshape(groups, r.kernel[0], r.places, channels, outputs)
    out[...] = total.transpose(0, 4, 3, 1, 2).reshape(out.shape)
