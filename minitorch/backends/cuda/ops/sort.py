"""A stable sort of keys below 2^32 together with their positions, without a wait for the host: `src/sort.cu`."""

import numpy as np

from ..runtime.kernel import Kernel

__all__ = ["sorted_places"]

COUNT = Kernel("sort.cu", "count_digits", "u64* room, const u32* keys, i64 n")
SORT = Kernel("sort.cu", "sort_by_digit",
              "u32* keys_out, u32* places_out, const u32* keys, const u32* places?, u64* room, i64 n, i32 pass, "
              "i32 passes")
BITS, TILE = 8, 4096       # as in sort.cu: bits of a digit, keys of a block
BLOCKS = 1024              # that count


def sorted_places(F, keys, largest):
    """`keys` (uint32, from 0 to `largest`) in order, and their positions before; equal keys keep their order."""
    n, places, passes = keys.size, None, max(1, -(-largest.bit_length() // BITS))
    tiles = -(-n // TILE)
    room = F.xp.zeros(((passes << BITS) + passes + (passes * tiles << BITS),), np.uint64)
    COUNT(F.machine, min(tiles, BLOCKS), 256, room, keys, n, PASSES=passes)
    for k in range(passes):
        keys_out, places_out = F.empty((n,), keys.dtype), F.empty((n,), keys.dtype)
        SORT(F.machine, tiles, 256, keys_out, places_out, keys, places, room, n, k, passes)
        keys, places = keys_out, places_out
    return keys, places
