"""Elementwise launches: one functor (`functors.cuh`) over broadcast operands.

`launch` takes the vectorised flat path if all arrays lie contiguous in the same order, else one through a `layout`.
16-bit floats are computed in float32 and rounded once, and Python numbers stay as precise as the compute dtype.
"""

import itertools
import math
import struct

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
    ordered = like.shape == shape and not like._c_contiguous and is_dense(like)
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


def map_into(F, functor, out, operands, T, V, numbers=(0, 0), kernels=None):
    """Write ``functor(*operands)`` into `out`, whose shape the operands broadcast to; returns what `start` does."""
    if not out.size:
        return []
    dtypes = (T, V, T)
    arrays = [x if x.__class__ is F.ndarray else None for x in operands]
    bits = [0 if x.__class__ is F.ndarray else number_bits(x, d) for x, d in zip(operands, dtypes)]
    bits = bits if len(arrays) > 1 else []
    extra = [number_bits(n, T) for n in numbers]
    arity = len(arrays)
    kernels = kernels or MAPS[arity]
    constants = {"OP": functor, "ARITY": arity}
    if kernels is RAW:
        constants["T"] = constants["U"] = T
    elif arity > 1:
        constants["T"], constants["V"] = T, V
    shape, strides, aligned = out.shape, out.strides, out.data.ptr
    flat = contiguous = out._c_contiguous
    for x in arrays:
        if x is not None:
            aligned |= x.data.ptr
            if x.shape != shape:
                flat = contiguous = False
            elif contiguous:
                flat = contiguous = x._c_contiguous
    if not contiguous:
        flat = all([x is None or x.shape == shape and x.strides == strides and x.itemsize == out.itemsize
                    for x in arrays]) and is_dense(out)
    width = max(out.itemsize, T.itemsize, V.itemsize if arity > 1 else 0)
    if flat and not aligned & 15:
        constants["VECTOR"] = vector = 16 // width
        size = out.size
        return [start(F, kernels[1], -(-size // (THREADS * UNROLL * vector)), (out, *arrays, *bits, *extra, size),
                      {"FLAT": 1, **constants})]
    present = [out, *[x for x in arrays if x is not None]]
    itemsizes = tuple([x.itemsize for x in present])
    steps = tuple([x.strides if x.shape == shape else broadcast_strides(shape, x.shape, x.strides) for x in present])
    for step, size in zip(steps, itemsizes):
        if any([s % size for s in step]):                  # a view of another type, between its elements
            unaligned(F, functor, out, operands)
            return []
    vector, chunks = plan(shape, steps, itemsizes, 16 // width if not aligned & 15 else 1)
    count, launched = itertools.count(1), []
    places = [0] + [None if x is None else next(count) for x in arrays]        # in the plan, which numbers are not in
    for offsets, record, n in chunks:
        record = record if None not in places else expand_operands(record, places)
        views = [None if i is None else moved(F, x, offsets[i]) for i, x in zip(places, [out, *arrays])]
        launched.append(start(F, kernels[0], -(-n // THREADS), (*views, *bits, *extra, record),
                              {"VECTOR": vector, **constants}))
    return launched


def is_dense(array):
    return dense_order(array.shape, array.strides, array.itemsize) is not None


def unaligned(F, functor, out, operands):
    """A rare view, whose strides are not multiples of the item size: the library copies."""
    if functor != "identity":
        raise NotImplementedError(f"elements of {out.dtype} that do not lie at multiples of their size: copy first")
    library.function(F, "copyto")(out, operands[0], casting="unsafe")


def raw_copy(F, dst, src, bits):
    """Elements from one array to another of the same dtype, whose size is that of `bits`."""
    map_into(F, "identity", dst, (src,), bits, bits, kernels=RAW)


def expand_operands(record, places):
    """A layout whose rows are the operands, one for each, when some of them are numbers."""
    found = record.copy()
    for k, i in enumerate(places):
        found["strides"][k] = record["strides"][i] if i is not None else 0
    return found


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
