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
WASTE = 1.25                   # zeros that are multiplied: a quarter more products than are needed


def filled_up(outputs):
    """Outputs with what fills up the last vector, at most."""
    return -(-outputs // WIDE) * WIDE


class Line(NamedTuple):
    """One dimension: zeros before and behind, and phases: positions, their starts, kernel places, their offsets."""

    before: int
    behind: int
    phases: list


def line_of(forward, split, size, k, out, stride, padding, dilation):
    """Which of `size` numbers each of `out` positions is a sum of: starts plus offsets.

    Windows over an image if `forward`; else what reached each position of an image, in a gradient of length `size`.
    `split`: positions apart whose windows leave the numbers, with the places within; then nothing around is read.
    """
    phases, low, high, places = [], 0, size - 1, np.arange(k)
    for a in range(1 if forward else stride):
        positions = np.arange(0 if forward else (a - padding) % stride, out, 1 if forward else stride)
        starts = positions * stride - padding if forward else (positions + padding - a) // stride
        seen = places if forward else places[(places * dilation - a) % stride == 0]
        offsets = seen * dilation if forward else (a - seen * dilation) // stride
        read = starts[:, None] + offsets
        within = (read >= 0) & (read < size)
        kinds, which = np.ones((1, len(seen)), bool), None
        if split:
            kinds, which = np.unique(within, axis=0, return_inverse=True)
        for n, kind in enumerate(kinds):
            here = slice(None) if which is None else which.ravel() == n
            phases.append((positions[here], starts[here], seen[kind], offsets[kind]))
        if read.size and not split:
            low, high = min(low, int(read.min())), max(high, int(read.max()))
    return Line(-low, high - size + 1, [(p, s - low, i, o) for p, s, i, o in phases if len(p)])


def products_of(lines):
    """How many products a channel takes."""
    return prod([sum([len(positions) * len(places) for positions, _, places, _ in line.phases]) for line in lines])


class Tables(NamedTuple):
    """The arguments of a convolution in C: the fields of its struct `Shape`, the rest of its arguments."""

    phases: np.ndarray         # (phases, 4): how many pixels and products, and where their tables begin
    starts: object             # where each row of a channel goes; None if there are no zeros around
    at: np.ndarray             # where the window of each pixel begins
    to: object                 # which pixel it is; None if they come in order
    off: np.ndarray            # where each place of the kernel lies in a window, for all channels
    sources: np.ndarray        # and which (channel, place) it is
    step: int                  # elements of a channel with zeros around
    split: bool                # whether pixels are apart whose windows leave the image: then there are none


@functools.lru_cache(maxsize=64)
def tables_of(forward, size, out, kernel_size, channels, geometry, whole=False):
    """The `Tables` for images of `size`, `forward` or for the gradient of the input.

    All pixels are treated alike if they are to be, `whole`, or if that multiplies few zeros.
    """
    numbers = list(zip(size, kernel_size, out, *geometry[:3]))
    lines = [line_of(forward, False, *n) for n in numbers]
    apart = [line_of(forward, True, *n) for n in numbers]
    split = not whole and products_of(lines) > WASTE * products_of(apart)
    lines = apart if split else lines
    wide = [n + line.before + line.behind for n, line in zip(size, lines)]
    framed = wide != list(size)
    step = prod(wide)

    def spread(parts, sizes):
        """The positions in an array of `sizes` of all combinations of positions in each dimension."""
        return np.ravel(functools.reduce(lambda total, part: total[..., None] * part[1] + np.asarray(part[0], np.int64),
                                         zip(parts, sizes), np.zeros((), np.int64)))
    at, to, off, sources = [], [], [], []
    channel = np.arange(channels)[:, None]
    for phase in product(*[line.phases for line in lines]):
        positions, windows, places, offsets = [list(x) for x in zip(*phase)]
        at.append(np.pad(spread(windows, wide), (0, STEP), "edge"))             # C takes whole tiles
        to.append(np.pad(spread(positions, out), (0, STEP), "edge"))
        off.append(np.ravel(channel * step + spread(offsets, wide)))
        sources.append(np.ravel(channel * prod(kernel_size) + spread(places, kernel_size)))
    begins = [np.cumsum([0, *[len(x) for x in tables[:-1]]]) for tables in (at, off)]
    found = np.array([[len(a) - STEP for a in at], [len(o) for o in off], *begins], np.int64).T
    rows = [range(line.before, line.before + n) for n, line in zip(size, lines)]
    rows[-1] = [lines[-1].before]
    return Tables(np.ascontiguousarray(found), spread(rows, wide) if framed else None, np.concatenate(at),
                  np.concatenate(to) if split or len(found) > 1 else None, np.pad(np.concatenate(off), (0, STEP)),
                  np.concatenate(sources), step, split)
