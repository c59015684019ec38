"""Devices "cuda" and "sim": CuPy's arrays and kernels of our own, on a GPU or in the simulator.

PyTorch's `torch.backends.cuda`: `is_built`, `matmul` (its switches), and `load_kernel` for kernels of your own. Nothing
else is imported before such a device is first asked for.

For code that writes CUDA C++ there is more. `Kernel` compiles and launches a text on raw arrays;
`TYPES` has the types of its signatures, and `c_name` is the name of a dtype in C++. `with_includes`
makes a source of a text that includes headers of `src/`, for several kernels. There is a functor in
`src/functors.cuh` for each scalar function: `ufunc_functor` names that of a ufunc, `functor_call`
that of an op definition.

    >>> import numpy as np
    >>> from minitorch.backends import cuda
    >>> from minitorch.extend import OPS
    >>> cuda.TYPES["f16"], cuda.c_name(np.dtype("int64"))
    (('__half', 'float16'), 'long long')
    >>> cuda.ufunc_functor("abs", "f"), cuda.functor_call(OPS["leaky_relu"])
    ('absolute', ('leaky_relu', {'negative_slope': 0.01}))

- `makers` makes the backends, `backend` is their class and the decorator of kernels.
- `runtime/`: machines, compiling and launching kernels, captured graphs.
- `arrays/`: the array type, NumPy's functions on it.
- `ops/`: the kernels of ops. `src/`: their CUDA C++.
"""

import functools
from importlib import import_module
from importlib.util import find_spec

__all__ = ["TYPES", "Kernel", "c_name", "device_count", "functor_call", "is_built", "load_kernel",
           "matmul", "ufunc_functor", "with_includes"]

# name -> the module that defines it, or is it
LATE = {"load_kernel": "user_kernels", "matmul": "matmul", "with_includes": "runtime.compile",
        **dict.fromkeys(("Kernel", "TYPES", "c_name"), "runtime.kernel"),
        **dict.fromkeys(("functor_call", "ufunc_functor"), "arrays.functors"),
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
