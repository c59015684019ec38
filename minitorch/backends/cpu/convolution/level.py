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

from ..blocks import evenly
from ..sums import row_dots, row_sums

LEVEL = 256
BLOCK = 1 << 16                # elements looked at together


@functools.lru_cache(maxsize=8)
def most(xp, dtype):
    """Numbers up to this one do not overflow in a transform."""
    return float(xp.finfo(dtype).max) ** 0.8


def is_level(F, x):
    """True if no number of any x[i] lies far above the others, or is infinite or NaN."""
    xp, rows = F.xp, x.reshape(len(x), -1)
    width = rows.shape[1]
    for part in evenly(len(rows), max(1, BLOCK // width)):
        size = xp.abs(rows[part])
        largest = xp.maximum.reduce(size, 1)
        mean = row_sums(xp, size)
        mean *= LEVEL / width
        if not (largest <= xp.minimum(mean, most(xp, x.dtype))).all():
            return False
    return True


def is_finite(F, x):
    """True if the sum of squares is finite: then all numbers are."""
    flat = x.ravel("K") if x.flags.forc else x.reshape(-1)
    return bool(F.xp.isfinite(row_dots(F.xp, flat, flat)))
