"""Stable sorts without a wait for the host: of keys below 2^32 with their positions, and of rows of any real numbers.

`src/sort.cu` sorts an array of keys, `src/sort_rows.cu` rows that a warp or a block holds; longer rows are sorted as
one array, by their elements and then by the number of their row.
"""

import numpy as np

from ..arrays.dtypes import is_float
from ..runtime.kernel import Kernel

__all__ = ["MOST_SELECTED", "selected_rows", "sorted_places", "sorted_rows"]

COUNT = Kernel("sort.cu", "count_digits", "u64* room, const u32* keys, i64 n")
SORT = Kernel("sort.cu", "sort_by_digit",
              "u32* keys_out, u32* places_out, const u32* keys, const u32* places?, u64* room, i64 n, i32 pass, "
              "i32 passes")
SHORT = Kernel("sort_rows.cu", "sort_short_rows",
               "any* values, i64* places, const any* input, i64 rows, i32 columns, bool descending")
ROWS = Kernel("sort_rows.cu", "sort_rows",
              "any* values, i64* places, const any* input, i32 columns, bool descending")
SELECT = Kernel("sort_rows.cu", "select_rows",
                "any* values, i64* places, const any* input, i64 columns, i32 k, bool descending")
LOAD = Kernel("sort_rows.cu", "load_keys",
              "u32* keys, const any* input, const u32* places?, i64 n, i32 word, bool descending")
NUMBER = Kernel("sort_rows.cu", "number_rows", "u32* keys, const u32* places, i64 n, u32 columns")
TAKE = Kernel("sort_rows.cu", "take_sorted",
              "any* values, i64* places, const any* input, const u32* found, i64 n, u32 columns")
BITS, TILE = 8, 4096       # as in digits.cuh: bits of a digit, keys of a block
BLOCKS = 1024              # that count
MOST_SELECTED = 256        # elements of a row that are found without sorting it
SHORTEST, LONGEST = 32, 4096                               # rows of a warp, rows of a block (of 8 bytes half as long)
INFINITE = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def sorted_places(F, keys, largest, places=None):
    """`keys` (uint32, from 0 to `largest`) in order, and their positions before, or the `places` that come with them;
    equal keys keep their order."""
    n, passes = keys.size, max(1, -(-largest.bit_length() // BITS))
    tiles = -(-n // TILE)
    room = F.xp.zeros(((passes << BITS) + passes + (passes * tiles << BITS),), np.uint64)
    COUNT(F.machine, min(tiles, BLOCKS), 256, room, keys, n, PASSES=passes)
    for k in range(passes):
        keys_out, places_out = F.empty((n,), keys.dtype), F.empty((n,), keys.dtype)
        SORT(F.machine, tiles, 256, keys_out, places_out, keys, places, room, n, k, passes)
        keys, places = keys_out, places_out
    return keys, places


def sorted_rows(F, input, descending=False):
    """Each row of `input`, a contiguous (rows, columns) of real numbers or bools, in order, and where its elements were
    in the row (int64). NaN is the largest; equal elements keep their order, in descending order, too."""
    rows, columns = input.shape
    values, places = F.empty(input.shape, input.dtype), F.empty(input.shape, np.dtype("int64"))
    if not input.size:
        return values, places
    constants = constants_of(input.dtype)
    if columns <= SHORTEST:
        lanes = max(2, 1 << (columns - 1).bit_length())
        SHORT(F.machine, -(-rows * lanes // 256), 256, values, places, input, rows, columns, descending, LANES=lanes,
              **constants)
    elif columns <= LONGEST // max(1, input.itemsize // 4):
        rounds = next(r for r in (1, 4, 16) if columns <= 256 * r)
        ROWS(F.machine, rows, 256, values, places, input, columns, descending,
             ROUNDS=min(rounds, 64 // max(4, input.itemsize)), **constants)
    else:
        found = places_of_long_rows(F, input, descending, constants)
        TAKE(F.machine, -(-input.size // 256), 256, values, places, input, found, input.size, columns, **constants)
    return values, places


def constants_of(dtype):
    """What the kernels of rows are compiled for."""
    if is_float(dtype):
        return {"T": np.dtype(f"u{dtype.itemsize}"), "KIND": 2, "INFINITE": INFINITE[dtype.name]}
    return {"T": np.dtype(f"u{dtype.itemsize}"), "KIND": int(dtype.kind == "i")}


def selected_rows(F, input, shape, descending=False):
    """The elements of `sorted_rows` that come first, 1 to `MOST_SELECTED` of each row, and where they were in their
    rows (int64); in `shape`, whose last size says how many."""
    values, places = F.empty(shape, input.dtype), F.empty(shape, np.dtype("int64"))
    SELECT(F.machine, len(input), 256, values, places, input, input.shape[1], shape[-1], descending, ROUNDS=1,
           SELECT=MOST_SELECTED, **constants_of(input.dtype))
    return values, places


def places_of_long_rows(F, input, descending, constants):
    """The places of all elements, row by row and in order."""
    n, (rows, columns), places = input.size, input.shape, None
    for word in range(max(1, input.itemsize // 4)):
        keys = F.empty((n,), np.dtype("uint32"))
        LOAD(F.machine, -(-n // 256), 256, keys, input, places, n, word, descending, **constants)
        _, places = sorted_places(F, keys, 2**min(32, 8 * input.itemsize) - 1, places)
    if rows > 1:
        keys = F.empty((n,), np.dtype("uint32"))
        NUMBER(F.machine, -(-n // 256), 256, keys, places, n, columns, **constants)
        _, places = sorted_places(F, keys, rows - 1, places)
    return places
