"""Reductions over any axes: sums, means, products, extremes and their positions, norms, variances, `logsumexp`.

A reduction is brought to one of two shapes of work (`reduce.cu`): rows, whose elements may lie anywhere, or columns
that lie side by side. Long ones are cut into segments and joined in a second launch. The order of additions depends on
shape and strides only: results never change from run to run. 16-bit floats are accumulated in float32.
"""

import functools
import math

import numpy as np

from ...numpy_names import REDUCES, is_truth
from ..runtime.kernel import Kernel
from . import library
from .dtypes import kind_of
from .layout import MAX_DIMS, MAX_SIZE, collapse, make_layout, sort_dims
from .namespace import ours

__all__ = ["REDUCTIONS", "averaged", "axes_of", "reduce", "run"]

THREADS, LANES = 256, 32                                   # as in reduce.cu
ROWS = Kernel("reduce.cu", "reduce_rows", "any* results, const any* elements, i64 rows, i64 columns, i64 segment, "
                                          "u32 group, f64 n, Layout kept, Layout reduced")
COLUMNS = Kernel("reduce.cu", "reduce_columns", "any* results, const any* elements, i64 inner, i64 length, "
                                                "i64 segment, f64 n, Layout kept, Layout reduced")

ENOUGH_BLOCKS = 1024                                       # a GPU's multiprocessors run several each
SEGMENT = 4096                                             # elements that a block reduces at least
BLOCK = (THREADS,)
INT64, UINT64, BOOL, BYTES = map(np.dtype, ("int64", "uint64", "bool", "u1"))

# NumPy's ufunc: the accumulation. Those of the second column have no identity.
REDUCTIONS = {"add": "total", "multiply": "product", "maximum": "largest", "minimum": "smallest",
              "logical_and": "every", "logical_or": "some"}
NEUTRAL = {"total": 0, "product": 1, "every": True, "some": False, "total_of_squares": 0, "total_of_absolutes": 0,
           "euclidean": 0, "total_of_nonzeros": 0, "average": math.nan, "variance": math.nan, "deviation": math.nan,
           "log_of_total": -math.inf}
ORDERED = ("place_of_largest", "place_of_smallest")        # where an index counts


def accumulator_size(op, T, U):
    """Bytes of an accumulator."""
    wide = {d: 4 if d.itemsize == 2 and d.kind in "fV" else d.itemsize for d in (T, U)}
    if op in ORDERED:
        return 16
    if op == "variance" or op == "deviation":
        return 3 * wide[U]
    if op == "log_of_total":
        return 2 * wide[U]
    return 4 if op in ("every", "some") else wide[T] if op in ("largest", "smallest") else wide[U]


# ---- shapes of work ------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=1024)
def axes_of(axis, ndim):
    """The axes to reduce as a tuple; all for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
    found = tuple(sorted([a % ndim for a in axes]))
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def run(F, op, x, axes, U, n=1.0):
    """The reduction `op` of `x` over `axes` as a contiguous array of the kept dimensions; `x` has elements."""
    T, aligned = x.dtype, not x.data.ptr % 16
    key = op, T, U, x.shape, x.strides, axes, aligned, n
    known = F.plans.get(key)
    if known is not None:
        out, source = F.empty(known[0], U), x
        for function, grid, block, rest, scratch_bytes in known[1]:
            target = F.empty((scratch_bytes,), BYTES) if scratch_bytes else out
            F.machine.launch(function, grid, block, (target, source, *rest), 0)
            source = target
        return out
    shape, steps = plan(op, T, np.dtype(U), x.shape, x.strides, axes, aligned)
    out = F.empty(shape, U)
    if steps is None:                                      # too many dimensions: those to reduce are brought together
        kept = [d for d in range(x.ndim) if d not in axes]
        x = x.transpose([*kept, *axes]).copy()
        return run(F, op, x.reshape([*x.shape[:len(kept)], -1]), (len(kept),), U, n)
    if not out.size:
        return out
    source, launches = x, []
    for kernel, grid, block, numbers, layouts, scratch_bytes, constants in steps:
        target = F.empty((scratch_bytes,), BYTES) if scratch_bytes else out
        function, values = kernel.checked(F.machine, (target, source, *numbers, n, *layouts), constants)
        F.machine.launch(function, grid, block, values, 0)
        launches.append((function, grid, block, values[2:], scratch_bytes))
        source = target
    F.plans[key] = shape, launches
    return out


@functools.lru_cache(maxsize=4096)
def plan(op, T, U, shape, strides, axes, aligned):
    """The result's shape and the launches: (kernel, grid, block, numbers, layouts, bytes of parts, constants).

    None for the launches if the array must be copied first.
    """
    size = T.itemsize
    kept_axes = [d for d in range(len(shape)) if d not in axes]
    steps = [s // size for s in strides]
    kept, (kept_steps,) = collapse([shape[d] for d in kept_axes], [[steps[d] for d in kept_axes]])
    reduced, reduced_steps = [shape[d] for d in axes], [steps[d] for d in axes]
    if op not in ORDERED:
        reduced, (reduced_steps,) = sort_dims(reduced, [reduced_steps])
    reduced, (reduced_steps,) = collapse(reduced, [reduced_steps])
    dense = len(reduced) == 1 and (reduced[0] == 1 or reduced_steps[0] == 1)
    out_shape = tuple([shape[d] for d in kept_axes])
    if not fits(kept, reduced, dense) or any([s % size for s in strides]):
        return out_shape, None
    if not math.prod(out_shape):
        return out_shape, []
    if not dense and kept_steps[-1] == 1 and kept[-1] >= LANES // 2:
        return out_shape, column_launches(op, T, U, kept, kept_steps, reduced, reduced_steps, aligned)
    return out_shape, row_launches(op, T, U, kept, kept_steps, reduced, reduced_steps, dense)


def fits(kept, reduced, dense):
    """True if layouts hold the dimensions, and their indices the elements."""
    return (max(len(kept), len(reduced)) <= MAX_DIMS and math.prod(kept) <= MAX_SIZE
            and (dense or math.prod(reduced) <= MAX_SIZE))


def row_launches(op, T, U, kept, kept_steps, reduced, reduced_steps, dense):
    """One result for each row; in two passes where few rows are long."""
    rows, columns = math.prod(kept), math.prod(reduced)
    width = width_for(columns)
    blocks = -(-rows // (THREADS // width))
    segments = min(-(-columns // SEGMENT), -(-ENOUGH_BLOCKS // blocks)) if blocks < ENOUGH_BLOCKS // 2 else 1
    segment = columns if segments == 1 else -(-columns // segments // 16) * 16
    segments = -(-columns // segment)
    layouts = make_layout(kept, [kept_steps]), make_layout([1] if dense else reduced, [[0] if dense else reduced_steps])
    types = dict(OP=op, ROWS=1, T=T, U=U)
    options = dict(DENSE=dense, VECTOR=16 // T.itemsize if dense else 1, BLOCK=width == THREADS, **types)
    if not dense and len(reduced) == 1:
        options["SINGLE"] = 1
    if segments == 1:
        return [(ROWS, (blocks, 1), BLOCK, (rows, columns, columns, width), layouts, 0,
                 dict(FIRST=1, LAST=1, **options))]
    scratch_bytes = rows * segments * accumulator_size(op, T, U)
    first = (ROWS, (blocks, segments), BLOCK, (rows, columns, segment, width), layouts, scratch_bytes,
             dict(FIRST=1, LAST=0, **options))
    layouts = make_layout([rows], [[segments]]), make_layout([1], [[0]])
    width = width_for(segments)
    second = (ROWS, (-(-rows // (THREADS // width)), 1), BLOCK, (rows, segments, segments, width), layouts, 0,
              dict(FIRST=0, LAST=1, DENSE=1, VECTOR=1, BLOCK=width == THREADS, **types))
    return [first, second]


def width_for(columns):
    """How many threads reduce a row: a part of a warp for short rows, a block for long ones."""
    return THREADS if columns > 1024 else min(LANES, max(1, 1 << (columns - 1).bit_length()))


def column_launches(op, T, U, kept, kept_steps, reduced, reduced_steps, aligned):
    """Results that lie side by side; in two passes where there are few columns and they are long."""
    inner, length = kept[-1], math.prod(reduced)
    outer, outer_steps = (kept[:-1], kept_steps[:-1]) if len(kept) > 1 else ([1], [0])
    size = accumulator_size(op, T, U)
    vector = min(8 if size <= 4 else 4, 16 // T.itemsize)
    if not aligned or inner % vector or any([s % vector for s in outer_steps + reduced_steps]):
        vector = 1
    blocks = math.prod(outer) * -(-inner // (LANES * vector))
    segments = min(-(-length // 64), -(-ENOUGH_BLOCKS // blocks)) if blocks < ENOUGH_BLOCKS // 2 else 1
    segment = -(-length // segments)
    segments = -(-length // segment)
    layouts = make_layout(outer, [outer_steps]), make_layout(reduced, [reduced_steps])
    types, block = dict(OP=op, COLUMNS=1, T=T, U=U), (LANES, THREADS // LANES)
    single = {"SINGLE": 1} if len(reduced) == 1 else {}
    if segments == 1:
        return [(COLUMNS, (blocks, 1), block, (inner, length, segment), layouts, 0,
                 dict(FIRST=1, LAST=1, VECTOR=vector, **single, **types))]
    scratch_bytes = math.prod(outer) * segments * inner * size
    first = (COLUMNS, (blocks, segments), block, (inner, length, segment), layouts, scratch_bytes,
             dict(FIRST=1, LAST=0, VECTOR=vector, **single, **types))
    layouts = make_layout([math.prod(outer)], [[segments * inner]]), make_layout([segments], [[inner]])
    second = (COLUMNS, (math.prod(outer) * -(-inner // LANES), 1), block, (inner, segments, segments), layouts, 0,
              dict(FIRST=0, LAST=1, VECTOR=1, SINGLE=1, **types))
    return [first, second]


# ---- NumPy's reductions --------------------------------------------------------------------------------------
def reduce(F, op, x, axis=None, dtype=None, out=None, keepdims=False, initial=None, n=1.0):
    """``ufunc.reduce``: the reduction `op` over `axis`, in `dtype`, starting from `initial`."""
    axes = axes_of(axis, x.ndim)
    U = result_dtype(op, x.dtype, dtype)
    if kind_of(x.dtype) is None or kind_of(U) is None:
        name = next(k for k, v in REDUCTIONS.items() if v == op)
        options = {} if initial is None else {"initial": initial}
        return library.function(F, name + ".reduce")(x, axis, dtype, out, keepdims, **options)
    if dtype is not None and op in ("largest", "smallest") and x.dtype != U:
        x = x.astype(U)
    found = whole(F, op, x, axes, U, initial, n)
    if keepdims:
        found = found.reshape([1 if d in axes else size for d, size in enumerate(x.shape)])
    if initial is not None and x.size:
        found = getattr(F.xp, next(k for k, v in REDUCTIONS.items() if v == op))(found, initial)
    if out is None:
        return found
    F.xp.copyto(out, found, casting="unsafe")
    return out


def whole(F, op, x, axes, U, initial=None, n=1.0):
    """The reduction `op` of `x` over `axes`, which may have no elements."""
    if math.prod([x.shape[d] for d in axes]):
        return run(F, op, x, axes, U, n)
    value = NEUTRAL.get(op) if initial is None else initial
    shape = [size for d, size in enumerate(x.shape) if d not in axes]
    if value is None and 0 not in shape:
        name = next((k for k, v in REDUCTIONS.items() if v == op), op)
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    return F.xp.full(shape, 0 if value is None else value, U)


def result_dtype(op, T, dtype):
    """The dtype of a result, by NumPy's rules: integers are summed in 64 bits."""
    if op in ("every", "some"):
        return BOOL
    if dtype is not None:
        return np.dtype(dtype)
    if op in ("total", "product") and T.kind in "iub" and T.itemsize < 8:
        return UINT64 if T.kind == "u" else INT64
    return T


def named(name, op):
    def call(F, a, axis=None, dtype=None, out=None, keepdims=False, initial=None):
        return reduce(F, op, a, axis, dtype, out, keepdims, initial)
    ours(call, name=name, planned=True)


def truth(name, op):
    def call(F, a, axis=None, out=None, keepdims=False):
        return reduce(F, op, a, axis, None, out, keepdims)
    ours(call, name=name, planned=True)


for name, ufunc in REDUCES.items():
    (truth if is_truth(ufunc) else named)(name, REDUCTIONS[ufunc])


def place(name, op):
    def call(F, a, axis=None, out=None, *, keepdims=False):
        if kind_of(a.dtype) is None or out is not None:
            return library.function(F, name)(a, axis, out, keepdims=keepdims)
        if not a.size:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        axes = axes_of(axis, a.ndim)
        found = run(F, op, a, axes, INT64)
        return found.reshape([1 if d in axes else size for d, size in enumerate(a.shape)]) if keepdims else found
    ours(call, name=name, planned=True)


place("argmax", "place_of_largest")
place("argmin", "place_of_smallest")


@ours(name="mean", planned=True)
def mean_over(F, a, axis=None, dtype=None, out=None, keepdims=False):
    if kind_of(a.dtype) != "f" or dtype is not None:
        return F.xp.sum(a, axis, dtype or ("float64" if a.dtype.kind in "iub" else None), None, keepdims) / max(
            math.prod([a.shape[d] for d in axes_of(axis, a.ndim)]), 1)
    return averaged(F, "average", a, axis, keepdims, out=out)


def averaged(F, op, x, axis, keepdims, correction=0, out=None):
    """A mean or a variance: the accumulated sum divided by the count less `correction`."""
    axes = axes_of(axis, x.ndim)
    count = math.prod([x.shape[d] for d in axes])
    return reduce(F, op, x, axes, None, out, keepdims, None, float(max(count - correction, 0)))


@ours
def vecdot(F, x1, x2, axis=-1):
    """The sums of products along an axis; the first operand conjugated."""
    return F.xp.sum((x1.conj() if x1.dtype.kind == "c" else x1) * x2, axis)


@ours(planned=True)
def count_nonzero(F, a, axis=None, *, keepdims=False):
    if kind_of(a.dtype) is None:
        return library.function(F, "count_nonzero")(a, axis, keepdims=keepdims)
    return reduce(F, "total_of_nonzeros", a, axis, INT64, None, keepdims)


def moment(name, op):
    def call(F, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
        if kind_of(a.dtype) != "f" or dtype is not None or options:
            return library.function(F, name)(a, axis, dtype, out, ddof, keepdims, **options)
        return averaged(F, op, a, axis, keepdims, ddof, out)
    ours(call, name=name, planned=True)


moment("var", "variance")
moment("std", "deviation")
