"""The groups of the GPU programme: for each its items, functions that return what becomes a line of the results."""

import base64
import functools
import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import minitorch

from . import gpu_clock, gpu_rows
from .gpu_clock import Clock, duel
from .supervised import Lines, Unfit

ROOT = Path(__file__).parent.parent
CPU_BYTES, CPU_FLOPS = 1.2e10, 4e11                        # amounts of work that the processor can be asked to repeat


class Setting:
    """Things that all items share: the device, its clock, PyTorch if it is there."""

    def __init__(self, args):
        self.device, self.quick, self.only, self.out = args.device, args.quick, args.only, args.out
        self.simulated = args.device.startswith("sim")
        self.backend = minitorch.backends.get(args.device)
        self.clock = Clock(minitorch, self.simulated)
        self.torch = None if self.simulated else gpu_clock.pytorch()


def items_of(group, args):
    """The items of a group, by name; those whose work was cut short by a fault of the device end their process."""
    setting = Setting(args)
    found = GROUPS[group](setting)
    if setting.only:
        found = {name: item for name, item in found.items() if re.search(setting.only, name)}
    return {name: functools.partial(guarded, item) for name, item in found.items()}


def guarded(item):
    """Do an item; `Unfit` where the device has faulted, since its context answers nothing else from then on."""
    try:
        return item()
    except Exception as error:
        if re.search("CUDARuntimeError|CUDADriverError|SimulatorError|MemoryError_|Race|Uninitialised|OutOfBounds",
                     " ".join(kind.__name__ for kind in type(error).__mro__)):
            raise Unfit(f"{type(error).__name__}: {error}"[:500]) from error
        raise
    finally:
        gc.collect()


def on_host(x):
    """A result as float64 on the host; several as one row."""
    if isinstance(x, (tuple, list)):
        return np.concatenate([on_host(part).ravel() for part in x])
    x = x.detach()
    return (x.float() if x.is_floating_point() else x).cpu().numpy().astype(np.float64)


def distance(got, wanted):
    """|got - wanted| / |wanted|, in float64; NaN where one is NaN and the other is not."""
    same = np.isnan(got) & np.isnan(wanted)
    got, wanted = np.where(same, 0, got), np.where(same, 0, wanted)
    return float(np.linalg.norm((got - wanted).ravel()) / max(np.linalg.norm(wanted.ravel()), 1e-30))


def checked(got, wanted, limit):
    """The line of a check; RuntimeError if the results differ by more than the limit."""
    error = distance(got, wanted)
    if not error <= limit:
        raise RuntimeError(f"wrong result: it differs by {error:.3g} of its norm, allowed is {limit:g}")
    return {"error_of_norm": error, "allowed": limit}


# ---- smoke -------------------------------------------------------------------------------------------------
def smoke(s):
    """Each kind of kernel once, against NumPy: what is wrong here would make everything behind it worthless."""
    draw = np.random.default_rng(3).standard_normal
    n = 48 if s.quick else 1024

    def put(x, dtype):
        return minitorch.from_numpy(x.astype(np.float32)).to(s.device).to(getattr(minitorch, dtype))

    def rounded(x, dtype):
        return on_host(minitorch.from_numpy(x.astype(np.float32)).to(getattr(minitorch, dtype)))

    def product(dtype, sizes, limit, tf32=False):
        a, b = draw((sizes[0], sizes[1])), draw((sizes[1], sizes[2]))
        with gpu_rows.tf32(minitorch, tf32):
            got = put(a, dtype) @ put(b, dtype)
        return checked(on_host(got), rounded(a, dtype) @ rounded(b, dtype), limit)

    def attention(dtype, d, limit, heads=2, gradients=False):
        t, heads = (64, 2) if s.quick else (512, heads)
        q, k, v = [draw((2, heads, t, d)) for _ in range(3)]
        xs = [put(x, dtype).requires_grad_(gradients) for x in (q, k, v)]
        got = minitorch.nn.functional.scaled_dot_product_attention(*xs, is_causal=True)
        if gradients:
            g = draw(got.shape)
            got, g = minitorch.autograd.grad(got, xs, put(g, dtype)), rounded(g, dtype)
        q, k, v = [rounded(x, dtype) for x in (q, k, v)]
        scores = np.where(np.tril(np.ones((t, t), bool)), q @ k.swapaxes(-1, -2) / np.sqrt(d), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        if not gradients:
            return checked(on_host(got), weights @ v, limit)
        slopes = g @ v.swapaxes(-1, -2)
        slopes = weights * (slopes - (weights * slopes).sum(-1, keepdims=True)) / np.sqrt(d)
        wanted = slopes @ k, slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g
        return checked(on_host(got), np.concatenate([x.ravel() for x in wanted]), limit)

    def pointwise(name, ours, theirs, limit=1e-5):
        x = draw((n, 4 * n))
        return checked(on_host(ours(put(x, "float32"))), theirs(x.astype(np.float32).astype(np.float64)), limit)

    def normal(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    return {
        "x + 1": lambda: pointwise("add", lambda x: x + 1, lambda x: x + 1),
        "row sums": lambda: pointwise("sum", lambda x: x.sum(1), lambda x: x.sum(1)),
        "layer_norm": lambda: pointwise("layer_norm", lambda x: gpu_rows.layer_norm(minitorch, x), normal),
        "product, float32": lambda: product("float32", (n, n, n), 1e-5),
        "product, tf32 (mma)": lambda: product("float32", (n, n, n), 2e-3, tf32=True),
        "product, float16 at odd sizes (mma)": lambda: product("float16", (n + 3, n + 1, n + 5), 2e-3),
        "product, bfloat16 (hopper)": lambda: product("bfloat16", (n, n, n), 6e-3),
        "attention, bfloat16": lambda: attention("bfloat16", 64, 1e-2),
        "attention, bfloat16 (hopper)": lambda: attention("bfloat16", 128, 1e-2, heads=16),
        "attention backward, bfloat16 (hopper)": lambda: attention("bfloat16", 128, 1e-2, heads=16, gradients=True),
        "attention, float32": lambda: attention("float32", 64, 1e-4),
        "graph": lambda: graph_against_eager(s, 3),
    }


# ---- rates -------------------------------------------------------------------------------------------------
class Drawn:
    """A library whose `rand` keeps what it gives, or gives what another one kept: the same inputs for both."""

    def __init__(self, library, convert=None, kept=()):
        self.library, self.convert, self.kept = library, convert, list(kept)
        self.left = iter(self.kept)

    def __getattr__(self, name):
        return getattr(self.library, name)

    def rand(self, *size, device=None, requires_grad=False):
        if self.convert is None:
            x = self.library.rand(*size, device=device)
            self.kept.append(x.clone())
        else:
            x = self.convert(next(self.left))
        return x.requires_grad_() if requires_grad else x


def correctness(s, row, amount):
    """How far the result of a row, at its size, is from PyTorch's, or the processor's, for the same inputs."""
    if row.is_random:
        return {"correct": "not compared: random"}
    limit = 1e-2 if "bfloat16" in row.name else 3e-3 if re.search("float16|tf32", row.name) else 1e-4
    ours = Drawn(minitorch)
    work, _ = row.make(ours, s.device, s.quick)
    got = work()
    if s.torch is not None:
        theirs = Drawn(s.torch, lambda x: s.torch.from_dlpack(x), ours.kept)
        work, _ = row.make(theirs, s.device, s.quick)
        found, who = on_device_distance(s.torch, got, work()), "PyTorch"
        if not found <= limit:
            raise RuntimeError(f"wrong result: it differs from PyTorch's by {found:.3g} of its norm, allowed {limit:g}")
        return {"correct": f"{found:.1e} of the norm from {who}"}
    if amount > (CPU_FLOPS if row.ceiling != "copy" else CPU_BYTES):
        return {"correct": "not compared: too much for the processor, and PyTorch is not there"}
    theirs = Drawn(minitorch, lambda x: x.cpu(), ours.kept)
    work, _ = row.make(theirs, "cpu", s.quick)
    found = checked(on_host(got), on_host(work()), limit)["error_of_norm"]
    return {"correct": f"{found:.1e} of the norm from the processor"}


def on_device_distance(torch, got, wanted):
    """`distance`, computed by PyTorch where both results lie."""
    if isinstance(got, (tuple, list)):
        return max(on_device_distance(torch, a, b) for a, b in zip(got, wanted))
    got = torch.from_dlpack((got.detach().float() if got.is_floating_point() else got).contiguous())
    wanted = wanted.detach().to(got.dtype)
    total, norm = 0.0, 0.0
    for a, b in zip(got.flatten().split(1 << 26), wanted.flatten().split(1 << 26)):
        total += float((a.double() - b.double()).square().sum())
        norm += float(b.double().square().sum())
    return (total / max(norm, 1e-60)) ** 0.5


def rate(s, row):
    """One row: seconds, rate, share of its ceiling, ratio to PyTorch, correctness."""
    work, amount = row.make(minitorch, s.device, s.quick)
    contestants = {"ours": (s.clock, work)}
    found = {"ceiling": row.ceiling, "gate": row.gate, "target": row.target}
    if s.torch is not None:
        theirs, _ = row.make(s.torch, s.device, s.quick)
        contestants["PyTorch"] = Clock(s.torch), theirs
    elif row.ceiling == "product" and not s.simulated:
        kind = re.search(r"(float16|bfloat16|float32|tf32)", row.name)[1]
        library, found["ceiling"] = gpu_clock.library_product(work, kind.replace("tf32", "float32"), kind == "tf32")
        if library:
            contestants["library"] = s.clock.__class__(minitorch), library
    took = duel(contestants)
    found |= {"seconds": took["ours"], "rate": amount / took["ours"], "amount": amount}
    if "PyTorch" in took:
        found["to_pytorch"] = took["ours"] / took["PyTorch"]
    if row.ceiling == "copy":
        found["of_ceiling"] = found["rate"] / copy_ceiling(s)
    elif row.ceiling == "180 Tflop/s":                     # what the design asks of attention at least
        found["of_ceiling"] = found["rate"] / 180e12
    elif len(took) > 1:                                    # else there is no ratio
        if "library" not in took:
            found["ceiling"] = "PyTorch" + (f", TF32 {'on' if 'tf32' in row.name else 'off'}"
                                            if re.search("float32|tf32", row.name) else "")
        found["of_ceiling"] = took.get("PyTorch", took.get("library")) / took["ours"]
    else:
        found["ceiling"] = found["ceiling"] if row.ceiling == "product" and not s.simulated else "not measured"
    del work, contestants
    gc.collect()
    return found | correctness(s, row, amount)


def copy_ceiling(s):
    """Bytes a second of a copy on the device, measured in this process."""
    if not hasattr(s, "copy"):
        s.copy = gpu_clock.copy_rate(s.clock, s.device, 1 << (12 if s.quick else 28))
    return s.copy


def rates(s):
    return {"device copy": lambda: {"rate": copy_ceiling(s)},
            **{row.name: functools.partial(rate, s, row) for row in gpu_rows.ROWS}}


# ---- training, launches, graphs, loader --------------------------------------------------------------------
def training_step(s, name, make):
    """Seconds of a step: eager, as a captured graph, and PyTorch's eager step, in alternating turns."""
    step = make(minitorch, s.device, s.quick)
    for _ in range(3):
        step()
    graph = minitorch.cuda.CUDAGraph(s.device)
    with minitorch.cuda.graph(graph):
        step()
    contestants = {"eager": (s.clock, step), "graph": (Clock(minitorch, s.simulated), graph.replay)}
    if s.torch is not None:
        contestants["PyTorch eager"] = Clock(s.torch), make(s.torch, s.device, s.quick)
    return {"seconds": duel(contestants)}


def training(s):
    return {name: functools.partial(training_step, s, name, make) for name, make in gpu_rows.STEPS.items()}


CALLS = {
    "x + x": lambda t, x: lambda: x + x,
    "x.sum()": lambda t, x: lambda: x.sum(),
    "softmax": lambda t, x: lambda: x.softmax(-1),
    "layer_norm": lambda t, x: lambda: gpu_rows.layer_norm(t, x),
    "x @ x": lambda t, x: lambda: x @ x,
    "x.T.contiguous()": lambda t, x: lambda: x.T.contiguous(),
}


def launch(s):
    """Host time of small calls, the device not waited for, beside PyTorch's."""
    def call(make):
        contestants = {"ours": (s.clock, make(minitorch, minitorch.ones(32, 32, device=s.device)))}
        if s.torch is not None:
            contestants["PyTorch"] = Clock(s.torch), make(s.torch, s.torch.ones(32, 32, device=s.device))
        return {"seconds": duel(contestants, host=True)}

    def replayed():
        x, graph = minitorch.ones(1024, device=s.device), minitorch.cuda.CUDAGraph(s.device)
        with minitorch.cuda.graph(graph):
            y = x
            for _ in range(100):
                y = y + x
        return {"seconds": {"ours": duel({"ours": (s.clock, graph.replay)}, host=True)["ours"] / 100}}
    return {**{name: functools.partial(call, make) for name, make in CALLS.items()},
            "a kernel in a replayed graph": replayed}


def graph_against_eager(s, steps, dropout=0.0):
    """Losses and parameters of steps replayed as a graph, against the same steps done eagerly."""
    nn = minitorch.nn
    draw = np.random.default_rng(5)
    batches = [(draw.standard_normal((32, 20)).astype(np.float32), draw.integers(0, 5, 32)) for _ in range(steps)]

    def train(graphed):
        minitorch.manual_seed(0)
        model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(dropout), nn.Linear(64, 5))
        model, graph, losses = model.to(s.device), None, []
        optimizer = minitorch.optim.AdamW(model.parameters(), lr=1e-2)
        x, y = [minitorch.from_numpy(part).to(s.device) for part in batches[0]]

        def step():
            optimizer.zero_grad()
            outside = minitorch.tensor([1.0, 2.0, 4.0, 8.0, 16.0], device=s.device)      # from the host, each time
            loss = nn.functional.cross_entropy(model(x) * outside / outside, y)
            loss.backward()
            optimizer.step()
            return loss
        for i, (inputs, labels) in enumerate(batches):
            x.copy_(minitorch.from_numpy(inputs))
            y.copy_(minitorch.from_numpy(labels))
            if graphed and i == 2:
                graph = minitorch.cuda.CUDAGraph(s.device)
                with minitorch.cuda.graph(graph):
                    loss = step()
            if graph is None:
                loss = step()
            else:
                graph.replay()
            losses.append(loss.item())
        return np.array(losses + [float(p.detach().square().sum().item()) for p in model.parameters()])
    return checked(train(True), train(False), 1e-5)


def graphs(s):
    steps = 4 if s.quick else 20
    return {f"AdamW, {steps} steps": lambda: graph_against_eager(s, steps),
            f"AdamW with dropout, {steps} steps": lambda: graph_against_eager(s, steps, 0.3)}


def loader(s):
    """Batches in pinned memory, copied without waiting, whose tensors are gone at once: each must arrive whole."""
    def race():
        n, count = (1 << 8, 4) if s.quick else (1 << 22, 200)
        sums = []
        for i in range(count):
            batch = minitorch.full((n,), float(i % 100)).pin_memory(s.device).to(s.device, non_blocking=True)
            sums.append((batch.min(), batch.max()))
            del batch
        wrong = [i for i, (low, high) in enumerate(sums) if low.item() != i % 100 or high.item() != i % 100]
        if wrong:
            raise RuntimeError(f"batches {wrong[:10]} of {count} did not arrive whole")
        return {"batches": count}
    return {"pinned batches": race}


# ---- conformance, tests ------------------------------------------------------------------------------------
CHUNK = 64


def conformance(s):
    """The simulator's suite of micro-kernels; what the device computes goes into goldens.jsonl."""
    sys.path.insert(0, str(ROOT))
    from tests.backends.sim import conformance as suite
    from tests.backends.sim import (
        conformance_floats,
        conformance_integers,
        conformance_kernels,
    )
    found = {}
    for module in (conformance_integers, conformance_floats, conformance_kernels):
        cases = suite.cases_of(module)
        cases = cases[:4] if s.quick else cases
        for start in range(0, len(cases), CHUNK):
            name = f"{module.__name__.rpartition('_')[2]} {start}-{start + len(cases[start:start + CHUNK]) - 1}"
            found[name] = functools.partial(run_cases, s, suite, cases[start:start + CHUNK])
    return found


def run_cases(s, suite, cases):
    """Compile and run some cases; where the compiler refuses one, the others are compiled without it."""
    from minitorch.backends.cuda.runtime.compile import CompileError, with_includes
    source = with_includes("conformance.cu", suite.program(cases))
    try:
        loaded = [s.backend.machine.load(source, (), None, case.name) for case in cases]
    except CompileError as error:
        if len(cases) == 1:
            return {"cases": 1, "refused": [f"{cases[0].name}: {str(error).splitlines()[-1][:200]}"]}
        halves = [run_cases(s, suite, half) for half in (cases[:len(cases) // 2], cases[len(cases) // 2:])]
        return {"cases": len(cases), **{k: halves[0].get(k, []) + halves[1].get(k, []) for k in ("refused", "wrong")}}
    wrong, goldens = [], Lines(s.out / "goldens.jsonl")
    for case, function in zip(cases, loaded):
        out = s.backend.xp.zeros(case.expected.shape, case.expected.dtype)
        arguments = [*map(s.backend.from_host, case.inputs), out, np.int32(case.expected.size)]
        grid, block = [n if isinstance(n, tuple) else (n,) for n in (case.grid, case.block)]
        s.backend.machine.launch(function, grid, block, arguments, case.shared)
        got = s.backend.to_host(out)
        if not s.simulated:
            goldens.add(name=case.name, dtype=got.dtype.name, shape=got.shape,
                        data=base64.b64encode(got.tobytes()).decode())
        try:
            case.check(got)
        except AssertionError as error:
            wrong.append(str(error)[:300])
    return {"cases": len(cases), "wrong": wrong, "refused": []}


def suite(s):
    """The tests of kernels on this device, a file at a time."""
    folder = ROOT / "tests" / "backends" / "cuda"
    files = [*sorted(folder.glob("test_*.py")), ROOT / "tests/compiler/test_device_programs.py"]

    def run(file):
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "--device", s.device, str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return {"status": done.returncode, "failed": lines[:20], "end": done.stdout.strip().splitlines()[-1:]}
    return {file.name: functools.partial(run, file) for file in (files[:1] if s.quick else files)}


# ---- a trial of the programme itself -----------------------------------------------------------------------
FAULTY = """extern "C" __global__ void faulty(float* out, const float* x, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  out[i + WRONG] = x[i];
}"""
ENDLESS = """extern "C" __global__ void endless(float* out, const float* x, long long n) {
  volatile float* there = out;
  while (there[0] == there[0] || n) there[0] = x[0] - there[0];
}"""


def trial(s):
    """Kernels that do not do what they should, between others that do."""
    from minitorch.backends.cuda import load_kernel
    signature = "f32* out, const f32* x, i64 n"

    def fine():
        return checked(on_host(minitorch.ones(4, device=s.device) * 2), np.full(4, 2.0), 0)

    def faulty():
        x = minitorch.ones(32, device=s.device)
        load_kernel(FAULTY, "faulty", signature)(1, 32, minitorch.zeros_like(x), x, 32, WRONG=1 << 40)
        s.clock.wait()

    def endless():
        x = minitorch.ones(32, device=s.device)
        load_kernel(ENDLESS, "endless", signature)(1, 32, minitorch.zeros_like(x), x, 32)
        s.clock.wait()
    return {"before": fine, "a kernel that faults": faulty, "behind it": fine, "a kernel that hangs": endless,
            "a process that dies": os.abort, "at the end": fine}


GROUPS = {"smoke": smoke, "rates": rates, "training": training, "launch": launch, "graphs": graphs, "loader": loader,
          "conformance": conformance, "suite": suite, "trial": trial}
