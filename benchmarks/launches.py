"""Launches and host time of the CUDA path without a GPU: ``python -m benchmarks.launches``.

    python -m benchmarks.launches                          a table: host microseconds and launches of ops, of steps
    python -m benchmarks.launches --steps gpt --kernels    which kernels a step launches, how often
    python -m benchmarks.launches --json FILE --label before

All of the host's work is real: calls, graph, plans, arrays, parameter buffers. The driver is not: kernels are not
compiled, a launch is counted and does nothing, memory is a range of addresses that nobody reads. On a GPU each launch
costs the driver's own time more, one to two microseconds by NVIDIA's documentation, which nobody has measured here.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np

OPS: dict = {}
STEPS: dict = {}


# ---- a GPU that does nothing -------------------------------------------------------------------------------
def install():
    """A backend for "cuda:0" on a machine whose driver does nothing, nor encodes tensor maps; returns the machine."""
    import minitorch
    from minitorch.backends.cuda import makers
    from minitorch.backends.cuda.ops import hopper
    from minitorch.backends.cuda.runtime import machine as machines
    cupy = machines.import_cupy()

    class Silent(machines.Real):
        """A GPU of compute capability 9.0 whose launches are counted by kernel and not carried out.

        No `dry.Dry`, which notes each launch down and compiles it: this one times the Python of the real machine, so
        that all that is not the driver's is inherited, and what stands for the driver does as little as can be.
        """

        def __init__(self):
            machines.Machine.__init__(self, "cuda", 0)
            self.arch, self.counts, self.at = "90", Counter(), 1 << 40
            self.current, self.stream, self.ptr = lambda: 0, lambda: self, 0

            class Device:
                attributes = {"MultiProcessorCount": 132}
                __enter__ = __exit__ = lambda *args: None
            self.device, self.opted_in = Device(), {}
            self.be_alone()

        def allocate(self, nbytes):
            self.at += -(-nbytes // 512) * 512
            memory = cupy.cuda.UnownedMemory(self.at, nbytes, None, 0)
            return cupy.cuda.MemoryPointer(memory, 0)

        def load(self, source, macros, arch, entry):
            op = next((m[5:] for m in macros if m.startswith("-DOP=")), "")
            return f"{entry} {op}".strip()

        def launch(self, function, grid, block, values, shared):
            self.counts[function] += 1

        def handle(self, function, shared):
            return function

        def start(self, handle, *arguments):
            self.counts[handle] += 1

        def from_host(self, target, array, non_blocking=False):
            """Nobody reads it."""

        def look(self, array, check):
            """Not seen by the host."""

        def to_host(self, source):
            return np.ones(source.shape, source.dtype)

        def fill(self, pointer, nbytes, value):
            self.counts["memset"] += 1

        def synchronize(self):
            """Nothing is under way."""

    hopper.encode = lambda *description: bytes(128)
    silent = Silent()
    where = minitorch.device("cuda", 0)
    minitorch.backends.register("cuda", lambda index: makers.make(where, silent), current=lambda: 0)
    minitorch.backends.get(where)
    return silent


# ---- what is measured --------------------------------------------------------------------------------------
def op(name, limit=None):
    """Enter a function ``make(torch)`` that returns the call; `limit` is PyTorch's time, by the design."""
    def enter(make):
        OPS[name] = make, limit
        return make
    return enter


def of(f, *shapes, dtype="float32", limit=8):
    """An op of tensors of these shapes, under its name."""
    def make(torch):
        tensors = [torch.zeros(*shape, device="cuda", dtype=getattr(torch, dtype)) for shape in shapes]
        return lambda: f(torch, *tensors)
    return make, limit


def functional(name, *rest, **options):
    return lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, *rest, **options)


HEADS = (8, 8, 256, 64)
OPS |= {
    "x + x": of(lambda t, x: x + x, (64, 64), limit=5),
    "x * 2": of(lambda t, x: x * 2.0, (64, 64), limit=5),
    "exp": of(lambda t, x: x.exp(), (64, 64), limit=5),
    "x + row": of(lambda t, x, r: x + r, (64, 64), (64,), limit=6),
    "gelu": of(functional("gelu"), (64, 64), limit=6),
    "sum": of(lambda t, x: x.sum(), (64, 64)),
    "row sums": of(lambda t, x: x.sum(1), (64, 64)),
    "softmax": of(lambda t, x: x.softmax(-1), (64, 64), limit=7),
    "layer_norm": of(lambda t, x, w, b: t.nn.functional.layer_norm(x, (64,), w, b), (64, 64), (64,), (64,)),
    "x @ y": of(lambda t, x, y: x @ y, (64, 64), (64, 64)),
    "linear": of(functional("linear"), (64, 64), (64, 64), (64,)),
    "conv2d": of(functional("conv2d", padding=1), (8, 16, 28, 28), (16, 16, 3, 3), (16,)),
    "T.contiguous()": of(lambda t, x: x.T.contiguous(), (64, 64), limit=6),
    "attention bf16": of(functional("scaled_dot_product_attention"), HEADS, HEADS, HEADS, dtype="bfloat16"),
    "attention fp32": of(functional("scaled_dot_product_attention"), HEADS, HEADS, HEADS),
    "cat": of(lambda t, x, y: t.cat([x, y]), (64, 64), (64, 64)),
    "dropout": of(functional("dropout", 0.1), (64, 64)),
    "max_pool2d": of(functional("max_pool2d", 2), (8, 16, 28, 28)),
    "topk": of(lambda t, x: x.topk(5), (64, 64)),
    "log_softmax": of(lambda t, x: x.log_softmax(-1), (64, 64)),
    "mse_loss": of(functional("mse_loss"), (64, 64), (64, 64)),
    "bce_with_logits": of(functional("binary_cross_entropy_with_logits"), (64, 64), (64, 64)),
    "group_norm": of(lambda t, x, w, b: t.nn.functional.group_norm(x, 4, w, b), (8, 16, 28, 28), (16,), (16,)),
    "x.zero_()": of(lambda t, x: x.zero_(), (64, 64)),
    "x.copy_(y)": of(lambda t, x, y: x.copy_(y), (64, 64), (64, 64)),
    "batch_norm": of(lambda t, x, m, v, w, b: t.nn.functional.batch_norm(x, m, v, w, b, True),
                     (8, 16, 28, 28), (16,), (16,), (16,), (16,), limit=10),
}


@op("embedding", 8)
def embedding(torch):
    table, ids = torch.zeros(65, 64, device="cuda"), torch.zeros(64, dtype=torch.int64, device="cuda")
    return lambda: torch.nn.functional.embedding(ids, table)


@op("cross_entropy", 8)
def cross_entropy(torch):
    x, y = torch.zeros(64, 10, device="cuda"), torch.zeros(64, dtype=torch.int64, device="cuda")
    return lambda: torch.nn.functional.cross_entropy(x, y)


def both_ways(f):
    """``f(torch, x)`` of a (64, 64) x, its sum and the backward pass."""
    def make(torch):
        x = torch.zeros(64, 64, device="cuda").requires_grad_()

        def work():
            f(torch, x).sum().backward()
            x.grad = None
        return work
    return make, None


OPS |= {
    "exp, both ways": both_ways(lambda t, x: x.exp()),
    "elu, both ways": both_ways(lambda t, x: t.nn.functional.elu(x)),
    "std, both ways": both_ways(lambda t, x: x.std(1)),
    "mse_loss, both ways": both_ways(lambda t, x: t.nn.functional.mse_loss(x, x.detach())),
}


def steps_of(name):
    """Steps of an optimiser on 52 parameters."""
    def make(torch):
        params = [torch.zeros(64, 64, device="cuda").requires_grad_() for _ in range(52)]
        for p in params:
            p.grad = torch.zeros(64, 64, device="cuda")
        return getattr(torch.optim, name)(params).step
    return make, None


OPS |= {f"{name} step, 52 parameters": steps_of(name) for name in ("AdamW", "RMSprop", "NAdam")}


def step(name):
    def enter(make):
        STEPS[name] = make
        return make
    return enter


@step("mlp")
def mlp(torch):
    """784-128-10, batch 64, AdamW."""
    from .models import images, labels, training_step
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).to("cuda")
    return training_step(model, torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss(),
                         images(torch, 64, 784).to("cuda"), labels(torch, 64, 10).to("cuda"))


def gpt_of(torch, dtype):
    from .models import BATCH, CONTEXT, VOCABULARY, gpt_model, labels, training_step
    model = gpt_model(torch).to("cuda", getattr(torch, dtype))
    return training_step(model, torch.optim.AdamW(model.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss(),
                         labels(torch, (BATCH, CONTEXT), VOCABULARY).to("cuda"),
                         labels(torch, BATCH * CONTEXT, VOCABULARY).to("cuda"))


@step("gpt")
def gpt(torch):
    """4 layers, d=128, context 64, batch 16, float32, AdamW."""
    return gpt_of(torch, "float32")


@step("gpt bf16")
def gpt_bf16(torch):
    """The same with weights of bfloat16."""
    return gpt_of(torch, "bfloat16")


# ---- measuring ---------------------------------------------------------------------------------------------
def microseconds(work, turns=7, seconds=0.03):
    """Processor microseconds of one call: the median of several turns."""
    for _ in range(5):
        work()
    begin = time.process_time()
    work()
    n = max(1, int(seconds / max(time.process_time() - begin, 1e-6)))

    def turn():
        begin = time.process_time()
        for _ in range(n):
            work()
        return (time.process_time() - begin) / n * 1e6
    return median(turn() for _ in range(turns))


def launches_of(machine, work, warm=3):
    """Launches of one call by kernel."""
    for _ in range(warm):
        work()
    machine.counts.clear()
    work()
    return Counter(machine.counts)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.launches", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only ops with this in their name")
    parser.add_argument("--steps", default=None, help="only this training step, and no ops")
    parser.add_argument("--kernels", action="store_true", help="list the kernels of each step")
    parser.add_argument("--json", type=Path, help="file of figures, which --label names in it")
    parser.add_argument("--label", default="now")
    given = parser.parse_args()
    import minitorch as torch
    machine, found = install(), {}
    rows = [] if given.steps is not None else [(name, *OPS[name]) for name in OPS if given.only in name]
    rows += [(name, STEPS[name], None) for name in STEPS if given.steps in (None, name) and given.only in name]
    print(f"{'':28}{'host us':>10}{'launches':>10}{'goal':>8}")
    for name, make, limit in rows:
        work = make(torch)
        counts = launches_of(machine, work)
        found[name] = {"us": round(microseconds(work), 1), "launches": counts.total()}
        print(f"{name:28}{found[name]['us']:10.1f}{counts.total():10}{limit or '':>8}", flush=True)
        if given.kernels and name in STEPS:
            for kernel, n in counts.most_common():
                print(f"    {n:5}  {kernel}")
    if given.json:
        kept = json.loads(given.json.read_text()) if given.json.exists() else {}
        kept[given.label] = kept.get(given.label, {}) | found
        given.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
