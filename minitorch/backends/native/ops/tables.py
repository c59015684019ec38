"""Where the windows of a convolution are and what they cover, worked out one dimension at a time, as tables for C.

The gradient of the input falls into phases, one for each remainder of a position by the stride: all positions of a
phase see the same places of the kernel.
"""

import functools
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

WIDE, STEP, STRIP, STRETCH = 16, 4, 96, 512                # as in src, at most


def filled_up(outputs):
    """Outputs with what fills up the last vector, at most."""
    return -(-outputs // WIDE) * WIDE


class Line(NamedTuple):
    """One dimension: zeros before and behind, and phases: positions, their starts, kernel places, their offsets."""

    before: int
    behind: int
    phases: list


def forward_line(size, k, out, stride, padding, dilation):
    """Windows over an image of `size`."""
    last = (out - 1) * stride + (k - 1) * dilation
    return Line(padding, max(0, last - padding - size + 1),
                [(range(out), range(0, out * stride, stride), range(k), range(0, k * dilation, dilation))])


def input_line(size, k, out, stride, padding, dilation):
    """What reached each position of an image of `size`, in a gradient of length `out`."""
    phases, low, high = [], 0, out - 1
    for a in range(stride):
        positions = [y for y in range(size) if (y + padding) % stride == a]
        places = [i for i in range(k) if (i * dilation - a) % stride == 0]
        starts = [(y + padding - a) // stride for y in positions]
        offsets = [(a - i * dilation) // stride for i in places]
        if positions:
            phases.append((positions, starts, places, offsets))
            if places:
                low, high = min(low, starts[0] + min(offsets)), max(high, starts[-1] + max(offsets))
    return Line(-low, high - out + 1, [(p, [s - low for s in starts], i, o) for p, starts, i, o in phases])


class Tables(NamedTuple):
    """What C is told of a convolution: the fields of its struct `Shape`, the rest of its arguments."""

    phases: np.ndarray         # (phases, 4): how many pixels and products, and where their tables begin
    starts: object             # where each row of a channel goes; None if there are no zeros around
    at: np.ndarray             # where the window of each pixel begins
    to: object                 # which pixel it is; None if they come in order
    off: np.ndarray            # where each place of the kernel lies in a window, for all channels
    sources: np.ndarray        # and in the weight
    step: int                  # elements of a channel with zeros around


@functools.lru_cache(maxsize=64)
def tables_of(line, size, out, kernel_size, channels, of_channel, *geometry):
    """The `Tables` for images of `size`; `line` is one of the two functions above, `geometry` three tuples.

    `channels` lie `of_channel` apart in the weight.
    """
    lines = [line(*numbers) for numbers in zip(*((size, kernel_size, out) if line is forward_line else
                                                 (out, kernel_size, size)), *geometry)]
    wide = [n + line.before + line.behind for n, line in zip(size, lines)]
    framed = wide != list(size)
    step = prod(wide)

    def spread(parts, sizes):
        """The positions in an array of `sizes` of all combinations of positions in each dimension."""
        return np.ravel(functools.reduce(lambda total, part: total[..., None] * part[1] + np.asarray(part[0], np.int64),
                                         zip(parts, sizes), np.zeros((), np.int64)))
    found, at, to, off, sources = [], [], [], [], []
    apart = np.arange(channels)[:, None]
    for phase in product(*[line.phases for line in lines]):
        positions, windows, places, offsets = [list(x) for x in zip(*phase)]
        at.append(spread(windows, wide))
        to.append(spread(positions, out))
        off.append(np.ravel(apart * step + spread(offsets, wide)))
        sources.append(np.ravel(apart * of_channel + spread(places, kernel_size)))
    sizes = [[len(a) for a in at], [len(o) for o in off]]
    found = np.array([*sizes, *[np.cumsum([0, *s[:-1]]) for s in sizes]], np.int64).T
    rows = [range(line.before, line.before + n) for n, line in zip(size, lines)]
    rows[-1] = [lines[-1].before]
    more = [np.zeros(STEP, np.int64)]                      # C takes whole tiles
    return Tables(np.ascontiguousarray(found), spread(rows, wide) if framed else None, np.concatenate(at + more),
                  None if len(found) == 1 else np.concatenate(to), np.concatenate(off + more),
                  np.concatenate(sources), step)
