"""A stable sort of keys below 2^32 together with their positions, without a wait for the host: `src/sort.cu`."""

from ..runtime.kernel import Kernel

__all__ = ["sorted_places"]

COUNT = Kernel("sort.cu", "count_digits", "u32* counts, const u32* keys, i64 n, i32 shift")
SUMS = Kernel("sort.cu", "sums_before", "u32* counts, i64 n")
PLACE = Kernel("sort.cu", "place_by_digit",
               "u32* keys_out, u32* places_out, const u32* keys, const u32* places?, const u32* starts, i64 n, "
               "i32 shift")
BITS, TILE = 8, 2048       # as in sort.cu: bits of a digit, keys of a block


def sorted_places(F, keys, largest):
    """`keys` (uint32, from 0 to `largest`) in order, and their positions before; equal keys keep their order."""
    n, places = keys.size, None
    tiles = -(-n // TILE)
    counts = F.empty((tiles << BITS,), keys.dtype)
    for shift in range(0, max(largest.bit_length(), 1), BITS):
        COUNT(F.machine, tiles, 256, counts, keys, n, shift)
        SUMS(F.machine, 1, 1024, counts, counts.size)
        keys_out, places_out = F.empty((n,), keys.dtype), F.empty((n,), keys.dtype)
        PLACE(F.machine, tiles, 256, keys_out, places_out, keys, places, counts, n, shift)
        keys, places = keys_out, places_out
    return keys, places
