"""CUDA: CuPy's arrays, our own kernels; and `sim`, the same kernels without a GPU.

Importing this package imports nothing else: CuPy and NVRTC are loaded when a device "cuda" or "sim" is first asked for.

- `machine` is what differs between a GPU and the simulator: allocate, launch, copy.
- `compile` and `kernel` make a launcher of a CUDA C++ source in `minitorch/backends/kernels`.
- `array` is the array type, `namespace` NumPy's names over our kernels, `library` the one room that calls CuPy.
- The other modules are kernels and how they are launched, one for each shape of work.
"""

from importlib import import_module

__all__ = ["is_built", "load_kernel", "matmul"]


def is_built():
    """Whether CuPy, which CUDA tensors are made of, is installed."""
    from importlib.util import find_spec
    return find_spec("cupy") is not None


def __getattr__(name):
    if name == "matmul":                                   # with its switches: `library`, `allow_tf32`
        return import_module(".matmul", __name__)
    if name == "load_kernel":
        return import_module(".kernel", __name__).load_kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
