"""A run of elementwise calls as one CUDA kernel, written from the functors that the single kernels are made of.

One pass over memory instead of one for each call. Operands are arrays of the results' shape without gaps, arrays of one
element, and numbers.
"""

import math
import re

import numpy as np

from ..backends.cuda.arrays.functors import FUNCTORS, SAME_AS, functor_call
from ..backends.cuda.runtime.compile import with_includes
from ..backends.cuda.runtime.kernel import Kernel
from .buffers import is_elementwise
from .program import Value

__all__ = ["Fused", "can_join", "cuda_source"]

THREADS = 256
TYPES = {"float32": "float", "float64": "double", "bool": "bool"}


def functor_of(i):
    """The functor of an instruction and its numbers; None if it has none."""
    if i.op is not None and i.op.functor:
        functor, attributes = functor_call(i.op)
        if set(i.kwargs) <= set(attributes):
            return functor, [i.kwargs.get(a, attributes[a]) for a in attributes]
    elif is_elementwise(i):
        name = i.name[3:]
        functor, kinds, _ = FUNCTORS.get(SAME_AS.get(name, name), (None, "", 0))
        if "f" in kinds:
            return functor, []
    return None


def can_join(i):
    """True if an instruction can be part of a fused kernel."""
    if functor_of(i) is None or i.template is not i.results[0] or len(i.results) != 1:
        return False
    v = i.results[0]
    kind = next((o.dtype for o in i.operands() if o.dtype != bool), None)
    if v.root is not v or kind is None or kind.name not in TYPES or v.dtype not in (kind, np.dtype(bool)):
        return False
    for a in i.args:
        if isinstance(a, Value):
            dense = a.shape == v.shape and a.example.flags.c_contiguous
            if a.dtype not in (kind, np.dtype(bool)) or not (dense or math.prod(a.shape) == 1):
                return False
        elif isinstance(a, bool) or not isinstance(a, (int, float)) or not math.isfinite(a):
            return False
    return v.example.flags.c_contiguous and math.prod(v.shape) > 0


def cuda_source(group, name):
    """The CUDA C++ of a group, its parameters, and the values that are passed: results first, then operands."""
    kind = next(v.dtype for i in group.instructions for v in (*i.results, *i.operands()) if v.dtype != bool)
    C = TYPES[kind.name]
    outs = list(group.outer)
    ins = [v for v in dict.fromkeys(v for i in group.instructions for v in i.operands()) if v not in group.made]
    names = {v: f"x{k}" for k, v in enumerate(ins)}
    lines = []
    for k, i in enumerate(group.instructions):
        functor, numbers = functor_of(i)
        operands = [names[a] if isinstance(a, Value) else f"C({a!r})" for a in i.args if a is not None]
        numbers = [f"C({float(n)!r})" for n in numbers] + ["C(0)"] * (2 - len(numbers))
        names[i.results[0]] = f"t{k}"
        lines.append(f"  const {TYPES[i.results[0].dtype.name]} t{k} = "
                     f"op::{functor}()({', '.join(operands + numbers)});")
    stores = [f"  y{k} = {names[v]};" for k, v in enumerate(outs)]
    arguments = [f"{TYPES[v.dtype.name]} x{k}" for k, v in enumerate(ins)]
    results = [f"{TYPES[v.dtype.name]}& y{k}" for k, v in enumerate(outs)]
    pointers = [f"{TYPES[v.dtype.name]}* out{k}" for k, v in enumerate(outs)]
    pointers += [f"const {TYPES[v.dtype.name]}* in{k}" for k, v in enumerate(ins)]
    load = ", ".join(f"in{k}[{'i' if v.shape == group.shape else 0}]" for k, v in enumerate(ins))
    store = "".join(f", out{k}[i]" for k in range(len(outs)))
    text = "\n".join([
        "// " + f"{len(lines)} elementwise steps in one pass over memory.",
        '#include "functors.cuh"', f"using C = {C};", "",
        f"__device__ __forceinline__ void element({', '.join(arguments + results)}) {{", *lines, *stores, "}", "",
        f'extern "C" __global__ void {name}({", ".join(pointers)}, i64 size) {{',
        "  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;",
        "  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)",
        f"    element({load}{store});", "}", ""])
    signature = ", ".join(re.sub(r"\bfloat\b", "f32", re.sub(r"\bdouble\b", "f64", p)) for p in pointers)
    return text, signature + ", i64 size", outs, ins


class Fused:
    """A fused kernel, compiled when it is first called: ``kernel(*results, *operands)``, all on one device."""

    def __init__(self, F, source, signature):
        name = re.search(r"__global__ void (\w+)", source).group(1)
        self.machine, self.kernel = F.machine, Kernel(with_includes(name + ".cu", source), name, signature)

    def __call__(self, *arrays):
        size = arrays[0].size
        blocks = min(-(-size // THREADS), 1 << 16)
        self.kernel(self.machine, blocks, THREADS, *arrays, size)
