"""The interface of transports, which move the data of collectives: on flat NumPy arrays, all calls blocking.

A transport belongs to one group. Ranks here are numbers within the group. `call` tells it of the next collective: its
number and a digest, which transports compare between ranks where that costs nothing.
"""

import time

import numpy as np

from .errors import DistBackendError

__all__ = ["Transport"]

SPINS = 200


class Transport:
    """The interface. Arrays of one call have the same dtype and, where nothing else is said, the same size."""

    shares = False                                         # whether `all_reduce_shared` is there

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
            time.sleep(pause)
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


def flat_bytes(array):
    """The memory of a flat array as bytes."""
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
