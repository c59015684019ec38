"""CUDA: CuPy's arrays, our own kernels; and `sim`, the same kernels without a GPU.

Importing this package imports nothing else: CuPy and NVRTC are loaded when a device "cuda" or "sim" is first asked for.

- `machine` is what differs between a GPU and the simulator: allocate, launch, copy.
- `compile` and `kernel` make a launcher of a CUDA C++ source in `minitorch/backends/kernels`.
- `array` is the array type, `namespace` NumPy's names over our kernels, `library` the one room that calls CuPy.
- The other modules are kernels and how they are launched, one for each shape of work.
"""

import functools
from importlib import import_module
from importlib.util import find_spec

__all__ = ["device_count", "is_built", "load_kernel", "matmul"]


def is_built():
    """Whether CuPy, which CUDA tensors are made of, is installed."""
    return find_spec("cupy") is not None


@functools.lru_cache(maxsize=1)
def device_count():
    """The number of GPUs that can be used; 0 without CuPy or a driver."""
    if not is_built():
        return 0
    try:
        return import_module("cupy").cuda.runtime.getDeviceCount()
    except Exception:                                      # CuPy that does not load, or no driver
        return 0


def make_cuda(index):
    """The backend of GPU number `index`.

    RuntimeError, in PyTorch's words, where there is no driver or no such GPU.
    """
    from ...core.device import device
    from .machine import Real, require_gpu
    require_gpu(index)
    return make(device("cuda", index), Real(index))


def make_sim(index):
    """The backend of the simulator; indices stand for several devices that do not mix, as GPUs do not."""
    from ...core.device import device
    from .machine import Simulated
    return make(device("sim", index), Simulated(index))


def make(device, machine):
    """The backend of a device on a machine, with all kernels."""
    from .backend import CUDA
    from .kernels import KERNELS
    return CUDA(device, machine, KERNELS)


def current_device():
    """The index of the GPU that "cuda" without an index means."""
    from .machine import require_gpu
    return require_gpu().getDevice()


def __getattr__(name):
    if name == "matmul":                                   # with its switches: `library`, `allow_tf32`
        return import_module(".matmul", __name__)
    if name == "load_kernel":
        return import_module(".kernel", __name__).load_kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
