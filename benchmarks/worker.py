"""One contestant in a process of its own: ``python -m benchmarks.worker LIBRARY THREADS``.

It takes orders as lines of JSON on its standard input and answers each with one. Threads and instruction sets are set
through the environment by whoever starts it (`measure.Contestant`).
"""

import contextlib
import importlib
import json
import os
import sys
import time
import traceback
from functools import partial
from pathlib import Path

from .rows import load_rows

until_the_end = contextlib.ExitStack()


def load(library, threads):
    """Row name -> function that makes the workload, for one of the contestants."""
    if library == "numpy":
        from .floors import FLOORS
        return FLOORS
    if library == "jax":
        from .with_jax import WITH_JAX
        return WITH_JAX
    if " writes " in library:                              # "torch writes float32"
        from .language import workloads
        return workloads(library, threads)
    if " compiled" in library:                             # "minitorch compiled c"
        library, _, backend = library.partition(" compiled")
        torch = importlib.import_module(library)
        torch.set_num_threads(threads)
        how = dict(backend=backend.strip(), fullgraph=True) if library == "minitorch" else {}
        return {name: partial(compiled, torch, row.make, how) for name, row in load_rows().items()}
    if library == "minitorch native":
        torch = importlib.import_module("minitorch")
        torch.set_num_threads(threads)
        torch.backends.native.enable()
        return {name: partial(row.make, torch) for name, row in load_rows().items()}
    library, _, switch = library.partition(" without ")    # "minitorch without blocks"
    torch = importlib.import_module(library)
    torch.set_num_threads(threads)
    if switch:
        from minitorch.testing.switches import without
        until_the_end.enter_context(without(switch))
    return {name: partial(row.make, torch) for name, row in load_rows().items()}


def compiled(torch, make, how):
    """A workload as `compile` has traced it; of this library RuntimeError where it would run eagerly."""
    return torch.compile(make(torch), **how)


def prepare(make):
    """The workload, warm, and the seconds that one call of it takes."""
    step = make()
    best, end = float("inf"), time.perf_counter() + 0.2
    for i in range(1000):
        seconds = clock(step, 1)[1]
        best = seconds if i == 0 else min(best, seconds)
        if i >= 2 and time.perf_counter() > end:
            break
    return step, best


def clock(step, n):
    """(processor seconds, elapsed seconds) of one call, over `n` of them."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(n):
        step()
    return (time.process_time() - cpu) / n, (time.perf_counter() - wall) / n


def peak(make):
    """MiB that three calls of a workload need at most: beyond what was held before the first, and the process in all.

    Linux only: the kernel counts, and is reset before the first call.
    """
    step = make()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    for _ in range(3):
        step()
    return memory("VmHWM") - before, memory("VmHWM")


def memory(field):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) / 1024


def answer(order, workloads, ready):
    if order["do"] == "prepare":
        ready.clear()                                      # one workload at a time, or memory fills up
        ready["step"], seconds = prepare(workloads[order["row"]])
        return {"seconds": seconds}
    if order["do"] == "turn":
        ready["step"]()                                    # the other contestant has emptied the caches
        return dict(zip(("cpu", "wall"), clock(ready["step"], order["calls"])))
    return dict(zip(("growth", "total"), peak(workloads[order["row"]])))


def main(library, threads):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)                                          # what libraries print must not pass for an answer
    workloads, ready = load(library, int(threads)), {}
    print(json.dumps({"rows": list(workloads)}), file=answers)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line), workloads, ready)
        except Exception as error:                         # a contestant that cannot do a row says so
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
