"""On a GPU, behind the programme: sanitizers, the profiler, and the sweep over sizes of kernels.

    python -m benchmarks.gpu_tools sanitize --out results  # memcheck, racecheck, synccheck over the smoke run
    python -m benchmarks.gpu_tools profile --out results   # Nsight Compute on ten rows
    python -m benchmarks.gpu_tools tune --out results      # a table for minitorch/backends/cuda/tuned
    python -m benchmarks.gpu_tools goldens --out results   # goldens.jsonl as tests/data/conformance_sm<arch>.npz

Each step has a limit and leaves its lines in tools.jsonl at once; the same command again goes on. What is not installed
on the machine (compute-sanitizer, ncu) is told in its line.
"""

import argparse
import base64
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from . import gpu
from .supervised import Lines, supervise

ROOT = Path(__file__).parent.parent
SANITIZERS = ("memcheck", "racecheck", "synccheck")
PROFILED = ("x + y, float32, 64M", "gelu, bfloat16, 64M", "transposed copy, 8192 x 8192", "column sums, 65536 x 1024",
            "softmax, 4096 x 16384", "layer_norm, 4096 x 16384", "AdamW, 64M parameters", "matmul 4096, tf32, NN",
            "matmul 4096, bfloat16, NN", "attention, bfloat16, d=128")
METRICS = ("gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
           "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed,sm__warps_active.avg.pct_of_peak_sustained_active,"
           "smsp__issue_active.avg.pct_of_peak_sustained_active,l1tex__data_bank_conflicts_pipe_lsu.sum")
BETTER = 0.98                                              # of the time of the default: less is noise


def run(lines, step, item, command, limit, tool=None):
    """A command as one line: its status, its last lines; not twice, and not if its tool is missing."""
    if item in lines.done(step):
        return
    if tool and shutil.which(tool) is None:
        lines.add(group=step, item=item, error=f"{tool} is not on this machine")
        return
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=limit)
        found = {"status": done.returncode, "end": (done.stdout + done.stderr)[-12000:]}
    except subprocess.TimeoutExpired:
        found = {"error": f"stopped after {limit} s"}
    lines.add(group=step, item=item, took=time.perf_counter() - start, **found)
    print(f"{step}, {item}: {found.get('status', found.get('error'))}", flush=True)


def sanitize(args, lines):
    """The smoke run, small, under each sanitizer."""
    names = gpu.names_of("smoke", args)
    for tool in SANITIZERS:
        scratch = args.out / f"under-{tool}"               # the results of the run itself, which are not wanted
        scratch.mkdir(parents=True, exist_ok=True)
        inner = gpu.command("smoke", SimpleNamespace(**vars(args) | {"out": scratch}), names)
        run(lines, "sanitize", tool, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *inner], args.limit,
            "compute-sanitizer")
        shutil.rmtree(scratch)


def profile(args, lines):
    """Ten rows under the profiler: time, units, memory, warps, conflicts of each kernel."""
    for name in PROFILED:
        command = ["ncu", "--csv", "--metrics", METRICS, "--launch-count", "12", sys.executable, "-m",
                   "benchmarks.gpu_tools", "once", "--device", args.device, "--row", name]
        run(lines, "profile", name, command, args.limit, "ncu")


def once(args):
    """The work of one row, twice."""
    import minitorch

    from .gpu_rows import ROWS
    work, _ = next(row for row in ROWS if row.name == args.row).make(minitorch, args.device, args.quick)
    for _ in range(2):
        work()
    minitorch.cuda.synchronize()


# ---- tuning ------------------------------------------------------------------------------------------------
def tune(args, lines):
    """Measure each candidate of each size in processes of their own; write the table of those that are better."""
    from minitorch.backends.cuda.tuning import PARAMETERS
    best = {}
    for name, parameter in PARAMETERS.items():
        times = {value: measured(args, lines, name, value) for value in parameter.candidates}
        best |= choice(name, times, default_of(parameter))
        print(name, {value: relative(times, value, default_of(parameter)) for value in times}, flush=True)
    device = gpu.about(args.device)["device"]
    table = {"device": device, "measured": time.strftime("%Y-%m-%d"), "values": best}
    (args.out / "tuned.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"{args.out / 'tuned.json'}: put it where minitorch.backends.cuda.tuning.file_of({device!r}) says")


def default_of(parameter):
    """The size that a module has by itself."""
    from importlib import import_module
    return getattr(import_module(f"minitorch.backends.cuda.{parameter.module}"), parameter.name)


def measured(args, lines, name, value):
    """Seconds of the rows of one size, by row; what was measured before is taken from the lines."""
    from minitorch.backends.cuda.tuning import PARAMETERS
    group = f"tune {name}={value}"
    table = args.out / "candidate.json"
    table.write_text(json.dumps({"values": {name: value}}), encoding="utf-8")
    given = SimpleNamespace(**vars(args) | {"only": PARAMETERS[name].rows})
    environment = os.environ | {"MINITORCH_CUDA_TUNING": str(table.resolve())}
    rows = gpu.names_of("rates", given)
    supervise(lines, group, rows, lambda names: [sys.executable, "-m", "benchmarks.gpu_tools", "rows", "--device",
                                                 args.device, *["--quick"] * args.quick, "--out", str(args.out),
                                                 "--group", group, "--items", *names], args.limit, env=environment)
    return {line["item"]: line["seconds"] for line in lines.read() if line["group"] == group and "seconds" in line}


def rows(args, lines):
    """Seconds of some rows, for `measured`."""
    from .gpu_groups import Setting, guarded
    from .gpu_rows import ROWS
    from .supervised import work_through
    setting = Setting(SimpleNamespace(**vars(args) | {"only": None}))

    def seconds(row):
        import minitorch

        from .gpu_clock import duel
        work, _ = row.make(minitorch, setting.device, setting.quick)
        return {"seconds": duel({"ours": (setting.clock, work)})["ours"]}
    items = {row.name: (lambda row=row: guarded(lambda: seconds(row))) for row in ROWS}
    work_through(lines, args.group, items, args.items)


def relative(times, value, default):
    """The geometric mean of the times at a value over those at the default; None if a row is missing."""
    rows = times[default]
    if not rows or set(times[value]) != set(rows):
        return None
    return math.exp(sum(math.log(times[value][row] / rows[row]) for row in rows) / len(rows))


def choice(name, times, default):
    """{name: value} for the value whose rows take least time; nothing if that is the default, or hardly better."""
    ratios = {value: r for value in times if (r := relative(times, value, default)) is not None}
    value = min(ratios, key=ratios.get, default=default)
    return {name: value} if value != default and ratios[value] < BETTER else {}


def goldens(args, lines):
    """Results of the GPU in the conformance suite, as arrays for the tests."""
    arrays = {g["name"]: np.frombuffer(base64.b64decode(g["data"]), g["dtype"]).reshape(g["shape"])
              for g in Lines(args.out / "goldens.jsonl").read()}
    arch = next(line["arch"] for line in Lines(args.out / "results.jsonl").read() if line["group"] == "about")
    path = ROOT / "tests" / "data" / f"conformance_sm{arch}.npz"
    np.savez_compressed(path, **arrays)
    print(f"{path}: {len(arrays)} cases")


def main(given=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_tools", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sanitize", "profile", "tune", "goldens", "once", "rows"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path("gpu-results"))
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each step (default: 120)")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", help="for the smoke run: items whose name has this regular expression")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--group", help=argparse.SUPPRESS)
    parser.add_argument("--items", nargs="*", default=[], help=argparse.SUPPRESS)
    args = parser.parse_args(given)
    args.out.mkdir(parents=True, exist_ok=True)
    lines = Lines(args.out / "tools.jsonl")
    if args.what == "once":
        once(args)
    else:
        step = {"sanitize": sanitize, "profile": profile, "tune": tune, "goldens": goldens, "rows": rows}[args.what]
        step(args, lines)


if __name__ == "__main__":
    main()
