"""Parameter buffers: the arguments of launches as one piece of memory each, laid out as the device reads them.

A kernel's parameters lie one behind the other, each aligned to its own type: the layout that `cuLaunchKernel` takes as
``CU_LAUNCH_PARAM_BUFFER_POINTER``, so that a launch needs no list of addresses, one for each argument. What never
changes is written once; a launch fills in addresses and numbers with one `struct.Struct.pack_into`.

Buffers are taken from a list and put back: each thread that launches at the same time has its own, without a lock.
"""

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Buffers", "Late", "Repeated", "lay_out", "natural_alignment", "pieces_for_simulator", "words_for_driver"]

POINTER, SIZE, END = 1, 2, 0                               # CU_LAUNCH_PARAM_BUFFER_..., of cuda.h
TENSOR_MAP_ALIGNMENT = 64
LINE = 64                                                  # where each launch's parameters begin


@functools.cache
def natural_alignment(dtype):
    """The alignment that C++ gives a value of a NumPy dtype: of a struct, that of its widest member."""
    if dtype.subdtype is not None:
        return natural_alignment(dtype.subdtype[0])
    if dtype.names:
        return max(natural_alignment(dtype[name]) for name in dtype.names)
    if dtype.kind == "V" and dtype.itemsize == 128:        # the 128 bytes of a tensor map
        return TENSOR_MAP_ALIGNMENT
    return dtype.itemsize


class Late(NamedTuple):
    """A parameter of `size` bytes that depends on an address: ``make(address)``, called for each launch."""

    address: int
    make: Callable
    size: int

    def tobytes(self):
        return bytes(self.size)

    @property
    def dtype(self):
        return np.dtype(f"V{self.size}")


def lay_out(values):
    """The parameter buffer of a launch as bytes, and the (offset, size) of each parameter.

    `values` are arrays of the device, NumPy scalars, records and `Late` ones.
    """
    data, places = bytearray(), []
    for value in values:
        pointer = getattr(getattr(value, "data", None), "ptr", None)
        piece = value.tobytes() if pointer is None else pointer.to_bytes(8, "little")
        align = 8 if pointer is not None else natural_alignment(value.dtype)
        data += bytes(-len(data) % align)
        places.append((len(data), len(piece)))
        data += piece
    return bytes(data), places


class Buffers:
    """Buffers for some launches: `layouts` has the bytes and the places of the parameters of each, by `lay_out`.

    `format` is the `struct.Struct` that fills a whole buffer in one go, `spare` the list of those that nobody uses.
    """

    def __init__(self, layouts, format, extra):
        self.starts, end = [], 0
        for data, _ in layouts:
            self.starts.append(end)
            end += -(-len(data) // LINE) * LINE
        self.layouts, self.end, self.extra, self.spare = layouts, end, extra, []
        self.format = struct.Struct(format)

    def take(self):
        """A buffer: the memory, where its parameters begin, and for each launch what the machine takes (`extra`)."""
        memory = bytearray(self.end + LINE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        first = -address % LINE
        extras = [self.extra(memory, address, first + start, len(data), places)
                  for start, (data, places) in zip(self.starts, self.layouts)]
        return memory, first, *[given for given, _ in extras], [kept for _, kept in extras]


class Repeated:
    """A launch that is made again with other values: called with as many words, addresses or whole numbers of 64 bits,
    as there are parameters before the `fixed` last ones."""

    def __init__(self, machine, function, grid, block, values, fixed=0):
        data, places = lay_out(values)
        words = len(values) - fixed
        if [size for _, size in places[:words]] != [8] * words:
            raise TypeError("a launch is repeated with other words of 64 bits only")
        signs = ["q" if isinstance(x, np.int64) else "Q" for x in values[:words]]
        self.rest = data[8 * words:]
        self.buffers = Buffers([(data, places)], f"<{''.join(signs)}{len(self.rest)}s", machine.extra)
        self.shape = (*grid, 1, 1)[:3] + (*block, 1, 1)[:3] + (0,)
        self.handle, self.start, self.queue = machine.handle(function, 0), machine.start, machine.queue

    def __call__(self, *words):
        buffers = self.buffers
        try:
            buffer = buffers.spare.pop()
        except IndexError:
            buffer = buffers.take()
        buffers.format.pack_into(buffer[0], buffer[1], *words, self.rest)
        self.start(self.handle, *self.shape, self.queue(), 0, buffer[2])
        buffers.spare.append(buffer)


def words_for_driver(memory, address, start, size, places):
    """The address of `cuLaunchKernel`'s ``extra`` argument for parameters at `start` of a buffer; and its owner."""
    held = ctypes.c_size_t(size)
    words = (ctypes.c_void_p * 5)(POINTER, address + start, SIZE, ctypes.addressof(held), END)
    return ctypes.addressof(words), (words, held)


def pieces_for_simulator(memory, address, start, size, places):
    """The parameters at `start` of a buffer as views, one each: what the simulator reads."""
    view = memoryview(memory)
    return [view[start + offset:start + offset + n] for offset, n in places], None
