"""Native kernels for calls outside `compile`: off unless a program or its environment asks for them.

    minitorch.backends.native.enable()                     # or MINITORCH_NATIVE=1 in the environment
    with minitorch.backends.native.enabled(False): ...

Each stands over the NumPy kernel of its op and takes the calls that it is made for: float32 and float64, in the order
of the indices, from `limits.least` elements on. All others go to NumPy as before. While native kernels are off, nobody
asks for them: backends look ops up again when that changes.

Results differ from NumPy's in the last bits, and by processor, as the compiler uses what the processor can do. For one
machine they are always the same, with any number of threads. C is compiled when a kernel is first called, and kept.
"""

import functools
import threading
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from ...core import layers
from ..cpu.backend import cpu
from ..cpu.backend import kernel as numpy_kernel
from ..kernels import Kernels
from .library import build
from .parts import in_parts
from .toolchain import Unavailable, reason

__all__ = ["enable", "enable_or_warn", "enabled", "is_enabled", "kernel", "limits"]

kernel = Kernels("native", over=numpy_kernel.found)        # the decorator of the kernels in `ops`

# From how many elements on native kernels take a call. Measured: below, NumPy's few calls take less than the checks.
limits = SimpleNamespace(least=4096)

_changing = threading.Lock()
TYPES = {"f": "float", "d": "double"}
FLAGS = ("-ffp-contract=fast",)                            # a product and its addition may be rounded once: sums gain


# ---- on and off --------------------------------------------------------------------------------------------
def enable(on=True):
    """Let native kernels take part in calls on the CPU, or not. `Unavailable`, a RuntimeError, without a C compiler.

    An optimiser that has made steps, and a function that is compiled, keep what they have chosen.
    """
    if on:
        why = reason()
        if why is not None:
            raise Unavailable(f"native kernels cannot be used: {why}")
        from . import ops  # noqa: F401
    with _changing:
        cpu.kernels = {**numpy_kernel.found, **kernel.found} if on else numpy_kernel.found
        cpu.stepping = ops.stepping.step_at_once if on else None
        layers.change(layers.stack)                        # all backends look up again


def enable_or_warn():
    """`enable`, as the environment asks for it: a UserWarning where that cannot be."""
    try:
        enable()
    except Unavailable as why:
        warnings.warn(f"MINITORCH_NATIVE=1 has no effect: {why}", stacklevel=3)


def is_enabled():
    """Whether native kernels take part in calls on the CPU."""
    return cpu.kernels is not numpy_kernel.found


@contextmanager
def enabled(on=True):
    """A context in which native kernels take part, or not; for all threads."""
    before = is_enabled()
    enable(on)
    try:
        yield
    finally:
        enable(before)


# ---- what kernels need -------------------------------------------------------------------------------------
def plain(first, *others):
    """True if arrays are NumPy's, enough, of one dtype that C has, and in the order of the indices; None is passed over.
    """
    if first.__class__ is not np.ndarray or first.size < max(limits.least, 1) or not first.flags.c_contiguous:
        return False
    dtype = first.dtype
    if dtype.char not in TYPES or not dtype.isnative:
        return False
    return all([x is None or x.__class__ is np.ndarray and x.dtype == dtype and x.flags.c_contiguous for x in others])


def address(array):
    """Where an array of the host begins; None for None."""
    return None if array is None else array.__array_interface__["data"][0]


@functools.lru_cache(maxsize=None)
def compiled(file, name, char, arguments, result=""):
    """The function `name` of ``src/<file>.h`` for a dtype, built when it is first asked for."""
    text = f'#define T {TYPES[char]}\n#define IS_DOUBLE {int(char == "d")}\n#include "{file}.h"\n'
    return build(text, FLAGS).function(name, arguments, result)


def whole(file, name, first, arguments, *values):
    """Call a function once, with arrays as addresses; `first` says the dtype."""
    return compiled(file, name, first.dtype.char, arguments)(*addresses(values))


def shared(file, name, first, arguments, *values, size=None):
    """The same in parts that several threads may take: the function is given ``(part, parts, *values)``."""
    in_parts(compiled(file, name, first.dtype.char, "ll" + arguments), first.size if size is None else size,
             *addresses(values))


def addresses(values):
    return [address(v) if v.__class__ is np.ndarray else v for v in values]
