"""Devices "cuda" and "sim": CuPy's arrays and kernels of our own, on a GPU or in the simulator.

PyTorch's `torch.backends.cuda`: `is_built`, `matmul` (its switches), and `load_kernel` for kernels of your own. Nothing
else is imported before such a device is first asked for.

- `makers` makes the backends, `backend` is their class and the decorator of kernels.
- `runtime/`: machines, compiling and launching kernels, captured graphs.
- `arrays/`: the array type, NumPy's functions on it.
- `ops/`: the kernels of ops. `src/`: their CUDA C++.
"""

import functools
from importlib import import_module
from importlib.util import find_spec

__all__ = ["device_count", "is_built", "load_kernel", "matmul"]

LATE = {"load_kernel": "user_kernels", "matmul": "matmul",     # name -> the module that defines, or is, it
        **dict.fromkeys(("cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
                         "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_flash_attention_available",
                         "math_sdp_enabled", "mem_efficient_sdp_enabled", "preferred_blas_library",
                         "preferred_linalg_library", "sdp_kernel"), "choices")}


def is_built():
    """True if CuPy, which CUDA tensors are made of, is installed."""
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


def __getattr__(name):
    if name in LATE:
        module = import_module(f".{LATE[name]}", __name__)
        return module if name == LATE[name] else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
