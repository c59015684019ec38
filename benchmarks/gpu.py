"""The GPU programme: everything that only a GPU can tell, in one run of a few minutes.

    python -m benchmarks.gpu                          # on a machine with a GPU
    python -m benchmarks.gpu --device sim --quick     # tries the programme itself, on the simulator; measures nothing

In this order: the conformance suite of the simulator (what the GPU computes is stored beside the tests, and the
simulator is held to it from then on), the tests of the kernels on the GPU, each kernel against its ceiling measured in
the same run (device copy bandwidth, cuBLAS through CuPy, PyTorch where it is installed), the cost of a launch, training
steps against PyTorch eager and as captured graphs. Writes JSON and Markdown to benchmarks/results/<name of the GPU>/.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from .gpu_rows import ROWS, STEPS

ROOT = Path(__file__).parent.parent


class Clock:
    """Times work on a device: events of the library's own streams, the median of several turns."""

    def __init__(self, library, device):
        self.library, self.device, self.simulated = library, device, device.startswith("sim")

    def seconds(self, work, turns=9):
        """Seconds that one call of `work` takes on the device."""
        work()
        if self.simulated:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        cuda = self.library.cuda
        first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)

        def turn(n):
            first.record()
            for _ in range(n):
                work()
            last.record()
            last.synchronize()
            return first.elapsed_time(last) / 1e3 / n
        n = max(1, min(1000, int(0.01 / max(turn(2), 1e-7))))
        return median(turn(n) for _ in range(turns))

    def host_seconds(self, work, n=1000):
        """Seconds of the host's time that one call of `work` takes; the device is not waited for."""
        n = 3 if self.simulated else n
        for _ in range(3):
            work()
        self.wait()
        start = time.perf_counter()
        for _ in range(n):
            work()
        spent = time.perf_counter() - start
        self.wait()
        return spent / n

    def wait(self):
        if not self.simulated:
            self.library.cuda.synchronize()


def pytorch():
    """PyTorch, if it is installed and sees a GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


# ---- conformance -------------------------------------------------------------------------------------------
def conformance(device):
    """Run the micro-kernels of the simulator's suite on the GPU; compare, and store what came out."""
    sys.path.insert(0, str(ROOT / "tests"))
    from sim import conformance, conformance_floats, conformance_integers, conformance_kernels

    import minitorch
    from minitorch.backends.cuda.runtime.compile import with_includes
    backend = minitorch.backends.get(device)
    stored, failures, count = {}, [], 0
    for module in (conformance_integers, conformance_floats, conformance_kernels):
        cases = conformance.cases_of(module)
        source = with_includes(f"{module.__name__}.cu", conformance.program(cases))
        for case in cases:
            out = backend.xp.zeros(case.expected.shape, case.expected.dtype)
            arguments = [*map(backend.from_host, case.inputs), out, np.int32(case.expected.size)]
            function = backend.machine.load(source, (), None, case.name)
            grid, block = [n if isinstance(n, tuple) else (n,) for n in (case.grid, case.block)]
            backend.machine.launch(function, grid, block, arguments, case.shared)
            got = stored[case.name] = backend.to_host(out)
            count += 1
            try:
                case.check(got)
            except AssertionError as error:
                failures.append(str(error)[:300])
    if not device.startswith("sim"):
        np.savez_compressed(ROOT / "tests" / "data" / f"conformance_sm{backend.machine.arch}.npz", **stored)
    return {"cases": count, "failures": failures}


def kernel_tests(device, quick):
    """The tests of kernels, on this device."""
    tests = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests").glob("test_cuda_*.py"))
    command = [sys.executable, "-m", "pytest", "--device", device, *(tests[:1] if quick else tests)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return {"status": done.returncode, "summary": done.stdout.strip().splitlines()[-25:]}


# ---- kernels -----------------------------------------------------------------------------------------------
def ceilings(clock, quick):
    """The bandwidth of a device-to-device copy, in bytes a second."""
    backend = clock.library.backends.get(clock.device)
    n = 1 << (12 if quick else 28)
    a, b = backend.empty((n,), np.uint8), backend.empty((n,), np.uint8)
    if clock.simulated:
        work = lambda: backend.machine.from_device(b, a)
    else:
        work = lambda: b.data.copy_from_device_async(a.data, n, backend.machine.stream())
    return {"copy": 2 * n / clock.seconds(work)}


def measure_kernels(clock, other, quick, only):
    copy, results = ceilings(clock, quick)["copy"], []
    for row in ROWS:
        if only and not re.search(only, row.name):
            continue
        found = {"name": row.name, "ceiling": row.ceiling, "gate": row.gate, "target": row.target}
        try:
            work, amount = row.make(clock.library, clock.device, quick)
            found["seconds"] = clock.seconds(work)
            found["rate"] = amount / found["seconds"]
            if row.ceiling == "copy":
                found["of_ceiling"] = found["rate"] / copy
            elif row.ceiling == "180 Tflop/s":             # what the design asks of attention at least
                found["of_ceiling"] = found["rate"] / 180e12
            elif row.ceiling == "cublas" and not clock.simulated:
                switch = clock.library.backends.cuda.matmul
                switch.library = "cublas"
                try:
                    found["of_ceiling"] = clock.seconds(work) / found["seconds"]
                finally:
                    switch.library = "own"
            del work
            if other is not None:
                theirs, _ = row.make(other, clock.device, quick)
                found["to_pytorch"] = found["seconds"] / Clock(other, clock.device).seconds(theirs)
                del theirs
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"[:300]
        results.append(found)
        print(line(found), flush=True)
    return {"copy_bytes_per_second": copy, "rows": results}


def line(found):
    words = [found["name"].ljust(44)]
    if "seconds" in found:
        words.append(f"{found['seconds'] * 1e6:10.1f} us")
    for key in ("of_ceiling", "to_pytorch"):
        if key in found:
            words.append(f"{key.replace('_', ' ')} {found[key]:.2f}")
    return "  ".join(words + [found.get("error", "")])


def launch_costs(clock, other):
    """Host time of small calls, in seconds."""
    torch, device = clock.library, clock.device
    x = torch.ones(1024, device=device)
    found = {"add": clock.host_seconds(lambda: x + x), "sum": clock.host_seconds(lambda: x.sum())}
    graph = torch.cuda.CUDAGraph(device)
    with torch.cuda.graph(graph):
        y = x
        for _ in range(100):
            y = y + x
    found["of a kernel in a replayed graph"] = clock.host_seconds(graph.replay, 100) / 100
    if other is not None:
        z = other.ones(1024, device=device)
        found["PyTorch: add"] = Clock(other, device).host_seconds(lambda: z + z)
    return found


# ---- training ----------------------------------------------------------------------------------------------
def training(clock, other, quick):
    """Seconds a step: eager, as a captured graph, and PyTorch's eager step."""
    torch, results = clock.library, []
    for name, make in STEPS.items():
        found = {"name": name}
        try:
            step = make(torch, clock.device, quick)
            for _ in range(3):
                step()
            found["eager"] = clock.seconds(step)
            graph = torch.cuda.CUDAGraph(clock.device)
            with torch.cuda.graph(graph):
                step()
            found["graph"] = clock.seconds(graph.replay)
            del graph, step
            if other is not None:
                theirs = make(other, clock.device, quick)
                found["PyTorch eager"] = Clock(other, clock.device).seconds(theirs)
                del theirs
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"[:300]
        results.append(found)
        print(found, flush=True)
    return results


# ---- report ------------------------------------------------------------------------------------------------
def markdown(report):
    lines = [f"# {report['device']}", "", f"{report['when']}, {report['versions']}.", ""]
    if report["simulated"]:
        lines += ["**Tried on the simulator: no figure here is a measurement.**", ""]
    suite, tests = report.get("conformance"), report.get("tests")
    if suite:
        good = suite["cases"] - len(suite["failures"])
        lines += [f"Conformance: {good} of {suite['cases']} micro-kernels agree.", ""]
        lines += [f"- {f}" for f in suite["failures"][:20]]
    if tests:
        lines += [f"Tests of kernels: {tests['summary'][-1]}", ""]
    if "kernels" in report:
        lines += [f"Device copy: {report['kernels']['copy_bytes_per_second'] / 1e12:.2f} TB/s.", "",
                  "| kernel | time, us | rate, T/s | of its ceiling | gate / target | time to PyTorch's |",
                  "|---|---|---|---|---|---|"]
        for r in report["kernels"]["rows"]:
            cells = [r.get("error", ""), ""]
            if "rate" in r:
                cells = [f"{r['seconds'] * 1e6:.1f}", f"{r['rate'] / 1e12:.3f}"]
            share = f"{r['of_ceiling']:.2f} of {r['ceiling']}" if "of_ceiling" in r else ""
            theirs = f"{r['to_pytorch']:.2f}" if "to_pytorch" in r else ""
            lines.append(f"| {r['name']} | {' | '.join(cells)} | {share} | {r['gate']} / {r['target']} | {theirs} |")
    if "launch" in report:
        lines += ["", "Host time of a call: " + ", ".join(f"{k} {v * 1e6:.1f} us" for k, v in report["launch"].items())]
    if "training" in report:
        lines += ["", "| training step | eager, us | graph, us | PyTorch eager, us |", "|---|---|---|---|"]
        for r in report["training"]:
            cells = [f"{r[k] * 1e6:.0f}" if k in r else r.get("error", "") for k in ("eager", "graph", "PyTorch eager")]
            lines.append(f"| {r['name']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or sim to try the programme")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", help="kernels whose name has this regular expression")
    parser.add_argument("--parts", default="conformance,tests,kernels,launch,training")
    parser.add_argument("--out", type=Path, help="folder for the results")
    args = parser.parse_args()
    import cupy

    import minitorch
    simulated, parts = args.device.startswith("sim"), args.parts.split(",")
    minitorch.backends.get(args.device)
    clock, other = Clock(minitorch, args.device), None if simulated else pytorch()
    name = "simulator" if simulated else minitorch.cuda.get_device_name()
    report = {"device": name, "simulated": simulated, "when": time.strftime("%Y-%m-%d"),
              "versions": f"minitorch {minitorch.__version__}, CuPy {cupy.__version__}, "
                          f"PyTorch {other.__version__ if other else 'not there'}"}
    work = {"conformance": lambda: conformance(args.device), "tests": lambda: kernel_tests(args.device, args.quick),
            "kernels": lambda: measure_kernels(clock, other, args.quick, args.only),
            "launch": lambda: launch_costs(clock, other), "training": lambda: training(clock, other, args.quick)}
    for part in parts:
        start = time.perf_counter()
        report[part] = work[part]()
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
        if args.out or not simulated:                      # after each part: a run that is cut off leaves something
            folder = args.out or ROOT / "benchmarks" / "results" / re.sub(r"\W+", "-", name).strip("-").lower()
            os.makedirs(folder, exist_ok=True)
            (folder / "gpu.json").write_text(json.dumps(report, indent=1))
            (folder / "gpu.md").write_text(markdown(report))
    print(markdown(report))


if __name__ == "__main__":
    main()
