"""Convolution in one and two dimensions: a few pixels at a time are unfolded, and multiplied in registers.

Where Winograd's or Fourier's method takes fewer products, NumPy's kernels stay: `methods.choose` says which one they
would take, and what a method costs here is estimated as it is there.
"""

from math import prod

import numpy as np

from ...cpu.convolution.choice import forced
from ...cpu.convolution.im2col import not_cut, turned_weight
from ...cpu.convolution.methods import Problem, cheapest
from ..eager import kernel, plain, shared
from ..parts import ENOUGH, MOST

PANEL, TILE = 64, 12           # of src/tile.h, at most
UNFOLDED = 1 << 16             # elements unfolded at a time for the gradient of the weight: they stay in the cache
LEFT = ("winograd", "fft")     # methods of NumPy's kernels that win although each of their steps takes longer
MANY = 48                      # channels from which on Winograd's products are fewer by more than its transforms cost


def image(d):
    """Images, a kernel and its geometry."""
    from ....ops.nn.conv import Geometry
    n, groups = d.choice([1, 2, 2]), d.choice([1, 1, 2])

    def numbers(lo, hi):
        return tuple([d.int(lo, hi) for _ in range(n)])
    geometry = Geometry(numbers(1, 2), numbers(0, 2), numbers(1, 2), groups)
    x = d.array((d.int(1, 3), groups * d.int(1, 5), *[d.choice([5, 9, 16, 21]) for _ in range(n)]))
    w = d.array((groups * d.int(1, 30), x.shape[1] // groups, *numbers(1, 3)))
    return x, w, geometry, (len(x), len(w), *geometry.out_size(x.shape[2:], w.shape[2:]))


def forward_sample(d):
    x, w, geometry, _ = image(d)
    return [x, w, d.choice([None, d.array((len(w),))])], dict(geometry=geometry)


def input_sample(d):
    x, w, geometry, shape = image(d)
    return [d.array(shape), w], dict(geometry=geometry._replace(stride=(1,) * len(geometry.stride)), size=tuple([
        o + k * e - e - 2 * p for o, k, e, p in zip(shape[2:], w.shape[2:], geometry.dilation, geometry.padding)])
        ) if all([o + k * e - e - 2 * p > 0 for o, k, e, p in zip(
            shape[2:], w.shape[2:], geometry.dilation, geometry.padding)]) else input_sample(d)


def weight_sample(d):
    x, w, geometry, shape = image(d)
    return [x, d.array(shape)], dict(geometry=geometry, size=w.shape[2:])


# ---- which calls --------------------------------------------------------------------------------------------
def suits(task, x, outputs, kernel, out, geometry):
    """Whether these sizes are better off here than with NumPy's kernels."""
    if x.ndim not in (3, 4) or not prod(out) * outputs or not prod(kernel) or forced.get() is not None:
        return False
    p = Problem(task, len(x), x.shape[1], outputs, x.shape[2:], kernel, out, geometry, x.dtype)
    if p.is_depthwise:
        return False
    return cheapest(p) not in LEFT or min(x.shape[1], outputs) < MANY


def takes_forward(F, input, weight, bias=None, *, geometry=None):
    return plain(input, None, bias) and weight.__class__ is np.ndarray and weight.dtype == input.dtype and suits(
        "forward", input, len(weight), weight.shape[2:], geometry.out_size(input.shape[2:], weight.shape[2:]), geometry)


def takes_input(F, grad, weight, *, geometry, size):
    """Stride 1, where it is a convolution with the mirrored weight whose result has the size asked for."""
    if max(geometry.stride) > 1 or not not_cut(weight.shape[2:], geometry) or not plain(grad):
        return False
    turned = turned_geometry(geometry, weight.shape[2:])
    return (weight.dtype == grad.dtype and turned.out_size(grad.shape[2:], weight.shape[2:]) == tuple(size)
            and suits("forward", grad, weight.shape[1] * geometry.groups, weight.shape[2:], tuple(size), turned))


def takes_weight(F, input, grad, *, geometry, size):
    return plain(input, grad) and suits("weight", input, grad.shape[1], tuple(size), grad.shape[2:], geometry)


def turned_geometry(geometry, kernel):
    return geometry._replace(padding=tuple([d * (k - 1) - p for k, p, d in zip(kernel, geometry.padding,
                                                                              geometry.dilation)]))


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


def parts_of(size):
    return max(1, min(size // ENOUGH, MOST))


def convolve(x, weight, bias, out, geometry):
    """Fill `out` with the convolution."""
    rows = weight[0].size
    each = framed(x, geometry) + rows * (PANEL + len(weight) // geometry.groups + TILE)
    size = out.size * rows // 64                           # work that makes a thread worth waking
    scratch = np.empty((parts_of(size), each), x.dtype)
    shared("convolve", "convolve", x, "pppppp l",
           shape_for_c(x, len(weight), out.shape[2:], weight.shape[2:], geometry), x, np.ascontiguousarray(weight),
           None if bias is None else np.ascontiguousarray(bias), out, scratch, each, size=size)
    return out


@kernel("convolution", when=takes_forward, sample=forward_sample)
def convolution(F, input, weight, bias=None, *, geometry=None):
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    return convolve(input, weight, bias, np.empty((len(input), len(weight), *size), input.dtype), geometry)


@kernel("convolution_backward_input", when=takes_input, sample=input_sample)
def convolution_backward_input(F, grad, weight, *, geometry, size):
    mirrored = turned_weight(F, weight, geometry.groups)
    out = np.empty((len(grad), weight.shape[1] * geometry.groups, *size), grad.dtype)
    return convolve(grad, mirrored, None, out, turned_geometry(geometry, weight.shape[2:]))


@kernel("convolution_backward_weight", when=takes_weight, sample=weight_sample)
def convolution_backward_weight(F, input, grad, *, geometry, size):
    groups, outputs = geometry.groups, grad.shape[1] // geometry.groups
    rows = input.shape[1] // groups * prod(size)
    block = max(16, min(UNFOLDED // rows, 256, prod(grad.shape[2:])))
    each = framed(input, geometry) + (rows + TILE) * block + block * (outputs + PANEL)
    work = grad.size * rows // 64
    parts = parts_of(work)
    sums, scratch = np.zeros((parts, groups, rows, outputs), input.dtype), np.empty((parts, each), input.dtype)
    shared("convolve", "convolve_weight", input, "ppppp ll",
           shape_for_c(input, grad.shape[1], grad.shape[2:], tuple(size), geometry), input, grad, sums, scratch, each,
           block, size=work)
    total = sums[0] if parts == 1 else np.add.reduce(sums, 0)
    out = np.empty((groups, outputs, rows), input.dtype)
    out[...] = total.swapaxes(1, 2)
    return out.reshape(grad.shape[1], input.shape[1] // groups, *size)
