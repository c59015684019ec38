"""``torch.cuda``: GPUs, through CuPy. Nothing is imported before something is asked for.

Without CuPy or a driver `is_available` says so, what only asks or frees answers as PyTorch does, and the rest raises
PyTorch's errors. Without a GPU the same kernels run on device "sim" (docs/architecture.md).
"""

import sys
from importlib import import_module

from .amp import cuda as amp  # noqa: F401
from .backends import cuda as backend
from .backends.cuda.runtime.machine import import_cupy, require_gpu
from .core.device import device as _Device
from .core.device import made
from .core.errors import OutOfMemoryError
from .ops.creation.legacy import types_on
from .random.generator import default_of

__all__ = ["Event", "OutOfMemoryError", "Stream", "StreamContext", "current_device", "current_stream",
           "default_stream", "device", "device_count", "device_of", "empty_cache", "get_arch_list",
           "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all",
           "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
           "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
           "memory_reserved", "memory_stats", "memory_summary", "reset_peak_memory_stats", "seed", "seed_all",
           "set_device", "set_rng_state", "set_rng_state_all", "stream", "synchronize"]
GRAPHED = ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables")
globals().update(types_on("cuda"))                         # ``cuda.FloatTensor`` and its kind


def __getattr__(name):
    if name == "nvtx":
        return import_module(".backends.cuda.nvtx", __package__)
    if name in ("graphs", "memory", "random", "streams"):  # modules of PyTorch whose names are all here
        return sys.modules[__name__]
    if name in GRAPHED:                                    # these need no GPU
        return getattr(import_module(".cuda_graphs", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_state = {"initialized": False}


def _cupy(index=0):
    """CuPy, if there is a GPU of this number; PyTorch's errors if not."""
    require_gpu(index)
    _state["initialized"] = True
    return import_cupy()


def _index(device=None):
    """The number of a GPU, given as a number, a string or a device; None is the current one."""
    if device is None or isinstance(device, int) and device < 0:
        return current_device()
    if isinstance(device, int):
        _cupy(device)
        return device
    device = _Device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return current_device() if device.index is None else _index(device.index)


# ---- which there are -----------------------------------------------------------------------------------------
def is_available():
    """True if tensors can live on a GPU: CuPy is installed, and there are a driver and a GPU."""
    return device_count() > 0


def device_count():
    """The number of GPUs that can be used; 0 without CuPy or a driver."""
    return backend.device_count()


def init():
    """Load CuPy and find the GPUs now, not at the first use."""
    _cupy()


def is_initialized():
    """True if a GPU is in use."""
    return _state["initialized"] or any(kind == "cuda" for kind, _ in made())


def current_device():
    """The number of the GPU that "cuda" without a number means."""
    return _cupy().cuda.runtime.getDevice()


def set_device(device):
    """Let "cuda" without a number mean this GPU."""
    index = _index(device)
    _cupy(index).cuda.runtime.setDevice(index)


class device:                                              # noqa: N801  (PyTorch's name)
    """A context in which "cuda" without a number means one GPU: ``with cuda.device(1): ...``."""

    def __init__(self, device):
        self.idx, self.prev_idx = _index(device), -1

    def __enter__(self):
        self.prev_idx = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *exc):
        set_device(self.prev_idx)


class device_of(device):
    """A context in which "cuda" means the GPU of a tensor; of a tensor elsewhere, nothing changes."""

    def __init__(self, tensor):
        super().__init__(tensor.device if tensor.is_cuda else current_device())


class _Properties:
    """Properties of a GPU, by PyTorch's names; sizes in bytes."""

    def __init__(self, found):
        self.name = found["name"].decode()
        self.major, self.minor, self.total_memory = found["major"], found["minor"], found["totalGlobalMem"]
        self.multi_processor_count, self.warp_size = found["multiProcessorCount"], found["warpSize"]
        self.max_threads_per_multi_processor = found["maxThreadsPerMultiProcessor"]
        self.regs_per_multiprocessor = found["regsPerMultiprocessor"]
        self.shared_memory_per_block = found["sharedMemPerBlock"]
        self.shared_memory_per_block_optin = found["sharedMemPerBlockOptin"]
        self.shared_memory_per_multiprocessor = found["sharedMemPerMultiprocessor"]
        self.L2_cache_size, self.is_integrated = found["l2CacheSize"], found["integrated"]

    def __repr__(self):
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
                f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})")


def get_device_properties(device=None):
    """Properties of a GPU: `name`, `major`, `minor`, `total_memory`, `multi_processor_count` and more."""
    index = _index(device)
    return _Properties(_cupy(index).cuda.runtime.getDeviceProperties(index))


def get_device_name(device=None):
    """A GPU's name."""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """A GPU's compute capability, as in (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list():
    """The architectures that kernels are compiled for: that of each GPU, when it is used."""
    return [f"sm_{major}{minor}" for major, minor in sorted({get_device_capability(i) for i in range(device_count())})]


def is_bf16_supported(including_emulation=True):
    """True if bfloat16 is supported: on every GPU, and in hardware from capability 8.0 on."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


# ---- order: streams and events -------------------------------------------------------------------------------
def synchronize(device=None):
    """Wait until all that was asked of a GPU is done."""
    index = _index(device)
    _cupy(index).cuda.Device(index).synchronize()


class Event:
    """A mark in a stream: ``start.record(); ...; end.record(); end.synchronize(); start.elapsed_time(end)``."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.event = _cupy().cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        self.timed = enable_timing

    def record(self, stream=None):
        """Put the mark behind what the stream (the current one by default) was asked for."""
        self.event.record(None if stream is None else stream.stream)

    def synchronize(self):
        """Wait until the stream has reached the mark."""
        self.event.synchronize()

    def query(self):
        """True if the stream has reached the mark."""
        return self.event.done

    def wait(self, stream=None):
        """Let a stream wait for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event):
        """Milliseconds from this mark to another; both must have been made with ``enable_timing=True``."""
        if not self.timed or not end_event.timed:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return _cupy().cuda.get_elapsed_time(self.event, end_event.event)


class Stream:
    """A queue of work on a GPU. Work in different streams may run at the same time and in any order.

    A tensor that one stream made and another uses needs an event or `wait_stream` between the two.
    """

    def __init__(self, device=None, priority=0, *, stream=None):
        cupy = _cupy()
        self.device_index = _index(device)
        with cupy.cuda.Device(self.device_index):
            self.stream = cupy.cuda.Stream(non_blocking=True, priority=priority) if stream is None else stream

    @property
    def device(self):
        """The GPU."""
        return _Device("cuda", self.device_index)

    @property
    def cuda_stream(self):
        """The address of CUDA's stream, for other libraries."""
        return self.stream.ptr

    def synchronize(self):
        """Wait until all that the stream was asked for is done."""
        self.stream.synchronize()

    def query(self):
        """True if all work given to the stream is done."""
        return self.stream.done

    def record_event(self, event=None):
        """Put an event (a new one by default) behind what the stream was asked for; returns it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event):
        """Do nothing more before the event's mark is reached."""
        self.stream.wait_event(event.event)

    def wait_stream(self, stream):
        """Do nothing more before all that another stream was asked for is done."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, Stream) and self.stream.ptr == other.stream.ptr

    def __hash__(self):
        return hash(self.stream.ptr)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class StreamContext:
    """A context whose work goes to one stream: ``with cuda.stream(s): ...``; with None nothing changes."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.stream.__enter__()
        return self.stream

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream.stream.__exit__(*exc)


def stream(stream):
    """A context whose work goes to `stream`."""
    return StreamContext(stream)


def current_stream(device=None):
    """The stream that work goes to."""
    index = _index(device)
    return Stream(index, stream=_cupy(index).cuda.get_current_stream(index))


def default_stream(device=None):
    """The stream that work goes to if nothing else is said."""
    index = _index(device)
    return Stream(index, stream=_cupy(index).cuda.Stream.null)


# ---- memory --------------------------------------------------------------------------------------------------
def _pool(device):
    """(CuPy's pool, a context of the GPU whose part of it is meant), or None if no GPU is in use."""
    if not is_initialized():
        return None
    index = _index(device)
    cupy = _cupy(index)
    return cupy.get_default_memory_pool(), cupy.cuda.Device(index)


def empty_cache():
    """Give memory that is kept for later back to the driver; without a GPU in use nothing happens."""
    found = _pool(None)
    if found is not None:
        found[0].free_all_blocks()


def memory_allocated(device=None):
    """Bytes of a GPU's memory that arrays occupy."""
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].used_bytes()


def memory_reserved(device=None):
    """Bytes of a GPU's memory that arrays occupy or that are kept for later ones."""
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].total_bytes()


def max_memory_reserved(device=None):
    """The same as `memory_reserved`: memory is only given back by `empty_cache`."""
    return memory_reserved(device)


class _Peaks:
    """The most bytes in use by GPU, counted by CuPy's memory hook from the first `reset_peak_memory_stats` on."""

    def __init__(self):
        self.hook, self.now, self.most = None, {}, {}

    def start(self, cupy):
        peaks = self

        class Count(cupy.cuda.MemoryHook):
            name = "minitorch"

            def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, pmem_id):
                now = peaks.now[device_id] = peaks.now.get(device_id, 0) + mem_size
                peaks.most[device_id] = max(peaks.most.get(device_id, 0), now)

            def free_postprocess(self, device_id, mem_size, mem_ptr, pmem_id):
                peaks.now[device_id] = peaks.now.get(device_id, 0) - mem_size

        self.hook = Count()
        self.hook.__enter__()

    def reset(self, index):
        self.now[index] = self.most[index] = memory_allocated(index)


_peaks = _Peaks()


def reset_peak_memory_stats(device=None):
    """Count the most memory in use from now on; costs about a microsecond an array from the first call on."""
    if not is_initialized():
        return
    index = _index(device)
    if _peaks.hook is None:
        _peaks.start(_cupy(index))
    _peaks.reset(index)


def max_memory_allocated(device=None):
    """The most bytes in use at a time since `reset_peak_memory_stats`; before its first call, the most reserved."""
    if not is_initialized():
        return 0
    return _peaks.most.get(_index(device), memory_reserved(device))


def memory_stats(device=None):
    """The facts about a GPU's memory, under PyTorch's keys: bytes in use and reserved, now and at most.

    An empty dict before a GPU is used.
    """
    if not is_initialized():
        return {}
    found = {"allocated": (memory_allocated(device), max_memory_allocated(device)),
             "reserved": (memory_reserved(device), max_memory_reserved(device))}
    return {f"{kind}_bytes.all.{when}": value for kind, pair in found.items()
            for when, value in zip(("current", "peak"), pair)}


def memory_summary(device=None, abbreviated=False):
    """`memory_stats` as a text to print."""
    stats = memory_stats(device) or {"allocated_bytes.all.current": 0, "reserved_bytes.all.current": 0}
    lines = [f"  {key:30} {value / 2**20:12.1f} MiB" for key, value in stats.items()]
    return "\n".join(["CUDA memory summary", *lines])


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved        # their names before PyTorch 1.4
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def ipc_collect():
    """Nothing: memory of GPUs is not handed to other processes."""


def mem_get_info(device=None):
    """(free, total) bytes of a GPU's memory, as the driver sees it."""
    index = _index(device)
    return _cupy(index).cuda.Device(index).mem_info


# ---- random numbers ------------------------------------------------------------------------------------------
def _generator(device="cuda"):
    """The generator that a GPU draws from by default."""
    return default_of(_Device("cuda", _index(device)))


def manual_seed(seed):
    """Seed the current GPU's generator; without a GPU nothing happens, as in PyTorch."""
    if is_available():
        _generator().manual_seed(int(seed))


def manual_seed_all(seed):
    """Seed the generators of all GPUs; without a GPU nothing happens, as in PyTorch."""
    for i in range(device_count()):
        _generator(i).manual_seed(int(seed))


def seed_all():
    """Seed the generators of all GPUs unpredictably; without a GPU nothing happens."""
    for i in range(device_count()):
        _generator(i).seed()


def seed():
    """Seed the current GPU's generator unpredictably; without a GPU nothing happens."""
    if is_available():
        _generator().seed()


def initial_seed():
    """The seed of the current GPU's generator."""
    return _generator().initial_seed()


def get_rng_state(device="cuda"):
    """The state of a GPU's generator, as a uint8 tensor."""
    return _generator(device).get_state()


def set_rng_state(new_state, device="cuda"):
    """Continue from a state that `get_rng_state` has returned."""
    _generator(device).set_state(new_state)


def get_rng_state_all():
    """The states of all GPUs' generators."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states):
    """Bring all GPUs' generators to these states."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)
