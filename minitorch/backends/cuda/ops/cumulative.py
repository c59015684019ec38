"""Running sums, products, extremes and log-sums of exponentials along a dimension: `src/cumulative.cu`."""

import numpy as np

from .... import return_types
from ..arrays.dtypes import compute_dtype, is_float
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense, longest_vector, split_at
from .supported import float_dims, real_dims

TILES = Kernel("cumulative.cu", "sum_tiles",
               "U* totals, i64* total_indices?, const T* input, i64 n, i64 tile, i32 tiles")
JOIN = Kernel("cumulative.cu", "join_tiles", "U* totals, i64* total_indices?, i64 rows, i32 tiles")
ROWS = Kernel("cumulative.cu", "scan_rows",
              "V* out, i64* indices?, const T* input, const U* totals?, const i64* total_indices?, i64 n, i64 tile, "
              "i32 tiles")
PLANES = Kernel("cumulative.cu", "scan_planes", "V* out, i64* indices?, const T* input, i64 n, i64 inner, i32 tiles")
SUM, PRODUCT, MAXIMUM, MINIMUM, LOG_SUM = range(5)
STEP, BLOCKS = 1024, 512   # elements of a block and step; blocks that keep a GPU busy


def scan(F, op, input, dim, dtype):
    """The running values in `dtype`, and for extremes their indices."""
    input, out = dense(F, input), F.empty(input.shape, dtype)
    indices = F.empty(input.shape, np.dtype("int64")) if op in (MAXIMUM, MINIMUM) else None
    outer, n, inner = split_at(input.shape, dim)
    sums = compute_dtype(dtype) if is_float(dtype) else dtype
    if inner > 1:
        tiles = -(-inner // 32)
        PLANES(F.machine, outer * tiles, (32, 8), out, indices, input, n, inner, tiles, OP=op, VECTOR=1, PUT=1, U=sums)
        return out, indices
    tiles = max(1, min(n // (4 * STEP), BLOCKS // outer))
    tile = -(-n // (tiles * STEP)) * STEP
    tiles = -(-n // tile)
    totals = total_indices = None
    vector = min(4, longest_vector(n, [input]))
    put = min(vector, longest_vector(n, [out]))
    how = dict(OP=op, VECTOR=vector, PUT=put, T=input.dtype, U=sums, V=dtype)
    if tiles > 1:
        totals = F.empty((outer * tiles,), sums)
        total_indices = None if indices is None else F.empty((outer * tiles,), indices.dtype)
        TILES(F.machine, outer * tiles, 256, totals, total_indices, input, n, tile, tiles, **how)
        JOIN(F.machine, -(-outer // 256), 256, totals, total_indices, outer, tiles, **how)
    ROWS(F.machine, outer * tiles, 256, out, indices, input, totals, total_indices, n, tile, tiles, **how)
    return out, indices


def running(op):
    """The kernel of `cumsum` or `cumprod`: integers and bools in int64."""
    def call(F, input, *, dim, dtype=None):
        return scan(F, op, input, dim, input.dtype if is_float(input.dtype) else np.dtype("int64"))[0]
    return call


def extreme(op, returned):
    """The kernel of `cummax` or `cummin`."""
    def call(F, input, *, dim):
        return returned(*scan(F, op, input, dim, input.dtype))
    return call


def ordered(F, input, *, dim):
    """Predicate: numbers, not bools."""
    return real_dims(F, input) and input.dtype.kind != "b"


kernel("cumsum", when=real_dims, halves=True)(running(SUM))
kernel("cumprod", when=real_dims, halves=True)(running(PRODUCT))
kernel("cummax", when=ordered, halves=True)(extreme(MAXIMUM, return_types.cummax))
kernel("cummin", when=ordered, halves=True)(extreme(MINIMUM, return_types.cummin))


@kernel("logcumsumexp", when=float_dims, halves=True)
def logcumsumexp(F, input, *, dim):
    return scan(F, LOG_SUM, input, dim, input.dtype)[0]
