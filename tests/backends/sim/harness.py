"""Shared by the tests of the simulator: compile CUDA C++ to PTX, lay arrays into device memory,
launch."""

import shutil

import numpy as np
import pytest

pytest.importorskip(
    "cupy", reason="the simulator's tests compile CUDA by CuPy's NVRTC: pip install cupy-cuda13x nvidia-cuda-nvrtc"
)
if shutil.which("g++") is None:
    pytest.skip("the simulator needs g++", allow_module_level=True)
try:
    from cupy.cuda import nvrtc

    nvrtc.getVersion()
except Exception as error:
    pytest.skip(
        f"the simulator's tests need NVRTC ({error}): pip install nvidia-cuda-nvrtc nvidia-cuda-runtime",
        allow_module_level=True,
    )

from minitorch.backends import sim  # noqa: E402
from minitorch.backends.cuda.runtime.compile import compile_source, with_includes  # noqa: E402


def compile_module(text, name="test.cu", arch="90", macros=()):
    """The simulator's module of a CUDA text."""
    path = compile_source(with_includes(name, text), tuple(macros), arch, "ptx")
    return sim.load(path.read_text(), name, {name: text})


def to_device(array):
    """A copy of an array in device memory."""
    array = np.ascontiguousarray(array)
    memory = sim.allocate(array.nbytes)
    memory.bytes[:] = array.reshape(-1).view(np.uint8)
    return memory


def empty(shape, dtype="f4"):
    """Device memory for an array, unwritten."""
    return sim.allocate(int(np.prod(shape)) * np.dtype(dtype).itemsize)


def argument(value):
    """A kernel argument as bytes: memory, None, or a NumPy scalar."""
    if isinstance(value, sim.Memory):
        return np.uint64(value.pointer).tobytes()
    return bytes(8) if value is None else value if isinstance(value, bytes) else value.tobytes()


def launch(module, entry, grid, block, *arguments, shared=0, **options):
    """Launch with memories and NumPy scalars as arguments."""
    module.launch(entry, grid, block, [argument(a) for a in arguments], shared, **options)


def values(memory, dtype="f4", shape=-1):
    """The contents of device memory."""
    return memory.bytes.view(dtype).reshape(shape)
