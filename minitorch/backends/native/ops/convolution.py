"""Strided convolution in one and two dimensions: a few pixels at a time are unfolded, and multiplied in registers."""

from math import prod

import numpy as np

from ....ops.nn.conv import Geometry
from ...cpu.convolution.choice import forced
from ..eager import kernel, plain, shared
from ..parts import count_parts

PANEL, TILE = 64, 12           # as in src/tile.h, at most


def image(d):
    """Images, a kernel and its geometry."""
    n, groups = d.choice([1, 2, 2]), d.choice([1, 1, 2])

    def numbers(lo, hi):
        return tuple([d.int(lo, hi) for _ in range(n)])
    geometry = Geometry((2,) + numbers(1, 2)[1:], numbers(0, 2), numbers(1, 2), groups)
    x = d.array((d.int(1, 3), groups * d.int(1, 5), *[d.choice([5, 9, 16, 21]) for _ in range(n)]))
    w = d.array((groups * d.int(4, 30), x.shape[1] // groups, *numbers(1, 3)))
    return x, w, geometry, (len(x), len(w), *geometry.out_size(x.shape[2:], w.shape[2:]))


def forward_sample(d):
    x, w, geometry, _ = image(d)
    return [x, w, d.choice([None, d.array((len(w),))])], dict(geometry=geometry)


# ---- which calls --------------------------------------------------------------------------------------------
def takes(F, input, weight, bias=None, *, geometry=None):
    """Strided convolutions of one or two dimensions: others, measured, take as long with NumPy's methods."""
    if input.ndim not in (3, 4) or max(geometry.stride) == 1 or not plain(input, bias) or forced.get() is not None:
        return False
    return (weight.__class__ is np.ndarray and weight.dtype == input.dtype and weight.size > 0
            and len(weight) >= 4 * geometry.groups
            and prod(geometry.out_size(input.shape[2:], weight.shape[2:])) > 0)


# ---- the calls ----------------------------------------------------------------------------------------------
def shape_for_c(x, outputs, out, kernel, geometry):
    """The struct `Shape` as an array; one dimension is a row of an image."""
    def two(values, one):
        return (one, *values) if len(values) == 1 else values
    return np.array([*x.shape[:2], *two(x.shape[2:], 1), outputs, *two(out, 1), *two(kernel, 1),
                     *two(geometry.stride, 1), *two(geometry.padding, 0), *two(geometry.dilation, 1), geometry.groups],
                    np.int64)


def framed(x, geometry):
    """The elements of one image of a group with zeros around."""
    sizes = [n + 2 * p for n, p in zip(x.shape[2:], geometry.padding)]
    return x.shape[1] // geometry.groups * prod(sizes)


def convolve(x, weight, bias, out, geometry):
    """Fill `out` with the convolution."""
    rows = weight[0].size
    each = framed(x, geometry) + rows * (PANEL + len(weight) // geometry.groups + TILE)
    size = out.size * rows // 64                           # work that makes a thread worth waking
    scratch = np.empty((count_parts(size), each), x.dtype)
    shared("convolve", "convolve", x, "pppppp l",
           shape_for_c(x, len(weight), out.shape[2:], weight.shape[2:], geometry), x, np.ascontiguousarray(weight),
           None if bias is None else np.ascontiguousarray(bias), out, scratch, each, size=size)
    return out


@kernel("convolution", when=takes, sample=forward_sample)
def convolution(F, input, weight, bias=None, *, geometry=None):
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    return convolve(input, weight, bias, np.empty((len(input), len(weight), *size), input.dtype), geometry)
