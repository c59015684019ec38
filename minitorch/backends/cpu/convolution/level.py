"""Test whether numbers are level enough for methods that mix them.

Fourier transforms mix all numbers of an image, Winograd's those of a tile in all channels: rounding errors are in
proportion to the largest of them, where those of the plain sum are to the numbers that a result depends on. Measured
(tests/backends/cpu/test_convolution_methods.py checks it),
each result of both methods is off by at most

    4 u max|x| sum|w|        u = 2^-24 (float32), max|x| of the image, sum|w| of the result's weights

So they are taken only where the largest number of an image, and of the weights of a result, is at most `LEVEL` times
the mean of all, in magnitude. A NaN or an infinity would spread, too; banded matrices (`depthwise`) multiply them by
zeros. Then it is the plain sum's turn.
"""

import functools
from math import prod
from typing import NamedTuple

from ..blocks import evenly
from ..sums import row_dots, row_sums

LEVEL = 256
BLOCK = 1 << 16                # elements looked at together


@functools.lru_cache(maxsize=8)
def most(xp, dtype):
    """Numbers up to this one do not overflow in a transform."""
    return float(xp.finfo(dtype).max) ** 0.8


class Levels(NamedTuple):
    """Magnitudes of an array x (N, C, *size): `largest` (N,) of x[i], `sums` (N, C) of x[i, c].

    `level` is True if no number of any x[i] lies far above the others, or is infinite or NaN;
    `alive` if each pixel of each group of channels has a number that is not zero.
    """

    largest: object
    sums: object
    level: bool
    alive: bool


def levels(F, x, groups=None):
    """The `Levels` of an array, which is `alive` if `groups` are not given."""
    xp, (count, channels), width = F.xp, x.shape[:2], prod(x.shape[2:])
    rows, buffer, alive = x.reshape(count, -1), None, True
    largest, sums = xp.empty(count, x.dtype), xp.empty((count, channels), x.dtype)
    for part in evenly(count, max(1, BLOCK // rows.shape[1])):
        buffer = xp.empty(rows[part].shape, x.dtype) if buffer is None else buffer
        size = xp.abs(rows[part], out=buffer[:part.stop - part.start])
        sums[part] = row_sums(xp, size.reshape(-1, width)).reshape(-1, channels)
        if groups is not None:                             # the largest numbers of pixels
            size = xp.maximum.reduce(size.reshape(len(size), groups, -1, width), 2)
            size = size.reshape(len(size), -1)
            alive = alive and bool(size.all())
        xp.maximum.reduce(size, 1, out=largest[part])
    mean = sums.sum(1, dtype="float64") * (LEVEL / rows.shape[1])
    level = bool((largest <= xp.minimum(mean, most(xp, x.dtype))).all())
    return Levels(largest, sums, level, alive)


def is_finite(F, x):
    """True if the sum of squares is finite: then all numbers are."""
    flat = x.ravel("K") if x.flags.forc else x.reshape(-1)
    return bool(F.xp.isfinite(row_dots(F.xp, flat, flat)))
