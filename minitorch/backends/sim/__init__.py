"""The CUDA simulator: runs compiled kernels (PTX) on a machine without a GPU, and finds what is wrong with them.

NVRTC compiles CUDA C++ to PTX; this package translates PTX to C++ (`ptx`, `translate`, `opcodes`), has g++ compile that
(`build`), and runs it on a small runtime (`runtime/`): each CUDA thread is a fiber that runs until it meets a barrier
or an operation of its warp; blocks run one after another, and in turns where they wait for each other or are a
cluster. Every access to memory is checked: bounds, alignment, races, unwritten memory, divergent barriers. Errors name
the kernel, the block, the thread and the source line.

    module = sim.load(ptx, "saxpy.cu")
    memory = sim.allocate(4096)                                      # or sim.register(pointer, nbytes, label)
    module.launch("saxpy", grid=4, block=256, arguments=[pointer_bytes, np.float32(2).tobytes()])

`settings` chooses order and checks, `report()` records coalescing and bank conflicts by source line, `trace()` every
step of every thread. `pinned`, `copy_in`, `copy_out`, `record` and `wait` model copies between host and device that run
beside the host. What is not modelled: timing, caches, weak memory order.
"""

from .build import compiler, runtime_files
from .copies import copy_in, copy_out, is_over, is_pinned, pinned, reach, record, wait
from .device import POISON, Memory, Settings, allocate, locate, register, settings, tensor_map, unregister
from .errors import (
    BadLaunch,
    Deadlock,
    DivergentBarrier,
    Misaligned,
    Missing,
    OutOfBounds,
    Race,
    SimulatorError,
    Trap,
    Uninitialised,
    Unsupported,
)
from .module import Module, load, report, trace
from .report import SOURCES

__all__ = [
    "POISON", "SOURCES", "BadLaunch", "Deadlock", "DivergentBarrier", "Memory", "Misaligned", "Missing", "Module",
    "OutOfBounds", "Race", "Settings", "SimulatorError", "Trap", "Uninitialised", "Unsupported",
    "allocate", "compiler", "copy_in", "copy_out", "is_over", "is_pinned", "load", "locate",
    "pinned", "reach", "record", "register", "report", "runtime_files", "settings", "tensor_map",
    "trace", "unregister", "wait"]
