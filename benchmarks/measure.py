"""Timing contestants so that the ratios can be trusted on a busy machine.

Each is a process of its own, with the allocator and the settings that its users have. They take turns, many short
turns each, and what counts is the median of the ratios of neighbouring turns: what slows the machine down for a while
slows all. Processor time with one thread is disturbed least; elapsed time with two is reported beside it.
"""

import json
import os
import re
import subprocess
import sys
from statistics import median

# The environment of a run. PyTorch's products come from MKL, its convolutions from oneDNN, NumPy's from OpenBLAS.
MODES = {
    "one": {"threads": 1},
    "two": {"threads": 2},
    "haswell": {"threads": 1, "only": "minitorch", "OPENBLAS_CORETYPE": "Haswell"},
    "malloc": {"threads": 1, "only": "torch", "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)},
    "avx2": {"threads": 1, "OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES":
             "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
             "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
}
MODE_TEXTS = {
    "one": "one thread on each side",
    "two": "two threads on each side",
    "haswell": "one thread, this library's BLAS held to AVX2 (OPENBLAS_CORETYPE=Haswell)",
    "malloc": "one thread, PyTorch with the allocator settings that this library makes (backends/cpu/backend.py)",
    "avx2": "one thread, all libraries on both sides held to AVX2: a processor without AVX-512",
}


class Contestant:
    """A worker process for one library in one mode."""

    def __init__(self, library, mode, python=sys.executable):
        name = library
        how = dict(MODES[mode])
        threads, only = how.pop("threads"), how.pop("only", library)
        env = dict(os.environ, PYTHONWARNINGS="ignore", **(how if only == library else {}))
        if library == "minitorch without allocator settings":
            library, env["MINITORCH_MALLOC"] = "minitorch", "0"
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            env[variable] = str(threads)
        if library == "jax":
            env["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
            env["NPROC"] = str(threads)
        self.library = name
        self.process = subprocess.Popen([python, "-m", "benchmarks.worker", library, str(threads)], text=True, env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                                        if library == "jax" else None)
        self.rows = set(self.read()["rows"])

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {self.library} has ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def duel(contestants, name, seconds, turn=0.03, least=5, other="torch"):
    """Times of one row: library -> {"cpu", "wall"}: medians in seconds, and those of ratios to the `other` one's.

    About `seconds` of turns of about `turn` seconds each, at least `least` for everyone. The first of the
    `contestants` sets the number of rounds; those that lack the row sit out.
    """
    players = [c for c in contestants if name in c.rows]
    found, errors = {c.library: c.ask(do="prepare", row=name) for c in players}, {}
    for c in list(players):
        if "error" in found[c.library]:
            errors[c.library] = found[c.library]
            players.remove(c)
    calls = {c.library: max(1, int(turn / max(found[c.library]["seconds"], 1e-7))) for c in players}
    each = sum((1 + calls[c.library]) * found[c.library]["seconds"] for c in players)
    rounds = max(least, min(101, int(seconds / max(each, 1e-6))))
    times: dict = {c.library: [] for c in players}
    for i in range(rounds):
        for c in players if i % 2 else reversed(players):
            times[c.library].append(c.ask(do="turn", calls=calls[c.library]))
    return {c.library: summary(times[c.library], times.get(other)) for c in players} | errors


def summary(mine, theirs):
    """Medians in seconds, and of the ratios to the turns of another, if it took part."""
    out = {what: median([t[what] for t in mine]) for what in ("cpu", "wall")}
    if theirs:
        for what in ("cpu", "wall"):
            out[what + "_ratio"] = median([a[what] / max(b[what], 1e-9) for a, b in zip(mine, theirs)])
    return out


# The rows that show each switch of `minitorch.testing.switches`, and of one that only the environment can move.
SWITCH_ROWS = {
    "allocator settings": ["gelu/1e6/both", "x*y+z/1e6/both", "lenet"],
    "blocks": ["gelu/1e6/forward", "gelu/1e6/both", "softmax/1e6/forward", "layer_norm/1e6/forward"],
    "one thread": ["gelu/1e7/forward", "softmax/1e7/forward", "layer_norm/1e7/both"],
    "rows without buffers": ["softmax/1e6/both", "layer_norm/1e6/forward", "layer_norm/1e6/both"],
    "lean forward passes": ["gelu/1e6/forward", "layer_norm/1e6/forward"],
    "one shift for a block": ["softmax/1e6/forward", "gpt"],
    "sums as products": ["mlp", "gpt", "softmax/1e6/forward"],
    "gradients added in place": ["article", "mlp", "gpt"],
    "rows added by rank": ["embedding/50000x256", "embedding/5000x64"],
    "kernels": ["gpt"],
    "optimiser in blocks": ["Adam/1x10000000", "SGD/1x10000000"],
    "small parameters side by side": ["Adam/148x1000", "article"],
}


def switch_ratios(seconds, pattern=""):
    """Times with and without each switch, and their ratio, interleaved: {switch: {row: {"with", "without"}}}."""
    found: dict = {}
    for switch, names in SWITCH_ROWS.items():
        if re.search(pattern, switch):
            mode = "two" if switch == "one thread" else "one"
            players = [Contestant("minitorch", mode), Contestant(f"minitorch without {switch}", mode)]
            for name in names:
                took = duel(players, name, seconds, other=players[1].library)
                found.setdefault(switch, {})[name] = {"with": took["minitorch"], "without": took[players[1].library]}
            for player in players:
                player.close()
    return found


def peaks(libraries, names, python):
    """Row -> library -> {"growth", "total"} in MiB: peak memory of three steps, each in a fresh process."""
    found: dict = {}
    for name in names:
        for library in libraries:
            worker = Contestant(library, "one", python.get(library, sys.executable))
            if name in worker.rows:
                found.setdefault(name, {})[library] = worker.ask(do="peak", row=name)
            worker.close()
    return found
