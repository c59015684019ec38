"""Copies: transposes, arrays side by side, triangles, sequences of numbers; and functions made of views and copies.

Copies do not care what the elements mean: kernels are compiled for sizes of 1, 2, 4 and 8 bytes.
"""

import math
from collections.abc import Iterable

import numpy as np

from ..runtime.kernel import Kernel
from . import library
from .array import same_places, share_memory
from .dtypes import fits, kind_of
from .launch import MAPS, UNROLL, launch, map_into, moved, number_bits, raw_copy
from .layout import MAX_DIMS, collapse, make_layout, plan, sort_dims
from .namespace import ours

__all__ = ["copy_elements", "copyto", "fill_bits", "round_to_tf32"]

TILES = {1: 64, 2: 64, 4: 64, 8: 32}                      # as in copy.cu: the side of a tile by the size of elements
THREADS, MOST = 256, 32
TRANSPOSE = Kernel("copy.cu", "transpose", "any* results, const any* elements, u32 rows, u32 columns, i64 in_step, "
                                           "i64 out_step, Layout batch")
CONCATENATE = Kernel("copy.cu", "concatenate", "any* results, i64 rows, i64 width, Pieces pieces")
TRIANGLE = Kernel("copy.cu", "triangle", "T* out, const T* input, i64 rows, i64 columns, i64 diagonal")
RAMP = {kind: Kernel("copy.cu", "ramp", f"T* out, {kind} start, {kind} step, i64 size") for kind in ("i64", "f64")}
PIECES = np.dtype([("at", "u8", MOST), ("start", "i8", MOST), ("width", "i8", MOST)])
BITS = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
MAX_GRID = 65535


# ---- copies --------------------------------------------------------------------------------------------------
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


def copy_array(F, dst, src):
    """Elements of one array into another, cast; through a new one where the two overlap."""
    same = dst.dtype == src.dtype
    if same and same_places(dst, src):
        return
    if share_memory(dst, src):
        src = src.copy()
    if not same:
        launch(F, "identity", (src,), dst.dtype, src.dtype, out=dst)
    elif src.shape == dst.shape:
        F.copy_elements(dst, src)
    else:
        F.copy_elements(dst, F.xp.broadcast_to(src, dst.shape))


def fill(F, dst, value):
    """Write one number into every element."""
    if dst.dtype.kind in "iu" and not isinstance(value, float):
        value = int(np.array(int(value) & (1 << 64) - 1, "u8").astype(dst.dtype)) if not fits(value, dst.dtype) else \
            int(value)
    elif dst.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            value = int(np.array(value).astype(dst.dtype))
    if dst.size:
        number = number_bits(bool(value) if dst.dtype.kind == "b" else value, dst.dtype)
        F.fill_bits(dst, number)


def fill_bits(F, dst, number):
    """A number, as bits of the type that the dtype is computed in, into every element."""
    if not number and dst._c_contiguous:
        F.machine.fill_bytes(dst, 0)
        return
    if dst._c_contiguous and not dst.data.ptr & 15:
        vector = 16 // dst.itemsize
        MAPS[0][1](F.machine, -(-dst.size // (THREADS * UNROLL * vector)), THREADS, dst, number, dst.size, FLAT=1,
                   ARITY=0, VECTOR=vector)
        return
    vector, chunks = plan(dst.shape, (dst.strides,), (dst.itemsize,), 1)
    for offsets, record, n in chunks:
        MAPS[0][0](F.machine, -(-n // THREADS), THREADS, moved(F, dst, offsets[0]), number, record, ARITY=0,
                   VECTOR=vector)


def copy_elements(F, dst, src):
    """Elements of one array into another of the same shape and dtype, which do not overlap."""
    bits = BITS.get(dst.itemsize)
    if bits is None:                                       # complex128
        copy_elements(F, dst.real, src.real)
        copy_elements(F, dst.imag, src.imag)
        return
    if not (dst._c_contiguous and src._c_contiguous) and transpose(F, dst, src, bits):
        return
    raw_copy(F, dst, src, bits)


def round_to_tf32(F, dst, src):
    """Write float32, rounded to the 10 bits of mantissa that tensor cores take, into an array of the same shape."""
    if not transpose(F, dst, src, BITS[4], ROUND=1):
        map_into(F, "tf32", dst, (src,), src.dtype, src.dtype)


def transpose(F, dst, src, bits, **constants):
    """By tiles, if the two are contiguous along different dimensions of some length; whether that was so."""
    size = dst.itemsize
    steps = [[s // size for s in x.strides] for x in (dst, src)]
    every = dst.strides + src.strides
    if min(every, default=0) < 0 or any([s % size for s in every]):
        return False
    shape, (out, given) = collapse(*sort_dims(dst.shape, steps))
    if out[-1] != 1 or 1 not in given[:-1] or given[-1] == 1:
        return False
    along = len(given) - 2 - given[-2::-1].index(1)        # the dimension along which `src` is contiguous
    rows, columns, tile = shape[-1], shape[along], TILES[size]
    if min(rows, columns) < 8 or -(-rows // tile) > MAX_GRID:
        return False
    rest = [d for d in range(len(shape) - 1) if d != along]
    batch, (out_steps, in_steps) = collapse([shape[d] for d in rest], [[x[d] for d in rest] for x in (out, given)])
    if math.prod(batch) > MAX_GRID or len(batch) > MAX_DIMS:
        return False
    grid = -(-columns // tile), -(-rows // tile), math.prod(batch)
    reach, begins = 16 // size, [x.data.ptr // size for x in (dst, src)]
    for step in (rows, columns, given[-1], out[along], *out_steps, *in_steps, *begins):
        reach |= step
    TRANSPOSE(F.machine, grid, THREADS, dst, src, rows, columns, given[-1], out[along],
              make_layout(batch, [out_steps, in_steps]), T=bits, TRANSPOSE=1, VECTOR=reach & -reach, **constants)
    return True


# ---- side by side --------------------------------------------------------------------------------------------
@ours
def concatenate(F, arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    """Arrays one behind the other along an axis, of the type that NumPy's promotion finds."""
    arrays = [F.xp.asarray(x) for x in arrays]
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    first, axis = arrays[0], checked_axis(axis, arrays[0].ndim)
    check_join(arrays, first, axis)
    dtype = np.dtype(dtype) if dtype is not None else np.result_type(*{x.dtype for x in arrays})
    shape = [*first.shape[:axis], sum([x.shape[axis] for x in arrays]), *first.shape[axis + 1:]]
    made = F.empty(shape, dtype) if out is None else out
    if made.size:
        pieces, place = [], 0
        for x in arrays:
            pieces.append((place, x))
            place += x.shape[axis]
        if made.itemsize in BITS and len(arrays) > 1 and all([
                x._c_contiguous and x.dtype == dtype for x in (made, *arrays)]):
            join_contiguous(F, made, [(k, x) for k, x in pieces if x.size], axis)
        else:
            lead = (slice(None),) * axis
            for k, x in pieces:
                place = (*lead, slice(k, k + x.shape[axis]))
                F.xp.copyto(made[place], x, casting="unsafe")
    return made


def check_join(arrays, first, axis):
    """ValueError unless the shapes of arrays are that of the first one, except along an axis."""
    for k, x in enumerate(arrays):
        if x.ndim != first.ndim or (x.shape[:axis], x.shape[axis + 1:]) != (
                first.shape[:axis], first.shape[axis + 1:]):
            raise ValueError(f"all the input array dimensions except for the concatenation axis must match exactly, "
                             f"but along dimension {axis} the array at index 0 has shape {first.shape} and that at "
                             f"index {k} has shape {x.shape}")


def checked_axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def join_contiguous(F, out, pieces, axis):
    """Contiguous arrays into a contiguous one, many in a launch."""
    rows, inner = math.prod(out.shape[:axis]), math.prod(out.shape[axis + 1:])
    width = out.shape[axis] * inner
    vector = max(1, 16 // out.itemsize)
    if any([p.data.ptr % 16 or p.shape[axis] * inner % vector for _, p in pieces]) or out.data.ptr % 16:
        vector = 1
    if any([k * inner % vector for k, _ in pieces]) or width % vector:
        vector = 1
    for begin in range(0, len(pieces), MOST):
        part = pieces[begin:begin + MOST]
        record = np.zeros((), PIECES)
        for i, (k, x) in enumerate(part):
            record["at"][i], record["start"][i] = x.data.ptr, k * inner // vector
            record["width"][i] = x.shape[axis] * inner // vector
        longest = rows * int(record["width"].max())
        CONCATENATE(F.machine, (min(-(-longest // THREADS), 1 << 16), len(part)), THREADS, out, rows, width // vector,
                    record, T=BITS[out.itemsize], VECTOR=vector, CONCATENATE=1)


@ours
def stack(F, arrays, axis=0, out=None, **options):
    """Arrays of one shape along a new axis."""
    arrays = [F.xp.asarray(x) for x in arrays]
    axis = checked_axis(axis, arrays[0].ndim + 1)
    if len({x.shape for x in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate(F, [x.reshape(*x.shape[:axis], 1, *x.shape[axis:]) for x in arrays], axis, out, **options)


# ---- triangles, diagonals, rows of numbers -------------------------------------------------------------------
def triangle(F, m, k, lower):
    if kind_of(m.dtype) is None or m.ndim < 2:
        return library.function(F, "tril" if lower else "triu")(m, k)
    source = m if m._c_contiguous else m.copy()
    out = F.empty(m.shape, m.dtype)
    rows, columns = m.shape[-2:]
    lines = m.size // columns if columns else 0
    TRIANGLE(F.machine, lines, min(256, max(32, -(-columns // 32) * 32)), out, source, rows, columns, k, LOWER=lower,
             TRIANGLE=1)
    return out


@ours(planned=True)
def tril(F, m, k=0):
    return triangle(F, m, k, True)


@ours(planned=True)
def triu(F, m, k=0):
    return triangle(F, m, k, False)


@ours
def eye(F, N, M=None, k=0, dtype=float, order="C"):
    """Ones on a diagonal, zeros elsewhere."""
    columns = N if M is None else M
    out = F.xp.zeros((N, columns), dtype)
    n = min(N + min(k, 0), columns - max(k, 0))
    if n > 0:
        first = out[-min(k, 0):, max(k, 0):]
        F.xp.copyto(F.strided(first, (n,), (out.strides[0] + out.strides[1],)), 1)
    return out


@ours
def arange(F, start, stop=None, step=1, dtype=None):
    """``start + i * step`` up to, but without, `stop`."""
    start, stop = (0, start) if stop is None else (start, stop)
    given = [np.asarray(x).dtype for x in (start, stop, step)]
    dtype = np.dtype(dtype) if dtype is not None else np.result_type(*given)
    if kind_of(dtype) is None:
        return F.from_host(np.arange(start, stop, step, dtype))
    n = max(0, math.ceil((stop - start) / step))
    out = F.empty((n,), dtype)
    whole = dtype.kind in "iub" and all([isinstance(x, (int, np.integer)) for x in (start, step)])
    if dtype.kind in "iub" and not whole:                  # NumPy casts the first two, and their difference is the step
        first, second = [int(np.array(x).astype(dtype)) for x in (start, start + step)]
        start, step, whole = first, second - first, True
    RAMP["i64" if whole else "f64"](F.machine, -(-n // THREADS), THREADS, out, start, step, n, RAMP=1,
                                    NUMBER="i64" if whole else "double")
    return out


# ---- made of views and copies --------------------------------------------------------------------------------
@ours(planned=True)
def roll(F, a, shift, axis=None):
    """The elements moved along axes, those that fall off coming back at the other end."""
    if axis is None:
        return roll(F, a.reshape(-1), shift, 0).reshape(a.shape)
    if isinstance(axis, Iterable) or isinstance(shift, Iterable):
        shifts, axes = np.broadcast_arrays(np.asarray(shift), np.asarray(axis))
        for s, d in zip(shifts.tolist(), axes.tolist()):
            a = roll(F, a, s, d)
        return a
    axis = checked_axis(axis, a.ndim)
    n = a.shape[axis]
    cut, lead = -shift % n if n else 0, (slice(None),) * axis
    end, begin = (*lead, slice(cut, None)), (*lead, slice(None, cut))
    return concatenate(F, [a[end], a[begin]], axis)


@ours(planned=True)
def tile(F, A, reps):
    """An array repeated along each axis."""
    reps = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    a = A.reshape((1,) * (len(reps) - A.ndim) + A.shape)
    reps = (1,) * (a.ndim - len(reps)) + reps
    apart, whole = [n for s in a.shape for n in (1, s)], [n for pair in zip(reps, a.shape) for n in pair]
    expanded = F.xp.broadcast_to(a.reshape(apart), whole)
    return expanded.copy().reshape([r * s for r, s in zip(reps, a.shape)])


@ours(planned=True)
def repeat(F, a, repeats, axis=None):
    """Each element repeated; by the library where the counts differ."""
    if not isinstance(repeats, (int, np.integer)):
        return library.function(F, "repeat")(a, repeats, axis)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = checked_axis(axis, a.ndim)
    shape = [*a.shape[:axis + 1], repeats, *a.shape[axis + 1:]]
    expanded = F.xp.broadcast_to(a.reshape([*a.shape[:axis + 1], 1, *a.shape[axis + 1:]]), shape)
    return expanded.copy().reshape([*a.shape[:axis], a.shape[axis] * repeats, *a.shape[axis + 1:]])


@ours
def pad(F, array, pad_width, mode="constant", **options):
    """An array within a frame of one number; other frames by the library."""
    value = options.get("constant_values", 0)
    if mode != "constant" or not isinstance(value, (bool, int, float)):
        return library.function(F, "pad")(array, pad_width, mode, **options)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    out = F.empty([low + n + high for n, (low, high) in zip(array.shape, widths)], array.dtype)
    if any([low or high for low, high in widths]):
        F.xp.copyto(out, value, casting="unsafe")
    F.xp.copyto(out[tuple([slice(low, low + n) for n, (low, _) in zip(array.shape, widths)])], array)
    return out

