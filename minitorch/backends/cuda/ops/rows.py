"""Distribution of rows over threads, for softmax, norms and losses; `src/rows.cuh` is the device's part."""

import functools
from math import prod
from typing import NamedTuple

__all__ = ["Distribution", "check_indices", "dense", "distribute", "longest_vector", "looped", "split_at"]

ITEMS = 32                 # numbers that a thread may hold in its registers; in float64 a quarter of it
MOST_THREADS = 1024
LONG_THREADS = 512         # of a block that goes over a long row in several steps
CLUSTER = 8                # blocks of a cluster at most, on every GPU that has them
ENOUGH = 128               # blocks that keep a GPU busy: few rows get larger clusters


class Distribution(NamedTuple):
    """`threads` for each row, `rows` for each block, `items` elements for each thread (None: in a loop), moved in
    packs of `vector`; the shape of a `block`, `shared` bytes that each takes for what registers do not hold, and the
    `constants` that a kernel is compiled with. A row may have a cluster of `blocks`."""

    threads: int
    rows: int
    items: int | None
    vector: int
    block: tuple
    shared: int
    constants: dict
    blocks: int = 1

    def grid(self, rows):
        """How many blocks `rows` rows take."""
        return -(-rows // self.rows) * self.blocks


def distribute(columns, arrays, held=1, parks=False, clustered=0):
    """The `Distribution` for rows of `columns` elements; `held` is how many numbers a thread keeps for each column.

    A kernel that `parks` (`park_row` in rows.cuh; compute capability 8.0 and later has room for it) keeps half of them
    in shared memory where it would otherwise be one block on a multiprocessor, or read its rows twice. `clustered`
    is how many rows there are, if those that are too long for a block may have a cluster (9.0 and later).
    """
    what = columns, arrays[0].itemsize, longest_vector(columns, arrays), held, parks
    how = distribution(*what)
    if how.items is None and clustered:
        return in_cluster(*what, min(CLUSTER, power_of_two(-(-ENOUGH // clustered)))) or how
    return how


@functools.lru_cache(maxsize=1024)
def distribution(columns, itemsize, vector, held, parks):
    most = ITEMS // (4 if itemsize == 8 else 1)
    each = power_of_two(-(-columns // LONG_THREADS))       # elements of a thread, if there are so many
    if parks and vector * itemsize == 16 and held * each == 2 * most:
        return made(LONG_THREADS, columns, each, vector, itemsize, most)
    most //= held
    vector = min(vector, most)
    threads = max(32, power_of_two(-(-columns // most)))
    if threads > MOST_THREADS:
        return made(LONG_THREADS, columns, None, vector, itemsize)
    return made(threads, columns, vector * power_of_two(-(-columns // (threads * vector))), vector, itemsize)


@functools.lru_cache(maxsize=1024)
def in_cluster(columns, itemsize, vector, held, parks, least):
    """The `Distribution` over a cluster of at least so many blocks; None for rows that no cluster can hold."""
    blocks = max(2, least)
    while blocks <= CLUSTER:
        how = distribution(-(-columns // blocks), itemsize, vector, held, parks)
        if how.items is not None:
            constants = {**how.constants, "CLUSTER": blocks}
            if columns % blocks:
                constants.pop("WHOLE", None)
            return how._replace(constants=constants, blocks=blocks)
        blocks *= 2
    return None


@functools.lru_cache(maxsize=1024)
def looped(columns, vector):
    """The `Distribution` for rows that are read once, and not kept."""
    return made(min(MOST_THREADS, max(32, power_of_two(-(-columns // (8 * vector))))), columns, None, vector)


def made(threads, columns, items, vector, itemsize=4, parked=0):
    rows, constants = 4 if threads == 32 else 1, {"THREADS": threads, "VECTOR": vector}
    if rows > 1:
        constants["ROWS"] = rows
    if items is not None:
        constants["ITEMS"] = items
        if itemsize == 2 and columns == threads * items:   # 16-bit floats leave few instructions for questions
            constants["WHOLE"] = 1
    if parked:
        constants["PARKED"] = parked
    return Distribution(threads, rows, items, vector, (threads, rows), parked * threads * itemsize, constants)


def power_of_two(n):
    """The smallest one that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


def longest_vector(columns, arrays):
    """How many elements can be moved at a time, up to 16 bytes, if each row of `columns` begins behind the other.

    The arrays have one dtype. The lowest bit that is set in any address, or in the length of a row, decides.
    """
    itemsize = arrays[0].itemsize
    reach = columns * itemsize | 16
    for x in arrays:
        reach |= x.data.ptr
    return (reach & -reach) // itemsize


def dense(F, array):
    """The array, or a copy of it whose elements lie one behind the other."""
    return array if array.flags.c_contiguous else F.xp.ascontiguousarray(array)


def split_at(shape, dim):
    """(outer, columns, inner): the sizes before, of and behind a dimension."""
    dim %= len(shape)
    return prod(shape[:dim]), shape[dim], prod(shape[dim + 1:])


def check_indices(F, index, size, error, but=None, lowest=0):
    """Raise ``error(wrong one)`` for an index that is not from `lowest` to `size` - 1, nor `but`; simulator only.

    The host cannot see a GPU's memory: reading it would wait until all work is done. Kernels take care there.
    """
    def check(found):
        wrong = found[(found < lowest) | (found >= size)]
        wrong = wrong if but is None else wrong[wrong != but]
        if wrong.size:
            raise error(int(wrong.flat[0]))
    F.machine.look(index, check)
