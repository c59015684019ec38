"""Running sums, products, extremes and log-sums of exponentials along a dimension: `src/cumulative.cu`."""

import numpy as np

from .... import return_types
from ..arrays.dtypes import compute_dtype, is_float
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense, longest_vector, split_at
from .supported import float_dims, real_dims

ROWS = Kernel("cumulative.cu", "scan_rows",
              "V* out, i64* indices?, const T* input, u64* room?, i64 n, u32 tiles, i64 words")
PLANES = Kernel("cumulative.cu", "scan_planes", "V* out, i64* indices?, const T* input, i64 n, i64 inner, i32 tiles")
SUM, PRODUCT, MAXIMUM, MINIMUM, LOG_SUM = range(5)
FEW_BLOCKS, LONG = 64, 16384                               # blocks of columns that leave most of a GPU without work
RUN, GROUP = 512, 32       # as in cumulative.cu: elements of a warp (of log-sums a quarter), tiles of a group


def scan(F, op, input, dim, dtype):
    """The running values in `dtype`, and for extremes their indices."""
    input, out = dense(F, input), F.empty(input.shape, dtype)
    indices = F.empty(input.shape, np.dtype("int64")) if op in (MAXIMUM, MINIMUM) else None
    outer, n, inner = split_at(input.shape, dim)
    tiles = -(-inner // 32)
    if inner > 1 and outer * tiles < FEW_BLOCKS and n > LONG:              # two launches more, but all at work
        found = scan(F, op, input.swapaxes(dim, -1), -1, dtype)
        return tuple([x if x is None else dense(F, x.swapaxes(dim, -1)) for x in found])
    if inner > 1:
        PLANES(F.machine, outer * tiles, (32, 8), out, indices, input, n, inner, tiles, OP=op, VECTOR=1)
        return out, indices
    run = RUN // 4 if op == LOG_SUM else RUN
    warps = 2 if n <= 2 * run else 8
    tiles = -(-n // (warps * run))
    vector = min(4, longest_vector(n, [input]))
    put, room, words = min(4, longest_vector(n, [out])), None, 0
    if tiles > 1:
        groups = -(-tiles // GROUP)
        words = (tiles + groups + -(-groups // GROUP)) * pieces(op, dtype)
        room = F.xp.zeros((1 + outer * words,), np.uint64)
    ROWS(F.machine, outer * tiles, warps * 32, out, indices, input, room, n, tiles, words, OP=op, WARPS=warps,
         VECTOR=vector, PUT=put)
    return out, indices


def pieces(op, dtype):
    """How many words of 4 bytes a running value takes, with its index."""
    return 4 if op in (MAXIMUM, MINIMUM) else compute_dtype(dtype).itemsize // 4 if is_float(dtype) else 2


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
