"""The backends of devices "cuda" and "sim", made when a device is first asked for."""

from importlib import import_module

from ...core.device import device
from .runtime.machine import Real, Simulated, require_gpu
from .tuning import adopt

__all__ = ["current_device", "make_cuda", "make_sim"]

SIMULATED = 8


def make_cuda(index):
    """The backend of GPU number `index`.

    RuntimeError, in PyTorch's words, where there is no driver or no such GPU.
    """
    runtime = require_gpu(index)
    adopt(runtime.getDeviceProperties(index)["name"].decode())
    return make(device("cuda", index), Real(index))


def make_sim(index):
    """The backend of the simulator; indices stand for several devices that do not mix, as GPUs do not.

    RuntimeError for an index above 7: programs that count devices by trying them come to an end.
    """
    if index is not None and index >= SIMULATED:
        raise RuntimeError(f"invalid device ordinal {index}: the simulator has {SIMULATED} devices")
    adopt()
    return make(device("sim", index), Simulated(index))


def make(device, machine):
    """The backend of a device on a machine, with all kernels."""
    backend = import_module(".backend", __package__)       # by name: it imports CuPy, which the machine has looked for
    import_module(".kernels", __package__)
    return backend.CUDA(device, machine, backend.kernel.found)


def current_device():
    """The index of the GPU that "cuda" without an index means."""
    return require_gpu().getDevice()
