"""Device "dry": a GPU of compute capability 9.0 that allocates but runs nothing, so that launches can be looked at.

    import benchmarks.dry as dry                           # registers the device
    with dry.launches() as found:
        minitorch.rand(1 << 26, device="dry").exp()
    print([launch.entry for launch in found])

Everything above the machine is the package's own: which kernels run, with what constants, grids and shared memory, at
full size and without a GPU. Memory is reserved and never touched, so values mean nothing: what the host reads is zeros.
"""

import ctypes
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

import minitorch
from minitorch.backends.cuda.makers import make
from minitorch.backends.cuda.ops import hopper
from minitorch.backends.cuda.runtime.compile import Source
from minitorch.backends.cuda.runtime.machine import Machine
from minitorch.backends.cuda.runtime.parameters import words_for_driver
from minitorch.random.generator import KINDS
from minitorch.random.philox import PhiloxGenerator

__all__ = ["Code", "Dry", "Launch", "NoLibrary", "codes_of_programme", "launches"]


class NoLibrary(RuntimeError):
    """A call would run CuPy's own code, which takes a GPU."""


class Code(NamedTuple):
    """A kernel as `Machine.load` is asked for it."""

    source: Source
    macros: tuple
    arch: str
    entry: str


class Launch(NamedTuple):
    """One launch: the code, grid and block (tuples), bytes of dynamic shared memory."""

    code: Code
    grid: tuple
    block: tuple
    shared: int

    @property
    def entry(self):
        return self.code.entry

    @property
    def threads(self):
        return int(np.prod(self.block))

    @property
    def blocks(self):
        return int(np.prod(self.grid))


class Nowhere:
    """A device as CuPy describes it, on which nothing can be done."""

    attributes = {"MultiProcessorCount": 132}

    def __enter__(self):
        raise NoLibrary("device 'dry' runs nothing, CuPy's functions neither")

    def __exit__(self, *exc):
        """Never reached."""


class Dry(Machine):
    """See the module; `arch` and the number of multiprocessors are those of an H100 or H200."""

    device = Nowhere()

    def __init__(self, index=None, arch="90"):
        super().__init__("cuda", index)
        self.arch, self.found = arch, None

    def allocate(self, nbytes):
        memory = np.empty(nbytes + 256, np.uint8)
        start = memory.ctypes.data + -memory.ctypes.data % 256
        return self.cupy.cuda.MemoryPointer(self.cupy.cuda.UnownedMemory(start, nbytes, memory, 0), 0)

    def load(self, source, macros, arch, entry):
        return Code(source, macros, arch or self.arch, entry)

    def launch(self, function, grid, block, values, shared):
        if self.found is not None:
            self.found.append(Launch(function, whole(grid), whole(block), int(shared)))

    extra = staticmethod(words_for_driver)

    def handle(self, function, shared):
        return function

    def queue(self):
        return 0

    def start(self, handle, gx, gy, gz, bx, by, bz, shared, *parameters):
        self.launch(handle, (gx, gy, gz), (bx, by, bz), (), shared)

    def from_host(self, target, array, non_blocking=False):
        ctypes.memmove(target.data.ptr, array.ctypes.data, array.nbytes)

    def to_host(self, source):
        return np.zeros(source.shape, source.dtype)

    def from_device(self, target, source):
        """Nothing is copied."""

    def fill(self, pointer, nbytes, value):
        """Nothing is written."""

    def synchronize(self):
        """Nothing to wait for."""


def whole(sizes):
    """Up to three sizes as ints, without ones at the end."""
    sizes = [int(n) for n in sizes]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return tuple(sizes)


def make_dry(index):
    return make(minitorch.device("dry", index), Dry(index))


minitorch.backends.register("dry", make_dry)
KINDS["dry"] = PhiloxGenerator
hopper.encode = lambda *description: bytes(128)            # the driver's, which is not there


def codes_of_programme():
    """The code of all kernels of the GPU programme's rows and training steps, each once."""
    from .gpu_rows import ROWS, STEPS
    with launches() as found:
        for row in ROWS:
            with suppress(NoLibrary):                      # launches until there are found
                row.make(minitorch, "dry", False)[0]()
        for make in STEPS.values():
            make(minitorch, "dry", False)()
    return list(dict.fromkeys(launch.code for launch in found))


@contextmanager
def launches(device="dry"):
    """The launches on a device "dry" during the block, in order."""
    machine = minitorch.backends.get(device).machine
    outer, machine.found = machine.found, []
    try:
        yield machine.found
    finally:
        machine.found = outer
