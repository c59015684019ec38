"""Elementwise kernels: NumPy's ufuncs, `where`, `clip` and copies, one functor each (`functors.cuh`).

`launch` runs one functor over broadcast operands, on the vectorised flat path if all arrays lie contiguous in the same
order, else through a `layout`. Types are NumPy's (`ufunc.resolve_dtypes`); 16-bit floats are computed in float32 and
rounded once, and Python numbers stay as precise as what is computed in.
"""

import functools
import itertools
import math
import struct

import numpy as np

from . import library
from .array import share_memory
from .kernel import C_NAMES, NULL, Kernel
from .layout import broadcast_strides, plan
from .namespace import OURS, ours

__all__ = ["Ufunc", "kind_of", "launch", "map_into", "raw_copy"]

THREADS, UNROLL = 256, 2                                   # as in elementwise.cu
BLOCK = (THREADS,)
NUMBERS = (bool, int, float)
ZERO = np.int64(0)
NO_NUMBERS = (ZERO, ZERO)
MOST_PLANS = 1 << 14
BOOL = np.dtype("bool")


def pair(entry, signature):
    """The kernels of one number of operands: the flat one and the one with a layout."""
    return (Kernel("elementwise.cu", entry, signature + ", Layout layout"),
            Kernel("elementwise.cu", entry, signature + ", i64 size"))


MAPS = (pair("map0", "U* out, i64 a"),
        pair("map1", "U* out, const T* x, i64 a, i64 b"),
        pair("map2", "U* out, const T* x?, const V* y?, i64 x_number, i64 y_number, i64 a, i64 b"),
        pair("map3", "U* out, const T* x?, const V* y?, const T* z?, i64 x_number, i64 y_number, i64 z_number, i64 a, "
                     "i64 b"))
RAW = pair("map1", "any* out, const any* x, i64 a, i64 b") # whatever the elements mean


# ---- launching -----------------------------------------------------------------------------------------------
def launch(F, functor, operands, out_dtype, T, V=None, numbers=(0, 0), out=None):
    """``functor(*operands)`` as a new array of `out_dtype`, or in `out`.

    An operand is an array (of dtype T, the second one of V) or a Python number. `numbers` are the functor's a and b.
    What a call comes to is remembered by the operands' shapes, strides and alignment: the next one like it only makes
    the result and launches.
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
    known = F.plans.get(key)
    if known is None:
        return first_launch(F, key, functor, operands, out_dtype, T, V or T, numbers, out)
    function, grid, shape, extent = known
    if out is None:
        out = F.empty(shape, out_dtype)
    pointers = [x if x.__class__ is ndarray else NULL for x in operands]
    bits = [ZERO if x.__class__ is ndarray else np.int64(number_bits(x, d)) for x, d in zip(operands, (T, V or T, T))]
    extra = NO_NUMBERS if numbers == (0, 0) else [np.int64(number_bits(n, T)) for n in numbers]
    F.machine.launch(function, grid, BLOCK, (out, *pointers, *(bits if len(bits) > 1 else ()), *extra, extent), 0)
    return out


def first_launch(F, key, functor, operands, out_dtype, T, V, numbers, out=None):
    """The result, and a plan for calls like this one if it took one launch, not into an array of unusual order."""
    arrays = [x for x in operands if x.__class__ is F.ndarray]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    like = max(arrays, key=lambda x: (x.shape == shape, x.size))
    ordered = like.shape == shape and not like._c_contiguous
    if out is not None:
        ordered = check_room(out, shape)
    else:
        out = F.empty_in_order_of(like, np.dtype(out_dtype)) if ordered else F.empty(shape, out_dtype)
    launched = map_into(F, functor, out, operands, T, V, numbers)
    if len(launched) == 1 and not ordered:
        if len(F.plans) >= MOST_PLANS:
            F.plans.clear()
        function, grid, extent = launched[0]
        F.plans[key] = function, grid, shape, extent
    return out


def check_room(out, shape):
    if shape != out.shape and np.broadcast_shapes(shape, out.shape) != out.shape:
        raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast "
                         f"shape {shape}")


def start(F, kernel, grid, arguments, constants):
    """Launch; returns (function, grid, the last value), of which plans are made."""
    function, values = kernel.checked(F.machine, arguments, constants)
    if grid:
        F.machine.launch(function, (grid,), BLOCK, values, 0)
    return function, (grid,), values[-1]


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
    vector, pieces = plan(shape, steps, itemsizes, 16 // width if not aligned & 15 else 1)
    count, launched = itertools.count(1), []
    places = [0] + [None if x is None else next(count) for x in arrays]        # in the plan, which numbers are not in
    for offsets, record, n in pieces:
        record = record if None not in places else spread_operands(record, places)
        views = [None if i is None else moved(F, x, offsets[i]) for i, x in zip(places, [out, *arrays])]
        launched.append(start(F, kernels[0], -(-n // THREADS), (*views, *bits, *extra, record),
                              {"VECTOR": vector, **constants}))
    return launched


def is_dense(array):
    from .layout import dense_order
    return dense_order(array.shape, array.strides, array.itemsize) is not None


def unaligned(F, functor, out, operands):
    """The rare view between whose elements there are parts of some: the library copies."""
    if functor != "identity":
        raise NotImplementedError(f"elements of {out.dtype} that do not lie at multiples of their size: copy first")
    library.function(F, "copyto")(out, operands[0], casting="unsafe")


def raw_copy(F, dst, src, bits):
    """Elements from one array to another of the same dtype, whose size is that of `bits`."""
    map_into(F, "identity", dst, (src,), bits, bits, kernels=RAW)


def spread_operands(record, places):
    """A layout whose rows are the operands, one for each, when some of them are numbers."""
    found = record.copy()
    for k, i in enumerate(places):
        found["strides"][k] = record["strides"][i] if i is not None else 0
    return found


def moved(F, array, offset):
    """An array that begins `offset` elements behind another: what a launch over a part of it is given."""
    return array if not offset else library.view_of(array, (1,), array.dtype, offset * array.itemsize,
                                                    (array.itemsize,))


def number_bits(x, dtype):
    """A number as 8 bytes of the type that `dtype` is computed in, as an integer."""
    kind = dtype.kind
    if kind == "f" and dtype.itemsize == 8:
        return int.from_bytes(struct.pack("<d", x), "little", signed=True)
    if kind in "fV":
        try:
            return int.from_bytes(struct.pack("<f", x), "little")
        except OverflowError:
            return int.from_bytes(struct.pack("<f", math.copysign(math.inf, x)), "little")
    x = int(x)
    return x - (1 << 64) if x >= 1 << 63 else x


# ---- NumPy's ufuncs ------------------------------------------------------------------------------------------
# name: (functor, kinds of dtypes that it computes in: f floats, i signed and u unsigned integers, b bools)
FLOATS, NUMERIC, ALL = "f", "fiu", "fiub"
UNARY = {"positive": ("identity", NUMERIC), "negative": ("negative", "fi"), "absolute": ("absolute", ALL),
         "fabs": ("absolute", FLOATS), "sign": ("sign", NUMERIC), "square": ("square", NUMERIC),
         "reciprocal": ("reciprocal", FLOATS), "logical_not": ("logical_not", ALL), "invert": ("invert", "iu"),
         "isnan": ("is_nan", ALL), "isinf": ("is_inf", ALL), "isfinite": ("is_finite", ALL),
         "signbit": ("sign_bit", FLOATS), "sqrt": ("sqrt_of", FLOATS),
         "arcsin": ("asin_of", FLOATS), "arccos": ("acos_of", FLOATS), "arctan": ("atan_of", FLOATS),
         "arcsinh": ("asinh_of", FLOATS), "arccosh": ("acosh_of", FLOATS), "arctanh": ("atanh_of", FLOATS),
         **{name: (name + "_of", FLOATS) for name in (
             "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
             "floor", "ceil", "trunc", "rint")}}
BINARY = {"add": ("add", ALL), "subtract": ("subtract", NUMERIC), "multiply": ("multiply", ALL),
          "true_divide": ("true_divide", FLOATS), "floor_divide": ("floor_divide", NUMERIC),
          "remainder": ("remainder", NUMERIC), "fmod": ("fmod_of", NUMERIC), "power": ("power", NUMERIC),
          "maximum": ("maximum", ALL), "minimum": ("minimum", ALL), "fmax": ("fmax_of", ALL), "fmin": ("fmin_of", ALL),
          "arctan2": ("atan2_of", FLOATS), "hypot": ("hypot_of", FLOATS), "copysign": ("copysign_of", FLOATS),
          "logaddexp": ("logaddexp", FLOATS), "logaddexp2": ("logaddexp2", FLOATS),
          **{name: (name, ALL) for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                                            "logical_and", "logical_or", "logical_xor")},
          **{name: (name, "iub") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
          "left_shift": ("left_shift", "iu"), "right_shift": ("right_shift", "iu")}
SAME_AS = {"abs": "absolute", "divide": "true_divide", "mod": "remainder", "bitwise_not": "invert", "conj": "positive",
           "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}


@functools.lru_cache(maxsize=4096)
def loop_of(name, operands):
    """The dtype that NumPy's ufunc computes in for operands of these dtypes (or Python types), and the result's."""
    operands = tuple([BOOL if x is bool else x for x in operands])
    dtypes = {x for x in operands if x.__class__ is not type}
    if len(dtypes) == 1:
        (dtype,) = dtypes
        floats = dtype.name in ("float16", "bfloat16", "float32", "float64")
        if floats and all([x is float or x is int or x == dtype for x in operands]):
            return dtype, BOOL if name in TRUTHS else dtype
    found = getattr(np, name).resolve_dtypes((*operands, None))
    return found[0], found[-1], *([found[1]] if len(found) > 2 and found[1] != found[0] else [])


TRUTHS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
          "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "signbit"}


@functools.cache
def kind_of(dtype):
    """The kind of a dtype as NumPy's letter, "f" also for bfloat16; None if kernels do not take it."""
    return None if dtype.name not in C_NAMES else "f" if dtype.kind == "V" else dtype.kind


class Ufunc:
    """One of NumPy's ufuncs over our kernels, with its methods; what these do not take goes to the library."""

    takes_halves = True

    def __init__(self, F, name, functor, kinds, nin):
        self.backend, self.__name__, self.functor, self.kinds, self.nin = F, name, functor, kinds, nin
        self.numpy, self.nout, self.loops = getattr(np, name), 1, {}

    def __repr__(self):
        return f"<ufunc {self.__name__} on {self.backend.device}>"

    def __call__(self, *operands, out=None, dtype=None, where=True, casting="same_kind"):
        F, nin = self.backend, self.nin
        if len(operands) > nin:                            # np.add(a, b, out)
            operands, out = operands[:nin], operands[nin]
        if len(operands) != nin:
            raise TypeError(f"{self.__name__}() takes from {nin} to {nin + 1} positional arguments but "
                            f"{len(operands)} were given")
        if where is not True:
            return self.masked(operands, out, dtype, where)
        arrays, key = [], []
        for x in operands:
            if x.__class__ is F.ndarray:
                key.append(x.dtype)
            elif x.__class__ in NUMBERS:
                key.append(x.__class__)
            elif isinstance(x, np.generic) or x.__class__ is np.ndarray and not x.ndim:
                key.append(x.dtype)                        # a number that counts with its dtype
                x = x.item()
            else:
                x = self.accept(x)
                key.append(x.dtype if x.__class__ is F.ndarray else x.__class__)
            arrays.append(x)
        key = tuple(key)
        try:
            loop = self.loops[key, dtype]
        except KeyError:
            loop = self.loops[key, dtype] = self.find_loop(key, dtype)
        if loop is None or F.ndarray not in [x.__class__ for x in arrays]:
            return self.in_library(operands, out, dtype, casting)
        T, result = loop
        for i, x in enumerate(arrays):
            if x.__class__ is F.ndarray:
                if x.dtype is not T and x.dtype != T:
                    arrays[i] = x.astype(T)
            elif T.kind in "iu" and not fits(x, T) or T.kind == "b" and x not in (0, 1):
                return self.in_library(operands, out, dtype, casting)
        if out is None:
            return launch(F, self.functor, arrays, result, T)
        return self.write(arrays, out, T, result, casting)

    def accept(self, x):
        """An operand that is neither one of our arrays nor a Python number."""
        F = self.backend
        if isinstance(x, (complex, np.ndarray)):
            return library.refuse_host_arrays(x)
        if isinstance(x, F.ndarray):
            return x.view(F.ndarray)
        if isinstance(x, (list, tuple)):
            return F.xp.asarray(x)
        if type(x) in (bool, int, float):
            return x
        raise TypeError(f"{self.__name__}() takes arrays of {F.device} and numbers, got {type(x).__name__}")

    def find_loop(self, key, dtype):
        """(dtype to compute in, dtype of the result), or None for the library."""
        if complex in key:
            return None
        if dtype is not None:
            T = np.dtype(dtype)
            loop = T, BOOL if self.__name__ in TRUTHS else T
        else:
            loop = loop_of(self.__name__, key)
        if len(loop) > 2 or kind_of(loop[0]) is None or kind_of(loop[0]) not in self.kinds or kind_of(loop[1]) is None:
            return None
        return loop

    def write(self, arrays, out, T, result, casting):
        """Into `out`, cast; through a new array where `out` overlaps an operand otherwise than element by element."""
        F = self.backend
        out = out[0] if out.__class__ is tuple else out
        if result != out.dtype and not np.can_cast(result, out.dtype, casting):
            raise TypeError(f"Cannot cast ufunc '{self.__name__}' output from {result!r} to {out.dtype!r} with "
                            f"casting rule '{casting}'")
        for x in arrays:
            if x.__class__ is F.ndarray and x.data.mem is out.data.mem and not same_places(x, out) and \
                    share_memory(x, out):
                F.xp.copyto(out, launch(F, self.functor, arrays, result, T), casting="unsafe")
                return out
        if kind_of(out.dtype) is None:
            F.xp.copyto(out, launch(F, self.functor, arrays, result, T), casting="unsafe")
            return out
        return launch(F, self.functor, arrays, out.dtype, T, out=out)

    def masked(self, operands, out, dtype, where):
        found = self(*operands, dtype=dtype)
        out = (out[0] if out.__class__ is tuple else out) if out is not None else self.backend.xp.empty_like(found)
        self.backend.xp.copyto(out, found, where=where)
        return out

    def in_library(self, operands, out, dtype, casting):
        options = {k: v for k, v in (("out", out), ("dtype", dtype)) if v is not None}
        if casting != "same_kind":
            options["casting"] = casting
        return library.function(self.backend, self.__name__)(*operands, **options)

    # -- methods -----------------------------------------------------------------------------------------------
    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """Over axes; by our reductions, or the library where there is none of that name."""
        from .reduce import REDUCTIONS, reduce
        if self.__name__ in REDUCTIONS and where is True:
            return reduce(self.backend, REDUCTIONS[self.__name__], array, axis, dtype, out, keepdims, initial)
        options = {} if initial is None else {"initial": initial}
        return library.function(self.backend, self.__name__ + ".reduce")(array, axis, dtype, out, keepdims, **options)

    def __getattr__(self, method):
        if method not in ("accumulate", "at", "outer", "reduceat"):
            return getattr(object.__getattribute__(self, "numpy"), method)
        if method == "outer":
            return lambda a, b: self(a.reshape(a.shape + (1,) * b.ndim), b)
        return library.function(self.backend, f"{self.__name__}.{method}")


def fits(x, dtype):
    info = np.iinfo(dtype)
    return info.min <= x <= info.max


class Unbound:
    """A ufunc of the table above, for `Namespace` to bind to a backend."""

    def __init__(self, name, functor, kinds, nin):
        self.arguments = name, functor, kinds, nin

    def bind(self, F):
        return Ufunc(F, *self.arguments)


for nin, table in ((1, UNARY), (2, BINARY)):
    for name, (functor, kinds) in table.items():
        OURS[name] = Unbound(name, functor, kinds, nin)
for alias, name in SAME_AS.items():
    if hasattr(np, alias):
        OURS[alias] = OURS[name]


# ---- other functions of NumPy --------------------------------------------------------------------------------
@ours
def where(F, condition, x=None, y=None):
    """`x` where the condition holds, `y` elsewhere; of a condition alone, where it holds."""
    if x is None and y is None:
        return library.function(F, "nonzero")(condition)
    x, y = [library.refuse_host_arrays(v) if v.__class__ is not F.ndarray else v for v in (x, y)]
    dtype = np.result_type(*[v.dtype if hasattr(v, "dtype") else v for v in (x, y)])
    x, y = [v.item() if isinstance(v, (np.generic, np.ndarray)) else v for v in (x, y)]
    if kind_of(dtype) is None or condition.__class__ is not F.ndarray:
        return library.function(F, "where")(condition, x, y)
    if condition.dtype != BOOL:
        condition = condition.astype(BOOL)
    x, y = [v.astype(dtype, copy=False) if v.__class__ is F.ndarray else v for v in (x, y)]
    return launch(F, "where", (x, condition, y), dtype, dtype, BOOL)


@ours
def clip(F, a, a_min=None, a_max=None, out=None, **options):
    """`a` between two bounds, of which one may be None; NaN stays NaN."""
    if a_min is None or a_max is None:
        if a_min is None and a_max is None:
            return a.copy()
        return F.xp.minimum(a, a_max, out=out) if a_min is None else F.xp.maximum(a, a_min, out=out)
    bounds = [v for v in (a_min, a_max) if v.__class__ not in NUMBERS]
    if bounds or out is not None and out.dtype != a.dtype or kind_of(a.dtype) is None or a.dtype.kind == "b" or \
            a.dtype.kind in "iu" and not all([v.__class__ is not float and fits(v, a.dtype) for v in (a_min, a_max)]):
        low = F.xp.maximum(a, a_min)
        return F.xp.minimum(low, a_max, out=out)
    return launch(F, "clamp_to_numbers", (a,), a.dtype, a.dtype, numbers=(a_min, a_max), out=out)


@ours
def divmod(F, x, y):
    """The quotient rounded down, and the remainder."""
    return F.xp.floor_divide(x, y), F.xp.remainder(x, y)


@ours
def copyto(F, dst, src, casting="same_kind", where=True):
    """Write `src`, broadcast and cast, into `dst`; where a mask holds, if one is given."""
    if not isinstance(src, F.ndarray):
        if np.ndim(src):
            src = F.from_host(np.asarray(src))
        elif isinstance(src, (np.generic, np.ndarray)):
            src = src.item()
    if where is not True:
        src = F.xp.where(where, src, dst)
    types = [x.dtype for x in (dst, src) if isinstance(x, F.ndarray)]
    if len(types) == 2 and not np.can_cast(types[1], types[0], casting):
        raise TypeError(f"Cannot cast array data from {types[1]!r} to {types[0]!r} according to the rule '{casting}'")
    moved_only = len(types) == 2 and types[0] == types[1]
    if not moved_only and any([kind_of(t) is None for t in types]) or src.__class__ is complex:
        library.function(F, "copyto")(dst, src, casting=casting)
    elif len(types) == 1:
        fill(F, dst, src)
    elif src.shape != dst.shape and np.broadcast_shapes(src.shape[src.ndim - dst.ndim:] if src.ndim > dst.ndim else
                                                        src.shape, dst.shape) != dst.shape:
        raise ValueError(f"could not broadcast input array from shape {src.shape} into shape {dst.shape}")
    elif dst.size:
        if src.ndim > dst.ndim:                            # leading dimensions of size 1
            src = src.reshape(src.shape[src.ndim - dst.ndim:])
        copy_array(F, dst, src)


def same_places(x, y):
    """Whether the elements of two arrays of one size lie in the same places."""
    return x.data.ptr == y.data.ptr and x.shape == y.shape and x.strides == y.strides and x.itemsize == y.itemsize


def copy_array(F, dst, src):
    """Elements of one array into another, cast; through a new one where the two overlap."""
    from .copy import copy_elements
    same = dst.dtype == src.dtype
    if same and same_places(dst, src):
        return
    if share_memory(dst, src):
        src = src.copy()
    if not same:
        map_into(F, "identity", dst, (src,), src.dtype, src.dtype)
    elif src.shape == dst.shape:
        copy_elements(F, dst, src)
    else:
        copy_elements(F, dst, F.xp.broadcast_to(src, dst.shape))


def fill(F, dst, value):
    """One number into every place."""
    if dst.dtype.kind in "iu" and not isinstance(value, float):
        value = int(np.array(int(value) & (1 << 64) - 1, "u8").astype(dst.dtype)) if not fits(value, dst.dtype) else \
            int(value)
    elif dst.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            value = int(np.array(value).astype(dst.dtype))
    if dst.size:
        number = number_bits(bool(value) if dst.dtype.kind == "b" else value, dst.dtype)
        fill_bits(F, dst, number)


def fill_bits(F, dst, number):
    if dst._c_contiguous and not dst.data.ptr & 15:
        vector = 16 // dst.itemsize
        MAPS[0][1](F.machine, -(-dst.size // (THREADS * UNROLL * vector)), THREADS, dst, number, dst.size, FLAT=1,
                   ARITY=0, VECTOR=vector)
        return
    vector, pieces = plan(dst.shape, (dst.strides,), (dst.itemsize,), 1)
    for offsets, record, n in pieces:
        MAPS[0][0](F.machine, -(-n // THREADS), THREADS, moved(F, dst, offsets[0]), number, record, ARITY=0,
                   VECTOR=vector)
