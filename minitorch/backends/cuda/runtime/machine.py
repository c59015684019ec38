"""The machines: the differences between a GPU and the simulator, and nothing else.

`Real` is a GPU reached through CuPy, `Simulated` the processor's memory and the simulator. Both allocate, load and
launch kernels, copy and fill; everything above them is one code path.
"""

import ctypes
import threading
import weakref
from collections import deque
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import numpy as np

from ....core.errors import OutOfMemoryError
from .compile import HELP, compile_source
from .graphs import no_reading
from .parameters import pieces_for_simulator, words_for_driver
from .sizes import size_class

__all__ = ["Machine", "Real", "Simulated", "import_cupy", "require_gpu"]


OLDEST_CUPY = 14                                           # the first whose arrays hold bfloat16


def import_cupy():
    """CuPy; ImportError that says what to install where it is missing or too old."""
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        raise ImportError(f"devices 'cuda' and 'sim' need CuPy, whose arrays they hold: {HELP}") from error
    if int(cupy.__version__.partition(".")[0]) < OLDEST_CUPY:
        raise ImportError(f"devices 'cuda' and 'sim' need CuPy {OLDEST_CUPY} or newer, this is {cupy.__version__}: "
                          f"{HELP}")
    return cupy


def require_gpu(index=0):
    """CuPy's runtime; the errors that PyTorch raises if there is no CUDA, no driver or no GPU of that number."""
    try:
        runtime = import_cupy().cuda.runtime
    except ImportError as error:
        raise AssertionError(f"Torch not compiled with CUDA enabled: {error}") from error
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise RuntimeError(f"Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
                           f"installed a driver from http://www.nvidia.com/Download/index.aspx ({error}). "
                           f"Without a GPU the same kernels run on device 'sim'.") from None
    if not 0 <= index < count:
        raise RuntimeError(f"CUDA error: invalid device ordinal {index}: there are {count} devices")
    return runtime


class Machine:
    """One device. `ndarray` is the type of its arrays: a kernel takes no others.

    `arch` is the architecture that its kernels are compiled for, `form` the kind of code ("ptx" or "cubin").
    """

    ndarray: type
    arch = "90"
    form = "cubin"
    capture: Any = None                                    # the capture in progress: see `graphs`

    def __init__(self, kind, index):
        self.kind, self.index, self.cupy = kind, index, import_cupy()
        self.held, self.holding = deque(), threading.Lock()          # what copies under way read
        self.number = index if kind == "cuda" and index is not None else 0       # of CuPy's device

    def __repr__(self):
        return f"<machine {self.kind}{'' if self.index is None else f':{self.index}'}>"

    def allocate(self, nbytes):
        """A CuPy memory pointer to `nbytes` of new memory, not initialised."""
        raise NotImplementedError

    def pointer(self, address, nbytes, owner):
        """A CuPy memory pointer to memory that `owner` keeps."""
        return self.cupy.cuda.MemoryPointer(self.cupy.cuda.UnownedMemory(address, nbytes, owner, self.number), 0)

    def dlpack_stream(self):
        """The current stream as DLPack numbers streams; None where there are none."""
        return None

    def load(self, source, macros, arch, entry):
        """The kernel `entry` of a source, compiled; a function for `launch`."""
        raise NotImplementedError

    def launch(self, function, grid, block, values, shared):
        """Run a loaded kernel; `values` are arrays, NumPy scalars and records."""
        raise NotImplementedError

    extra: Any = None                                      # what `start` takes for parameters in a buffer

    def handle(self, function, shared):
        """A loaded kernel as `start` takes it, allowed to use so many bytes of dynamic shared memory."""
        raise NotImplementedError

    def start(self, handle, gx, gy, gz, bx, by, bz, shared, queue, parameters, extra):
        """Run a kernel whose parameters lie in a buffer; the arguments of `cuLaunchKernel`."""
        raise NotImplementedError

    def queue(self):
        """The current stream, as `start` takes it."""
        raise NotImplementedError

    @property
    def real(self):
        """The machine that carries out what this one is asked for: itself, but for a recorder."""
        return self

    def by_address(self, array, make):
        """A parameter that depends on an array's address: ``make(address)`` has its bytes."""
        found = make(array.data.ptr)
        return np.frombuffer(found, f"V{len(found)}").reshape(())

    def by_library(self):
        """Told before the array library computes: a recorder cannot note that down."""

    def look(self, array, check):
        """Call ``check(values)`` where the host sees the values of an array without waiting: on the simulator."""

    def from_host(self, target, array, non_blocking=False):
        """Copy a NumPy array into `target`; both contiguous, of one size and dtype."""
        raise NotImplementedError

    def pinned(self, nbytes):
        """A NumPy array of `nbytes` bytes in page-locked memory, which the device copies from and to by itself."""
        raise NotImplementedError

    def is_pinned(self, array):
        """True if a NumPy array lies in memory that `pinned` gave."""
        return False

    def hold(self, array, is_over):
        """Keep an array until ``is_over()``: pinned memory would be somebody else's while a copy still reads it."""
        with self.holding:
            while self.held and self.held[0][1]():
                self.held.popleft()
            self.held.append((array, is_over))

    def to_host(self, source):
        """The elements of a contiguous array as a new NumPy array."""
        raise NotImplementedError

    def from_device(self, target, source):
        """Copy a contiguous array of another machine of this kind."""
        raise NotImplementedError

    def fill(self, pointer, nbytes, value):
        """Set bytes at an address."""
        raise NotImplementedError

    def fill_bytes(self, array, value):
        """Set every byte of a contiguous array."""
        self.fill(array.data.ptr, array.nbytes, value)

    def synchronize(self):
        """Wait until all queued work is done."""
        raise NotImplementedError

    def begin_capture(self, capture):
        """From here on record launches instead of running them."""
        raise NotImplementedError

    def end_capture(self):
        """Stop capturing; returns the argument of `run_captured`."""
        raise NotImplementedError

    def run_captured(self, recorded):
        """Run the captured launches, in order."""
        raise NotImplementedError

    def outside_capture(self, function):
        """Call a function whose work is not captured, and whose memory is not the graph's."""
        raise NotImplementedError

    def lasting(self, function, *args):
        """The result of ``function(*args)``, arrays that keep their values: not of the memory of a graph that is being
        captured, which its runs overwrite, but kept by it. For caches, which may forget them while the graph lives."""
        if self.capture is None:
            return function(*args)
        return self.keep(self.outside_capture(lambda: function(*args)))

    def keep(self, made):
        """Let a graph that is being captured keep what its launches read; returns it."""
        return made if self.capture is None else self.capture.keep(made)


class Real(Machine):
    """A GPU. Work is queued on CuPy's current stream, and nothing here waits but copies to the host."""

    def __init__(self, index):
        super().__init__("cuda", index)
        self.device = self.cupy.cuda.Device(index)
        self.current = self.cupy.cuda.runtime.getDevice
        self.arch = self.device.compute_capability
        self.stream = self.cupy.cuda.get_current_stream
        self.opted_in = {}                                 # kernel -> bytes of dynamic shared memory above 48 KiB
        if self.cupy.cuda.runtime.getDeviceCount() == 1:
            self.start = self.cupy.cuda.driver.launchKernel
            self.be_alone()

    def be_alone(self):
        """No other device can be the current one: no launch asks which it is."""
        self.queue = lambda: self.stream().ptr

    def allocate(self, nbytes):
        try:
            if self.current() != self.index:
                with self.device:
                    return self.cupy.cuda.alloc(size_class(nbytes))
            return self.cupy.cuda.alloc(size_class(nbytes))
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            raise self.out_of_memory(nbytes) from error

    def out_of_memory(self, nbytes):
        free, total = self.device.mem_info
        return OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size(nbytes)}. GPU {self.index} has a total "
                                f"capacity of {size(total)} of which {size(free)} is free. Delete what is not needed, "
                                f"or use smaller batches; the process can go on.")

    def load(self, source, macros, arch, entry):
        path = compile_source(source, macros, arch or self.arch, "cubin")
        with self.device:
            raw = self.cupy.RawModule(path=str(path)).get_function(entry)
            raw.compile()
        return raw

    extra = staticmethod(words_for_driver)

    def queue(self):
        if self.current() != self.index:                   # each device has a current stream
            with self.device:
                return self.stream().ptr
        return self.stream().ptr

    def handle(self, function, shared):
        self.opt_in(function, shared)
        with self.device:
            return function.kernel.ptr

    def start(self, *arguments):
        if self.current() != self.index:
            with self.device:
                self.cupy.cuda.driver.launchKernel(*arguments)
        else:
            self.cupy.cuda.driver.launchKernel(*arguments)

    def opt_in(self, function, shared):
        if shared > self.opted_in.get(function, 48 << 10): # asking the driver each time would take longer than a launch
            with self.device:
                self.opted_in[function] = function.max_dynamic_shared_size_bytes = shared

    def launch(self, function, grid, block, values, shared):
        self.opt_in(function, shared)
        if self.current() != self.index:
            with self.device:
                function(grid, block, values, shared_mem=shared)
        else:
            function(grid, block, values, shared_mem=shared)

    def dlpack_stream(self):
        with self.device:
            return self.stream().ptr or 1                  # 1 is the default stream, which CUDA calls 0

    def from_host(self, target, array, non_blocking=False):
        if self.capture is not None:
            return self.capture.bring(target, array)
        with self.device:
            stream = self.stream()
            target.data.copy_from_host_async(ctypes.c_void_p(array.ctypes.data), array.nbytes, stream)
            if self.is_pinned(array):                      # other memory has been read when the call returns
                if non_blocking:
                    event = self.cupy.cuda.Event(disable_timing=True)
                    event.record(stream)
                    self.hold(array, lambda: event.done)
                else:
                    stream.synchronize()

    def pinned(self, nbytes):
        return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)

    def is_pinned(self, array):
        while isinstance(array, np.ndarray):
            array = array.base
        array = array.obj if isinstance(array, memoryview) else array
        return type(array).__name__ == "PinnedMemoryPointer"

    def to_host(self, source):
        no_reading(self)
        out = np.empty(source.shape, source.dtype)
        if out.nbytes:
            with self.device:
                stream = self.stream()
                source.data.copy_to_host_async(ctypes.c_void_p(out.ctypes.data), out.nbytes, stream)
                stream.synchronize()
        return out

    def from_device(self, target, source):
        theirs = source.backend.machine
        if theirs is self:
            with self.device:
                return target.data.copy_from_device_async(source.data, source.nbytes, self.stream())
        with theirs.device:                                # when `source` is ready, on the stream that makes it
            made = self.cupy.cuda.Event(disable_timing=True)
            made.record()
        with self.device:
            stream = self.stream()
            stream.wait_event(made)
            target.data.copy_from_device_async(source.data, source.nbytes, stream)
            copied = self.cupy.cuda.Event(disable_timing=True)
            copied.record()
        with theirs.device:                                # its memory may be used again only after that
            self.stream().wait_event(copied)

    def fill(self, pointer, nbytes, value):
        with self.device:
            self.cupy.cuda.runtime.memsetAsync(pointer, value, nbytes, self.queue())

    def synchronize(self):
        self.device.synchronize()

    def begin_capture(self, capture, pool=None, stream=None):
        self.pool = pool or self.cupy.cuda.MemoryPool()
        self.contexts = ExitStack()
        self.contexts.enter_context(self.device)
        self.device.synchronize()
        queue = stream or self.cupy.cuda.Stream(non_blocking=True)
        self.contexts.enter_context(queue)
        self.usual = self.cupy.cuda.get_allocator()
        self.contexts.enter_context(self.cupy.cuda.using_allocator(self.pool.malloc))
        queue.begin_capture()
        self.capture = capture

    def end_capture(self):
        capture, self.capture = self.capture, None
        with self.contexts:
            graph = self.stream().end_capture()
        return graph, self.pool, capture.held              # the memory that the graph writes, and that it reads

    def run_captured(self, recorded):
        with self.device:
            recorded[0].launch(self.stream())

    def outside_capture(self, function):
        capture, self.capture = self.capture, None
        side = self.cupy.cuda.Stream(non_blocking=True)
        try:
            with self.device, side, self.cupy.cuda.using_allocator(self.usual):
                result = function()
                side.synchronize()
        finally:
            self.capture = capture
        return result


def size(nbytes):
    """A number of bytes in words."""
    return f"{nbytes / 2**30:.2f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:.2f} MiB"


class Simulated(Machine):
    """The processor. Kernels run in the simulator (`minitorch/backends/sim`), which checks every access.

    Arrays are CuPy's over memory of the host, filled with NaNs when new, so that reads of uninitialised memory
    are found.
    """

    form = "ptx"

    def __init__(self, index=None):
        super().__init__("sim", index)
        self.simulator = import_module("minitorch.backends.sim")
        self.allocated = self.most_allocated = 0

    def allocate(self, nbytes):
        block = Block(self, nbytes) if self.capture is None else self.pool.take(nbytes)
        return self.pointer(block.pointer, nbytes, block)

    def load(self, source, macros, arch, entry):
        path = compile_source(source, macros, arch or self.arch, "ptx")
        text = path.read_text(encoding="utf-8")
        return self.simulator.load(text, source.name, {source.name: source.text}), entry

    def launch(self, function, grid, block, values, shared):
        module, entry = function
        arguments = [as_bytes(x) for x in values]
        self.do(lambda: module.launch(entry, triple(grid), triple(block), arguments, shared))

    extra = staticmethod(pieces_for_simulator)

    def handle(self, function, shared):
        return function

    def queue(self):
        return 0

    def start(self, handle, gx, gy, gz, bx, by, bz, shared, queue, parameters, extra):
        self.launch(handle, (gx, gy, gz), (bx, by, bz), [bytes(piece) for piece in extra], shared)

    def from_host(self, target, array, non_blocking=False):
        if self.capture is not None:
            return self.capture.bring(target, array)
        if not non_blocking or not self.is_pinned(array):
            self.view(target)[...] = array
            return
        self.simulator.copy_in(target.data.ptr, array)
        event = self.simulator.record()
        self.hold(array, lambda: self.simulator.is_over(event))

    def pinned(self, nbytes):
        return self.simulator.pinned(nbytes)

    def is_pinned(self, array):
        return self.simulator.is_pinned(array)

    def to_host(self, source):
        no_reading(self)
        self.synchronize()
        return self.view(source).copy()

    def from_device(self, target, source):
        places = target.data.ptr, source.data.ptr, source.nbytes     # without the arrays: a graph keeps none
        self.do(lambda: ctypes.memmove(*places))

    def fill(self, pointer, nbytes, value):
        self.do(lambda: ctypes.memset(pointer, value, nbytes))

    def look(self, array, check):
        check(self.view(array))

    def synchronize(self):
        self.simulator.wait()                              # for copies: each launch has ended when it returns

    def do(self, action):
        """Run an action now, or record it for a captured graph."""
        if self.capture is None:
            self.simulator.reach()
            action()
        else:
            self.recorded.append(action)

    def begin_capture(self, capture):
        self.capture, self.recorded, self.pool = capture, [], Pool(self)

    def end_capture(self):
        capture, self.capture = self.capture, None
        return self.recorded, self.pool, capture.held

    def run_captured(self, recorded):
        for action in recorded[0]:
            action()

    def outside_capture(self, function):
        capture, self.capture = self.capture, None
        try:
            return function()
        finally:
            self.capture = capture

    def view(self, array):
        """A NumPy array over the memory of one of this machine's arrays, with any strides."""
        self.simulator.reach()
        if not array.size:
            return np.empty(array.shape, array.dtype)
        reach = [s * (n - 1) for s, n in zip(array.strides, array.shape)]
        low, high = sum(s for s in reach if s < 0), sum(s for s in reach if s > 0) + array.itemsize
        memory = (ctypes.c_uint8 * (high - low)).from_address(array.data.ptr + low)
        memory.owner = array                               # the memory lives as long as the view
        return np.ndarray(array.shape, array.dtype, memory, -low, array.strides)


POOL_UNIT = 512                                            # bytes: the grain of CuPy's pools


class Block:
    """Memory of the simulator that stands for one allocation on a device, counted while it lives."""

    def __init__(self, machine, nbytes):
        self.memory = machine.simulator.allocate(nbytes, "an array")
        self.pointer = self.memory.pointer
        machine.allocated += nbytes
        machine.most_allocated = max(machine.most_allocated, machine.allocated)
        weakref.finalize(self, release, machine, nbytes).atexit = False


class Pool:
    """Memory of one captured graph on the simulator, given out as CuPy's pools do.

    What an array leaves behind is the next one's of its size, while the launches are recorded: each run overwrites it.
    Each time it is given out it is uninitialised again, in each run, too.
    """

    def __init__(self, machine):
        self.machine, self.free, self.blocks = machine, {}, []

    def take(self, nbytes):
        """A `Loan` of at least so many bytes."""
        rounded = max(1, -(-nbytes // POOL_UNIT)) * POOL_UNIT
        free = self.free.setdefault(rounded, [])
        if not free:
            free.append(Block(self.machine, rounded))
            self.blocks.append(free[-1])
        return Loan(free.pop(), free, self.machine)


class Loan:
    """A block of a pool while an array has it."""

    def __init__(self, block, free, machine):
        self.pointer, memory = block.pointer, block.memory
        machine.recorded.append(memory.poison)
        weakref.finalize(self, free.append, block).atexit = False


def release(machine, nbytes):
    machine.allocated -= nbytes


def triple(n):
    return (*n, 1, 1)[:3]


def as_bytes(value):
    """A kernel argument as the bytes of the parameter."""
    pointer = getattr(value, "data", None)
    if hasattr(pointer, "ptr"):
        return pointer.ptr.to_bytes(8, "little")
    return value if value.__class__ is bytes else value.tobytes()
