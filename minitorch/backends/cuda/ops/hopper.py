"""Products on compute capability 9.0 by wgmma: when `matmul_hopper.cu` is taken, its sizes, and its tensor maps.

A tensor map tells the device's copying unit how an array lies: sizes, strides, the box that one copy takes, the
swizzle, and whether float32 is rounded to TF32 on the way. The driver makes it (`cuTensorMapEncodeTiled`), for an
address; the simulator has a twin.
"""

import ctypes
import functools
from typing import NamedTuple

from ..runtime.kernel import Kernel

__all__ = ["KERNEL", "Map", "Way", "arguments", "shared_bytes", "way"]

SIGNATURE = "U* out, const T* addend?, TensorMap map_a, TensorMap map_b, TensorMap map_out, Product p"
KERNEL = Kernel("matmul_hopper.cu", "matmul_hopper", SIGNATURE, arch="90a")
THREADS, ROWS, LINE, PLACES = 384, 128, 128, 64            # of a block; bytes of a line, places of a block of lines
STAGES = {128: 6, 256: 4}                                  # by the columns of a tile
CLUSTER = 2                                                # blocks that share the columns of `b`, where there are pairs
UNEVEN = 16                                                # so many rows of tiles may have one for nothing
STAGGER = 1                                                # steps that the second consumer is behind the first
DATA_TYPES = {"float16": 6, "bfloat16": 9, "float32": 11}  # of cuda.h; the last one rounds to TF32
SWIZZLE_128_BYTES, PROMOTE_256_BYTES = 3, 3


class Map(NamedTuple):
    """An array as a tensor map takes it: sizes, strides in bytes of all but the first dimension, sizes of a box."""

    sizes: tuple
    strides: tuple
    box: tuple


class Way(NamedTuple):
    """How a problem is computed: the columns of a tile, the blocks of a cluster, whether the result goes by the copying
    unit, and the maps of the operands and of the result (if not, one that is not used)."""

    columns: int
    cluster: int
    store: bool
    maps: tuple


def shared_bytes(columns, store):
    """The dynamic shared memory of a block: stages of tiles, two barriers each, pieces of 64 x 64 of the result, two
    for each consumer, and room to align all to 1024."""
    return STAGES[columns] * ((ROWS + columns) * LINE + 16) + store * 4 * PLACES * LINE + 1024


def way(p, itemsize, along_k, columns):
    """The `Way` of a problem with tiles of so many columns; None where the copying unit takes no such arrays, or the
    instruction: TF32 is multiplied along the depth only."""
    batch = p.batch or (1,)
    if len(batch) > 1 or not p.depth or itemsize == 4 and not all(along_k):
        return None
    down = -(-p.rows // ROWS)
    cluster = CLUSTER if down % CLUSTER == 0 or down >= UNEVEN else 1
    places = ((p.a.row, p.a.column, p.rows, ROWS, p.a),
              (p.b.column, p.b.row, p.columns, columns // cluster, p.b))
    found = [map_of(itemsize, step, k_step, size, tile, p.depth, operand, batch[0], along)
             for (step, k_step, size, tile, operand), along in zip(places, along_k)]
    if not all(found):
        return None
    out = itemsize == 2 and map_of(itemsize, p.out.row, p.out.column, p.rows, PLACES, p.columns, p.out, batch[0], True)
    return Way(columns, cluster, bool(out), (*found, out or found[0]))


def map_of(itemsize, step, k_step, size, tile, depth, operand, batch, along_k):
    """One operand: (depth, positions, batch) if it is contiguous along the depth, else (positions, depth, batch)."""
    inner, outer = (k_step, step) if along_k else (step, k_step)
    apart, chunk, line = (operand.batch or (0,))[-1], 16 // itemsize, LINE // itemsize
    if inner != 1 or not operand.aligned or outer <= 0 or outer % chunk or apart < 0 or apart % chunk:
        return None
    batch, apart = (batch, apart) if apart else (1, outer)
    strides = outer * itemsize, apart * itemsize
    if along_k:
        return Map((depth, size, batch), strides, (line, tile, 1))
    return Map((size, depth, batch), strides, (PLACES, line, 1))


def arguments(machine, launch, out, a, b, addend):
    """The arguments of the kernel, except the record."""
    last = out if launch.constants["STORE"] else a
    return out, addend, *[machine.by_address(x, tensor_map(machine.real, x.dtype.name, m))
                          for x, m in zip((a, b, last), launch.maps)]


@functools.lru_cache(maxsize=1024)
def tensor_map(machine, dtype, layout):
    """A function of an address: the 128 bytes of the tensor map there. It keeps those of the last addresses."""
    first = (simulated, machine.simulator) if machine.kind == "sim" else (encode,)
    return functools.lru_cache(maxsize=64)(functools.partial(*first, dtype, *layout))


def simulated(simulator, dtype, sizes, strides, box, pointer):
    """The twin of `encode`."""
    tf32 = dtype == "float32"
    return simulator.tensor_map(pointer, 4 if tf32 else 2, sizes, strides, box, 128, tf32)


def encode(dtype, sizes, strides, box, pointer):
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
