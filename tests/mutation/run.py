"""Plants small bugs in the library, one at a time, and runs the tests that call what was changed, without PyTorch.

    python -m tests.mutation.run cover FOLDER        # once: which test calls which function
    python -m tests.mutation.run run FOLDER          # the mutants: results.json, docs/mutants.md
    python -m tests.mutation.run run FOLDER --only survivors
    python -m tests.mutation.run run FOLDER --seed 29       # a measure on 200 others: unseen.json

A mutant lives in memory only: a forked process imports the library with the text of one module replaced and runs
pytest on a few tests, cheapest first. It is killed when one fails, or takes much longer than it should. Which
mutants there are depends on the code and on `SEED`; `PACKAGES` says how many are in each package.
`explained.json` beside this file says why a survivor makes no difference.
"""

import argparse
import collections
import glob
import json
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time

from tests import ROOT

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parent
SEED, LIMIT = 14, 90                                       # seconds of the processor for one run of pytest, at most
# Tests, files and seconds at most, one batch after the other: the cheapest ones, then, for survivors, some of all.
BATCHES = ((12, 2, 2), (40, 6, 4))
WRITERS = ("core/template.py", "core/generate.py")
RECORDED = "tests/recorded/test_recorded.py"
WRITTEN = ("tests/core/", f"{RECORDED}::test_same_as_recorded[promotion", RECORDED)
SIGNATURES = "tests/structure/test_defaults.py"             # looks at functions without calling them
AGAIN = ((40, 12, 6), (150, 30, 12), (300, 60, 20))
RESULTS, EXPLAINED = HERE / "results.json", HERE / "explained.json"
UNSEEN = HERE / "unseen.json"                              # results of another seed
# How many mutants of each package. The simulator and CUDA have their own (backends/sim/test_mutation,
# the tests of barriers);
# what draws, prints lessons or is a command line is left out, and what only ranks that are processes run, since they
# import the library from its files.
PACKAGES = {"core": 20, "autograd": 11, "explain": 1, "ops/elementwise": 11, "ops/nn": 14, "ops/shapes": 6,
            "ops/indexing": 6, "ops/reductions": 8, "ops/linalg": 6, "ops/creation": 5, "ops": 3, "backends/cpu": 14,
            "backends/batched": 10, "backends/native": 5, "func": 6, "distributed": 10,
            "random": 8, "nn/modules": 12, "nn/utils": 6, "nn": 6, "optim": 20, "compiler": 12, "serialization": 10,
            "utils": 10, "amp": 3, "datasets": 2, "transforms": 3, "profiler": 2, "testing": 2, "": 8}
LEFT_OUT = ("cuda.py", "cuda_graphs.py", "accelerator.py", "__main__.py", "utils/tensorboard.py", "__init__.py",
            "vision.py", "backends/__init__.py", "compiler/graphed.py",
            *(f"distributed/{name}.py" for name in ("mpi", "processes", "supervise", "run", "launch", "node")))
SLOW = ("backends/cuda/", "backends/sim/", "benchmarks/", "check/", "mutation/", "parity/", "structure/",
        "viz/", "cli/test_check_names", "compiler/test_sim", "compiler/test_device_programs",
        "programs/test_article", "programs/test_examples")


# ---- which mutants -------------------------------------------------------------------------------------------
def package_of(path):
    """The entry of `PACKAGES` that a file counts for."""
    folders = path.split("/")[:-1]
    while folders and "/".join(folders) not in PACKAGES:
        folders.pop()
    return "/".join(folders)


def chosen(seed=SEED, number=None):
    """The mutants of a run, always the same ones for the same code.

    With `SEED` there are so many of each package; another one draws from the whole library, each as
    likely as any other.
    """
    from tests.mutation.mutate import mutants_of
    every = {}
    for path in sorted((ROOT / "minitorch").rglob("*.py")):
        file = path.relative_to(ROOT / "minitorch").as_posix()
        if file in LEFT_OUT or file.split("/")[0] in ("check", "viz", "cli") or file.startswith(("backends/cuda",
                                                                                               "backends/sim")):
            continue
        every.setdefault(package_of(file), []).extend(mutants_of(file, path.read_text()))
    if seed != SEED:
        number = number or 200
        drawn = random.Random(seed).sample([m for part in every.values() for m in part], 2 * number)
        return [m for m in drawn if m.is_valid()][:number]
    picked = []
    for package, each in PACKAGES.items():
        shuffled = random.Random(f"{SEED} {package}").sample(every[package], 2 * each)
        picked += [m for m in shuffled if m.is_valid()][:each]
    return picked[:number]


# ---- which tests ---------------------------------------------------------------------------------------------
def cover(folder):
    """Run each test file and the doctests under `cover`; files that were recorded already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [f.relative_to(TESTS) for f in sorted(TESTS.rglob("test_*.py"))]
    files = [f for f in files if not f.as_posix().startswith(SLOW)]
    tests = [(".".join(f.with_suffix("").parts), [str(TESTS / f)]) for f in files]
    for name, arguments in [*tests, ("doctests", ["--doctest-modules", "minitorch"])]:
        out = folder / f"{name}.pickle"
        if not out.exists():
            subprocess.run([sys.executable, "-m", "pytest", "-p", "tests.mutation.cover", "-q", "-n", "0", *arguments],
                           cwd=ROOT, env={**environment(), "MUTATION_COVER": str(out)}, stdout=subprocess.DEVNULL)
            print(name, flush=True)


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1"}


def load_cover(folder):
    """{(file, first line of a function): [tests that call it, cheapest first]}, and by file alone."""
    tests = {}
    for path in glob.glob(f"{folder}/*.pickle"):
        tests |= pickle.loads(pathlib.Path(path).read_bytes())
    calls, seconds = {}, {name: took for name, (took, _) in tests.items()}
    for name, (_, functions) in tests.items():
        for key in functions:
            calls.setdefault(key, set()).add(name)
            calls.setdefault(key[0], set()).add(name)
    # A test that calls little says most about what it calls; a slow one, or one in a file of many, is asked late.
    sizes = collections.Counter(name.split("::")[0] for name in tests)
    weight = {name: seconds[name] + 0.0005 * len(functions) + 0.001 * sizes[name.split("::")[0]]
              for name, (_, functions) in tests.items()}
    calls["core/call.py"] |= {name for name in tests if name.startswith(WRITTEN[0])}
    return {key: sorted(names, key=weight.get) for key, names in calls.items()}, seconds


def candidates(mutant, calls):
    """Tests for a mutant: those that call its function, or anything in its file where it has none."""
    exact = calls.get((mutant.file, mutant.start), []) if mutant.start else []
    if mutant.file in WRITERS:                             # what they write at the import is run by all tests
        exact = [*exact, *(name for name in calls["core/call.py"] if name not in set(exact))]
    return exact or calls.get(mutant.file, [])


def batches(names, seconds, again):
    """Lists of tests, each for one run of pytest: the cheapest, or those of a second look in any order."""
    left = list(names)
    if again:
        random.Random(SEED).shuffle(left)
        left.sort(key=lambda name: [not name.startswith(start) for start in WRITTEN])
    for size, most_files, enough in AGAIN if again else BATCHES:
        total, kept, files = 0, [], set()
        for name in left:
            file = name.split("::")[0]
            room = (file in files or len(files) < most_files) and total + seconds[name] < enough and len(kept) < size
            if room or not kept:
                kept.append(name)
                files.add(file)
                total += seconds[name]
        left = [name for name in left if name not in set(kept)]
        if kept:
            yield kept


# ---- one mutant ----------------------------------------------------------------------------------------------
def warm_up():
    """Import in the parent what every child needs; not the library."""
    sys.modules["torch"] = None
    sys.path.insert(0, str(ROOT))
    os.environ.update(environment())
    os.chdir(ROOT)
    import hypothesis
    import ml_dtypes
    import numpy
    import pytest
    assert "minitorch" not in sys.modules
    return hypothesis, ml_dtypes, numpy, pytest


def outcome(file, text, tests, limit=LIMIT, log=os.devnull):
    """"" if all `tests` pass with the text of `file` replaced, else the test that failed, "timeout" or "crash"."""
    import resource
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
        try:
            os.write(write, in_child(file, text, tests, log).encode())
        except BaseException as error:                     # an import that fails in conftest, for one
            os.write(write, f"{type(error).__name__}".encode())
        os._exit(0)
    os.close(write)
    os.set_blocking(read, False)
    end, said = time.monotonic() + 6 * limit, b""        # of the clock: others may use the processor too
    while time.monotonic() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        try:
            said += os.read(read, 4096)
        except BlockingIOError:
            pass
        if done:
            os.close(read)
            return said.decode().removeprefix("ok") if said else "crash or endless loop"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    return "timeout"


def in_child(file, text, tests, log):
    """Run the tests in this process with a planted module."""
    import importlib.machinery
    import linecache

    import hypothesis
    import pytest
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    path, get_code = str(ROOT / "minitorch" / file), importlib.machinery.SourceFileLoader.get_code
    folder = None
    if file.endswith((".cu", ".cuh")):
        from tests.mutation.kernels import plant
        folder = tempfile.TemporaryDirectory()
        if text is not None:
            plant({file: text}, pathlib.Path(folder.name))
    elif text is not None:
        code = compile(text, path, "exec")
        linecache.cache[path] = len(text), None, text.splitlines(True), path     # whoever reads the source sees it, too
        importlib.machinery.SourceFileLoader.get_code = lambda self, name: (
            code if self.path == path else get_code(self, name))
    hypothesis.settings.register_profile("mutation", database=None, deadline=None, derandomize=True)
    hypothesis.settings.load_profile("mutation")
    plan = Plan(tests)
    files = list(dict.fromkeys(name.split("::")[0] for name in tests))
    doctests = ["--doctest-modules"] if any(f.startswith("minitorch/") for f in files) else []
    # Plain asserts: pytest would import the files that it is given in its own way, without what was planted.
    status = pytest.main(["-o", "addopts=", "--assert=plain", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
                          *doctests, *files], plugins=[plan])
    if folder:
        folder.cleanup()
    if status == 0:
        return "ok"
    return plan.failed or f"pytest ends with {int(status)}"


class Plan:
    """A pytest plugin: the tests of a list, in its order."""

    def __init__(self, tests):
        self.place, self.failed = {name: i for i, name in enumerate(tests)}, None

    def pytest_collection_modifyitems(self, items):
        def place(item):                                   # of a test, or of its whole file
            return self.place.get(item.nodeid, self.place.get(item.nodeid.split("::")[0]))
        items[:] = sorted((i for i in items if place(i) is not None), key=place)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = "does not compile" if "CompileError" in str(report.longrepr) else report.nodeid


# ---- the run -------------------------------------------------------------------------------------------------
def judge(mutant, calls, seconds, again=False, log=os.devnull):
    """"killed" with the test, or "survived"."""
    names = candidates(mutant, calls)
    if again:                                          # code that runs at import belongs to no test
        names = list(dict.fromkeys([*names, *(name for name in seconds if name.startswith((WRITTEN[0], SIGNATURES)))]))
    for part in batches(names, seconds, again):
        found = outcome(mutant.file, mutant.text, part, LIMIT if again else LIMIT / 5, log)
        if found:
            return "killed", found
    return "survived", f"{len(names)} tests call it"


def rows_of(path):
    """The rows of a file of results; that of another seed names the seed and the commit, too."""
    found = json.loads(path.read_text())
    return found["mutants"] if isinstance(found, dict) else found


def commit():
    """The last one that changed the library: the names of mutants have the lines of its files."""
    return subprocess.check_output(["git", "log", "-1", "--format=%h", "--", "minitorch"], cwd=ROOT,
                                   text=True).strip()


def run(folder, only, seed, number):
    results = RESULTS if seed == SEED else UNSEEN
    mutants = chosen(seed, number)
    part = results.with_suffix(".part")                # where a run that was broken off is taken up
    kept = part if part.exists() else results if only else None
    old = {row["name"]: row for row in rows_of(kept)} if kept else {}
    reasons = json.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    calls, seconds = load_cover(folder)
    warm_up()
    rows, begin = [], time.monotonic()
    for i, mutant in enumerate(mutants):
        row = old.get(mutant.name)
        again = only and row and row["verdict"] == "survived" and reasons.get(mutant.name, [""])[0] != "equivalent"
        if row is None or again:
            verdict, by = judge(mutant, calls, seconds, bool(only))
            row = {"name": mutant.name, "package": package_of(mutant.file), "function": mutant.function,
                   "verdict": verdict, "by": by, "first": (row or {}).get("first", verdict)}
            print(f"{i + 1}/{len(mutants)} {time.monotonic() - begin:5.0f} s {verdict:9}{mutant.name}   [{by}]",
                  flush=True)
        rows.append(row)
        done = {row["name"] for row in rows}
        part.write_text(json.dumps([*rows, *(row for name, row in old.items() if name not in done)], indent=0))
    found = rows if seed == SEED else {"seed": seed, "commit": commit(), "mutants": rows}
    results.write_text(json.dumps(found, indent=0) + "\n")
    part.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cover", "run", "list", "report"])
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", choices=["survivors"])
    parser.add_argument("--number", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if given.what == "cover":
        cover(given.folder.resolve())
    elif given.what == "run":
        run(given.folder.resolve(), given.only, given.seed, given.number)
    elif given.what == "list":
        print(*(m.name for m in chosen(given.seed, given.number)), sep="\n")
    else:
        from tests.mutation.report import write
        write()


if __name__ == "__main__":
    main()
