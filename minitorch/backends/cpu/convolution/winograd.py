"""Convolution with 3x3 kernels by Winograd's minimal filtering, F(4x4, 3x3): a quarter of the products.

Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016. The output is cut into tiles of
4x4, which depend on 6x6 inputs each. With the matrices of `toom_cook`, and ``.`` elementwise, a tile is

    y = A' [(G w G') . (B' x B)] A

for one channel; with many, each of the 36 products is a matrix product over channels. The gradient of the weight is the
transpose of the same formula: ``dw = G' [(A dy A') . (B' x B)] G``, summed over tiles.

A block is a few images, or some rows of tiles of one, in memory as (rows, columns, images * channels): transforms then
run over long rows, the one down the image as a product with all windows of 6 rows as they lie in memory.

Letters: N images, C and O channels, I and J tiles down and across, T = I J N tiles.
"""

import functools

import numpy as np

from ....core.arrays import is_floating
from ..blocks import evenly

TILE = 4                       # outputs of a tile in each dimension; its inputs are two more
BLOCK = 1 << 12                # tiles times channels of a block: its 36 transforms then fill half a megabyte

# The formula multiplies polynomials by their values at some points and at infinity. Any points will do, but these keep
# rounding errors at three times those of the plain sum; the usual 0, 1, -1, 2, -2 make it six times.
POINTS = 0.0, 2 / 3, -2 / 3, 3 / 2, -3 / 2


def toom_cook(points):
    """B' (6, 6), G (6, 3) and A (6, 4) of the one-dimensional formula, in float64."""
    n = len(points) + 1
    b, g, a = np.zeros((n, n)), np.zeros((n, 3)), np.zeros((n, TILE))
    for i, p in enumerate(points):
        others = [q for q in points if q != p]
        b[i, :-1] = np.poly(others)[::-1]                  # the polynomial that is zero at all other points
        g[i] = p ** np.arange(3) / np.prod(p - np.array(others))
        a[i] = p ** np.arange(TILE)
    b[-1], g[-1, -1], a[-1, -1] = np.poly(points)[::-1], 1, 1                   # the point at infinity
    return b, g, a


@functools.lru_cache(maxsize=16)
def matrices(F, dtype):
    """B', A and A' on the backend, and G in both dimensions at once, (36, 9)."""
    b, g, a = toom_cook(POINTS)
    return [F.from_host(np.ascontiguousarray(m, dtype)) for m in (b, a, a.T, np.kron(g, g))]


# ---- blocks: (rows, columns, images * channels) -------------------------------------------------------------
def blocks(count, tiles_down, tiles_across, channels):
    """Pairs of slices, of images and of rows of tiles."""
    budget = max(1, BLOCK // channels, channels // 4)      # with many channels the weight counts, not the block
    images = budget // (tiles_down * tiles_across)
    if images:
        return [(part, slice(0, tiles_down)) for part in evenly(count, images)]
    rows = evenly(tiles_down, max(1, budget // tiles_across))
    return [(slice(i, i + 1), part) for i in range(count) for part in rows]


class Frames:
    """Images (n, C, H, W) as (rows, columns, n C), with the first pixel at (top, left) and zeros around.

    The memory is reused if the next frames are as many: elements that are not written stay zero.
    """

    def __init__(self, F, rows, columns, top=0, left=0):
        self.F, self.place, self.frame = F, (rows, columns, top, left), None

    def put(self, x):
        xp, (rows, columns, top, left), (count, channels, height, width) = self.F.xp, self.place, x.shape
        if self.frame is None or self.frame.shape[2] != count * channels:
            self.frame = xp.zeros((rows, columns, count * channels), x.dtype)
        height, width = min(height, rows - top), min(width, columns - left)
        planes = x.reshape(-1, *x.shape[2:])[:, :height, :width]
        inner = self.frame[top:top + height, left:left + width]
        for part in evenly(count * channels, 64):          # a slab at a time stays in the cache
            inner[:, :, part] = spaced(xp, planes[part]).transpose(1, 2, 0)
        return self.frame


def spaced(xp, slab):
    """A copy of channels (C, H, W) whose planes do not lie a power of two apart, which would fall on one cache set."""
    places = slab.shape[1] * slab.shape[2]
    if places % 256 or len(slab) < 16:
        return slab
    copy = xp.empty((len(slab), places + 16), slab.dtype)[:, :places].reshape(slab.shape)
    copy[...] = slab
    return copy


def tiles_of(F, matrix, frame, rows, across):
    """``matrix X matrix'`` for the windows X of the tile rows `rows`: (6 across, 6 down, I J, channels)."""
    xp, k, (columns, channels) = F.xp, matrix.shape[1], frame.shape[1:]
    row, column, one = frame.strides
    windows = F.strided(frame[rows.start * TILE:], (rows.stop - rows.start, k, columns * channels),
                        (TILE * row, row, one))
    down = xp.matmul(matrix, windows).reshape(-1, len(matrix), columns, channels)
    by_tile, by_row, column, one = down.strides
    windows = xp.empty((k, len(matrix), len(down), across, channels), frame.dtype)
    windows[...] = F.strided(down, windows.shape, (column, by_row, by_tile, TILE * column, one))
    return xp.matmul(matrix, windows.reshape(k, -1))


# ---- the two tasks ------------------------------------------------------------------------------------------
def applies(kernel, geometry, dtype):
    """True if the method applies: 3x3, stride 1, no dilation, no groups, floats."""
    return (tuple(kernel) == (3, 3) and set(geometry.stride) == set(geometry.dilation) == {1} and geometry.groups == 1
            and is_floating(dtype))


def forward(F, x, weight, geometry, out):
    xp, (count, outputs, height, width), channels = F.xp, out.shape, x.shape[1]
    b, _, a, g = matrices(F, x.dtype)
    points = xp.matmul(g, weight.transpose(3, 2, 1, 0).reshape(9, -1)).reshape(36, channels, outputs)
    down, across = -(-height // TILE), -(-width // TILE)
    frames = Frames(F, TILE * down + 2, TILE * across + 2, *geometry.padding)
    for images, rows in blocks(count, down, across, max(channels, outputs)):
        n = images.stop - images.start
        if rows.start == 0:
            frame = frames.put(x[images])
            result = xp.empty((down, TILE, across, TILE, n * outputs), out.dtype)
        tiles = tiles_of(F, b, frame, rows, across).reshape(36, -1, channels)
        products = xp.matmul(tiles, points).reshape(6, -1)                      # (6, 6 I J N O)
        half = xp.matmul(a, products).reshape(TILE, 6, -1)
        whole = xp.matmul(a, half).reshape(TILE, TILE, -1, across, n * outputs)
        result[rows].transpose(3, 1, 0, 2, 4)[...] = whole
        if rows.stop == down:
            image = result.reshape(down * TILE, across * TILE, n * outputs)[:height, :width]
            out[images] = image.transpose(2, 0, 1).reshape(n, outputs, height, width)


def weight(F, x, grad, geometry, out):
    xp, (count, outputs, height, width), channels = F.xp, grad.shape, x.shape[1]
    b, a, _, g = matrices(F, x.dtype)
    down, across = -(-height // TILE), -(-width // TILE)
    inputs = Frames(F, TILE * down + 2, TILE * across + 2, *geometry.padding)
    errors = Frames(F, TILE * down, TILE * across)
    total = xp.zeros((36, channels, outputs), out.dtype)
    for images, rows in blocks(count, down, across, max(channels, outputs)):
        if rows.start == 0:
            frame, error = inputs.put(x[images]), errors.put(grad[images])
        tiles = tiles_of(F, b, frame, rows, across).reshape(36, -1, channels)
        total += xp.matmul(tiles.swapaxes(1, 2), tiles_of(F, a, error, rows, across).reshape(36, -1, outputs))
    out[...] = xp.matmul(g.T, total.reshape(36, -1)).reshape(3, 3, channels, outputs).transpose(3, 2, 1, 0)
