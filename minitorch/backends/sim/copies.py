"""Copies between host and device that run beside the host: the model of a stream, for `non_blocking=True`.

A copy is made as late as the stream allows, and the host may rely on it only after it has waited.
So mistakes in the order of things show: pinned memory that is written again before its copy is
over, that is freed meanwhile and reused, a result that is read before it is there.

    memory = sim.pinned(nbytes)                            # a NumPy array of bytes; freed blocks are used again at once
    sim.copy_in(pointer, memory)                           # host to device, begun
    event = sim.record()                                   # a mark behind what was begun
    sim.wait(event)                                        # now `memory` may be written again; sim.wait() waits for all

A launch waits on the stream, not on the host: it sees what was copied before it, and ends no copy for the host.
"""

import ctypes
import weakref
from dataclasses import dataclass

import numpy as np

from .device import POISON
from .errors import Race

__all__ = ["copy_in", "copy_out", "is_over", "is_pinned", "pinned", "reach", "record", "wait"]

_free: dict[int, list] = {}            # bytes -> blocks of pinned memory that nobody holds
under_way: list = []                   # copies that the host has not waited for, in the order of the stream
_begun = 0


@dataclass
class Copy:
    """A copy under way. `number` is its place in the stream, `made` whether the stream has come to it."""

    number: int
    into_host: bool
    device: int                        # addresses
    host: int
    nbytes: int
    before: np.ndarray                 # what the host memory held when the copy was begun
    owner: weakref.ref                 # of the array that keeps the host memory
    made: bool = False
    staged: np.ndarray | None = None   # into the host: the bytes, until the host waits for them


def _bytes(address, nbytes):
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


def pinned(nbytes):
    """A NumPy array of `nbytes` bytes in memory that copies may use by themselves.

    As CuPy's pool of pinned memory does, a block whose last array is gone goes to the next one of its size, whether a
    copy still reads it or not.
    """
    blocks = _free.setdefault(nbytes, [])
    block = blocks.pop() if blocks else bytearray(nbytes)
    memory = (ctypes.c_uint8 * nbytes).from_buffer(block)
    memory.pinned = True                                   # `is_pinned` looks for it below an array
    weakref.finalize(memory, blocks.append, block).atexit = False
    return np.frombuffer(memory, np.uint8)


def _owner(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    base = array.base.obj if isinstance(array.base, memoryview) else array.base
    return base if getattr(base, "pinned", False) else array


def is_pinned(array):
    """True if a NumPy array lies in memory that `pinned` gave."""
    return getattr(_owner(array), "pinned", False)


def copy_in(pointer, array):
    """Begin to copy a contiguous array of the host to the device address `pointer`.

    Of memory that is not pinned the driver takes its own copy before the call returns: nothing can go wrong then.
    """
    _begin(False, pointer, array)
    if not is_pinned(array):
        reach()
        under_way.pop()


def copy_out(array, pointer):
    """Begin to copy the bytes at the device address `pointer` into a contiguous array of the host.

    Until the host has waited the array holds NaNs. Into memory that is not pinned the copy is over at the return.
    """
    raw = _bytes(array.ctypes.data, array.nbytes)
    raw[:] = np.resize(np.frombuffer(POISON, np.uint8), array.nbytes)
    _begin(True, pointer, array)
    if not is_pinned(array):
        wait()


def _begin(into_host, pointer, array):
    global _begun
    if not array.flags.c_contiguous:
        raise ValueError("a copy between host and device takes a contiguous array: numpy.ascontiguousarray makes one")
    _begun += 1
    if array.nbytes:
        before = _bytes(array.ctypes.data, array.nbytes).copy()
        under_way.append(Copy(_begun, into_host, pointer, array.ctypes.data, array.nbytes, before,
                             weakref.ref(_owner(array))))


def reach():
    """The stream comes to its end: what was begun is copied. For the host no copy is over. Every launch calls this."""
    for copy in [copy for copy in under_way if not copy.made]:
        copy.made = True
        if copy.into_host:
            copy.staged = _bytes(copy.device, copy.nbytes).copy()
        else:
            _look(copy)
            _bytes(copy.device, copy.nbytes)[:] = _bytes(copy.host, copy.nbytes)


def record():
    """An event: a mark in the stream behind all that was begun so far, for `wait`."""
    return _begun


def wait(event=None):
    """The host waits for the copies before an event (None: for all). Race if their host memory was touched before."""
    reach()
    over = [copy for copy in under_way if event is None or copy.number <= event]
    under_way[:] = [copy for copy in under_way if event is not None and copy.number > event]
    for copy in over:
        _look(copy)
        if copy.into_host:
            _bytes(copy.host, copy.nbytes)[:] = copy.staged


def is_over(event):
    """True if the host has waited for all copies before an event."""
    return all(copy.number > event for copy in under_way)


def _look(copy):
    """Race if the host memory of a copy is not as it was when the copy was begun, or is no longer held by anybody."""
    freed = copy.owner() is None
    if not freed and np.array_equal(_bytes(copy.host, copy.nbytes), copy.before):
        return
    if copy in under_way:
        under_way.remove(copy)
    side = "into" if copy.into_host else "from"
    what = "was freed, and may be given to somebody else," if freed else "was written"
    raise Race(f"race: pinned memory of {copy.nbytes} bytes {what} before the copy {side} it was over: wait for an "
               f"event that is recorded behind the copy, or synchronize(), and keep the array until then")
