"""Convolution with 3x3 kernels by Winograd's minimal filtering, F(4x4, 3x3): a quarter of the products.

As `backends/cpu/convolution/winograd.py`, with the same formulas and the same bound on errors, for numbers that are
level (`level.py` beside it), and small results are summed plainly as in `small.py`; else the
functions here return False, and products take them one by one.
"""

import functools
from math import prod

import numpy as np

from ...cpu.convolution import level, small, winograd
from ..eager import shared, whole
from ..parts import count_parts
from .tables import STEP, filled_up

ROOM = 1 << 16                 # numbers of a block of transformed tiles: a quarter of a second-level cache
FEWEST = 28                    # tiles of a block, or products are too small
CHANNELS = 16                  # of either side, at least: of fewer, most of a vector is empty


def applies(channels, outputs, kernel_size, size, geometry, dtype):
    """True if the method pays: see `winograd.applies` for where it is possible."""
    return (len(size) == 2 and min(channels, outputs) >= CHANNELS and winograd.applies(kernel_size, geometry, dtype)
            and min(size) >= winograd.TILE)


@functools.lru_cache(maxsize=64)
def pixels_of(size, out, padding):
    """Where tiles read, (tiles, 36), and write, (tiles, 16): pixels of an image, or the number of them for no pixel."""
    found = []
    for n, (high, wide), shift in ((winograd.TILE + 2, size, padding), (winograd.TILE, out, (0, 0))):
        lines = [np.arange(0, o, winograd.TILE)[:, None] - p + np.arange(n) for o, p in zip(out, shift)]
        down, across = [np.where((line >= 0) & (line < m), line, -1) for line, m in zip(lines, (high, wide))]
        both = np.where((down[:, None, :, None] < 0) | (across[None, :, None, :] < 0), high * wide,
                        down[:, None, :, None] * wide + across[None, :, None, :])
        found.append(np.ascontiguousarray(both.reshape(-1, n * n), np.int64))
    return found


def block_of(tiles, images, channels, outputs):
    """Tiles of a block: some images, or an even part of one."""
    most = max(FEWEST, ROOM // (36 * max(channels, outputs)))
    if most >= tiles:
        return min(most // tiles, images) * tiles
    return -(-tiles // -(-tiles // most))


class Call:
    """The data that the two functions of C share: sizes, tables, memory."""

    def __init__(self, x, outputs, out, padding, of_lane=0, of_depth=0, flip=False):
        self.dtype, size = x.dtype, x.shape[2:]
        self.pixels, self.results = pixels_of(tuple(size), tuple(out), tuple(padding))
        tiles, channels = len(self.pixels), x.shape[1]
        self.most = float(level.most(np, x.dtype))
        self.sizes = np.array([len(x), channels, outputs, prod(size), prod(out), tiles, of_lane, of_depth, flip],
                              np.int64)
        c, o = filled_up(channels), filled_up(outputs)
        self.many = block_of(tiles, len(x), c, o)
        self.work = len(x) * tiles * c * o // 64
        self.parts = count_parts(self.work)
        tiles_at_points = 36 * ((self.many + STEP) * (c + o) + 32)
        self.each = (prod(size) + 1) * c + (prod(out) + 1) * o + tiles_at_points + self.many
        self.level = np.empty(self.parts, np.int64)

    def memory(self):
        room = self.many + int(self.sizes[1]) + 2 * STEP
        return np.empty((self.parts, self.each), self.dtype), np.empty((self.parts, room), np.int64)


def convolve(x, weight, bias, out, padding, turned=False):
    """Fill `out` with the convolution of x, or, `turned`, with that by the mirrored weight; False if not level."""
    outputs, channels = out.shape[1], x.shape[1]
    of = (9, 9 * outputs) if turned else (9 * channels, 9)
    call = Call(x, outputs, out.shape[2:], padding, *of, turned)
    weight, found = np.ascontiguousarray(weight), np.empty(1, np.int64)
    whole("winograd", "level", x, "ll pll dp", 0, 1, weight, len(weight), weight.size // len(weight), call.most, found)
    if not found[0]:
        return False
    points = np.empty(36 * filled_up(outputs) * channels, x.dtype)
    errors = np.empty(filled_up(outputs), x.dtype)
    whole("winograd", "at_points", x, "pppp", call.sizes, weight, points, errors)
    if bias is not None:
        bias = np.concatenate([bias, np.zeros(filled_up(outputs) - outputs, x.dtype)])
    scratch, tables = call.memory()
    shared("winograd", "winograd", x, "pppp pppppp pl pld", call.sizes, call.pixels, call.results,
           tables, x, weight, points, errors, bias, out, scratch, call.each, call.level, call.many,
           call.most, size=call.work)
    return bool(call.level.all())


def weight(x, grad, out, geometry):
    """Fill `out` with the gradient of the weight; False if not level, or too much is too small."""
    outputs, channels = grad.shape[1], x.shape[1]
    call = Call(x, outputs, grad.shape[2:], geometry.padding)
    size = 36 * filled_up(outputs) * (channels + STEP)
    sums, sizes = [np.zeros((call.parts, n), x.dtype) for n in (size, outputs + 1)]
    scratch, tables = call.memory()
    shared("winograd", "winograd_weight", x, "pppp ppp lp pl pld", call.sizes, call.pixels,
           call.results, tables, x, grad, sums, size, sizes, scratch, call.each, call.level,
           call.many, call.most, size=call.work)
    if not call.level.all():
        return False
    errors = sizes[:, :-1].sum(0) * (sizes[:, -1].max() * small.room(x.dtype))
    found = np.empty(1 + out.size // small.MOST, np.int64)
    whole("winograd", "winograd_weighed", x, "ppp ll pp", call.sizes, sums, out, size, call.parts,
          errors, found)
    if found[0] >= len(found):
        return False
    small.sum_weights(np.unravel_index(found[1:found[0] + 1], out.shape), x, grad, geometry, out)
    return True
