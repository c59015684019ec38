"""Elementwise launches: one functor (`functors.cuh`) over broadcast operands.

`launch` takes the vectorised flat path if all arrays lie contiguous in the same order, else one through a `layout`.
16-bit floats are computed in float32 and rounded once, and Python numbers stay as precise as the compute dtype.
"""

import functools
import math
import struct
from typing import NamedTuple

import numpy as np

from ..runtime.kernel import Kernel
from ..runtime.parameters import Repeated
from . import library
from .layout import broadcast_strides, dense_order, plan

__all__ = ["launch", "map_into", "moved", "raw_copy"]

THREADS, UNROLL = 256, 2                                   # as in elementwise.cu
BLOCK = (THREADS,)
NO_NUMBERS = (0, 0)        # the functor's a and b, where it has none
MOST_PLANS = 1 << 14


def pair(entry, signature):
    """The kernels of one number of operands: the flat one and the one with a layout."""
    return (Kernel("elementwise.cu", entry, signature + ", Layout layout"),
            Kernel("elementwise.cu", entry, signature + ", i64 size"))


MAPS = (pair("map0", "U* out, i64 a"),
        pair("map1", "U* out, const T* x, i64 a, i64 b"),
        pair("map2", "U* out, const T* x?, const V* y?, i64 x_number, i64 y_number, i64 a, i64 b"),
        pair("map3", "U* out, const T* x?, const V* y?, const T* z?, i64 x_number, i64 y_number, i64 z_number, i64 a, "
                     "i64 b"))
RAW = pair("map1", "any* out, const any* x, i64 a, i64 b") # for elements of any type


# ---- launching -----------------------------------------------------------------------------------------------
def launch(F, functor, operands, out_dtype, T, V=None, numbers=NO_NUMBERS, out=None):
    """``functor(*operands)`` as a new array of `out_dtype`, or in `out`.

    An operand is an array (of dtype T, the second one of V) or a Python number. `numbers` are the functor's a and b.
    The launch is cached by the operands' shapes, strides and alignment: the next call like it only makes the result
    and launches.
    """
    ndarray, key, aligned = F.ndarray, [functor, T, V, out_dtype], 0
    if out is not None:
        key += out.shape, None if out._c_contiguous else out.strides
        aligned = out.data.ptr
    for x in operands:
        if x.__class__ is ndarray:
            key.append(x.shape)
            key.append(None if x._c_contiguous else x.strides)
            aligned |= x.data.ptr
        else:
            key.append(None)
    key.append(aligned & 15)
    key = tuple(key)
    known = F.plans.get(key)                               # never of a shadow, whose arrays have no memory
    if known is None:
        return first_launch(F, key, functor, operands, out_dtype, T, V or T, numbers, out)
    again, shape = known
    if out is None:
        out = F.empty(shape, out_dtype)
    pointers = [x.data.ptr if x.__class__ is ndarray else 0 for x in operands]
    bits = [0 if x.__class__ is ndarray else number_bits(x, d) for x, d in zip(operands, (T, V or T, T))] \
        if len(operands) > 1 else ()
    extra = numbers if numbers is NO_NUMBERS else [number_bits(n, T) for n in numbers]
    again(out.data.ptr, *pointers, *bits, *extra)
    return out


def first_launch(F, key, functor, operands, out_dtype, T, V, numbers, out=None):
    """The result, and a plan for calls like this one if it took one launch, not into an array of unusual order."""
    arrays = [x for x in operands if x.__class__ is F.ndarray]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    like = max(arrays, key=lambda x: (x.shape == shape, x.size))
    ordered = like.shape == shape and not like._c_contiguous and is_dense(
        like.shape, like.strides, like.itemsize)
    if out is not None:
        ordered = check_fits(out, shape)
    else:
        out = F.empty_in_order_of(like, np.dtype(out_dtype)) if ordered else F.empty(shape, out_dtype)
    launched = map_into(F, functor, out, operands, T, V, numbers)
    if len(launched) == 1 and not ordered and F.keeps_plans:
        if len(F.plans) >= MOST_PLANS:
            F.plans.clear()
        function, grid, values = launched[0]
        F.plans[key] = Repeated(F.machine, function, grid, BLOCK, values, fixed=1), shape
    return out


def check_fits(out, shape):
    if shape != out.shape and np.broadcast_shapes(shape, out.shape) != out.shape:
        raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast "
                         f"shape {shape}")


def start(F, kernel, grid, arguments, constants):
    """Launch; returns (function, grid, values), from which plans are made."""
    function, values = kernel.checked(F.machine, arguments, constants)
    if grid:
        F.machine.launch(function, (grid,), BLOCK, values, 0)
    return function, (grid,), values


# ---- one pass over the elements ----------------------------------------------------------------
class Layout(NamedTuple):
    """How the elements of some arrays, the first being written, are shared out to threads.

    A launch is (blocks, the offset in elements at which it finds each array, the kernel's last
    parameter). That is the number of elements if all arrays lie alike (`flat`), else a record
    with their strides.
    """

    flat: bool
    vector: int                                            # elements that a thread takes at once
    launches: list


@functools.lru_cache(maxsize=4096)
def layout(places, width, aligned):
    """The Layout of arrays that lie at `places`: (shape, strides, itemsize), or None for a number.

    `width` is the size of the widest elements; `aligned`: all arrays begin at a multiple of 16
    bytes. None if strides are not multiples of the size of elements: kernels cannot read that.
    """
    shape, vector = places[0][0], 16 // width if aligned else 1
    if aligned and are_flat(places):
        size = math.prod(shape)
        blocks = -(-size // (THREADS * UNROLL * vector))
        return Layout(True, vector, [(blocks, (0,) * len(places), size)])
    arrays = [((), (), 1) if x is None else x for x in places]     # a number is repeated
    steps = tuple([broadcast_strides(shape, own, strides) for own, strides, _ in arrays])
    itemsizes = tuple([itemsize for *_, itemsize in arrays])
    if any([s % size for row, size in zip(steps, itemsizes) for s in row]):
        return None
    vector, chunks = plan(shape, steps, itemsizes, vector)
    launches = [(-(-n // THREADS), offsets, record) for offsets, record, n in chunks]
    return Layout(False, vector, launches)


def are_flat(places):
    """True if all arrays lie without gaps and in the same order, so that one index serves them."""
    shape, strides, itemsize = places[0]
    return is_dense(*places[0]) and all([
        x is None or x[0] == shape and all([n == 1 or own * itemsize == step * x[2]
                                            for n, own, step in zip(shape, x[1], strides)])
        for x in places])


def is_dense(shape, strides, itemsize):
    """True if an array fills its memory without gaps."""
    return dense_order(shape, strides, itemsize) is not None


def map_into(F, functor, out, operands, T, V, numbers=NO_NUMBERS, kernels=None):
    """Write ``functor(*operands)`` into `out`, whose shape the operands broadcast to.

    Returns what `start` does, for each launch.
    """
    if not out.size:
        return []
    arity, ndarray = len(operands), F.ndarray
    kernels = kernels or MAPS[arity]
    arrays, places, address = [out], [(out.shape, out.strides, out.itemsize)], out.data.ptr
    for x in operands:
        is_array = x.__class__ is ndarray
        arrays.append(x if is_array else None)
        places.append((x.shape, x.strides, x.itemsize) if is_array else None)
        address |= x.data.ptr if is_array else 0
    found = layout(tuple(places), max(out.itemsize, T.itemsize, V.itemsize), not address & 15)
    if found is None:
        unaligned(F, functor, out, operands)
        return []
    words = [number_bits(n, T) for n in numbers]
    if arity > 1:                                          # these kernels take numbers as operands
        words[:0] = [0 if x.__class__ is ndarray else number_bits(x, d)
                     for x, d in zip(operands, (T, V, T))]
    constants = {"OP": functor, "ARITY": arity, "VECTOR": found.vector}
    if kernels is RAW:
        constants |= {"T": T, "U": T}
    elif arity > 1:
        constants |= {"T": T, "V": V}
    if found.flat:
        constants["FLAT"] = 1
    launched = []
    for blocks, offsets, last in found.launches:
        views = arrays if found.flat else [moved(F, x, k) for x, k in zip(arrays, offsets)]
        launched.append(start(F, kernels[found.flat], blocks, (*views, *words, last), constants))
    return launched


def unaligned(F, functor, out, operands):
    """A rare view, whose strides are not multiples of the item size: the library copies."""
    if functor != "identity":
        raise NotImplementedError(f"elements of {out.dtype} that do not lie at multiples of their size: copy first")
    library.function(F, "copyto")(out, operands[0], casting="unsafe")


def raw_copy(F, dst, src, bits):
    """Elements from one array to another of the same dtype, whose size is that of `bits`."""
    map_into(F, "identity", dst, (src,), bits, bits, kernels=RAW)


def moved(F, array, offset):
    """An array that begins `offset` elements behind another, for a launch over a part of it."""
    return array if not offset else library.view_of(array, (1,), array.dtype, offset * array.itemsize,
                                                    (array.itemsize,))


def number_bits(x, dtype):
    """A number as 8 bytes of the type that `dtype` is computed in, as an integer."""
    kind = dtype.kind
    if kind in "fV" and dtype.itemsize == 8:
        return int.from_bytes(struct.pack("<d", x), "little", signed=True)
    if kind in "fV":
        try:
            return int.from_bytes(struct.pack("<f", x), "little")
        except OverflowError:
            return int.from_bytes(struct.pack("<f", math.copysign(math.inf, x)), "little")
    x = int(x)
    return x - (1 << 64) if x >= 1 << 63 else x
