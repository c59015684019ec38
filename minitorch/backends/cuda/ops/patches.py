"""Convolution on tensor cores, in one, two and three dimensions: how `convolve_mma.cu` is launched, and on compute
capability 9.0, where there are enough tiles, `convolve_hopper.cu`.

Images are brought into an order with their channels last, filled up to multiples of 16 bytes (images that lie so
already are taken as they are), and the weight into that of the sum. The gradient of the input is the same sum over the
gradient of the output; with a stride there is one for each residue of the pixels' places, over those taps that meet
such pixels. Results have their channels where PyTorch has them.
"""

import functools
import itertools
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from ....core.arrays import is_half
from ...switches import cudnn
from ..arrays.copy import copyto, round_to_tf32
from ..arrays.layout import magic
from ..runtime.kernel import Kernel
from . import product
from .product import COMBINE, MMA_LARGE, MMA_SMALL, STAGES, Operand, Problem, Tiles, capability, multiprocessors

__all__ = ["add_up", "backward_input", "backward_weight", "choose", "forward", "on_tensor_cores"]

DIVISION = np.dtype([("by", "i4"), ("magic", "u4"), ("shift", "u4")])
TRIPLES = ("size", "step", "start", "tap_step", "out_size", "out_start", "out_step")
NUMBERS = ("groups", "rows", "columns", "depth", "chunk", "left_row")
PATCHES = np.dtype([("grid", DIVISION, 3), ("taps", DIVISION, 3), ("channels", DIVISION),
                    ("pixels", DIVISION),
                    *[(name, "i4", 3) for name in TRIPLES], *[(name, "i4") for name in NUMBERS],
                    ("split_stride", "i8")], align=True)
ARGUMENTS = "U* out, const T* left, const T* images, const T* bias?, Patches p"
MMA = Kernel("convolve_mma.cu", "convolve_mma", ARGUMENTS)
HOPPER = Kernel("convolve_hopper.cu", "convolve_hopper", ARGUMENTS, arch="90a")
WIDE, SQUARE, FLAT = [Tiles(rows, columns, 0, 0, 0, 384) for rows, columns in ((128, 256), (128, 128), (64, 256))]
HOPPER_STAGES = {WIDE: 4, SQUARE: 6, FLAT: 5}
LEAST_DEPTH = 512                                          # of the wgmma kernel's pieces of a long sum


def on_tensor_cores(F, dtype):
    """True for 16-bit floats, and for float32 where `backends.cudnn.allow_tf32` says so."""
    return (is_half(dtype) or dtype == np.float32 and cudnn.allow_tf32) and capability(F.machine) >= 80


class Axis(NamedTuple):
    """One dimension of a sum over windows: as in patches.cuh; `first` and `every` say which taps of the weight are
    there, counted in its own order."""

    grid: int
    taps: int
    size: int
    step: int
    start: int
    tap_step: int
    out_size: int
    out_start: int = 0
    out_step: int = 1
    first: int = 0
    every: int = 1


def axes_of(geometry, size, kernel, out_size):
    """The dimensions of a convolution, without taps and pixels left out."""
    return [Axis(m, k, n, s, -p, d, m) for n, k, m, s, p, d in
            zip(size, kernel, out_size, geometry.stride, geometry.padding, geometry.dilation)]


def residues(size, taps, out_size, stride, padding, dilation):
    """The gradient of the input along one dimension: an `Axis` for each residue of a pixel's place modulo the stride.

    The pixel y went into the output o by the tap t if ``y + padding - t dilation == o stride``. Those of one residue
    have their taps in common: every ``stride / gcd(stride, dilation)``-th one, or none.
    """
    found, every = [], stride // gcd(stride, dilation)
    for r in range(min(stride, size)):
        first = next((t for t in range(min(every, taps)) if (r + padding - t * dilation) % stride == 0), None)
        count, first = (0, 0) if first is None else (len(range(first, taps, every)), first)
        start = (r + padding - first * dilation) // stride
        found.append(Axis(-(-(size - r) // stride), count, out_size, 1, start, -(every * dilation // stride), size, r,
                          stride, first, every))
    return found


def channels_last(F, x, groups):
    """(N, C, *size) as (N, *size, groups, channels), filled up with zeros to multiples of 16 bytes."""
    n, c, *size = x.shape
    return filled(F, x.reshape(n, groups, c // groups, *size).transpose(0, *range(3, x.ndim + 1), 1, 2))


def filled(F, x):
    """The array, contiguous, with zeros behind its last dimension, up to a multiple of 16 bytes; float32 as TF32."""
    chunk, copy = 16 // x.itemsize, round_to_tf32 if x.dtype == np.float32 else copyto
    whole = x.shape[-1] % chunk == 0
    if whole and x.data.ptr % 16 == 0 and copy is copyto:
        return F.xp.ascontiguousarray(x)
    out = (F.empty if whole else F.xp.zeros)((*x.shape[:-1], -(-x.shape[-1] // chunk) * chunk), x.dtype)
    copy(F, out[..., :x.shape[-1]], x)
    return out


# ---- the three sums ----------------------------------------------------------------------------------------
def forward(F, out, input, weight, bias, geometry):
    """Fill `out`, (N, O, *size)."""
    axes = axes_of(geometry, input.shape[2:], weight.shape[2:], out.shape[2:])
    images = channels_last(F, input, geometry.groups)
    left = filled(F, weight.transpose(0, *range(2, weight.ndim), 1))
    bias = bias if bias is None else F.xp.ascontiguousarray(bias)
    sum_windows(F, out, left, images, bias, axes, geometry.groups)


def backward_input(F, out, grad, weight, geometry):
    """Fill `out`, the gradient of the input."""
    groups, every = geometry.groups, slice(None)
    images = channels_last(F, grad, groups)
    turned = weight.reshape(groups, -1, *weight.shape[1:])           # (groups, outputs, channels, *kernel)
    turned = turned.transpose(0, 2, *range(3, turned.ndim), 1)
    along = [residues(*each) for each in zip(out.shape[2:], weight.shape[2:], grad.shape[2:], geometry.stride,
                                              geometry.padding, geometry.dilation)]
    for axes in itertools.product(*along):
        if prod(axis.taps for axis in axes):
            taps = every, every, *[slice(axis.first, None, axis.every) for axis in axes]
            sum_windows(F, out, filled(F, turned[taps]), images, None, axes, groups)
        else:
            pixels = every, every, *[slice(axis.out_start, None, axis.out_step) for axis in axes]
            out[pixels] = 0


def backward_weight(F, out, input, grad, geometry):
    """Fill `out`, the gradient of the weight, (O, C, *kernel)."""
    axes, groups = axes_of(geometry, input.shape[2:], out.shape[2:], grad.shape[2:]), geometry.groups
    images, left = channels_last(F, input, groups), channels_last(F, grad, groups)
    channels, outputs, taps = images.shape[-1], out.shape[0] // groups, prod(out.shape[2:])
    pixels = len(grad) * prod(grad.shape[2:])
    sizes = groups, outputs, taps * channels, pixels
    tiles, splits, chunk = choose_tensor_cores(F.machine, True, images.dtype, *sizes)
    sums = F.empty((outputs * groups, *out.shape[2:], channels), np.dtype("f4") if splits > 1 else out.dtype)
    target = sums if splits == 1 else F.empty((splits, sums.size), np.dtype("f4"))
    record = described(tuple(axes), sizes, channels, left.shape[-1], chunk, sums.size)
    launch(F, target, left, images, None, record, sizes, tiles, splits, WEIGHT=1, DENSE=1, VECTOR_OUT=2,
           VOLUME=len(axes) == 3)
    if splits > 1:
        sums = F.empty(sums.shape, out.dtype)
        add_up(F, sums, target, splits)
    F.xp.copyto(out, sums[..., :out.shape[1]].transpose(0, sums.ndim - 1, *range(1, sums.ndim - 1)))


def sum_windows(F, out, left, images, bias, axes, groups):
    """Sums over taps and channels of `images`, channels last, into those pixels of `out` that the axes name."""
    channels, rows = images.shape[-1], out.shape[1] // groups
    columns, depth = len(images) * prod(axis.grid for axis in axes), channels * prod(axis.taps for axis in axes)
    sizes, dense = (groups, rows, columns, depth), all(axis.out_step == 1 for axis in axes)
    tiles, _, _ = choose_tensor_cores(F.machine, False, images.dtype, *sizes)
    record = described(tuple(axes), sizes, channels, 0, depth, 0)
    pairs = 2 if dense and prod(out.shape[2:]) % 2 == 0 else 1
    launch(F, out, left, images, bias, record, sizes, tiles, 1, WEIGHT=0, DENSE=dense, VECTOR_OUT=pairs,
           VOLUME=len(axes) == 3)


def launch(F, out, left, images, bias, record, sizes, tiles, splits, **constants):
    groups, rows, columns, _ = sizes
    blocks = count(tiles, groups, rows, columns)
    if tiles in HOPPER_STAGES:
        stages = HOPPER_STAGES[tiles]
        shared = stages * ((tiles.rows + tiles.columns) * 128 + 16) + 1024        # two barriers each; room to align
        HOPPER(F.machine, min(multiprocessors(F.machine), blocks * splits), tiles.threads, out, left, images, bias,
               record, shared=shared, **constants, TILE_M=tiles.rows, TILE_N=tiles.columns, STAGES=stages)
        return
    constants |= {"TILE_M": tiles.rows, "TILE_N": tiles.columns, "WARP_M": tiles.part_rows,
                  "WARP_N": tiles.part_columns, "DEPTH": 64 // images.itemsize, "STAGES": STAGES}
    MMA(F.machine, (blocks, splits), tiles.threads, out, left, images, bias, record,
        shared=STAGES * (tiles.rows + tiles.columns) * 64, **constants)


@functools.lru_cache(maxsize=4096)
def described(axes, sizes, channels, left_row, chunk, split_stride):
    """The kernel's last argument."""
    record = np.zeros((), PATCHES)
    axes = [Axis(1, 1, 1, 1, 0, 1, 1)] * (3 - len(axes)) + list(axes)
    for i, axis in enumerate(axes):
        record["grid"][i], record["taps"][i] = (axis.grid, *magic(axis.grid)), (axis.taps, *magic(axis.taps))
        for name in TRIPLES:
            record[name][i] = getattr(axis, name)
    pixels = prod(axis.grid for axis in axes)
    record["channels"], record["pixels"] = (channels, *magic(channels)), (pixels, *magic(pixels))
    for name, value in zip(NUMBERS, (*sizes, chunk, left_row)):
        record[name] = value
    record["split_stride"] = split_stride
    return record


# ---- tiles and pieces --------------------------------------------------------------------------------------
def choose(machine, split, sizes, groups, rows, columns, depth):
    """The tiles, of sizes from large to small; into how many chunks the depth is split (if it may be: the gradient of
    the weight has many pixels for few elements), and of what size."""
    enough = [t for t in sizes
              if rows > t.rows // 2 and (split or count(t, groups, rows, columns) >= multiprocessors(machine))]
    tiles = enough[0] if enough else sizes[-1]
    wanted = 1
    if split:
        wanted = min(2 * multiprocessors(machine) // count(tiles, groups, rows, columns),
                     depth // product.SHORTEST_SPLIT, 64)
    return tiles, *pieces(depth, wanted)


def choose_tensor_cores(machine, split, dtype, groups, rows, columns, depth):
    """The same: the tiles of `convolve_hopper.cu`, if there are enough for a third of the multiprocessors, or of
    `convolve_mma.cu`."""
    if capability(machine) == 90 and not (split and dtype.itemsize == 4):
        most = multiprocessors(machine)
        for tiles, least in [(FLAT, most)] if rows <= FLAT.rows else [(WIDE, most), (SQUARE, most // 3)]:
            blocks = count(tiles, groups, rows, columns)
            if split:
                wanted = max(min(most // blocks, depth // LEAST_DEPTH, 64), 1)
                if blocks * wanted >= max(most // 3, 1):
                    return tiles, *pieces(depth, wanted)
            elif blocks >= max(least, 1):
                return tiles, 1, depth
    return choose(machine, split, (MMA_LARGE, MMA_SMALL), groups, rows, columns, depth)


def count(tiles, groups, rows, columns):
    """The number of tiles that cover the output."""
    return -(-rows // tiles.rows) * -(-columns // tiles.columns) * groups


def pieces(depth, wanted):
    """How many pieces of the depth there are if about so many are wanted, and their size."""
    chunk = -(-depth // wanted // 64) * 64 if wanted > 1 else depth
    return -(-depth // chunk), chunk


def add_up(F, out, partials, splits):
    """Add partial sums up in `out`, in their order."""
    line = Operand(out.size, 1, (), True)
    p = Problem(1, out.size, 0, (), line, line, None, line)
    record = product.record_of(p, {"alpha": 1, "beta": 0}, 1, splits, out.size)
    COMBINE(F.machine, -(-out.size // 256), 256, out, partials, None, record, ACTIVATION=0)
