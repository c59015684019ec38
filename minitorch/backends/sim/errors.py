"""Errors of the simulator. Every message names the kernel, the block, the thread and the source line."""


class SimulatorError(RuntimeError):
    """A mistake that the simulator found in a kernel, or in how it was launched."""

    reports: list = []             # the findings, each a `report.Finding`; the class is that of the first


class OutOfBounds(SimulatorError):
    """An access outside every allocation, past the end of shared memory, through a null pointer or an index that
    overflowed its 32 bits."""


class Misaligned(SimulatorError):
    """An access whose address is not a multiple of its size."""


class Race(SimulatorError):
    """Two threads access one place, one of them writes, and nothing orders them."""


class Uninitialised(SimulatorError):
    """A read of memory that nothing has written."""


class DivergentBarrier(SimulatorError):
    """Threads meet in different barriers, or some of those that a barrier or warp operation needs have exited."""


class Deadlock(SimulatorError):
    """Deadlock: threads wait for an event that cannot occur; or a kernel ran longer than
    `settings.time_limit`."""


class BadLaunch(SimulatorError):
    """A launch that no device takes: block or grid too large, too much shared memory, wrong arguments."""


class Unsupported(SimulatorError):
    """Something of PTX or of the hardware that the simulator does not know."""


class Trap(SimulatorError):
    """The kernel itself stopped: `__trap()` or a failed `assert`."""


class Missing(SimulatorError):
    """Something that the simulator needs is not installed."""


# In the order of `enum Kind` in runtime/state.h.
KINDS = [OutOfBounds, Misaligned, Race, Uninitialised, DivergentBarrier, Deadlock, Unsupported, Trap]
