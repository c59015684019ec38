"""Convolution and its gradients in any number of dimensions: products that read images where they lie.

Where windows are is worked out in `tables.py`. 3x3 kernels between many channels are Winograd's (`winograd.py`).
"""

from math import prod

import numpy as np

from ....ops.nn.conv import Geometry
from ...cpu.convolution.choice import forced
from ..eager import kernel, plain, shared, whole
from ..parts import count_parts
from . import winograd
from .tables import STEP, STRETCH, STRIP, WIDE, filled_up, tables_of

IMAGES = 8                                                # at a time, where few pixels go together
FEWEST = 8                                                 # outputs of a group: fewer leave most of a vector empty


# ---- samples ------------------------------------------------------------------------------------------------
def image(d):
    """Images, a kernel and its geometry."""
    n, groups = d.choice([1, 2, 2, 3]), d.choice([1, 1, 2])

    def numbers(lo, hi):
        return tuple([d.int(lo, hi) for _ in range(n)])
    geometry = Geometry(numbers(1, 3), numbers(0, 2), numbers(1, 2), groups)
    sizes = [5, 7] if n == 3 else [5, 9, 16, 21]
    x = d.array((d.int(1, 3), groups * d.choice([1, 3, 8, 17]), *[d.choice(sizes) for _ in range(n)]))
    w = d.array((groups * d.choice([8, 17, 33]), x.shape[1] // groups, d.int(2, 3), *numbers(1, 3)[1:]))
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


def is_product(kernel_size):
    """True if a kernel covers one place, so that convolution is a product of matrices: NumPy's BLAS
    is ahead by a sixth (1x1 kernels of ResNets, 64 to 512 channels, on an AMD EPYC)."""
    return prod(kernel_size) == 1


def takes(F, input, weight, bias=None, *, geometry=None):
    return (not is_product(weight.shape[2:]) and suits(input, weight, len(weight), geometry)
            and (bias is None or bias.dtype == input.dtype)
            and prod(geometry.out_size(input.shape[2:], weight.shape[2:])) > 0)


def takes_grad(F, grad, weight, *, geometry, size):
    return (not is_product(weight.shape[2:]) and suits(grad, weight, weight.shape[1] * geometry.groups, geometry)
            and prod(size) > 0)


def takes_both(F, input, grad, *, geometry, size):
    return suits(input, grad, grad.shape[1], geometry) and prod(size) > 0


# ---- the calls ----------------------------------------------------------------------------------------------
def shape_for_c(x, outputs, t, pixels, geometry, *distances):
    """The struct `Shape`."""
    groups = geometry.groups
    return np.array([len(x), groups, x.shape[1] // groups, outputs // groups, prod(x.shape[2:-1]), x.shape[-1], t.step,
                     pixels, len(t.phases), *distances], np.int64)


def convolve(x, weight, bias, out, t, geometry, distances):
    """Fill `out` by the tables; `distances` of outputs, groups and channels in the weight."""
    weight, outputs, places = np.ascontiguousarray(weight), out.shape[1], prod(weight.shape[2:])
    shape = shape_for_c(x, outputs, t, prod(out.shape[2:]), geometry, *distances, places)
    images = IMAGES if t.split else 1                      # whose pixels C takes side by side
    work = out.size * len(t.sources) // len(t.phases) // 64            # that makes a thread worth waking
    channels = x.shape[1] // geometry.groups
    each = (channels * t.step if t.starts is not None else 0) + (STRIP + STEP) * 2 * WIDE + (
        channels * places * filled_up(outputs // geometry.groups))
    scratch = np.empty((count_parts(work), each), x.dtype)
    spots = np.empty((len(scratch), 2, images * t.phases[:, 0].max() + STEP), np.int64) if t.split else None
    bias = None if bias is None else np.ascontiguousarray(bias)
    shared("convolve", "convolve", x, "ppppppp pppp pl pll", shape, t.phases, t.starts, t.at, t.to, t.off, t.sources, x,
           weight, bias, out, scratch, each, spots, 0 if spots is None else spots[0, 0].size, images, size=work)
    return out


@kernel("convolution", called=True, when=takes, sample=forward_sample)
def convolution(F, input, weight, bias=None, *, geometry=None):
    kernel_size, channels = weight.shape[2:], weight.shape[1]
    size, places = geometry.out_size(input.shape[2:], kernel_size), prod(kernel_size)
    out = np.empty((len(input), len(weight), *size), input.dtype)
    if winograd.applies(input.shape[1], len(weight), kernel_size, size, geometry, input.dtype) and winograd.convolve(
            input, weight, bias, out, geometry.padding):
        return out
    t = tables_of(True, input.shape[2:], size, kernel_size, channels, geometry)
    return convolve(input, weight, bias, out, t, geometry, (channels * places, len(weight) // geometry.groups * channels
                                                            * places, places))


@kernel("convolution_backward_input", called=True, when=takes_grad, sample=input_sample)
def convolution_backward_input(F, grad, weight, *, geometry, size):
    kernel_size, channels, outputs = weight.shape[2:], weight.shape[1], len(weight) // geometry.groups
    places = prod(kernel_size)
    out = np.empty((len(grad), channels * geometry.groups, *size), grad.dtype)
    if winograd.applies(channels, outputs, kernel_size, size, geometry, grad.dtype) and winograd.convolve(
            grad, weight, None, out, [2 - p for p in geometry.padding], True):
        return out
    t = tables_of(False, grad.shape[2:], tuple(size), kernel_size, outputs, geometry)
    return convolve(grad, weight, None, out, t, geometry, (places, outputs * channels * places, channels * places))


@kernel("convolution_backward_weight", called=True, when=takes_both, sample=weight_sample)
def convolution_backward_weight(F, input, grad, *, geometry, size):
    (_, outputs, *places), (_, channels, *_) = grad.shape, input.shape
    outputs, channels, pixels = outputs // geometry.groups, channels // geometry.groups, prod(places)
    grad, out = np.ascontiguousarray(grad), np.empty((grad.shape[1], channels, *size), input.dtype)
    if winograd.applies(channels, outputs, size, grad.shape[2:], geometry, input.dtype) and winograd.weight(
            input, grad, out, geometry):
        return out
    t = tables_of(True, input.shape[2:], grad.shape[2:], tuple(size), channels, geometry, True)
    products, lanes, framed = channels * prod(size), filled_up(outputs), t.starts is not None
    work = grad.size * products // 64
    parts, of_group = count_parts(work), (products + STEP) * lanes
    sums = np.zeros((parts, geometry.groups, of_group), input.dtype)
    each = (channels * t.step if framed else 0) + STRETCH * 2 * WIDE
    scratch = np.empty((parts, each), input.dtype)
    shape = shape_for_c(input, grad.shape[1], t, pixels, geometry, 0, 0, 0, prod(size))
    shared("convolve", "weigh", input, "pppp pppp lll", shape, t.starts, t.at, t.off, input, grad, sums, scratch,
           products, of_group, each, size=work)
    whole("convolve", "weighed", input, "ppp lll", shape, sums, out, products, of_group, parts)
    return out
