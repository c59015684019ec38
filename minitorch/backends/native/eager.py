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
import sys
import threading
import warnings
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from ...core import layers
from ..cpu import backend as host
from ..kernels import Kernels
from .library import address, build
from .parts import in_parts
from .toolchain import Unavailable, reason

__all__ = ["called", "enable", "enable_or_warn", "enabled", "is_enabled", "kernel", "limits"]

kernel = Kernels("native", over=host.kernel.found)        # the decorator of the kernels in `ops`

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
        import_module(f"{__package__}.ops")                # enters the kernels, which import this module
    with _changing:
        host.cpu.kernels = {**host.kernel.found, **kernel.found} if on else host.kernel.found
        host.cpu.stepping = sys.modules[f"{__package__}.ops.stepping"].step_at_once if on else None
        layers.change(layers.stack)                        # all backends look up again


def enable_or_warn():
    """`enable`, as the environment asks for it: a UserWarning where that cannot be."""
    try:
        enable()
    except Unavailable as why:
        warnings.warn(f"MINITORCH_NATIVE=1 has no effect: {why}", stacklevel=3)


def is_enabled():
    """True if native kernels take part in calls on the CPU."""
    return host.cpu.kernels is not host.kernel.found


@contextmanager
def enabled(on=True):
    """A context in which native kernels take part, or not; for all threads."""
    before = is_enabled()
    enable(on)
    try:
        yield
    finally:
        enable(before)


@functools.cache
def called():
    """The CPU as programs in C see it: with the native kernels that they call (`called` of `Kernels`), on or off."""
    import_module(f"{__package__}.ops")
    return host.CPU(host.cpu.device, np, {**host.kernel.found, **{n: f for n, f in kernel.found.items() if f.called}})


# ---- what kernels need -------------------------------------------------------------------------------------
def plain(first, *others):
    """True if arrays are NumPy's, large enough, of one dtype that C has, in the order of the indices.

    None is passed over.
    """
    if first.__class__ is not np.ndarray or first.size < max(limits.least, 1) or not first.flags.c_contiguous:
        return False
    dtype = first.dtype
    if dtype.char not in TYPES or not dtype.isnative:
        return False
    return all([x is None or x.__class__ is np.ndarray and x.dtype == dtype and x.flags.c_contiguous for x in others])


@functools.cache
def compiled(file, name, char, arguments):
    """The function `name` of ``src/<file>.h`` for a dtype, built when it is first asked for."""
    text = f'#define T {TYPES[char]}\n#define IS_DOUBLE {int(char == "d")}\n#include "{file}.h"\n'
    return build(text, FLAGS).function(name, arguments)


def whole(file, name, first, arguments, *values):
    """Call a function once, with arrays as addresses; `first` says the dtype."""
    return compiled(file, name, first.dtype.char, arguments)(*for_c(values))


def shared(file, name, first, arguments, *values, size=None):
    """The same in parts that several threads may take: the function is given ``(part, parts, *values)``."""
    in_parts(compiled(file, name, first.dtype.char, "ll" + arguments), first.size if size is None else size,
             *for_c(values))


def for_c(values):
    """Arguments of a function of C: arrays as addresses, numbers and None as they are."""
    return [address(v) if v.__class__ is np.ndarray else v for v in values]
