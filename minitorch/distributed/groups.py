"""`ProcessGroup`: some ranks of a job that call collectives together; how a call is entered and carried out."""

import contextlib
import threading
import zlib
from datetime import timedelta

from ..extend import calling_line
from . import context
from .errors import DistBackendError
from .record import place_of
from .store import PrefixStore
from .work import Lane, Work

__all__ = ["GroupMember", "ProcessGroup", "group"]


class ProcessGroup:
    """Some ranks of a job. `ranks` are their numbers in the job, `rank()` is this rank's number in the group."""

    def __init__(self, world, ranks, number, transport, timeout, backend, name, desc="undefined"):
        self.world, self.ranks, self.number, self.transport = world, list(ranks), number, transport
        self.timeout, self.backend, self.group_name, self.group_desc = timeout, backend, name, desc
        self.seq, self.places = 0, {rank: i for i, rank in enumerate(self.ranks)}
        self._rank = self.places.get(world.rank, -1)
        self.regions = 0                                   # how often `shared` was called
        self.saver = None                                  # a group of the same ranks, for `checkpoint.async_save`
        self.lane = Lane(f"collectives {name}")
        self.turn = threading.Lock()                       # of the thread that is in `call`
        self.entered = "another thread", "a call"          # which, and in which call
        self.lanes: dict = {}                              # of messages: a lane for each direction and peer

    def rank(self):
        """This rank's number in the group."""
        return self._rank

    def size(self):
        """The number of ranks in the group."""
        return len(self.ranks)

    def name(self):
        """The name of the backend."""
        return self.backend

    def get_group_store(self):
        """The part of the job's store that belongs to this group."""
        return PrefixStore(f"group {self.group_name}", self.world.store)

    def set_timeout(self, timeout):
        """Set how long a call waits for the other ranks, a timedelta."""
        self.timeout = timeout
        if self.transport is not None:
            self.transport.timeout = timeout.total_seconds()

    _set_default_timeout = set_timeout

    def __repr__(self):
        return f"<ProcessGroup {self.group_name!r}: rank {self._rank} of {len(self.ranks)}, {self.backend}>"

    # -- calls ---------------------------------------------------------------------------------------------
    def usable(self):
        """The transport; an error if the group was destroyed, or if a call has failed."""
        if self.transport is None:
            raise DistBackendError("the process group was destroyed: make it before it is used, and destroy it last")
        if self.world.record.fault is not None:
            raise DistBackendError(self.world.record.fault)
        return self.transport

    def meet(self, name, text=""):
        """A barrier under a name of its own."""
        self.call(name, text, lambda transport: transport.barrier())

    def carries(self, tensor):
        """True if calls take the memory of a tensor's device as it is: that of GPUs, with NCCL."""
        devices = self.transport.devices if self.transport is not None else ()
        return bool(devices) and tensor.device.type in devices

    def together(self, tensor):
        """A context whose messages begin together, which NCCL must be told."""
        if not self.carries(tensor):
            return contextlib.nullcontext()
        return self.transport.device.grouped(tensor.backend.machine)

    def queue(self, ready, async_op, tensors, source=-1):
        """The Work of a call that a device has been given: `ready()` makes what comes after wait for it."""
        if not async_op:
            ready()
            return None if source == -1 else source
        work = Work(tensors, source)
        work.get_future().ready = ready
        work.run(lambda: None)
        return work

    def call(self, name, text, body, async_op=False, tensors=(), after=None, on=None):
        """Carry out a collective: ``body(transport)`` when its turn has come, then `after()`.

        text: what all ranks must agree on, besides the name. on: a tensor of the device of the call, the first of
        `tensors` unless given. Returns a Work with `async_op`, else None.
        """
        thread = threading.current_thread()
        if thread is self.lane.thread:                     # what a hook starts when a call is done
            return self.carried_out(name, text, body, async_op, tensors, after, on)
        if not self.turn.acquire(blocking=False):
            self.refuse_threads(thread, f"{name} {text}".strip())
        try:
            self.entered = thread.name, f"{name} {text}".strip()
            return self.carried_out(name, text, body, async_op, tensors, after, on)
        finally:
            self.turn.release()

    def refuse_threads(self, thread, words):
        """The error of two threads in one group: ranks would take their calls in other orders."""
        other, others = self.entered
        self.world.record.stop(
            f"threads {other!r} and {thread.name!r} of rank {self.world.rank} are in calls of one "
            f"group at once, {others} and {words} ({place_of(calling_line())}), so that ranks take "
            f"them in different orders: call from one thread, or give each thread a group of its "
            f"own by new_group")

    def carried_out(self, name, text, body, async_op, tensors, after, on):
        """`call` when no other thread is in it."""
        world, transport = self.world, self.usable()
        self.seq = seq = self.seq + 1
        words = f"{name} {text}" if text else name
        record, entry = world.record, world.record.begin(self.number, seq, words, calling_line())
        digest = zlib.crc32(words.encode())
        if world.trace is not None:
            body = world.trace.noted(name, async_op, body)

        def run():
            transport.call(seq, digest)
            body(transport)
            if after is not None:
                after()
            record.end(entry, seq)
        on = tensors[0] if on is None and tensors else on
        if transport.devices and on is not None and self.carries(on):
            def agree():
                transport.call(seq, digest)
                transport.barrier()
            self.lane.now(agree)                           # on the host, where faults are named
            body(transport)
            record.end(entry, seq)
            return self.queue(transport.device.mark(after), async_op, tensors)
        if async_op:
            return self.lane.start(run, Work(tensors))
        self.lane.now(run)
        return None

    def message(self, name, text, peer, body, async_op=False, tensors=(), after=None):
        """Carry out a message to or from `peer` (a rank in the group, or None), in the order of that direction."""
        world, transport = self.world, self.usable()
        key = name.removeprefix("i"), peer
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(f"{name} {peer}")
        world.messages += 1
        seq = -world.messages
        entry = world.record.begin(self.number, seq, f"{name} {text}", calling_line())
        if world.trace is not None:
            body = world.trace.noted(name, async_op, body)

        if tensors and self.carries(tensors[0]):
            found = body(transport)
            world.record.end(entry, seq)
            return self.queue(transport.device.mark(after), async_op, tensors, -1 if found is None else found)

        def run():
            found = body(transport)
            if after is not None:
                after()
            world.record.end(entry, seq)
            return found
        return lane.start(run, Work(tensors)) if async_op else lane.now(run)

    def shared(self, size, dtype):
        """An array of `size` elements for each rank, all in memory that all ranks see; None where there is none.

        All ranks call it. ``arrays[rank]`` is for that rank to write, apart from collectives.
        """
        if not self.transport.shares or len(self.ranks) == 1:
            return None
        self.regions += 1
        name, stride = f"shared-{self.number}-{self.regions}", -(-size * dtype.itemsize // 64) * 64
        memory = self.world.node.memory(name, max(stride, 64) * len(self.ranks)).reshape(len(self.ranks), -1)
        self.meet("shared_memory", f"of {size} {dtype.name}")
        if self._rank == 0:
            self.world.node.forget(name)
        return [row[:size * dtype.itemsize].view(dtype) for row in memory]

    def close(self):
        """Let go of threads and memory."""
        for lane in (self.lane, *self.lanes.values()):
            lane.close()
        if self.transport is not None:
            self.transport.close()
        self.transport = None


class GroupMember:
    """``WORLD`` is the group of all ranks, ``NON_GROUP_MEMBER`` a group that the calling rank is not in."""

    NON_GROUP_MEMBER = object()

    @property
    def WORLD(self):
        """The group of all ranks; None before `init_process_group`."""
        world = context.find()
        return None if world is None else world.default

    @WORLD.setter
    def WORLD(self, value):
        context.find().default = value


group = GroupMember()


def default_timeout():
    return timedelta(minutes=30)


def current_world():
    """The job of the calling rank; ValueError before `init_process_group`."""
    world = context.find()
    if world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world


def resolved(given):
    """The ProcessGroup that a `group` argument means; None if the calling rank is not in it."""
    if given is None:
        return current_world().default
    if given is GroupMember.NON_GROUP_MEMBER:
        return None
    if isinstance(given, GroupMember):
        return current_world().default
    if not isinstance(given, ProcessGroup):
        raise TypeError(f"expected a process group, as new_group returns it, got {type(given).__name__}")
    return None if given.rank() < 0 else given
