"""The transport of ranks on several nodes, which mpiexec or srun has started: MPI, through mpi4py.

MPI carries bytes only. Reductions are ours, in the order of ranks: each rank gets a part of all arrays, reduces it, and
gathers the results, which moves as many bytes as MPI's own and gives the bits that the other transports give, for all
dtypes. Calls are started and polled, so that a wait notices what goes wrong. The rows of the record are sent to the
store of the job twice a second and read by ranks that wait for long.
"""

import atexit
import socket
import sys
import threading
import time

import mpi4py
import numpy as np

mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402

from .node import user_line  # noqa: E402
from .record import ROW, Record, on_uncaught  # noqa: E402
from .reducing import reduce_arrays  # noqa: E402
from .store import TCPStore  # noqa: E402
from .transport import Transport, flat_bytes  # noqa: E402

__all__ = ["MPINode", "MPITransport", "meet"]

BEAT = 0.5                                                 # seconds between two looks at the main thread
KEPT = 4                                                   # calls of a row that are sent
failed = threading.Event()                                 # this rank ends by an error: the job is to end, too


def meet(timeout):
    """(rank, size, store) of this process: starts MPI, and a store in rank 0."""
    if not MPI.Is_initialized():
        if MPI.Init_thread(MPI.THREAD_MULTIPLE) < MPI.THREAD_MULTIPLE:
            raise RuntimeError("this MPI library does not let several threads call it: use one built with "
                               "MPI_THREAD_MULTIPLE, such as the package mpich")
        atexit.register(end)
        on_uncaught(lambda error: failed.set())
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    store = TCPStore("localhost", 0, is_master=True, timeout=timeout) if rank == 0 else None
    host, port = comm.bcast((socket.gethostname(), store.port) if rank == 0 else None)
    if rank:
        store = TCPStore("localhost" if host == socket.gethostname() else host, port, timeout=timeout)
    return rank, size, store


def end():
    """End MPI; after an error, the whole job, when the others have had time to say what they know."""
    if failed.is_set():
        sys.stderr.flush()
        time.sleep(1)
        MPI.COMM_WORLD.Abort(1)
    elif not MPI.Is_finalized():
        request, begin = MPI.COMM_WORLD.Ibarrier(), time.monotonic()
        while not request.Test() and time.monotonic() - begin < 60:        # `Finalize` keeps threads from serving
            time.sleep(1e-3)
        MPI.Finalize()


class MPINode:
    """One rank's side of a job on several nodes: the record, mirrored through the store."""

    supervised = False

    def __init__(self, rank, size, store):
        self.rank, self.size, self.store = rank, size, store
        self.rows, self.lines, self.stopped = np.zeros(size, ROW), {}, threading.Event()
        self.main = threading.main_thread().ident

    def record(self, rank):
        made = Record(self.rows, rank, self.lines.get, lambda rank: True)
        made.refresh = self.refresh
        self.send()
        threading.Thread(target=self.beat, name="record", daemon=True).start()
        return made

    def transport(self, ranks, number, record, timeout):
        return MPITransport(ranks, ranks.index(self.rank), record, number, timeout)

    def beat(self):
        while not self.stopped.wait(BEAT):
            self.send()

    def send(self):
        """Show this rank's row, with its last calls, and its line, to the others."""
        row = self.rows[self.rank:self.rank + 1].copy()
        count = int(row["count"][0])
        places = [i % ROW["calls"].shape[0] for i in range(max(0, count - KEPT), count)]
        calls = row["calls"][0][places].tobytes()
        line = user_line(sys._current_frames().get(self.main)) or ("", 0)
        head = f"{line[0]}\0{line[1]}\0{','.join(map(str, places))}\0".encode()
        try:
            self.store.set(str(self.rank), len(head).to_bytes(4, "little") + head + row["fault"].tobytes()
                           + np.array([row[name][0] for name in NUMBERS], np.float64).tobytes() + calls)
        except RuntimeError:
            self.stopped.set()                             # the store is gone: the job is at its end

    def refresh(self):
        """Read the rows of the others."""
        self.send()
        for rank in range(self.size):
            if rank != self.rank and self.store.check([str(rank)]):
                self.read(rank, self.store.request("get", str(rank)))

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


class MPITransport(Transport):
    """Collectives over a communicator of MPI."""

    def __init__(self, ranks, rank, record, group, timeout):
        super().__init__(ranks, rank, record, group, timeout)
        world = MPI.COMM_WORLD
        members = world.Get_group().Incl(ranks)
        self.comm = world.Create_group(members, group % 32768)
        self.messages = world.Create_group(members, (group + 1) % 32768)
        self.seq = 0

    def done(self, request):
        """Wait for a request."""
        self.until(request.Test, self.missing, self.seq)

    def missing(self):
        """Those that have not come to this call, as far as their rows say; else all others."""
        others = [r for r in range(self.size) if r != self.rank]
        late = [r for r in others if self.record.entry_of(self.ranks[r], self.group, self.seq) is None]
        return late or others

    def call(self, seq, digest):
        self.seq = seq
        found = np.empty((self.size, 2), np.int64)
        self.done(self.comm.Iallgather(np.array([seq, digest]), found))
        if (found != (seq, digest)).any():
            end_of_wait = time.monotonic() + 3             # until the rows of the others are here
            while time.monotonic() < end_of_wait and any(
                    self.record.entry_of(r, self.group, seq) is None for r in self.ranks):
                time.sleep(0.05)
                self.record.refresh()
            self.record.stop(self.record.of_mismatch(self.ranks, self.group, seq))

    def barrier(self):
        self.done(self.comm.Ibarrier())

    def broadcast(self, array, root):
        self.done(self.comm.Ibcast([flat_bytes(array), MPI.BYTE], root))

    def all_gather(self, outs, array):
        data = flat_bytes(array)
        found = np.empty((self.size, data.size), np.uint8)
        self.done(self.comm.Iallgather([data, MPI.BYTE], [found, MPI.BYTE]))
        for out, one in zip(outs, found):
            flat_bytes(out)[...] = one

    def gather(self, outs, array, root):
        data = flat_bytes(array)
        found = np.empty((self.size if outs is not None else 0, data.size), np.uint8)
        self.done(self.comm.Igather([data, MPI.BYTE], [found, MPI.BYTE] if outs is not None else None, root))
        for out, one in zip(outs or (), found):
            flat_bytes(out)[...] = one

    def scatter(self, out, arrays, root):
        data = flat_bytes(out)
        send = None if arrays is None else [np.concatenate([flat_bytes(a) for a in arrays]), MPI.BYTE]
        self.done(self.comm.Iscatter(send, [data, MPI.BYTE], root))

    def all_to_all(self, outs, arrays):
        sent, taken = [a.nbytes for a in arrays], [out.nbytes for out in outs]
        announced = np.empty(self.size, np.int64)
        self.done(self.comm.Ialltoall(np.array(sent, np.int64), announced))
        self.check_parts(announced, taken, self.seq)
        send, found = np.concatenate([flat_bytes(a) for a in arrays]), np.empty(sum(taken), np.uint8)
        self.done(self.comm.Ialltoallv([send, sent, MPI.BYTE], [found, taken, MPI.BYTE]))
        for out, one in zip(outs, np.split(found, np.cumsum(taken)[:-1])):
            flat_bytes(out)[...] = one

    # -- reducing ------------------------------------------------------------------------------------------
    def own_part(self, array, op):
        """This rank's part of the reduction of `array`, and the sizes of all parts in elements."""
        n = self.size
        bounds = [array.size * r // n for r in range(n + 1)]
        sizes = [(b - a) * array.itemsize for a, b in zip(bounds, bounds[1:])]
        found = np.empty((n, bounds[self.rank + 1] - bounds[self.rank]), array.dtype)
        self.done(self.comm.Ialltoallv([flat_bytes(array), sizes, MPI.BYTE],
                                       [flat_bytes(found), [sizes[self.rank]] * n, MPI.BYTE]))
        out = np.empty_like(found[0])
        reduce_arrays(op, list(found), out)
        return out, sizes

    def all_reduce(self, array, op):
        part, sizes = self.own_part(array, op)
        self.done(self.comm.Iallgatherv([flat_bytes(part), MPI.BYTE], [flat_bytes(array), sizes, MPI.BYTE]))

    def reduce(self, array, root, op):
        part, sizes = self.own_part(array, op)
        here = self.rank == root
        self.done(self.comm.Igatherv([flat_bytes(part), MPI.BYTE],
                                     [flat_bytes(array), sizes, MPI.BYTE] if here else None, root))

    def reduce_scatter(self, out, arrays, op):
        found = np.empty((self.size, out.size), out.dtype)
        self.done(self.comm.Ialltoall([np.concatenate([flat_bytes(a) for a in arrays]), MPI.BYTE],
                                      [flat_bytes(found), MPI.BYTE]))
        reduce_arrays(op, list(found), out)

    # -- messages ------------------------------------------------------------------------------------------
    def send(self, array, to, tag):
        request = self.messages.Isend([flat_bytes(array), MPI.BYTE], to, tag)
        self.until(request.Test, lambda: [to])

    def recv(self, array, source, tag):
        data, found, status = flat_bytes(array), [], MPI.Status()

        def ready():
            message = self.messages.Improbe(MPI.ANY_SOURCE if source is None else source, tag, status)
            if message is not None:
                found.append(message)
            return message is not None
        self.until(ready, lambda: [source] if source is not None else self.missing())
        n, sender = status.Get_count(MPI.BYTE), status.Get_source()
        if n != data.size:
            found[0].Recv([np.empty(n, np.uint8), MPI.BYTE])
        self.check_message(n, data.size, sender)
        found[0].Recv([data, MPI.BYTE])
        return sender
