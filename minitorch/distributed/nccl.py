"""The transport of tensors on GPUs: NCCL, through ``cupy.cuda.nccl``.

A group has it beside a transport of the host's memory, which carries all other tensors and a barrier before each call
of NCCL: a rank that is missing or calls something else is named there, before a GPU waits for it. The ranks learn
NCCL's identifier by the store. Calls are queued on a stream of their own, after the work that the current stream has
when they are made; whoever waits for a call makes the current stream wait, not the host.

It was tried with a stand-in for NCCL only, on the simulator: never on several GPUs.
"""

import contextlib
from importlib import import_module

import numpy as np

from ..extend import pointer
from .reducing import RedOpType
from .store import PrefixStore
from .transport import Proxy, Transport

__all__ = ["DEVICES", "ByDevice", "NCCLTransport", "beside", "library"]

DEVICES = ("cuda", "sim")
# NCCL's numbers of data types and operations
TYPES = {"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7,
         "float64": 8, "bfloat16": 9, "bool": 1, "complex64": 7, "complex128": 8}
OPS = {RedOpType.SUM: 0, RedOpType.PREMUL_SUM: 0, RedOpType.PRODUCT: 1, RedOpType.MAX: 2, RedOpType.MIN: 3,
       RedOpType.AVG: 4}
OPS_OF_BOOL = {RedOpType.SUM: 2, RedOpType.MAX: 2, RedOpType.BOR: 2, RedOpType.PRODUCT: 3, RedOpType.MIN: 3,
               RedOpType.BAND: 3}
BYTES = 1                                                  # the type in which data is moved


def library():
    """CuPy's module of NCCL; None where CuPy or NCCL is not installed."""
    try:
        found = import_module("cupy_backends.cuda.libs.nccl")
    except ImportError:
        return None
    return found if found.available else None


class Queue:
    """The stream of one GPU on which calls are queued; none on the simulator, where they are done when they return."""

    def __init__(self, machine):
        self.machine, self.real = machine, machine.kind == "cuda"
        self.stream, self.last, self.kept = None, None, []

    @contextlib.contextmanager
    def after(self, arrays):
        """The address of the stream, which waits for what the current one has; keeps `arrays` until it is done."""
        if not self.real:
            yield 0
            return
        cuda = self.machine.cupy.cuda
        with self.machine.device:
            if self.stream is None:
                self.stream = cuda.Stream(non_blocking=True)
            begin = cuda.Event(disable_timing=True)
            begin.record(self.machine.stream())
            self.stream.wait_event(begin)
            yield self.stream.ptr
            self.last = cuda.Event(disable_timing=True)
            self.last.record(self.stream)
        self.kept = [(event, held) for event, held in self.kept if not event.done] + [(self.last, arrays)]

    def mark(self):
        """A function that makes the current stream wait for all that has been queued."""
        last = self.last

        def join():
            if last is not None:
                with self.machine.device:
                    self.machine.stream().wait_event(last)
        return join

    def synchronize(self):
        """Wait on the host until all is done."""
        if self.last is not None:
            self.last.synchronize()


class NCCLTransport(Transport):
    """Collectives on flat arrays of a device. `store` is the group's, for identifiers of communicators."""

    def __init__(self, nccl, store, ranks, rank, record, group, timeout):
        super().__init__(ranks, rank, record, group, timeout)
        self.nccl, self.store, self.queue, self.communicators = nccl, store, None, {}

    def communicator(self, machine, members):
        """The communicator of some ranks of the group, which all of them make when they first need it."""
        if self.queue is None:
            self.queue = Queue(machine)
        if machine is not self.queue.machine:
            raise RuntimeError(f"rank {self.ranks[self.rank]} uses {machine.kind}:{machine.index} and "
                               f"{self.queue.machine.kind}:{self.queue.machine.index} in one group: with NCCL a rank "
                               f"has one device")
        found = self.communicators.get(members)
        if found is None:
            key = f"id {members}"
            if self.rank == members[0]:
                made = self.nccl.get_unique_id()           # a tuple of signed numbers, or bytes: by CuPy's version
                self.store.set(key, (b"b" + made) if isinstance(made, bytes) else
                               b"t" + bytes(number & 255 for number in made))
            given = self.store.get(key)
            made = given[1:] if given[:1] == b"b" else tuple(np.frombuffer(given[1:], np.int8).tolist())
            with machine.device if machine.kind == "cuda" else contextlib.nullcontext():
                found = self.nccl.NcclCommunicator(len(members), made, members.index(self.rank))
            self.communicators[members] = found
        return found

    @contextlib.contextmanager
    def queued(self, *arrays, members=None):
        """(communicator, stream) for a call on arrays of one device."""
        machine = arrays[0].backend.machine
        found = self.communicator(machine, members or tuple(range(self.size)))
        with self.queue.after(arrays) as stream:
            yield found, stream

    @contextlib.contextmanager
    def grouped(self, machine=None):
        """Sends and receives in the block are one call: none waits for a later one. With `machine`, all ranks take
        part, so that there is a communicator of all."""
        if machine is not None:
            self.communicator(machine, tuple(range(self.size)))
        self.nccl.groupStart()
        try:
            yield
        finally:
            self.nccl.groupEnd()

    def exchange(self, sent, taken, members=None):
        """Send ``sent[rank]`` and receive ``taken[rank]``, all at once."""
        arrays = [*sent.values(), *taken.values()]
        with self.queued(*arrays, members=members) as (found, stream), self.grouped():
            for rank, array in sent.items():
                if array.size:
                    found.send(pointer(array), array.nbytes, BYTES, rank, stream)
            for rank, array in taken.items():
                if array.size:
                    found.recv(pointer(array), array.nbytes, BYTES, rank, stream)

    def broadcast(self, array, root):
        with self.queued(array) as (found, stream):
            if array.size:
                found.broadcast(pointer(array), pointer(array), array.nbytes, BYTES, root, stream)

    def all_gather(self, outs, array):
        whole = rows_of(outs)
        if whole is None:                                  # they lie apart
            self.exchange(dict.fromkeys(range(self.size), array), dict(enumerate(outs)))
            return
        with self.queued(array, whole) as (found, stream):
            if array.size:
                found.allGather(pointer(array), pointer(whole), array.nbytes, BYTES, stream)

    def gather(self, outs, array, root):
        self.exchange({root: array}, {} if outs is None else dict(enumerate(outs)))

    def scatter(self, out, arrays, root):
        self.exchange({} if arrays is None else dict(enumerate(arrays)), {root: out})

    def all_to_all(self, outs, arrays):
        self.exchange(dict(enumerate(arrays)), dict(enumerate(outs)))

    # -- reducing ------------------------------------------------------------------------------------------
    def operands(self, array, op):
        """(`array`, number of elements, type, operation) for NCCL; an error for what it does not reduce."""
        name, kind = array.dtype.name, op.op
        if name not in TYPES:
            raise TypeError(f"Input tensor data type is not supported for NCCL process group: {name}")
        number = (OPS_OF_BOOL if name == "bool" else OPS).get(kind)
        if number is None:
            raise ValueError(f"Cannot use ReduceOp.{kind.name} with NCCL")
        if kind is RedOpType.PREMUL_SUM:
            array = (array * op.factor).astype(array.dtype)
        return array, array.size * (2 if array.dtype.kind == "c" else 1), TYPES[name], number

    def all_reduce(self, array, op):
        given, count, kind, number = self.operands(array, op)
        with self.queued(array, given) as (found, stream):
            if count:
                found.allReduce(pointer(given), pointer(array), count, kind, number, stream)

    def reduce(self, array, root, op):
        given, count, kind, number = self.operands(array, op)
        out = array if self.rank == root else array.backend.empty((array.size,), array.dtype)
        with self.queued(array, given, out) as (found, stream):
            if count:
                found.reduce(pointer(given), pointer(out), count, kind, number, root, stream)

    def reduce_scatter(self, out, arrays, op):
        whole = rows_of(arrays)
        if whole is None:
            whole = out.backend.xp.concatenate(arrays)
        given, _, kind, number = self.operands(whole, op)
        count = out.size * (2 if out.dtype.kind == "c" else 1)
        with self.queued(out, given) as (found, stream):
            if count:
                found.reduceScatter(pointer(given), pointer(out), count, kind, number, stream)

    # -- messages ------------------------------------------------------------------------------------------
    def pair(self, peer):
        """The ranks of the communicator for a message, and the peer's number among them: all, or two until all meet."""
        members = tuple(range(self.size))
        if members not in self.communicators:
            members = tuple(sorted((self.rank, peer)))
        return members, members.index(peer)

    def send(self, array, to, tag):
        members, place = self.pair(to)
        self.exchange({place: array}, {}, members)

    def recv(self, array, source, tag):
        if source is None:
            raise ValueError("NCCL receives from a rank that is named: give src")
        members, place = self.pair(source)
        self.exchange({}, {place: array}, members)
        return source

    def mark(self, after):
        """A function that makes the current stream wait for the calls so far, and carries out `after` at first."""
        join, left = self.queue.mark() if self.queue is not None else None, [after] if after is not None else []

        def ready():
            if join is not None:
                join()
            if left:
                left.pop()()
        return ready

    def close(self):
        super().close()
        if self.queue is not None:
            self.queue.synchronize()
        for communicator in self.communicators.values():
            communicator.destroy()
        self.communicators.clear()


def rows_of(arrays):
    """The flat device array of several that lie one after the other in its memory; None if they lie apart."""
    first, end = arrays[0], pointer(arrays[0])
    for array in arrays:
        if array.size != first.size or pointer(array) != end or array.data.mem is not first.data.mem:
            return None
        end += array.nbytes
    found = first.view()
    found._set_shape_and_strides((first.size * len(arrays),), (first.itemsize,), True, True)
    return found


class ByDevice(Proxy):
    """A group's transport where it has NCCL, too: calls go where their arrays are."""

    CALLS = frozenset(("broadcast", "all_gather", "gather", "scatter", "all_to_all", "all_reduce", "reduce",
                       "reduce_scatter", "send", "recv"))

    def __init__(self, transport, device):
        super().__init__(transport)
        self.__dict__.update(device=device, devices=DEVICES)

    def __getattr__(self, name):
        found = super().__getattr__(name)
        if name not in self.CALLS:
            return found

        def by_device(*arguments):
            parts = [part for given in arguments for part in (given if isinstance(given, list) else [given])
                     if hasattr(part, "nbytes")]
            on_host = isinstance(parts[0], np.ndarray)
            return (found if on_host else getattr(self.device, name))(*arguments)
        return by_device

    def close(self):
        self.device.close()
        self.transport.close()


def beside(transport, nccl, store):
    """A transport with NCCL for the arrays of devices."""
    t = transport
    return ByDevice(t, NCCLTransport(nccl, PrefixStore(f"nccl {t.group}", store), t.ranks, t.rank, t.record, t.group,
                                     t.timeout))
