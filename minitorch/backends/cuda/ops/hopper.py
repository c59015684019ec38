"""Products of 16-bit floats on compute capability 9.0: when `matmul_hopper.cu` is taken, and its tensor maps.

A tensor map tells the device's copying unit how an array lies: sizes, strides, the box that one copy takes, the
swizzle. The driver makes it (`cuTensorMapEncodeTiled`), for an address; the simulator has a twin.
"""

import ctypes
import functools
from typing import NamedTuple

from ..runtime.kernel import Kernel

__all__ = ["KERNEL", "Map", "arguments", "maps_of"]

SIGNATURE = "U* out, const T* addend?, TensorMap map_a, TensorMap map_b, Product p"
KERNEL = Kernel("matmul_hopper.cu", "matmul_hopper", SIGNATURE, arch="90a")
THREADS, ROWS, DEPTH, STAGES = 384, 128, 64, {128: 6, 256: 4}              # stages by the columns of a tile
DATA_TYPES = {"float16": 6, "bfloat16": 9}                                 # of cuda.h
SWIZZLE_128_BYTES, PROMOTE_256_BYTES = 3, 3


class Map(NamedTuple):
    """An array as a tensor map takes it: sizes, strides in bytes of all but the first dimension, sizes of a box."""

    sizes: tuple
    strides: tuple
    box: tuple


def shared_bytes(columns):
    """The dynamic shared memory of a block: stages of tiles, two barriers each, and room to align them to 1024."""
    return STAGES[columns] * ((ROWS + columns) * DEPTH * 2 + 16) + 1024


def maps_of(p, along_k, columns):
    """The tensor maps of the operands of a problem for tiles of so many columns; None where the device takes none."""
    batch = p.batch or (1,)
    if len(batch) > 1 or not p.depth:
        return None
    places = ((p.a.row, p.a.column, p.rows, ROWS, p.a), (p.b.column, p.b.row, p.columns, columns, p.b))
    found = [map_of(step, k_step, size, tile, p.depth, operand, batch[0], along)
             for (step, k_step, size, tile, operand), along in zip(places, along_k)]
    return found if all(found) else None


def map_of(step, k_step, size, tile, depth, operand, batch, along_k):
    """One operand: (depth, positions, batch) if it is contiguous along the depth, else (positions, depth, batch)."""
    inner, outer = (k_step, step) if along_k else (step, k_step)
    apart = (operand.batch or (0,))[-1]
    if inner != 1 or not operand.aligned or outer <= 0 or outer % 8 or apart < 0 or apart % 8:
        return None
    batch, apart = (batch, apart) if apart else (1, outer)
    if along_k:
        return Map((depth, size, batch), (outer * 2, apart * 2), (DEPTH, tile, 1))
    return Map((size, depth, batch), (outer * 2, apart * 2), (64, DEPTH, 1))


def arguments(machine, launch, out, a, b, addend):
    """The arguments of the kernel, except the record."""
    return out, addend, *[machine.by_address(x, functools.partial(tensor_map, machine.real, x.dtype.name, m))
                          for x, m in zip((a, b), launch.maps)]


@functools.lru_cache(maxsize=1024)
def tensor_map(machine, dtype, layout, pointer):
    """The 128 bytes of a tensor map."""
    if machine.kind == "sim":
        return machine.simulator.tensor_map(pointer, 2, *layout, 128)
    return encode(pointer, dtype, *layout)


def encode(pointer, dtype, sizes, strides, box):
    """`cuTensorMapEncodeTiled` of the driver. RuntimeError with its number if it refuses."""
    buffer = ctypes.create_string_buffer(192)
    place = -ctypes.addressof(buffer) % 64                   # it has to be aligned
    rank = len(sizes)
    error = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(ctypes.addressof(buffer) + place), ctypes.c_int(DATA_TYPES[dtype]), ctypes.c_uint32(rank),
        ctypes.c_void_p(pointer), (ctypes.c_uint64 * rank)(*sizes), (ctypes.c_uint64 * (rank - 1))(*strides),
        (ctypes.c_uint32 * rank)(*box), (ctypes.c_uint32 * rank)(*[1] * rank), ctypes.c_int(0),
        ctypes.c_int(SWIZZLE_128_BYTES), ctypes.c_int(PROMOTE_256_BYTES), ctypes.c_int(0))
    if error:
        raise RuntimeError(f"cuTensorMapEncodeTiled refused {dtype} {sizes}, strides {strides}, box {box}: error "
                           f"{error}")
    return buffer.raw[place:place + 128]
