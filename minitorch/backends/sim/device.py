"""The simulated device: its settings, its memory, and the runtime library that runs launches."""

import ctypes
import functools
import itertools
import struct
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

import numpy as np

from .build import runtime_library
from .errors import BadLaunch

POISON = b"\xf5\xff\xf5\xff"       # what fresh memory holds: a NaN as float16, bfloat16, float32 and float64
ORDERS = ("ascending", "descending", "seeded")
CHECKS = ("memory", "races", "uninitialised")


@dataclass
class Settings:
    """How launches run. Set fields, or use as a context: ``with sim.settings(order="descending"): ...``.

    order: in which order blocks, warps and lanes run: "ascending", "descending" or "seeded" (random, by `seed`).
    checks: what is checked: True for everything, False for nothing, or some of "memory" (bounds, alignment), "races",
        "uninitialised". Without "memory" a wrong access crashes the kernel, or corrupts memory as on a GPU.
    time_limit: CPU seconds after which a launch is stopped as one that never ends; 0 for no limit.
    """

    order: str = "ascending"
    seed: int = 0
    checks: bool | tuple = True
    time_limit: float = 60.0

    @contextmanager
    def __call__(self, **changes):
        old = replace(self)
        known = [f.name for f in fields(self)]
        unknown = sorted(changes.keys() - set(known))
        if unknown:
            raise TypeError(f"settings has no {', '.join(unknown)}: it has {', '.join(known)}")
        try:
            self.__dict__.update(changes)
            yield self
        finally:
            self.__dict__.update(old.__dict__)

    def check_bits(self):
        """The checks as the runtime takes them."""
        if isinstance(self.checks, bool):
            return 7 if self.checks else 0
        unknown = set(self.checks) - set(CHECKS)
        if unknown:
            raise ValueError(f"settings.checks: {', '.join(sorted(unknown))} is unknown, "
                             f"expected some of {', '.join(CHECKS)}")
        return sum(1 << CHECKS.index(name) for name in set(self.checks))

    def order_number(self):
        if self.order not in ORDERS:
            raise ValueError(f"settings.order is {self.order!r}, expected one of {', '.join(ORDERS)}")
        return ORDERS.index(self.order)


settings = Settings()


class RawFinding(ctypes.Structure):
    """struct Finding of runtime/state.h."""

    _fields_ = [("kind", ctypes.c_uint32), ("site", ctypes.c_uint32), ("other_site", ctypes.c_uint32),
                ("block", ctypes.c_uint32 * 3), ("thread", ctypes.c_uint32 * 3), ("text", ctypes.c_char * 640)]


class RawLaunch(ctypes.Structure):
    """struct Launch of runtime/state.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("run", "parameters", "parameters_begin", "parameters_end")]
    _fields_ += [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3)]
    _fields_ += [(name, ctypes.c_uint32) for name in ("static_shared", "dynamic_shared", "variable_count")]
    _fields_ += [("variables", ctypes.c_void_p)]
    _fields_ += [(name, ctypes.c_uint32) for name in ("granule", "partial_sync", "flush", "registers", "order", "seed",
                                                "checks")]
    _fields_ += [("time_limit", ctypes.c_double), ("cluster", ctypes.c_uint32 * 3)]


@functools.cache
def runtime():
    """The runtime library. The interpreter's lock stays held during a launch: the runtime is not re-entrant."""
    library = ctypes.PyDLL(str(runtime_library()), mode=ctypes.RTLD_GLOBAL)
    library.sim_register.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_bool, ctypes.c_bool)
    library.sim_register.restype = None
    library.sim_unregister.argtypes = (ctypes.c_void_p,)
    library.sim_unregister.restype = ctypes.c_bool
    library.sim_launch.argtypes = (ctypes.POINTER(RawLaunch), ctypes.POINTER(RawFinding), ctypes.c_uint32)
    library.sim_launch.restype = ctypes.c_uint32
    library.sim_printed.restype = ctypes.c_char_p
    library.sim_statistics.argtypes = (ctypes.c_bool,)
    library.sim_statistics_rows.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    library.sim_trace.argtypes = (ctypes.c_bool, ctypes.c_uint32, ctypes.c_void_p)
    library.sim_trace_events.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    library.sim_locate.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int64))
    library.sim_locate.restype = ctypes.c_bool
    return library


# ---- memory ---------------------------------------------------------------------------------------------------------

def register(pointer, nbytes, label="memory"):
    """Tell the simulator that `nbytes` bytes at `pointer` are memory of the device; `label` names them in messages."""
    runtime().sim_register(pointer, nbytes, label.encode(), False, False)


def unregister(pointer):
    """The memory registered at `pointer` is no longer the device's. ValueError if none is."""
    if not runtime().sim_unregister(pointer):
        raise ValueError(f"no device memory begins at {pointer:#x}")


CANARY, MARGIN = 0xA5, 256
_numbers = itertools.count(1)


class Memory:
    """`nbytes` bytes of memory of the device: `pointer` is a multiple of 256. It is given back when this object dies.

    It holds NaNs (`POISON`) until something is written, so that reading what nobody wrote is found; bytes around it
    show whether a kernel that ran unchecked wrote outside (`damaged`).
    """

    def __init__(self, nbytes, label=None):
        self.nbytes, self.label = nbytes, label or f"allocation {next(_numbers)}"
        self._raw = np.empty(nbytes + 2 * MARGIN + 256, np.uint8)
        begin = MARGIN + -(self._raw.ctypes.data + MARGIN) % 256
        self.pointer = self._raw.ctypes.data + begin
        self.bytes = self._raw[begin:begin + nbytes]
        self.poison()
        self._margins = self._raw[begin - MARGIN:begin], self._raw[begin + nbytes:begin + nbytes + MARGIN]
        for margin in self._margins:
            margin[:] = CANARY
        self._runtime = runtime()
        self._runtime.sim_register(self.pointer, max(1, nbytes), self.label.encode(), True, False)

    def poison(self):
        """Forget what was written, as if the memory were new."""
        whole = self.nbytes & ~3
        self.bytes[:whole].view(np.uint32)[:] = np.frombuffer(POISON, np.uint32)
        self.bytes[whole:] = 0xFF

    @property
    def damaged(self):
        """True if something was written just outside."""
        return any((margin != CANARY).any() for margin in self._margins)

    def __repr__(self):
        return f"<{self.label}: {self.nbytes} bytes at {self.pointer:#x}>"

    def __del__(self):
        if getattr(self, "_runtime", None) is not None:
            self._runtime.sim_unregister(self.pointer)


def allocate(nbytes, label=None):
    """New device memory: a `Memory`, which is also a fit owner for `cupy.cuda.UnownedMemory`.

    `label` names it in messages. ValueError for a negative size.
    """
    if nbytes < 0:
        raise ValueError(f"allocate takes a number of bytes, not {nbytes}")
    return Memory(nbytes, label)


def locate(pointer):
    """(label, offset) of a device address; None if it belongs to no memory of the device."""
    label, offset = ctypes.create_string_buffer(64), ctypes.c_int64()
    found = runtime().sim_locate(pointer, label, 64, ctypes.byref(offset))
    return (label.value.decode(), offset.value) if found else None


# ---- tensor maps ----------------------------------------------------------------------------------------------------

MAGIC = 0x544D415053494D


def tensor_map(pointer, itemsize, shape, strides, box, swizzle=128, tf32=False):
    """128 bytes that a kernel takes as its `const __grid_constant__ CUtensorMap` parameter on the simulator.

    The twin of `cuTensorMapEncodeTiled`, with its checks. `shape`, `box`: elements of 1 to 5 dimensions, innermost
    first; `strides`: bytes, of all dimensions but the innermost; `swizzle`: 0, 32, 64 or 128 bytes; `tf32`: float32 is
    rounded to TF32 on its way to shared memory (data type TFLOAT32). Elements outside the array read as zero. BadLaunch
    for what the driver refuses.
    """
    rank = len(shape)
    mode = {0: 0, 32: 1, 64: 2, 128: 3}.get(swizzle)

    def need(condition, what):
        if not condition:
            raise BadLaunch(f"tensor map: {what}")
    need(1 <= rank <= 5, f"1 to 5 dimensions, not {rank}")
    need(len(box) == rank and len(strides) == rank - 1, "as many box sizes as dimensions, and one stride less")
    need(mode is not None, f"swizzle is 0, 32, 64 or 128, not {swizzle}")
    need(pointer % 16 == 0, "the address must be a multiple of 16")
    need(all(s % 16 == 0 and 0 < s < 1 << 40 for s in strides), f"strides must be multiples of 16 bytes, got {strides}")
    need(all(0 < n <= 1 << 32 for n in shape), f"sizes must be 1 to 2**32, got {shape}")
    need(all(1 <= b <= 256 for b in box), f"box sizes must be 1 to 256, got {box}")
    need(box[0] * itemsize % 16 == 0, f"the innermost box size must be a multiple of 16 bytes, is {box[0] * itemsize}")
    need(not swizzle or box[0] * itemsize <= swizzle, f"the innermost box size must fit the swizzle of {swizzle} bytes")
    need(not tf32 or itemsize == 4, f"TF32 are elements of 4 bytes, not {itemsize}")
    fill = 5 - rank
    raw = struct.pack("<QQiiii5Q4Q5i", MAGIC, pointer, itemsize, rank, mode, tf32, *shape, *[1] * fill, *strides,
                      *[0] * (4 - len(strides)), *box, *[1] * fill)
    return np.frombuffer(raw.ljust(128, b"\0"), np.dtype("V128")).reshape(())[()].tobytes()
