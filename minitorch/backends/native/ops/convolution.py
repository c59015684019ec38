"""Convolution and its gradients in any number of dimensions: products that read images where they lie.

Where a window is and what it covers is worked out here, one dimension at a time, and given to C as tables (`tables_of`).
The gradient of the input falls into phases, one for each remainder of a position by the stride: all positions of a
phase see the same places of the kernel.
"""

import functools
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from ....ops.nn.conv import Geometry
from ...cpu.convolution.choice import forced
from ..eager import kernel, plain, shared, whole
from ..parts import count_parts

WIDE, STEP, STRIP, STRETCH = 16, 4, 96, 512                # as in src, at most
FEWEST = 8                                                 # outputs of a group: fewer leave most of a vector empty


# ---- tables -------------------------------------------------------------------------------------------------
class Line(NamedTuple):
    """One dimension: zeros before and behind, and phases ``(positions, their starts, kernel places, their offsets)``."""

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
        starts, offsets = [(y + padding - a) // stride for y in positions], [(a - i * dilation) // stride for i in places]
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


# ---- samples ------------------------------------------------------------------------------------------------
def image(d):
    """Images, a kernel and its geometry."""
    n, groups = d.choice([1, 2, 2, 3]), d.choice([1, 1, 2])

    def numbers(lo, hi):
        return tuple([d.int(lo, hi) for _ in range(n)])
    geometry = Geometry(numbers(1, 3), numbers(0, 2), numbers(1, 2), groups)
    sizes = [5, 7] if n == 3 else [5, 9, 16, 21]
    x = d.array((d.int(1, 3), groups * d.choice([1, 3, 8, 17]), *[d.choice(sizes) for _ in range(n)]))
    w = d.array((groups * d.choice([8, 17, 33]), x.shape[1] // groups, *numbers(1, 3)))
    return x, w, geometry, d.array((len(x), len(w), *geometry.out_size(x.shape[2:], w.shape[2:])))


def forward_sample(d):
    x, w, geometry, _ = image(d)
    return [x, w, d.choice([None, d.array((len(w),))])], dict(geometry=geometry)


def input_sample(d):
    x, w, geometry, y = image(d)
    return [y, w], dict(geometry=geometry, size=x.shape[2:])


def weight_sample(d):
    x, w, geometry, y = image(d)
    return [x, y], dict(geometry=geometry, size=w.shape[2:])


# ---- which calls --------------------------------------------------------------------------------------------
def suits(x, other, outputs, geometry):
    """Two arrays that C takes, neither of them empty, with enough outputs."""
    return (plain(x) and other.__class__ is np.ndarray and other.dtype == x.dtype and other.size > 0
            and outputs >= FEWEST * geometry.groups and forced.get() is None)


def takes(F, input, weight, bias=None, *, geometry=None):
    return (suits(input, weight, len(weight), geometry) and (bias is None or bias.dtype == input.dtype)
            and prod(geometry.out_size(input.shape[2:], weight.shape[2:])) > 0)


def takes_grad(F, grad, weight, *, geometry, size):
    return suits(grad, weight, weight.shape[1] * geometry.groups, geometry) and prod(size) > 0


def takes_both(F, input, grad, *, geometry, size):
    return suits(input, grad, grad.shape[1], geometry) and prod(size) > 0


# ---- the calls ----------------------------------------------------------------------------------------------
def lanes_of(outputs):
    """Outputs of a group with what fills up the last vector, at most."""
    return -(-outputs // WIDE) * WIDE


def shape_for_c(x, outputs, t, pixels, geometry, of_lane=0, of_group=0):
    """The struct `Shape`."""
    groups = geometry.groups
    return np.array([len(x), groups, x.shape[1] // groups, outputs // groups, prod(x.shape[2:-1]), x.shape[-1], t.step,
                     pixels, len(t.phases), of_lane, of_group], np.int64)


def convolve(x, weight, bias, out, t, geometry, distances):
    """Fill `out` by the tables; `distances` of outputs and of groups in the weight."""
    weight, outputs, pixels = np.ascontiguousarray(weight), out.shape[1], prod(out.shape[2:])
    shape = shape_for_c(x, outputs, t, pixels, geometry, *distances)
    work = out.size * len(t.sources) // len(t.phases) // 64            # that makes a thread worth waking
    each = (x.shape[1] // geometry.groups * t.step if t.starts is not None else 0) + (STRIP + STEP) * 2 * WIDE + len(
        t.sources) * lanes_of(outputs // geometry.groups)
    scratch = np.empty((count_parts(work), each), x.dtype)
    shared("convolve", "convolve", x, "pppppppp ppp pl", shape, t.phases, t.starts, t.at, t.to, t.off, t.sources, x, weight,
           None if bias is None else np.ascontiguousarray(bias), out, scratch, each, size=work)
    return out


@kernel("convolution", when=takes, sample=forward_sample)
def convolution(F, input, weight, bias=None, *, geometry=None):
    kernel_size, channels = weight.shape[2:], weight.shape[1]
    size, places = geometry.out_size(input.shape[2:], kernel_size), prod(kernel_size)
    t = tables_of(forward_line, input.shape[2:], size, kernel_size, channels, places, *geometry[:3])
    out = np.empty((len(input), len(weight), *size), input.dtype)
    return convolve(input, weight, bias, out, t, geometry, (channels * places, len(weight) // geometry.groups * channels
                                                            * places))


@kernel("convolution_backward_input", when=takes_grad, sample=input_sample)
def convolution_backward_input(F, grad, weight, *, geometry, size):
    kernel_size, channels, outputs = weight.shape[2:], weight.shape[1], len(weight) // geometry.groups
    places = prod(kernel_size)
    t = tables_of(input_line, grad.shape[2:], tuple(size), kernel_size, outputs, channels * places, *geometry[:3])
    out = np.empty((len(grad), channels * geometry.groups, *size), grad.dtype)
    return convolve(grad, weight, None, out, t, geometry, (places, outputs * channels * places))


@kernel("convolution_backward_weight", when=takes_both, sample=weight_sample)
def convolution_backward_weight(F, input, grad, *, geometry, size):
    outputs, channels, pixels = grad.shape[1] // geometry.groups, input.shape[1] // geometry.groups, prod(grad.shape[2:])
    t = tables_of(forward_line, input.shape[2:], grad.shape[2:], tuple(size), channels, prod(size), *geometry[:3])
    products, lanes, framed = channels * prod(size), lanes_of(outputs), t.starts is not None
    work = grad.size * products // 64
    parts, of_group = count_parts(work), (products + STEP) * lanes
    sums = np.zeros((parts, geometry.groups, of_group), input.dtype)
    each = (channels * t.step if framed else 0) + STRETCH * 2 * WIDE
    scratch = np.empty((parts, each), input.dtype)
    shape = shape_for_c(input, grad.shape[1], t, pixels, geometry)
    shared("convolve", "weigh", input, "pppp pppp lll", shape, t.starts, t.at, t.off, input, np.ascontiguousarray(grad),
           sums, scratch, products, of_group, each, size=work)
    out = np.empty((grad.shape[1], channels, *size), input.dtype)
    whole("convolve", "weighed", input, "ppp lll", shape, sums, out, products, of_group, parts)
    return out
