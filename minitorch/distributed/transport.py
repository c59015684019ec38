"""The interface of transports, which move the data of collectives: on flat NumPy arrays, all calls blocking.

A transport belongs to one group. Ranks here are numbers within the group. `call` tells it of the next collective: its
number and a digest, which transports compare between ranks where that costs nothing.
"""

import threading
import time

import numpy as np

from ..extend import owner
from .errors import DistBackendError

__all__ = ["Transport"]

SPINS = 200


class Transport:
    """The interface. Arrays of one call have the same dtype and, where nothing else is said, the same size."""

    shares = False                                         # whether `all_reduce_shared` is there
    devices = ()                                           # kinds of device that it carries itself

    def __init__(self, ranks, rank, record, group, timeout):
        self.rank, self.size, self.ranks, self.record, self.group = rank, len(ranks), ranks, record, group
        self.timeout, self.closed = timeout, False

    def until(self, ready, missing, seq=None):
        """Wait until ``ready()``; `missing()` says for which ranks, `seq` for which collective."""
        for _ in range(SPINS):
            if ready():
                return
            time.sleep(0)                                  # lets others run, on a busy machine too
        began, pause, looked = time.monotonic(), 5e-5, 0.0
        while not ready():
            self.pause(pause)
            pause = min(pause * 1.2, 2e-3)
            now = time.monotonic()
            if now - looked > 0.05:
                looked = now
                if self.closed:
                    raise DistBackendError("the process group was destroyed while a call was under way")
                ranks = [self.ranks[r] for r in missing()]
                gone = self.record.gone(ranks)             # what it wrote before, `ready` sees
                if not ready():
                    self.record.check(ranks, gone, seq, now - began, self.timeout)

    def pause(self, seconds):
        """Let others run while something is awaited."""
        time.sleep(seconds)

    def call(self, seq, digest):
        """The next collective begins."""

    def barrier(self):
        """Return when all ranks have come here."""
        raise NotImplementedError

    def broadcast(self, array, root):
        """Give all ranks what `root` has."""
        raise NotImplementedError

    def all_gather(self, outs, array):
        """Write the array of each rank to ``outs[rank]``."""
        raise NotImplementedError

    def gather(self, outs, array, root):
        """The same for `root` only; `outs` is None elsewhere."""
        raise NotImplementedError

    def scatter(self, out, arrays, root):
        """Write to `out` the one of the root's `arrays` (None elsewhere) that belongs to this rank."""
        raise NotImplementedError

    def all_to_all(self, outs, arrays):
        """Write ``arrays[this rank]`` of each rank to ``outs[that rank]``; sizes may differ."""
        raise NotImplementedError

    def all_reduce(self, array, op):
        """Replace the arrays by their reduction."""
        raise NotImplementedError

    def all_reduce_shared(self, arrays, op):
        """`all_reduce` of ``arrays[rank]``, where `ProcessGroup.shared` has given memory that all ranks see."""
        raise NotImplementedError

    def reduce(self, array, root, op):
        """The same for `root` only; the others keep theirs."""
        raise NotImplementedError

    def reduce_scatter(self, out, arrays, op):
        """Write to `out` the reduction of the arrays that all ranks have for this rank."""
        raise NotImplementedError

    def send(self, array, to, tag):
        """Send to one rank; returns when the array may be written to again."""
        raise NotImplementedError

    def recv(self, array, source, tag):
        """Receive from `source`, or from any rank for None; returns whom from."""
        raise NotImplementedError

    def check_parts(self, sent, expected, seq):
        """An error for the first rank that sends another number of bytes than is expected of it, in an `all_to_all`."""
        wrong = np.flatnonzero(sent != expected)
        if wrong.size:
            r = int(wrong[0])
            self.record.stop(f"rank {self.ranks[self.rank]} expects {expected[r]} bytes of rank {self.ranks[r]}, which "
                             f"sends {sent[r]}, in all_to_all #{seq}: give both the same split sizes")

    def check_message(self, sent, expected, sender):
        """An error if a message has another number of bytes than its receiver expects."""
        if sent != expected:
            self.record.stop(f"rank {self.ranks[self.rank]} expects a message of {expected} bytes from rank "
                             f"{self.ranks[sender]}, which has sent {sent} bytes: give recv a tensor of the same shape "
                             f"and dtype")

    def close(self):
        """Let go of what is shared."""
        self.closed = True


class Proxy:
    """All that another transport has; subclasses change some of it."""

    def __init__(self, transport):
        self.__dict__["transport"] = transport

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def __setattr__(self, name, value):
        setattr(self.transport, name, value)


class Mailbox(Transport):
    """A transport whose messages arrive in the order in which they were sent, whatever their tags."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pending: dict = {source: [] for source in range(self.size)}   # messages with another tag than asked for
        self.receiving = [threading.Lock() for _ in range(self.size)]

    def waiting(self, source):
        """True if a message of a rank has come, at least in part."""
        raise NotImplementedError

    def head(self, source):
        """The size in bytes and the tag of the next message of a rank; waits for it."""
        raise NotImplementedError

    def body(self, source, message):
        """Write the bytes of that message to an array, and be done with it."""
        raise NotImplementedError

    def recv(self, array, source, tag):
        data = flat_bytes(array)
        others = [r for r in range(self.size) if r != self.rank]
        while True:
            for r in [source] if source is not None else others:
                if self.receiving[r].acquire(blocking=source is not None):
                    try:
                        if self.take(data, r, tag, source is not None):
                            return r
                    finally:
                        self.receiving[r].release()
            self.until(lambda: any(self.waiting(r) for r in others), lambda: others)

    def take(self, data, source, tag, wait):
        """Take the message with `tag` from `source`; without `wait`, whether it was there."""
        waiting = self.pending[source]
        for i, (found, message) in enumerate(waiting):
            if found == tag:
                self.check_message(message.size, data.size, source)
                data[...] = message
                del waiting[i]
                return True
        while wait or self.waiting(source):
            size, found = map(int, self.head(source))
            if found == tag:
                self.check_message(size, data.size, source)
            message = data if found == tag else np.empty(size, np.uint8)
            self.body(source, message)
            if found == tag:
                return True
            waiting.append((found, message))
        return False


def flat_bytes(array):
    """The memory of a flat array as bytes."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


def joined(arrays, copy=True):
    """Flat arrays as one: without a copy where they lie one after the other in one memory; else None without `copy`."""
    first, end = arrays[0], None
    for array in arrays:
        if end is not None and (array.ctypes.data != end or owner(array) is not owner(first)):
            return np.concatenate(arrays) if copy else None
        end = array.ctypes.data + array.nbytes
    return np.lib.stride_tricks.as_strided(first, (sum(a.size for a in arrays),), (first.itemsize,))
