"""The transport of ranks on several nodes, which mpiexec or srun has started: MPI, through mpi4py.

MPI carries bytes only; `remote` reduces. Calls are started and polled, so that a wait notices what goes wrong.
"""

import atexit
import os
import socket
import sys
import threading
import time

import mpi4py
import numpy as np

mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402

from . import peers  # noqa: E402
from .record import on_uncaught  # noqa: E402
from .remote import RemoteNode, RemoteTransport  # noqa: E402
from .store import TCPStore  # noqa: E402
from .transport import flat_bytes, joined  # noqa: E402

__all__ = ["MPINode", "MPITransport", "meet"]

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
    os.environ[peers.SECRET] = comm.bcast(peers.drawn() if rank == 0 else None)
    hosts = comm.allgather(socket.gethostname())
    alone = len(set(hosts)) == 1
    if rank == 0:
        name = "localhost" if alone else hosts[0]
        store = TCPStore(name, 0, is_master=True, timeout=timeout)
        comm.bcast(store.port)
    else:
        name = "localhost" if hosts[rank] == hosts[0] else hosts[0]
        store = TCPStore(name, comm.bcast(None), timeout=timeout)
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


class MPINode(RemoteNode):
    """One rank's side of a job that MPI carries."""

    def transport(self, ranks, number, record, timeout):
        return MPITransport(ranks, ranks.index(self.rank), record, number, timeout)


class MPITransport(RemoteTransport):
    """Collectives over a communicator of MPI."""

    def __init__(self, ranks, rank, record, group, timeout):
        super().__init__(ranks, rank, record, group, timeout)
        world = MPI.COMM_WORLD
        members = world.Get_group().Incl(ranks)
        self.comm = world.Create_group(members, group % 32768)
        self.messages = world.Create_group(members, (group + 1) % 32768)

    def done(self, request):
        """Wait for a request."""
        self.until(request.Test, self.missing, self.seq)

    def barrier(self):
        self.done(self.comm.Ibarrier())

    def broadcast(self, array, root):
        self.done(self.comm.Ibcast([flat_bytes(array), MPI.BYTE], root))

    def scatter(self, out, arrays, root):
        send = None if arrays is None else [joined([flat_bytes(a) for a in arrays]), MPI.BYTE]
        self.done(self.comm.Iscatter(send, [flat_bytes(out), MPI.BYTE], root))

    def swap(self, arrays, outs):
        send = joined([flat_bytes(a) for a in arrays])
        with Places(outs) as found:
            self.done(self.comm.Ialltoallv([send, [a.nbytes for a in arrays], MPI.BYTE], found))

    def spread(self, part, outs):
        with Places(outs) as found:
            self.done(self.comm.Iallgatherv([flat_bytes(part), MPI.BYTE], found))

    def collect(self, part, outs, root):
        if outs is None:
            self.done(self.comm.Igatherv([flat_bytes(part), MPI.BYTE], None, root))
            return
        with Places(outs) as found:
            self.done(self.comm.Igatherv([flat_bytes(part), MPI.BYTE], found, root))

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


class Places:
    """The memory of several arrays as MPI wants it: one array, which is copied to them at the end if they are apart."""

    def __init__(self, arrays):
        self.arrays = [flat_bytes(a) for a in arrays]
        self.sizes = [a.size for a in self.arrays]
        self.whole = joined(self.arrays, copy=False)

    def __enter__(self):
        self.memory = np.empty(sum(self.sizes), np.uint8) if self.whole is None else self.whole
        return [self.memory, self.sizes, MPI.BYTE]

    def __exit__(self, kind, error, trace):
        if kind is None and self.whole is None:
            for array, found in zip(self.arrays, np.split(self.memory, np.cumsum(self.sizes)[:-1])):
                array[...] = found
