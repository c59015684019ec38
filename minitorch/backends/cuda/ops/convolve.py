"""Convolution in one to three dimensions, and its derivatives by input and by weight.

16-bit floats, and float32 as long as `backends.cudnn.allow_tf32` is set, are for tensor cores: see `patches.py`.
Otherwise `convolve.cu` has one kernel for all three, a product of matrices that gathers one operand from images as it
is read, and direct ones for groups of few channels.
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
COUNTS, TRIPLES = ("groups", "channels", "outputs"), ("size", "out_size", "stride", "padding", "dilation")
CONVOLUTION = np.dtype([*[(name, "i4") for name in COUNTS], *[(name, "i4", 3) for name in TRIPLES],
                        *[(name, "i4") for name in ("rows", "columns", "depth", "chunk")], ("split_stride", "i8")],
                       align=True)
ARGUMENTS = "U* out, const T* left, const T* images, const T* bias?, Convolution c"
GEMM = Kernel("convolve.cu", "convolve", ARGUMENTS)
DIRECT = Kernel("convolve.cu", "convolve_direct", f"{ARGUMENTS}, i64 count")
DIRECT_WEIGHT = Kernel("convolve.cu", "convolve_direct_weight",
                       "U* out, const T* left, const T* images, Convolution c")
SIZES, SIZES_64_BITS = (LARGE, MEDIUM, SMALL), (MEDIUM, SMALL)
FEW = 4                                                    # rows of a group for which a product is not worth it


# ---- the ops -----------------------------------------------------------------------------------------------
def is_thin(task, rows, columns):
    """True where a group has too few rows for a product."""
    return rows < FEW and (task != WEIGHT or columns < 64)


def by_patches(F, task, rows, columns, dtype):
    """True where tensor cores do it."""
    return on_tensor_cores(F, dtype) and not is_thin(task, rows, columns)


@kernel("convolution", when=convolvable, halves=True)
def convolution(F, input, weight, bias=None, *, geometry=None):
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    out = F.empty((input.shape[0], weight.shape[0], *size), input.dtype)
    rows = weight.shape[0] // geometry.groups
    if out.size and input.size and weight.size and by_patches(F, FORWARD, rows, 0, out.dtype):
        patches.forward(F, out, input, weight, bias, geometry)
    elif out.size:
        arrays = [x if x is None else F.xp.ascontiguousarray(x) for x in (weight, input, bias)]
        convolve(F, FORWARD, out, *arrays, input.shape, weight.shape, size, geometry)
    return out


@kernel("convolution_backward_input", when=convolvable, halves=True)
def convolution_backward_input(F, grad, weight, *, geometry, size):
    shape = (grad.shape[0], weight.shape[1] * geometry.groups, *size)
    if not grad.size or not weight.size:
        return F.xp.zeros(shape, grad.dtype)
    out = F.empty(shape, grad.dtype)
    if out.size and by_patches(F, INPUT, weight.shape[1], 0, out.dtype):
        patches.backward_input(F, out, grad, weight, geometry)
    elif out.size:                                         # the weight as (groups, channels, outputs, *kernel)
        parts = weight.reshape(geometry.groups, -1, *weight.shape[1:])
        turned = F.xp.ascontiguousarray(parts.swapaxes(1, 2))
        grad = F.xp.ascontiguousarray(grad)
        convolve(F, INPUT, out, turned, grad, None, shape, weight.shape, grad.shape[2:], geometry)
    return out


@kernel("convolution_backward_weight", when=convolvable, halves=True)
def convolution_backward_weight(F, input, grad, *, geometry, size):
    shape = (grad.shape[1], input.shape[1] // geometry.groups, *size)
    if not grad.size or not input.size:
        return F.xp.zeros(shape, grad.dtype)
    out = F.empty(shape, grad.dtype)
    if out.size and by_patches(F, WEIGHT, shape[0] // geometry.groups, prod(shape[1:]), out.dtype):
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
    constants = {"TASK": task, **dict(zip(("KD", "KH", "KW"), three(weight_shape[2:]))), "VOLUME": len(out_size) == 3}
    if is_thin(task, rows, columns):
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
    channels, outputs = weight_shape[1], weight_shape[0] // geometry.groups
    pixels = input_shape[0] * prod(input_shape[2:] if task == INPUT else out_size)
    rows, columns, depth = ((outputs, pixels, channels * taps), (channels, pixels, outputs * taps),
                            (outputs, channels * taps, pixels))[task]
    triples = input_shape[2:], out_size, geometry.stride, geometry.padding, geometry.dilation
    values = (geometry.groups, channels, outputs,
              *[three(x, 0 if name == "padding" else 1) for name, x in zip(TRIPLES, triples)],
              rows, columns, depth, depth, 0)
    for name, value in zip(CONVOLUTION.names, values):
        record[name] = value
    return record


def three(numbers, fill=1):
    """The numbers of three dimensions; the first are `fill` where there are fewer."""
    return (fill,) * (3 - len(numbers)) + tuple(numbers)


def vector_of(size, dtype):
    """How many neighbours of rows of so many elements are moved at once."""
    most = min(4, 16 // dtype.itemsize)
    return most if size % most == 0 else 1


def tile_constants(tiles, vector_a, vector_out):
    return {"TILE_M": tiles.rows, "TILE_N": tiles.columns, "THREAD_M": tiles.part_rows, "THREAD_N": tiles.part_columns,
            "DEPTH": tiles.depth, "VECTOR_A": vector_a, "VECTOR_OUT": vector_out}
