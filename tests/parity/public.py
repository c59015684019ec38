"""Public programs beside PyTorch: ``python -m tests.parity.public LIST [--only PATTERN] [--json FILE]``.

LIST is a JSON file, such as `public.json`: ``{"folder": ..., "paths": [...], "torch": [...], "programs": {name:
{"script": ...}}}``, with folders to import from and those for PyTorch alone. `public_prelude.py` runs before each
program and lays out data. Repositories lie in folders named owner+name.

Each program runs twice, once with PyTorch and once with minitorch in its place, from the same seeds, as its authors
wrote it: nothing in its text is changed but what "replace" says, such as a number of episodes, and a notebook's lines
for the shell are left out. A run ends at the end of the program or after so many backward passes ("steps"). Programs
and data are not part of this repository: "folder", or the environment's PROGRAMS, says where they are.

Where the numbers differ, PyTorch runs once more with other instructions of the processor: a program whose numbers move
as much by that alone, such as Adam on gradients that are zero but for rounding, is "rounding". So is one whose numbers
agree to 1e-5 when both libraries run it with float64 as the default dtype.

It compares the losses that were differentiated, the parameters of all optimisers, the printed
numbers, and the processor time of both. Each run is a process of its own with one thread.

Keys of a program: "script" (a .py or .ipynb file), "args" (a list), "steps", "cwd" (the folder that
it may write to; each run gets a copy. By default the script's, where it also runs), "replace"
({text: text}), "paths" (more folders to import from), "loose" (a tolerance in the place of the
usual one).
"""

import argparse
import contextlib
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

TOLERANCE = 2e-3                # relative, of losses, parameters and printed numbers: rounding grows from step to step
PRECISE = 1e-5                  # the same in float64
NARROW = {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
NUMBER = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
TIMING = re.compile(r"\b(?:time|sec|secs|seconds|ms|it/s|s/it|min|took|elapsed|hours|minutes|duration|eta|tok/sec)\b"
                    r"|\d+m?s\b|\bdevice\b|0x[0-9a-f]+|%\||version", re.I)


# ---- one run, in a process of its own ----------------------------------------------------------------------
class Enough(BaseException):
    """As many steps as were asked for."""


def text_of(job):
    """The program's text: of a notebook, its cells without lines for the shell."""
    path = Path(job["script"])
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".ipynb":
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        sources = ["".join(c["source"]) for c in cells]
        text = "\n".join(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", s) for s in sources if not s.startswith("%%"))
    for old, new in job.get("replace", {}).items():
        if old not in text:
            raise ValueError(f"the program has no {old!r} to replace")
        text = text.replace(old, new)
    return text


def seed(torch):
    import random
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def watched(torch, job, record):
    """Have backward passes and optimisers noted, and the run ended after so many steps."""
    backward, init, optimizers = torch.Tensor.backward, torch.optim.Optimizer.__init__, []

    def noted_backward(self, *args, **kwargs):
        if len(record["losses"]) >= job.get("steps", 20):
            raise Enough
        record["losses"].append(float(self.detach().double().sum()))
        return backward(self, *args, **kwargs)

    def noted_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if not any(o is self for o in optimizers):
            optimizers.append(self)
    torch.Tensor.backward, torch.optim.Optimizer.__init__ = noted_backward, noted_init
    return optimizers


def parameters(optimizers):
    """Norm and sum of every parameter."""
    found = []
    for o in optimizers:
        for group in o.param_groups:
            for p in group["params"]:
                x = p.detach().double().cpu().numpy()
                found.append([float(np.sqrt((x**2).sum())), float(x.sum())])
    return found


def run_one(library, job, result):
    """Run a program with a library; write what was noted."""
    if library == "minitorch":
        from minitorch.cli.alias import install
        install()
    import torch
    import torch.nn  # noqa: F401  (PyTorch's import brings these; ours waits until they are asked for)
    import torch.optim  # noqa: F401
    import torch.utils.data  # noqa: F401
    torch.set_num_threads(1)
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 1e-3))     # pictures that would be looked at
    runpy.run_path(str(Path(__file__).with_name("public_prelude.py")))
    record = {"losses": [], "error": None}
    optimizers = watched(torch, job, record)
    if job.get("double"):
        torch.set_default_dtype(torch.float64)
    out = io.StringIO()
    script = Path(job["script"])
    as_is = script.suffix != ".ipynb" and "replace" not in job
    copied = script if as_is else script.with_name(f"_{os.getpid()}_{script.stem}.py")
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script), *job.get("args", [])]
    seed(torch)
    started = time.process_time()
    try:
        if not as_is:
            copied.write_text(text_of(job), encoding="utf-8")
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(copied), run_name="__main__")
    except Enough:
        pass
    except SystemExit as error:
        if error.code not in (None, 0):
            record["error"] = f"SystemExit: {error.code}"
    except BaseException as error:
        record["error"] = f"{type(error).__name__}: {error}".strip()[:400]
        record["trace"] = traceback.format_exc()[-3000:]
    finally:
        if not as_is:
            copied.unlink(missing_ok=True)
    record["seconds"] = time.process_time() - started
    record["out"] = out.getvalue()[-60000:]
    record["parameters"] = parameters(optimizers)
    Path(result).write_text(json.dumps(record))
    os._exit(0)                                            # threads and workers of the program may still run


# ---- both runs, compared -----------------------------------------------------------------------------------
def ran(library, job, paths, home, timeout, **variables):
    """The record of one run in a fresh copy of the program's working folder."""
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "record.json"
        script = Path(job["script"])
        cwd = Path(job.get("cwd", script.parent))
        shutil.copytree(cwd, Path(place) / "work", ignore=shutil.ignore_patterns(".git"))
        script = Path(place) / "work" / script.relative_to(cwd)
        job = {**job, "script": str(script)}
        (Path(place) / "job.json").write_text(json.dumps(job))
        paths = [str(Path(__file__).parents[2]), *job.get("paths", []), *paths]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                   MKL_NUM_THREADS="1", MPLBACKEND="Agg", HOME=str(home), PYTHONWARNINGS="ignore", TQDM_DISABLE="1",
                   PYTHONHASHSEED="0", CUDA_VISIBLE_DEVICES="", **variables)
        env["PROGRAMS"] = str(home.parent)
        env["PYTHONPYCACHEPREFIX"] = tempfile.gettempdir() + "/pycache"
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        order = [sys.executable, __file__, "--run", library, str(Path(place) / "job.json"), str(result)]
        nothing = subprocess.DEVNULL
        done = subprocess.Popen(order, cwd=script.parent, env=env, stdin=nothing, stdout=nothing, text=True,
                                stderr=subprocess.PIPE, start_new_session=True)
        try:
            _, said = done.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, 9)
            said = f"more than {timeout} s"
        if not result.exists():
            error = (said or "no record").strip()[-300:]
            return {"error": error, "losses": [], "out": "", "parameters": [], "seconds": 0}
        return json.loads(result.read_text())


def distance(a, b):
    """The largest relative distance of two lists of numbers; that of nan to nan is zero."""
    worst = 0.0
    for x, y in zip(a, b):
        if not (x == y or (x != x and y != y)):
            worst = max(worst, abs(x - y) / max(abs(x), abs(y), 1e-3) if np.isfinite(x - y) else float("inf"))
    return worst


def lines_apart(a, b, tolerance):
    """Pairs of printed lines that differ in words, or in numbers by more than rounding; lines on time are left out."""
    texts = [re.sub(r" object at 0x[0-9a-f]+", "", text) for text in (a, b)]
    pairs = [[line for line in text.splitlines() if line.strip() and not TIMING.search(line)] for text in texts]
    apart = []
    for x, y in zip(*pairs):
        numbers = [list(map(float, NUMBER.findall(line))) for line in (x, y)]
        close = len(numbers[0]) == len(numbers[1]) and all(
            abs(p - q) <= tolerance * max(abs(p), abs(q), 1) or p == q or p != p and q != q for p, q in zip(*numbers))
        if not close or NUMBER.sub("", x).split() != NUMBER.sub("", y).split():
            apart.append((x, y))
    if len(pairs[0]) != len(pairs[1]):
        apart.append((f"{len(pairs[0])} lines", f"{len(pairs[1])} lines"))
    return apart, len(pairs[0])


def compare(theirs, ours, job):
    """Verdict on two records, and what it rests on."""
    found = {"torch_seconds": round(theirs["seconds"], 2), "steps": len(theirs["losses"])}
    if theirs["error"]:
        return {**found, "verdict": "does not run on PyTorch", "obstacle": theirs["error"]}
    if ours["error"]:
        return {**found, "verdict": "stops", "obstacle": ours["error"], "trace": ours.get("trace")}
    tolerance = job.get("loose", TOLERANCE)
    found["ratio"] = round(ours["seconds"] / max(theirs["seconds"], 1e-3), 2)
    found["losses"] = distance(theirs["losses"], ours["losses"])
    norms = [[row[0] for row in r["parameters"]] for r in (theirs, ours)]
    found["parameters"] = distance(*norms)
    apart, lines = lines_apart(theirs["out"], ours["out"], tolerance)
    found["lines"], found["apart"] = lines, apart[:3]
    counts = len(theirs["losses"]) == len(ours["losses"]) and len(norms[0]) == len(norms[1])
    same = counts and max(found["losses"], found["parameters"]) <= tolerance and not apart
    return {**found, "verdict": "same" if same else "differs"}


def is_rounding(theirs, ours, control, job):
    """True if minitorch is about as far from PyTorch as PyTorch with other instructions is from
    itself."""
    reach = max(control.get("losses", 0), control.get("parameters", 0))
    return compare(theirs, ours, {**job, "loose": max(TOLERANCE, 5 * reach)})["verdict"] == "same"


def table(found):
    """Rows of Markdown."""
    lines = ["| program | verdict | steps | losses within | printed lines | time | first obstacle |", "|" + "---|" * 7]
    for name, row in found.items():
        ran_both = "ratio" in row
        lines.append("| " + " | ".join([
            name, row["verdict"], str(row["steps"]), f"{row['losses']:.0e}" if ran_both and row["steps"] else "",
            str(row["lines"]) if ran_both else "", f"{row['ratio']:.2f}" if ran_both else "",
            (row.get("obstacle") or "").replace("|", "/").split("\n")[0][:100]]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("--only", default="", help="a regular expression: programs whose name it is found in")
    parser.add_argument("--json", type=Path, help="file of results, updated by this run")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--new", action="store_true", help="only programs that the file of results lacks")
    parser.add_argument("--trace", action="store_true", help="print where a program stopped")
    args = parser.parse_args()
    jobs = json.loads(args.list.read_text())
    folder = Path(os.environ.get("PROGRAMS", jobs.get("folder", ".")))
    kept = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    for name, job in jobs["programs"].items():
        if not re.search(args.only, name) or args.new and name in kept:
            continue
        job = {**job, **{key: str(folder / job[key]) for key in ("script", "cwd") if key in job},
               "paths": [str(folder / p) for p in job.get("paths", [])]}
        paths = [str(folder / p) for p in jobs["paths"]]
        home, for_torch = folder / "_home", [str(folder / p) for p in jobs.get("torch", [])]
        theirs = ran("torch", job, paths + for_torch, home, args.timeout)
        ours = theirs if theirs["error"] else ran("minitorch", job, paths, home, args.timeout)
        row = kept[name] = compare(theirs, ours, job)
        if row["verdict"] == "differs":                    # as far as rounding takes PyTorch itself?
            control = compare(theirs, ran("torch", job, paths + for_torch, home, args.timeout, **NARROW), job)
            row["torch_itself"] = {key: control.get(key) for key in ("losses", "parameters", "apart")}
            row["verdict"] = "rounding" if is_rounding(theirs, ours, control, job) else "differs"
        if row["verdict"] == "differs" and row["steps"]:   # and with 53 bits?
            job = {**job, "double": True, "loose": PRECISE}
            precise = compare(ran("torch", job, paths + for_torch, home, args.timeout),
                              ran("minitorch", job, paths, home, args.timeout), job)
            row["in_float64"] = {key: precise.get(key) for key in ("losses", "parameters", "apart", "obstacle")}
            row["verdict"] = "rounding" if precise["verdict"] == "same" else "differs"
        trace = row.pop("trace", None)
        print(f"{name:44} {row['verdict']:10} steps {row['steps']:3} losses {row.get('losses', 0):.1e} parameters "
              f"{row.get('parameters', 0):.1e} lines {row.get('lines', 0)} time {row.get('ratio', 0):5.2f} of "
              f"{row['torch_seconds']:.1f} s  {row.get('obstacle') or ''} {row.get('apart') or ''}"[:600], flush=True)
        if trace and args.trace:
            print(trace)
        if args.json:
            args.json.write_text(json.dumps(kept, indent=1) + "\n")
    print(table(kept) if args.json else "")


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_one(sys.argv[2], json.loads(Path(sys.argv[3]).read_text()), sys.argv[4])
    main()
