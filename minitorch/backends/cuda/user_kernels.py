"""`load_kernel`: your own CUDA kernels as functions of tensors."""

import os

from ...core.graph import bump_version
from ...core.tensor import Tensor
from .runtime import compile as compiler
from .runtime.kernel import Kernel

__all__ = ["load_kernel"]


def load_kernel(source, name, signature, arch=None):
    """Your own CUDA kernel as a function of tensors, on device "cuda" or on the simulator, "sim".

    `source` is CUDA C++ with ``extern "C" __global__ void name(...)``, or the path of a file with it; `signature` names
    the parameters' types, as `Kernel` says. The result is called ``kernel(grid, block, *arguments, shared=0,
    **constants)`` with tensors for arrays and Python numbers for numbers, and writes into the tensors that are not
    const. CompileError has the compiler's messages; on "sim" an access out of bounds, a race or a missing barrier is an
    error that names the source line.

        double = load_kernel('''
            extern "C" __global__ void twice(float* out, const float* x, long long n) {
                long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
                if (i < n) out[i] = 2 * x[i];
            }''', "twice", "f32* out, const f32* x, i64 n")
        x = minitorch.arange(1000.0, device="sim")
        out = minitorch.empty_like(x)
        double(4, 256, out, x, 1000)
    """
    path = os.fspath(source) if isinstance(source, os.PathLike) else None
    if path is not None:
        with open(path, encoding="utf-8") as file:
            source = file.read()
    made = compiler.with_includes(os.path.basename(path) if path else f"{name}.cu", source)
    return LoadedKernel(Kernel(made, name, signature, arch))


class LoadedKernel:
    """A `Kernel` that is called with tensors; see `load_kernel`."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __repr__(self):
        return repr(self.kernel)

    def __call__(self, grid, block, *arguments, shared=0, **constants):
        kernel = self.kernel
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if not tensors or not hasattr(tensors[0].backend, "machine"):
            where = tensors[0].device if tensors else "nowhere: no argument is a tensor"
            raise RuntimeError(f"kernel {kernel.entry} runs on device 'cuda' or 'sim', its arguments are on {where}; "
                               f"move them there, as in x.to('sim')")
        kernel(tensors[0].backend.machine, grid, block, *[getattr(x, "array", x) for x in arguments], shared=shared,
               **constants)
        for p, x in zip(kernel.parameters, arguments):
            if p.is_array and not p.is_const and isinstance(x, Tensor):
                bump_version(x, f"kernel {kernel.entry}")

    def resources(self, arch="90", dtypes=(), **constants):
        """Registers, spilled bytes, shared memory: see `Kernel.resources`."""
        return self.kernel.resources(arch, dtypes, **constants)

    def report(self, grid, block, *arguments, shared=0, **constants):
        """Launch on the simulator, and say by source line how memory was accessed: coalescing and bank conflicts."""
        machine = next((x.backend.machine for x in arguments if hasattr(getattr(x, "backend", None), "machine")), None)
        if machine is None or machine.kind != "sim":
            raise RuntimeError(f"only the simulator sees how kernel {self.kernel.entry} accesses memory: call report() "
                               f"with tensors on device 'sim'")
        with machine.simulator.report() as found:
            self(grid, block, *arguments, shared=shared, **constants)
        return found
