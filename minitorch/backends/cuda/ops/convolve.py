"""Convolution in one to three dimensions, and its derivatives by input and by weight.

16-bit floats, and float32 as long as `backends.cudnn.allow_tf32` is set, are for tensor cores: see `patches.py`.
Otherwise `convolve.cu` has one kernel for all three, a product of matrices that gathers one operand from images as it
is read, and direct ones for groups of few channels; there three dimensions are left to the ops' reference, which
unfolds windows and multiplies by the kernels of `product.py`.
"""

from math import prod

import numpy as np

from ....core.arrays import is_half
from ..backend import kernel
from ..runtime.kernel import Kernel
from . import patches
from .patches import add_up, choose, on_tensor_cores
from .product import LARGE, MEDIUM, SMALL
from .supported import convolvable

FORWARD, INPUT, WEIGHT = 0, 1, 2                           # TASK in convolve.cu
FIELDS = ("images", "groups", "channels", "outputs", "height", "width", "out_height", "out_width", "stride_y",
          "stride_x", "pad_y", "pad_x", "dilation_y", "dilation_x", "rows", "columns", "depth", "chunk")
CONVOLUTION = np.dtype([(name, "i4") for name in FIELDS] + [("split_stride", "i8")], align=True)
ARGUMENTS = "U* out, const T* left, const T* images, const T* bias?, Convolution c"
GEMM = Kernel("convolve.cu", "convolve", ARGUMENTS)
DIRECT = Kernel("convolve.cu", "convolve_direct", f"{ARGUMENTS}, i64 count")
DIRECT_WEIGHT = Kernel("convolve.cu", "convolve_direct_weight",
                       "U* out, const T* left, const T* images, Convolution c")
SIZES, SIZES_64_BITS = (LARGE, MEDIUM, SMALL), (MEDIUM, SMALL)
FEW = 4                                                    # rows of a group for which a product is not worth it


# ---- the ops -----------------------------------------------------------------------------------------------
def supported(F, a, b, bias=None, **attrs):
    """Predicate: what the kernels take, in three dimensions on tensor cores only."""
    return convolvable(F, a, b, bias) and (a.ndim < 5 or a.size and b.size and on_tensor_cores(F, a.dtype))


def is_thin(task, rows, columns, out):
    """True where a group has too few rows for a product."""
    return rows < FEW and out.ndim < 5 and (task != WEIGHT or columns < 64)


def by_patches(F, task, rows, columns, out):
    """True where tensor cores do it."""
    return on_tensor_cores(F, out.dtype) and not is_thin(task, rows, columns, out)


@kernel("convolution", when=supported, halves=True)
def convolution(F, input, weight, bias=None, *, geometry=None):
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    out = F.empty((input.shape[0], weight.shape[0], *size), input.dtype)
    rows = weight.shape[0] // geometry.groups
    if out.size and input.size and weight.size and by_patches(F, FORWARD, rows, 0, out):
        patches.forward(F, out, input, weight, bias, geometry)
    elif out.size:
        arrays = [x if x is None else F.xp.ascontiguousarray(x) for x in (weight, input, bias)]
        convolve(F, FORWARD, out, *arrays, input.shape, weight.shape, size, geometry)
    return out


@kernel("convolution_backward_input", when=supported, halves=True)
def convolution_backward_input(F, grad, weight, *, geometry, size):
    shape = (grad.shape[0], weight.shape[1] * geometry.groups, *size)
    if not grad.size or not weight.size:
        return F.xp.zeros(shape, grad.dtype)
    out = F.empty(shape, grad.dtype)
    if out.size and by_patches(F, INPUT, weight.shape[1], 0, out):
        patches.backward_input(F, out, grad, weight, geometry)
    elif out.size:                                         # the weight as (groups, channels, outputs, *kernel)
        parts = weight.reshape(geometry.groups, -1, *weight.shape[1:])
        turned = F.xp.ascontiguousarray(parts.swapaxes(1, 2))
        grad = F.xp.ascontiguousarray(grad)
        convolve(F, INPUT, out, turned, grad, None, shape, weight.shape, grad.shape[2:], geometry)
    return out


@kernel("convolution_backward_weight", when=supported, halves=True)
def convolution_backward_weight(F, input, grad, *, geometry, size):
    shape = (grad.shape[1], input.shape[1] // geometry.groups, *size)
    if not grad.size or not input.size:
        return F.xp.zeros(shape, grad.dtype)
    out = F.empty(shape, grad.dtype)
    if out.size and by_patches(F, WEIGHT, shape[0] // geometry.groups, prod(shape[1:]), out):
        patches.backward_weight(F, out, input, grad, geometry)
    elif out.size:
        convolve(F, WEIGHT, out, F.xp.ascontiguousarray(grad), F.xp.ascontiguousarray(input), None, input.shape, shape,
                 grad.shape[2:], geometry)
    return out


# ---- launches ----------------------------------------------------------------------------------------------
def convolve(F, task, out, left, images, bias, input_shape, weight_shape, out_size, geometry):
    """Fill `out`; `left` is the operand that is not gathered."""
    record = describe(task, input_shape, weight_shape, out_size, geometry)
    groups, rows, columns, depth = [int(record[name]) for name in ("groups", "rows", "columns", "depth")]
    height, width = two(weight_shape[2:], 1)
    constants = {"TASK": task, "KH": height, "KW": width}
    if is_thin(task, rows, columns, out):
        direct = constants | tile_constants(SMALL, 1, 1)
        if task == WEIGHT:
            DIRECT_WEIGHT(F.machine, out.size, 256, out, left, images, record, **direct)
        else:
            DIRECT(F.machine, -(-out.size // 256), 256, out, left, images, bias, record, out.size, **direct)
        return
    sizes = SIZES_64_BITS if out.itemsize == 8 else SIZES
    tiles, splits, record["chunk"] = choose(F.machine, task == WEIGHT, sizes, groups, rows, columns, depth)
    neighbours = columns if task == WEIGHT else prod(out.shape[2:])
    constants |= tile_constants(tiles, 1 if task == WEIGHT else vector_of(depth, out.dtype),
                                vector_of(neighbours, out.dtype))
    blocks = -(-rows // tiles.rows) * -(-columns // tiles.columns) * groups
    if splits == 1:
        GEMM(F.machine, blocks, tiles.threads, out, left, images, bias, record, **constants)
        return
    record["split_stride"] = out.size
    partials = F.empty((splits, out.size), np.dtype("f4") if is_half(out.dtype) else out.dtype)
    GEMM(F.machine, (blocks, splits), tiles.threads, partials, left, images, None, record, **constants)
    add_up(F, out, partials, splits)


def describe(task, input_shape, weight_shape, out_size, geometry):
    """The kernels' last argument, but for how the depth is cut."""
    record, taps = np.zeros((), CONVOLUTION), prod(weight_shape[2:])
    images, channels, outputs = input_shape[0], weight_shape[1], weight_shape[0] // geometry.groups
    (height, width), (out_height, out_width) = two(input_shape[2:], 1), two(out_size, 1)
    pixels = images * prod(input_shape[2:] if task == INPUT else out_size)
    rows, columns, depth = ((outputs, pixels, channels * taps), (channels, pixels, outputs * taps),
                            (outputs, channels * taps, pixels))[task]
    values = (images, geometry.groups, channels, outputs, height, width, out_height, out_width,
              *two(geometry.stride, 1), *two(geometry.padding, 0), *two(geometry.dilation, 1), rows, columns, depth,
              depth)
    for name, value in zip(FIELDS, values):
        record[name] = value
    return record


def two(numbers, fill):
    """The numbers of two dimensions; the first is `fill` where there is only one."""
    return (fill, *numbers) if len(numbers) == 1 else tuple(numbers)


def vector_of(size, dtype):
    """How many neighbours of rows of so many elements are moved at once."""
    most = min(4, 16 // dtype.itemsize)
    return most if size % most == 0 else 1


def tile_constants(tiles, vector_a, vector_out):
    return {"TILE_M": tiles.rows, "TILE_N": tiles.columns, "THREAD_M": tiles.part_rows, "THREAD_N": tiles.part_columns,
            "DEPTH": tiles.depth, "VECTOR_A": vector_a, "VECTOR_OUT": vector_out}
