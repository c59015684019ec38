"""Time on a device, in alternating turns of several contestants; which ceilings can be measured."""

import time
from statistics import median

import numpy as np

__all__ = ["Clock", "copy_rate", "duel", "library_product", "pytorch"]


def pytorch():
    """PyTorch, if it is installed and sees a GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


class Clock:
    """Times work that a library queues on a device, by events of its own."""

    def __init__(self, library, simulated=False):
        self.library, self.simulated = library, simulated
        self.calls = 1

    def prepare(self, work):
        """Run the work until it is warm, and choose how many calls make up a turn: about 10 ms."""
        work()
        spent = self.turn(work, 2)
        self.calls = 1 if self.simulated else max(1, min(1000, int(0.01 / max(spent, 1e-7))))

    def turn(self, work, calls=None):
        """Seconds that a call of `work` takes on the device, in one turn."""
        calls = calls or self.calls
        if self.simulated:
            start = time.perf_counter()
            for _ in range(calls):
                work()
            return (time.perf_counter() - start) / calls
        cuda = self.library.cuda
        first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        first.record()
        for _ in range(calls):
            work()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3 / calls

    def host_turn(self, work, calls=500):
        """Seconds of the host's time that a call takes; the device is not waited for."""
        calls = 2 if self.simulated else calls
        self.wait()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        spent = time.perf_counter() - start
        self.wait()
        return spent / calls

    def wait(self):
        if not self.simulated:
            self.library.cuda.synchronize()


def duel(contestants, turns=9, host=False):
    """Seconds of each contestant of ``{name: (clock, work)}``, the medians of turns that alternate."""
    for clock, work in contestants.values():
        clock.prepare(work)
    turns = 1 if any(clock.simulated for clock, _ in contestants.values()) else turns
    took = {name: [] for name in contestants}
    for _ in range(turns):
        for name, (clock, work) in contestants.items():
            took[name].append((clock.host_turn if host else clock.turn)(work))
    return {name: median(seconds) for name, seconds in took.items()}


def copy_rate(clock, device, nbytes):
    """Bytes a second, read and written, of a copy on the device."""
    backend = clock.library.backends.get(device)
    a, b = backend.empty((nbytes,), np.dtype("u1")), backend.empty((nbytes,), np.dtype("u1"))
    return 2 * nbytes / duel({"copy": (clock, lambda: backend.machine.from_device(b, a))})["copy"]


def library_product(work, dtype, rounded):
    """A product by cuBLAS through CuPy, where there is no PyTorch: `work` as a function, or why there is none.

    CuPy rounds float32 to TF32 only where it is told to, and has no product of bfloat16.
    """
    from cupy._core import _routines_linalg as routines

    import minitorch
    if dtype == "bfloat16":
        return None, "not measured: CuPy has no product of bfloat16, and PyTorch is not there"
    float32, kind = np.dtype("f4"), routines.COMPUTE_TYPE_TF32 if rounded else routines.COMPUTE_TYPE_FP32

    def run():
        before = routines.get_compute_type(float32)
        routines.set_compute_type(float32, kind)
        minitorch.backends.cuda.matmul.library = "cublas"
        try:
            return work()
        finally:
            minitorch.backends.cuda.matmul.library = "own"
            routines.set_compute_type(float32, before)
    return run, f"cuBLAS through CuPy, {dtype}{', TF32' if rounded else ''}"
