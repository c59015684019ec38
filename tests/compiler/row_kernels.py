"""Random row kernels: what the CUDA that is printed for them computes on the simulator, beside NumPy's answer.

``python -m tests.compiler.row_kernels --kernels 1000 --seed 1`` runs more than the tests do.
"""

import argparse
import math
import random
import sys

import numpy as np

from minitorch.compiler import cuda
from minitorch.compiler.loops import Effect, Kernel, Ref
from minitorch.compiler.program import Value
from minitorch.core.device import get

UNARY = ("negative", "tanh", "absolute", "square")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "divide")
SIZES = (1, 2, 3, 5, 8, 33, 70, 300, 1100)
REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}


class Memory:
    """The arrays of a kernel: Value -> NumPy array."""

    def __init__(self, rng, dims, dtype):
        self.rng, self.dims, self.dtype, self.arrays = rng, dims, dtype, {}
        self.numbers = np.random.default_rng(rng.randrange(1 << 30))

    def ref(self, keep, offset=0, filled=True):
        """A new array with the dimensions that are kept, without gaps, from some element on."""
        strides, size = [], 1
        for n, kept in reversed([*zip(self.dims, keep)]):
            strides.append(size if kept else 0)
            size *= n if kept else 1
        a = self.numbers.standard_normal(size + offset) if filled else np.full(size + offset, 7)
        v = Value("made", a.astype(self.dtype))
        self.arrays[v] = v.example
        return Ref(v, v, offset, strides[::-1], self.dtype)

    def at(self, ref, dims):
        """The array that a ref stands for, as a view."""
        a = self.arrays[ref.anchor]
        return np.lib.stride_tricks.as_strided(a[ref.offset:], dims, [s * a.itemsize for s in ref.strides])


def random_kernel(rng):
    """A kernel of loads, maps, reductions, stores (some in place) and sums; and its memory."""
    dims = tuple(rng.choice(SIZES if d else (1, 3, 7, 20)) for d in range(rng.randint(1, 3)))
    dims = dims[:1] + (7,) if math.prod(dims) > 30000 else dims
    dtype = np.dtype(rng.choice(["f4", "f4", "f8"]))
    k, memory = Kernel(dims, "random"), Memory(rng, dims, dtype)
    nodes = [k.load(memory.ref([rng.random() < 0.7 for _ in dims], rng.choice([0, 0, 3])))
             for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        nodes.append(k.cast(k.add("column", (), np.dtype("i4"), level="e"), dtype))
    for _ in range(rng.randint(1, 9)):
        a, b, what = rng.choice(nodes), rng.choice([*nodes, k.const(0.25, dtype)]), rng.random()
        if what < 0.3:
            nodes.append(k.add(rng.choice(UNARY), [a], dtype))
        elif what < 0.6:
            nodes.append(k.add(rng.choice(BINARY), [a, b], dtype))
        elif what < 0.75:
            test = k.add(rng.choice(["greater", "less_equal", "not_equal"]), [a, b], np.dtype(bool))
            nodes.append(k.add("select", [test, b, rng.choice(nodes)], dtype))
        else:
            row = k.reduce(rng.choice([*REDUCE][:4 if dims[-1] < 9 else 3]), a)
            nodes.append(k.add("multiply", [row, k.const(1 / dims[-1], dtype)], dtype))
    for _ in range(rng.randint(1, 4)):
        effect(k, memory, rng, rng.choice(nodes[len(nodes) // 2:]))
    return k, memory


def effect(k, memory, rng, x):
    """Store a value, in place of what was loaded where that goes; or add it up."""
    dims, what = k.dims, rng.random()
    if what < 0.55:
        keep = [True] * len(dims) if x.level != "r" else [True] * (len(dims) - 1) + [rng.random() < 0.2]
        loads = [n.ref for n in k.nodes if n.op == "load" and [*map(bool, n.ref.strides)] == keep
                 and not any(e.ref.root is n.ref.root for e in k.effects)]
        k.store(rng.choice(loads) if loads and rng.random() < 0.5 else memory.ref(keep, filled=False), x)
    elif what < 0.9 or x.level == "e":
        ref = memory.ref([rng.random() < 0.4 for _ in dims], filled=False)
        k.effects.append(Effect(rng.choice(["sum", "sum", "max", "min"]) if x.level == "e" else "sum", ref, x))
    else:
        keep = [rng.random() < 0.4 for _ in dims[:-1]]
        k.effects.append(Effect("rowsum", memory.ref([*keep, False], filled=False), x))


def answer(k, memory):
    """Carry out a kernel by NumPy: all is read before anything is written."""
    dims, found, done = k.dims, {}, []

    def value(n):
        return np.asarray(n.value, n.dtype) if n.op == "const" else found[n]
    for n in k.nodes:
        x = [value(a) for a in n.args]
        if n.op in REDUCE:
            wide = np.broadcast_to(x[0], dims).astype(np.float64)
            found[n] = np.broadcast_to(REDUCE[n.op](wide, axis=-1, keepdims=True).astype(n.dtype), dims)
        else:
            found[n] = (memory.at(n.ref, dims).copy() if n.op == "load" else np.arange(dims[-1], dtype=n.dtype)
                        if n.op == "column" else x[0].astype(n.dtype) if n.op == "cast" else
                        np.where(*x) if n.op == "select" else getattr(np, n.op)(*x))
    for e in k.effects:
        x = np.broadcast_to(value(e.x), dims)
        if e.kind != "store":
            x = x[..., :1] if e.kind == "rowsum" else x
            axes = tuple(d for d, s in enumerate(e.ref.strides) if not s)
            x = REDUCE[e.kind.removeprefix("row")](x.astype(np.float64), axis=axes, keepdims=True)
        done.append((e.ref, x.astype(e.ref.dtype)))
    for ref, x in done:
        small = tuple(n if s else 1 for n, s in zip(dims, ref.strides))
        memory.at(ref, small)[...] = x[tuple(slice(n) for n in small)]


def check(seed):
    """Compare one random kernel; returns its text. AssertionError, or the simulator's, with the text."""
    k, memory = random_kernel(random.Random(seed))
    F = get("sim")
    arrays = {v: F.from_host(a) for v, a in memory.arrays.items()}
    with np.errstate(all="ignore"):
        answer(k, memory)
    found = cuda.printed(k)
    try:
        cuda.Fused(F, found.text, found.signature, found.launches, found.partials)(*[arrays[v] for v in found.anchors])
        for v in found.anchors:
            a = memory.arrays[v]
            scale = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0)))
            np.testing.assert_allclose(F.to_host(arrays[v]), a, 1e-5, 1e-5 * scale)
    except Exception as error:
        raise AssertionError(f"kernel {seed} on {k.dims}: {error}\n{found.text}") from error
    return found.text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failures = 0
    for n in range(arguments.kernels):
        try:
            check(f"{arguments.seed} {n}")
        except AssertionError as error:
            failures += 1
            print(error, flush=True)
    print(f"{arguments.kernels} kernels, {failures} differ")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
