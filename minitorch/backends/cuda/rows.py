"""How rows are spread over threads: what softmax, norms and losses share (`kernels/rows.cuh` is their other half)."""

from typing import NamedTuple

from ...op import OPS
from ...ops.shape import count

__all__ = ["Spread", "aligned", "check_indices", "decline", "dense", "is_float", "longest_vector", "power_of_two",
           "split_at", "spread", "wide"]

ITEMS = 32                 # numbers that a thread may hold in its registers; in float64 a quarter of it
MOST_THREADS = 1024
LONG_THREADS = 512         # of a block that goes over a long row in several steps


class Spread(NamedTuple):
    """`threads` for each row, `rows` for each block, `items` elements for each thread (None: in a loop), moved in
    packs of `vector`."""

    threads: int
    rows: int
    items: int | None
    vector: int

    @property
    def block(self):
        """The shape of a block."""
        return self.threads, self.rows

    @property
    def constants(self):
        """What a kernel is compiled with."""
        found = {"THREADS": self.threads, "VECTOR": self.vector}
        if self.rows > 1:
            found["ROWS"] = self.rows
        if self.items is not None:
            found["ITEMS"] = self.items
        return found

    def grid(self, rows):
        """How many blocks `rows` rows take."""
        return -(-rows // self.rows)


def spread(columns, arrays, held=1, most_threads=MOST_THREADS):
    """The `Spread` for rows of `columns` elements; `held` is how many numbers a thread keeps for each column."""
    vector = longest_vector(columns, arrays)
    most = ITEMS // held // (4 if arrays[0].itemsize == 8 else 1)
    vector = min(vector, most)
    threads = max(32, power_of_two(-(-columns // most)))
    if threads > most_threads:
        return Spread(LONG_THREADS, 1, None, vector)
    items = vector * power_of_two(-(-columns // (threads * vector)))
    return Spread(threads, 4 if threads == 32 else 1, items, vector)


def power_of_two(n):
    """The smallest one that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


def longest_vector(columns, arrays):
    """How many elements can be moved at a time, up to 16 bytes, if each row of `columns` begins behind the other."""
    step = 16 // arrays[0].itemsize
    while step > 1 and (columns % step or not all([aligned(x, step * x.itemsize) for x in arrays])):
        step //= 2
    return step


def aligned(array, nbytes):
    """Whether the array begins at a multiple of `nbytes`."""
    return array.data.ptr % nbytes == 0


def decline(F, name, *inputs, **attributes):
    """The op's reference instead, which computes on 16-bit floats in float32."""
    return F.wide.widened(OPS[name].bind(F))(*inputs, **attributes)


def is_float(dtype):
    """Whether there are kernels for a dtype: float16, bfloat16, float32, float64."""
    return dtype.name in ("float32", "float64", "float16", "bfloat16")


def wide(F, dtype):
    """What kernels compute in: float64 for float64, float32 for the others."""
    return F.xp.dtype("float64" if dtype.itemsize == 8 else "float32")


def dense(F, array):
    """The array, or a copy of it whose elements lie one behind the other."""
    return array if array.flags.c_contiguous else F.xp.ascontiguousarray(array)


def split_at(shape, dim):
    """(outer, columns, inner): the sizes before, of and behind a dimension."""
    dim %= len(shape)
    return count(shape[:dim]), shape[dim], count(shape[dim + 1:])


def check_indices(F, index, size, error, but=None):
    """Raise ``error(wrong one)`` for an index that is not from 0 to `size` - 1, nor `but`; only in the simulator.

    Of a GPU the host does not know the memory: looking would wait until all work is done. Kernels take care there.
    """
    if F.machine.kind == "sim":
        found = F.machine.view(index)
        wrong = found[(found < 0) | (found >= size)]
        wrong = wrong if but is None else wrong[wrong != but]
        if wrong.size:
            raise error(int(wrong.flat[0]))
