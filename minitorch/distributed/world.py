"""The job that a rank belongs to: `init_process_group`, sub-groups, and how ranks find each
other."""

import atexit
import itertools
import os
import socket
import warnings
import zlib
from datetime import timedelta
from importlib.util import find_spec
from urllib.parse import parse_qs, urlparse

from ..extend import fills
from . import context
from . import nccl as nccl_transport
from .errors import DistBackendError
from .groups import GroupMember, ProcessGroup, current_world, default_timeout, resolved
from .node import ThreadNode, node_by_store
from .record import failure_text, on_uncaught
from .shared import SLOT, SharedTransport, window_bytes
from .store import DEFAULT, FileStore, PrefixStore, Store, TCPStore

__all__ = ["Backend", "destroy_process_group", "get_backend", "get_backend_config", "get_default_backend_for_device",
           "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks",
           "get_rank", "get_world_size", "init_process_group", "is_available", "is_backend_available",
           "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
           "is_ucc_available", "is_xccl_available", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
           "rendezvous", "split_group"]

NAMES = ("gloo", "mpi", "nccl", "threaded", "shared")


class Backend(str):
    """The name of a backend, in lower case; ValueError for one that is not known.

    "gloo" and "shared": ranks of one node, over memory that they share. "mpi": over MPI, also between nodes; so is
    "gloo" under mpiexec. "threaded": ranks that are threads of one process. With these, tensors of devices go by way of
    the host. "nccl", or "cpu:gloo,cuda:nccl": the same for tensors of the host, NCCL for those of GPUs.
    """

    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl"
    THREADED, SHARED = "threaded", "shared"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {type(name).__name__}")
        lower = name.lower()
        for part in lower.split(","):
            kind = part.rpartition(":")[2]
            if kind not in NAMES:
                raise ValueError(f"Unknown backend type {name}: there are {', '.join(NAMES)}")
        return str.__new__(cls, lower)


class World:
    """One rank's side of a job."""

    def __init__(self, rank, size, store, node, record, backend):
        self.rank, self.size, self.store, self.node, self.record = rank, size, store, node, record
        self.backend = backend
        self.groups, self.made, self.messages, self.default = [], 0, 0, None
        self.trace = None                                  # of `plan`
        self.of_ranks: dict = {}                           # ranks -> how many groups of them there were
        self.sharded: dict = {}                            # (mesh, backend) -> the backend of its DTensors
        self.meshes: list = []                             # that were entered by `with`, the innermost last
        self.in_thread = context.local.launch is not None or isinstance(node, ThreadNode) and size > 1

    def group(self, ranks, timeout, backend, name=None, desc="undefined"):
        """A new group of `ranks`, which its members build together; for the others, what knows its ranks only."""
        count, self.made = self.made, self.made + 1
        again = self.of_ranks[tuple(ranks)] = self.of_ranks.get(tuple(ranks), -1) + 1
        number = zlib.crc32(repr((ranks, again)).encode()) >> 1 if count else 0       # the same in all of its ranks
        name = name or str(count)
        transport = None
        if self.rank in ranks:
            transport = self.transport(ranks, number, timeout)
            if "nccl" in backend:
                nccl = nccl_transport.library()
                if nccl is not None:
                    transport = nccl_transport.beside(transport, nccl, self.store)
                elif not count:
                    warnings.warn("NCCL is not installed (pip install nvidia-nccl-cu13, beside CuPy): tensors of CUDA "
                                  "devices go by way of the host", stacklevel=4)
        made = ProcessGroup(self, ranks, number, transport, timeout, backend, name, desc)
        self.record.names[number] = f" in group {name} {list(ranks)}" if number else ""
        if transport is not None:
            self.groups.append(made)
        return made

    def transport(self, ranks, number, timeout):
        seconds = timeout.total_seconds()
        if hasattr(self.node, "transport") and not self.node.are_near(ranks):            # between nodes
            return self.node.transport(ranks, number, self.record, seconds)
        name = f"group-{number}"
        memory = self.node.memory(name, window_bytes(len(ranks), SLOT))
        found = SharedTransport(memory, ranks, ranks.index(self.rank), self.record, number, seconds)
        found.step()                                       # all have it
        if found.rank == 0:
            self.node.forget(name)
        return found

    def close(self):
        for group in list(self.groups):
            group.close()
        self.groups.clear()
        self.record.finish()
        self.node.close(self.rank)


# ------------------------------------------------------------------ beginning and end
def rank_from_environment():
    """(rank, size, local rank) by the variables of the launcher, of mpiexec or of Slurm; None for what is not there."""
    env = os.environ
    for rank, size, local in (("RANK", "WORLD_SIZE", "LOCAL_RANK"),
                              ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                              ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                              ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")):
        if rank in env and size in env:
            return int(env[rank]), int(env[size]), int(env[local]) if local in env else None
    return None, None, None


beginnings = itertools.count()                             # the store of launchers outlives what ranks enter there


def of_launchers():
    """True if launchers serve the store of this job: those of several nodes do."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def rendezvous(url, rank=-1, world_size=-1, timeout=DEFAULT):
    """Yields (store, rank, world size) for ``env://``, ``tcp://host:port`` or ``file:///path``."""
    parts = urlparse(url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    rank = int(query.get("rank", rank))
    world_size = int(query.get("world_size", world_size))

    def needed(name, value):
        if value < 0:
            raise ValueError(f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: {name} "
                             f"parameter missing")
    if parts.scheme == "tcp":
        if parts.port is None:
            raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
        needed("rank", rank)
        needed("world_size", world_size)
        yield TCPStore(parts.hostname, parts.port, world_size, rank == 0, timeout, False), rank, world_size
    elif parts.scheme == "file":
        path = parts.path or parts.netloc
        if not path:
            raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
        needed("rank", rank)
        needed("world_size", world_size)
        yield FileStore(path, world_size, timeout), rank, world_size
    elif parts.scheme == "env":
        found_rank, found_size, _ = rank_from_environment()
        rank, world_size = rank if rank >= 0 else found_rank, world_size if world_size > 0 else found_size
        for name, value in ("RANK", rank), ("WORLD_SIZE", world_size), *[(n, os.environ.get(n)) for n in (
                "MASTER_ADDR", "MASTER_PORT")]:
            if value is None:
                raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable "
                                 f"{name} expected, but not set: start the ranks by `python -m "
                                 f"minitorch.distributed.run`, or set it")
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        if of_launchers():
            job = f"/worker/attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
            found = PrefixStore(job, TCPStore(host, port, timeout=timeout))
            yield PrefixStore(f"init {next(beginnings)}", found), rank, world_size
        else:
            yield TCPStore(host, port, world_size, rank == 0, timeout, False), rank, world_size
    else:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://: there are env://, tcp:// and file://")


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None, _ranks=None):
    """Join this rank to its job, and make the group of all ranks.

    backend: see `Backend`; None means "gloo". init_method: "env://" (the default), "tcp://host:port" or "file:///path",
    where the ranks find each other; or `store`, with `rank` and `world_size`. timeout: how long a call waits for other
    ranks, a timedelta (30 minutes). RuntimeError-like errors name what is missing.
    """
    if context.find() is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is None:
        timeout = default_timeout()
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and not (isinstance(store, Store) and world_size > 0 and rank >= 0):
        raise AssertionError("a store needs rank= (0 or more) and world_size= (more than 0)")
    backend = Backend("gloo" if backend is None or backend == Backend.UNDEFINED else backend)
    rank, world_size, store, node = job_of(backend, init_method, store, rank, world_size, timeout)
    world = World(rank, world_size, store, node, node.record(rank), backend)
    context.put(world, world.in_thread)
    try:
        world.default = world.group(list(range(world_size)), timeout, backend, group_name or None, "default_pg")
    except BaseException:
        context.put(None, world.in_thread)
        raise
    if not world.in_thread:
        watch_exit(world)


def job_of(backend, init_method, store, rank, world_size, timeout):
    """(rank, size, store, node) of this rank: as the launch of threads, MPI or the store tells."""
    launch = context.local.launch
    if launch is not None:
        return launch.rank, launch.size, launch.store, launch.node
    if store is None and init_method in (None, "env://") and backend_engine(backend) == "mpi":
        return mpi_job(timeout)
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout))
    if not 0 <= rank < world_size:
        raise ValueError(f"Invalid rank {rank}, which should be in the interval [0, {world_size - 1}]")
    if backend == "threaded":
        return rank, world_size, store, node_by_store(rank, world_size, PrefixStore("threads", store))
    return rank, world_size, store, process_node(rank, world_size, store, timeout)


def backend_engine(backend):
    """The engine of a backend's calls: MPI if it is asked for, or if mpiexec has started this process."""
    if backend == "mpi":
        return "mpi"
    under_mpi = "PMI_RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ
    return "mpi" if under_mpi and backend != "shared" and backend != "threaded" and is_mpi_available() else "memory"


def mpi_job(timeout):
    """(rank, size, store, node) of a process that mpiexec has started."""
    try:
        from .mpi import MPINode, meet
    except ImportError as error:
        raise DistBackendError(f'backend "mpi" needs mpi4py and an MPI library: pip install mpi4py mpich ({error})'
                               ) from None
    rank, size, store = meet(timeout)
    hosts = set(hosts_of(rank, size, store))
    if len(hosts) == 1 and os.environ.get("MINITORCH_TRANSPORT") != "mpi":
        return rank, size, store, memory_node(rank, size, store, timeout, watched=True)
    return rank, size, store, MPINode(rank, size, PrefixStore("rows", store))


def hosts_of(rank, size, store):
    """The host of each rank."""
    hosts = PrefixStore("hosts", store)
    hosts.set(str(rank), socket.gethostname())
    return [name.decode() for name in hosts.multi_get([str(r) for r in range(size)])]


def process_node(rank, size, store, timeout):
    """The shared memory of processes of one node; connections between those of several."""
    launched = of_launchers() and isinstance(store, PrefixStore)
    if size == 1 or not launched and len(set(hosts_of(rank, size, store))) == 1:
        return memory_node(rank, size, store, timeout)
    from . import peers
    from .sockets import SocketNode
    if not launched and rank == 0:
        peers.warn_of_network(len(set(hosts_of(rank, size, store))))
    told = PrefixStore("rows", store.underlying_store if launched else store)
    return SocketNode(rank, size, store, told, own_address(store), launched)


def own_address(store):
    """The address by which other ranks reach this one: as its launcher says, or as it reaches the store."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    given = os.environ.get("MINITORCH_ADDRESS")
    return given or (store.connected().getsockname()[0] if isinstance(store, TCPStore) else socket.gethostname())


def memory_node(rank, size, store, timeout, watched=False):
    """The shared memory of the processes of one node; `watched`: who starts them ends them without a word."""
    if size == 1:
        return ThreadNode(1)
    from .processes import ProcessNode
    return ProcessNode.join(rank, size, PrefixStore("node", store), timeout, watched)


def note_failure(error):
    """Tell the other ranks of an exception that ends this one."""
    world = context.find()
    if world is not None:
        world.record.fail(failure_text(world.rank, error))


def watch_exit(world):
    """Note an uncaught exception, that it was shown, and the end, in the record."""
    on_uncaught(note_failure, world.record.tell)

    def end():
        if context.process is world:
            world.record.finish()
            world.node.close(world.rank)
    atexit.register(end)


def destroy_process_group(group=None):
    """Let go of a group, or of the whole job for None."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    world = context.find()
    if world is None:
        raise AssertionError("there is no process group to destroy: init_process_group was not called")
    found = resolved(group)
    if found is None or found is world.default:
        world.close()
        world.default = None
        context.put(None, world.in_thread)
        if isinstance(world.store, FileStore):
            world.store.close()
    else:
        found.close()
        world.groups.remove(found)


# ------------------------------------------------------------------ questions
def is_available():
    """True: there is a distributed package."""
    return True


def is_initialized():
    """True if this rank has joined a job."""
    return context.find() is not None


def is_mpi_available():
    """True if mpi4py is installed."""
    return find_spec("mpi4py") is not None


def is_gloo_available():
    """True: "gloo" names what CPU programs use, whatever carries it out."""
    return True


def is_nccl_available():
    """True if CuPy and NCCL are installed; else tensors of CUDA devices go by way of the host."""
    return nccl_transport.library() is not None


def is_ucc_available():
    """False: there is no such backend here."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend):
    """True if a backend of this name can be used."""
    name = str(backend).lower()
    return (is_mpi_available() if name == "mpi" else is_nccl_available() if name == "nccl" else
            name in ("gloo", "threaded", "shared"))


def is_torchelastic_launched():
    """True if the launcher has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_default_backend_for_device(device):
    """The backend for tensors of a device."""
    return "gloo"


@fills("process_group_place")
def place():
    """(rank, number of ranks) of a rank that has joined a job; None before."""
    world = context.find()
    return None if world is None else (world.rank, world.size)


def get_rank(group=None):
    """This rank's number in the group; -1 if it is not in it."""
    found = resolved(group)
    return -1 if found is None else found.rank()


def get_world_size(group=None):
    """The number of ranks in the group; -1 if this rank is not in it."""
    found = resolved(group)
    return -1 if found is None else found.size()


def get_backend(group=None):
    """The name of the group's backend."""
    found = resolved(group)
    if found is None:
        raise AssertionError("Invalid process group specified")
    return Backend(found.backend.rpartition(":")[2])


def get_backend_config(group=None):
    """The backends of the group by device, as text."""
    name = str(get_backend(group))
    return name if ":" in name else f"cpu:{name},cuda:{name}"


def get_group_rank(group, global_rank):
    """The number in `group` of the rank that has the number `global_rank` in the job."""
    found = resolved(group)
    if found is None or global_rank not in found.places:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.places[global_rank]


def get_global_rank(group, group_rank):
    """The number in the job of the rank that has the number `group_rank` in `group`."""
    found = resolved(group)
    if found is None or not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found.ranks[group_rank]


def get_process_group_ranks(group):
    """The numbers in the job of the group's ranks."""
    return list(resolved(group).ranks)


def get_node_local_rank(fallback_rank=None):
    """This rank's number among those of its node, by LOCAL_RANK."""
    launch = context.local.launch
    if launch is not None:
        return launch.rank
    local_rank = rank_from_environment()[2]
    if local_rank is not None:
        return local_rank
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
                       "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want "
                       "the code to run locally instead.")


def get_pg_count():
    """The number of groups that this rank is in."""
    return len(current_world().groups)


# ------------------------------------------------------------------ sub-groups
def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False,
              group_desc=None, device_id=None, sort_ranks=True):
    """A group of some ranks (None: all). All ranks of the job must call it, in the same order.

    Returns ``GroupMember.NON_GROUP_MEMBER`` on ranks that are not in it.
    """
    world = current_world()
    ranks = list(range(world.size)) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if not ranks:
        raise ValueError("The new group's ranks cannot be empty: name at least one rank")
    if len(ranks) > world.size:
        raise ValueError("the new group's world size should be less or equal to the world size set by "
                         "init_process_group")
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"the new group's ranks must differ from each other, got {ranks}")
    for rank in ranks:
        if not 0 <= rank < world.size:
            raise ValueError("The new group's rank should be within the world_size set by init_process_group: got "
                             f"{rank} of {world.size}")
    made = world.group(ranks, timeout or world.default.timeout, Backend(backend or world.backend),
                       desc=group_desc or "undefined")
    if not use_local_synchronization:
        world.default.meet("new_group", f"of {ranks}")
    return made if made.rank() >= 0 else GroupMember.NON_GROUP_MEMBER


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """A group for each list of ranks; returns this rank's one (or None), and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set = set()
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {ranks} and another one")
            seen.add(rank)
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
              for ranks in ranks_per_subgroup_list]
    mine = next((g for g in groups if g is not GroupMember.NON_GROUP_MEMBER), None)
    return mine, groups


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Groups of `group_size` neighbouring ranks each; returns this rank's one, and all."""
    world = current_world()
    if group_size is None:
        warnings.warn("Default group size is the number of ranks here: there is one node", stacklevel=2)
        group_size = world.size
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if world.size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({world.size})")
    if world.size % group_size:
        raise ValueError(f"The world size ({world.size}) must be divisible by 'group_size={group_size}'")
    return new_subgroups_by_enumeration([list(range(i, i + group_size)) for i in range(0, world.size, group_size)],
                                        timeout, backend, pg_options, group_desc)


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
    """Split a group into those of `split_ranks`, lists of numbers in the parent; returns this rank's one, or None."""
    parent = resolved(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    if any(len(set(ranks)) != len(ranks) for ranks in split_ranks):
        raise ValueError("the split ranks must differ from each other")
    world, mine = current_world(), None
    for ranks in split_ranks:
        made = world.group([parent.ranks[r] for r in sorted(ranks)], timeout or parent.timeout, parent.backend,
                           desc=group_desc or "undefined")
        mine = made if made.rank() >= 0 else mine
    parent.meet("new_group", f"of {split_ranks}")
    return mine
