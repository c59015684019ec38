"""The base of ranks on several nodes, whatever carries their calls: the record, by way of the store, and reductions.

The row of each rank is sent to the store of the job twice a second, and read by ranks that wait for long. Reductions
are ours, in the order of ranks: each rank gets a part of all arrays, reduces it, and gathers the results, which moves
as many bytes as any method and gives the bits that the other transports give, for all dtypes.
"""

import sys
import threading
import time

import numpy as np

from .node import user_line
from .record import ABSENT, ROW, RUNNING, Record, note_end
from .reducing import reduce_arrays
from .transport import Transport

__all__ = ["RemoteNode", "RemoteTransport"]

BEAT = 0.5                                                 # seconds between two looks at the main thread
KEPT = 4                                                   # calls of a row that are sent


class RemoteNode:
    """One rank's side of a job on several nodes: the record, mirrored through the store.

    supervised: whether a launcher tells the store of ends. rows: the rows of all, in memory that the ranks `here` share
    with their launcher; without it they are this rank's own.
    """

    def __init__(self, rank, size, store, supervised=False, rows=None, here=()):
        self.rank, self.size, self.store, self.supervised, self.here = rank, size, store, supervised, here
        self.rows, self.lines, self.stopped = np.zeros(size, ROW) if rows is None else rows, {}, threading.Event()
        self.main = threading.main_thread().ident

    def record(self, rank):
        made = Record(self.rows, rank, self.lines.get, self.alive, self.supervised)
        made.refresh = self.refresh
        self.send()
        threading.Thread(target=self.beat, name="record", daemon=True).start()
        return made

    def are_near(self, ranks):
        """True if these ranks share memory."""
        return False

    def alive(self, rank):
        """True if a rank runs, as far as can be seen from here."""
        return True

    def beat(self):
        while not self.stopped.wait(BEAT):
            self.send()

    def send(self):
        """Show this rank's row, with its last calls, and its line, to the others."""
        line = user_line(sys._current_frames().get(self.main)) or ("", 0)
        try:
            self.store.set(str(self.rank), packed_row(self.rows[self.rank:self.rank + 1].copy(), line))
        except (RuntimeError, MemoryError):
            pass                                           # the next beat tries again

    def refresh(self):
        """Read the rows of the others, and show this one's."""
        self.send()
        self.read_all()

    def read_all(self):
        """Read the rows of the others."""
        for rank in range(self.size):
            if rank == self.rank or rank in self.here:
                continue
            if self.store.check([str(rank)]):
                self.read(rank, self.store.request("get", str(rank)))
            if self.supervised and self.rows["state"][rank] in (ABSENT, RUNNING) and self.store.check([f"end {rank}"]):
                note_end(self.rows[rank], int(self.store.request("get", f"end {rank}")))

    def read(self, rank, data):
        n = int.from_bytes(data[:4], "little")
        file, line, places, _ = data[4:4 + n].decode().split("\0")
        data, row, size = data[4 + n:], self.rows[rank], ROW["fault"].itemsize
        row["fault"] = data[:size].rstrip(b"\0")
        for name, value in zip(NUMBERS, np.frombuffer(data[size:size + 8 * len(NUMBERS)])):
            row[name] = value
        calls = np.frombuffer(data[size + 8 * len(NUMBERS):], ROW["calls"].base)
        for place, entry in zip(places.split(",") if places else (), calls):
            row["calls"][int(place)] = entry
        self.lines[rank] = (file, int(line)) if file else None

    def close(self, rank):
        self.stopped.set()
        self.send()


NUMBERS = ("pid", "state", "signal", "code", "whole", "count", "when")


def packed_row(row, line=("", 0)):
    """One row, as an array of one, with its last calls and the line at which the rank is."""
    count = int(row["count"][0])
    places = [i % ROW["calls"].shape[0] for i in range(max(0, count - KEPT), count)]
    head = f"{line[0]}\0{line[1]}\0{','.join(map(str, places))}\0".encode()
    return (len(head).to_bytes(4, "little") + head + row["fault"].tobytes()
            + np.array([row[name][0] for name in NUMBERS], np.float64).tobytes() + row["calls"][0][places].tobytes())


class RemoteTransport(Transport):
    """Collectives made of three exchanges: `swap`, `spread` and `collect`."""

    seq = 0

    def swap(self, arrays, outs):
        """Write ``arrays[this rank]`` of each rank to ``outs[that rank]``; the sizes agree."""
        raise NotImplementedError

    def spread(self, part, outs):
        """Write the `part` of each rank to ``outs[that rank]``; the sizes agree."""
        raise NotImplementedError

    def collect(self, part, outs, root):
        """The same for `root` only."""
        raise NotImplementedError

    def missing(self):
        """Those that have not come to this call, as far as their rows say; else all others."""
        others = [r for r in range(self.size) if r != self.rank]
        late = [r for r in others if self.record.entry_of(self.ranks[r], self.group, self.seq) is None]
        return late or others

    def call(self, seq, digest):
        self.seq = seq
        found = np.empty((self.size, 2), np.int64)
        self.spread(np.array([seq, digest]), list(found))
        if (found != (seq, digest)).any():
            end_of_wait = time.monotonic() + 3             # until the rows of the others are here
            while time.monotonic() < end_of_wait and any(
                    self.record.entry_of(r, self.group, seq) is None for r in self.ranks):
                time.sleep(0.05)
                self.record.refresh()
            self.record.stop(self.record.of_mismatch(self.ranks, self.group, seq))

    def all_gather(self, outs, array):
        self.spread(array, outs)

    def gather(self, outs, array, root):
        self.collect(array, outs, root)

    def all_to_all(self, outs, arrays):
        announced = np.empty((self.size, 1), np.int64)
        self.swap([np.array([a.nbytes]) for a in arrays], list(announced))
        self.check_parts(announced[:, 0], [out.nbytes for out in outs], self.seq)
        self.swap(arrays, outs)

    # -- reducing ------------------------------------------------------------------------------------------
    def own_part(self, array, op):
        """This rank's part of the reduction of `array`, and the parts of `array` itself."""
        n = self.size
        bounds = [array.size * r // n for r in range(n + 1)]
        parts = [array[a:b] for a, b in zip(bounds, bounds[1:])]
        found = np.empty((n, parts[self.rank].size), array.dtype)
        self.swap(parts, list(found))
        out = np.empty_like(found[0])
        reduce_arrays(op, list(found), out)
        return out, parts

    def all_reduce(self, array, op):
        part, parts = self.own_part(array, op)
        self.spread(part, parts)

    def reduce(self, array, root, op):
        part, parts = self.own_part(array, op)
        self.collect(part, parts if self.rank == root else None, root)

    def reduce_scatter(self, out, arrays, op):
        found = np.empty((self.size, out.size), out.dtype)
        self.swap(arrays, list(found))
        reduce_arrays(op, list(found), out)
