"""Writes docs/kernels.md: every CUDA kernel, what the tests ran of it, what it takes of each kind of GPU.

    python docs/build_kernels.py

runs the tests of kernels on the simulator with a log of each specialisation that is compiled, then compiles all of
these for real architectures and reads the assembler's report. Takes some minutes and no GPU; fails if a kernel was
never run, and lists what spills registers or does not compile.
"""

import functools
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
ARCHITECTURES = ("80", "90")
CUBINS = "<!-- cubins -->", "<!-- end of cubins -->"


def run_tests():
    """The specialisations that the tests compiled, as (file, entry, dtypes, constants) -> names of test files."""
    with tempfile.TemporaryDirectory() as folder:
        tests = ["tests/backends/cuda", "tests/compiler/test_device_programs.py",
                 "tests/compiler/test_sim.py"]
        done = subprocess.run([sys.executable, "-m", "pytest", *tests], cwd=ROOT,
                              env=os.environ | {"MINITORCH_KERNEL_LOG": folder})
        if done.returncode:
            raise SystemExit("the tests of kernels fail: mend them first")
        lines = [line for path in Path(folder).iterdir() for line in path.read_text().splitlines()]
    found = {}
    for line in lines:
        file, entry, dtypes, constants, test = json.loads(line)
        found.setdefault((file, entry, tuple(dtypes), tuple(map(tuple, constants))), set()).add(test)
    return found


@functools.cache
def kernels():
    """All kernels of the package by (file, entry)."""
    import minitorch.backends.cuda as room
    from minitorch.backends.cuda.runtime.kernel import Kernel
    found = {}

    def look(x):
        if isinstance(x, Kernel) and isinstance(x.file, str):
            found.setdefault((x.source.name, x.entry), x)
        elif isinstance(x, (tuple, list)):
            for item in x:
                look(item)
        elif isinstance(x, dict):
            look(list(x.values()))
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        look(vars(importlib.import_module(module.name)))
    return dict(sorted(found.items()))


def measure(job):
    """The resources of one specialisation on one architecture; None if it cannot be compiled for it."""
    file, entry, dtypes, constants, arch = job
    from minitorch.backends.cuda.runtime import compile as compiler
    from minitorch.core import dtypes as names
    kernel = kernels()[file, entry]
    types = {k: getattr(names, v).np for k, v in constants if k in "TUV"}
    types |= {letter: getattr(names, d).np for (letter, _), d in zip(kernel.generic, dtypes) if d}
    try:
        macros = kernel.macros(types, dict(constants))
        found = compiler.resources(kernel.source, macros, kernel.arch or arch)
        return job, tuple(found[entry]) if entry in found else f"the assembler reports {', '.join(found)} only"
    except compiler.CompileError as error:
        return job, str(error).strip().splitlines()[-1][:200]


def main():
    ran = run_tests()
    all_kernels = kernels()
    missing = [key for key in all_kernels if not any(key == spec[:2] for spec in ran)]
    if missing:
        raise SystemExit(f"never run by a test: {missing}")
    known = [spec for spec in ran if spec[:2] in all_kernels]
    jobs = [(*spec, arch) for arch in ARCHITECTURES for spec in largest([s for s in known if runs_on(s, arch)])]
    with ProcessPoolExecutor(2) as pool:
        measured = list(pool.map(measure, jobs, chunksize=8))
    write(all_kernels, ran, measured)


def runs_on(spec, arch):
    """True if a specialisation is for an architecture, too: clusters of blocks need 9.0."""
    return int(arch) >= 90 or dict(spec[3]).get("CLUSTER", 1) == 1


def largest(specs):
    """For each kernel and its dtypes one specialisation: whose constants add up to most (vectors, tiles)."""
    groups = {}
    for spec in specs:
        groups.setdefault(spec[:3], []).append(spec)

    def weight(spec):
        return sum(v for _, v in spec[3] if isinstance(v, int)), repr(spec[3])
    return [spec for group in groups.values() for spec in sorted(group, key=weight)[-1:]]


def write(all_kernels, ran, measured):
    lines, problems = [HEAD], []
    file = None
    for (name, entry), kernel in all_kernels.items():
        if name != file:
            file = name
            lines += [f"\n## {file}\n", "| kernel | ran with | specialisations | registers, most "
                      f"({', '.join('sm_' + a for a in ARCHITECTURES)}) | static shared | tests |",
                      "|---|---|---|---|---|---|"]
        specs = [s for s in ran if s[:2] == (name, entry)]
        dtypes = sorted({d for s in specs for d in s[2] if d})
        tests = sorted({t for s in specs for t in ran[s]})
        registers, shared = [], 0
        for arch in ARCHITECTURES:
            found = [(job, r) for job, r in measured if job[:2] == (name, entry) and job[-1] == arch]
            good = [r for _, r in found if not isinstance(r, str)]
            registers.append(str(max(r[0] for r in good)) if good else "-")
            shared = max([shared, *[r[2] for r in good]])
            for job, r in found:
                if isinstance(r, str):
                    if kernel.arch is None:
                        problems.append(f"{entry} {job[2:]}: {r}")
                elif r[1]:
                    problems.append(f"{entry} spills {r[1]} bytes on sm_{arch}: {job[2:4]}")
        lines.append(f"| `{entry}` | {', '.join(dtypes) or 'one type'} | {len(specs)} | {' / '.join(registers)} | "
                     f"{shared} | {', '.join(t.removeprefix('test_').removesuffix('.py') for t in tests)} |")
    if problems:
        lines += ["\n## Not within limits\n", *[f"- {p}" for p in problems]]
    place = ROOT / "docs" / "kernels.md"
    old = place.read_text(encoding="utf-8")
    lines += ["", old[old.index(CUBINS[0]):old.index(CUBINS[1])] + CUBINS[1]]      # of python -m benchmarks.cubins
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"docs/kernels.md: {len(all_kernels)} kernels, {len(ran)} specialisations, {len(problems)} problems")
    for p in problems:
        print(p)


HEAD = """# The CUDA kernels

Written by `python docs/build_kernels.py`, which runs the tests of kernels on the simulator and compiles the largest
specialisation that they ran, for each kernel and its dtypes, for real architectures with NVRTC. Each kernel was
compared with the reference of its op on derived inputs (dtypes, strides, broadcast, ragged, empty) with every check of
the simulator on: bounds, alignment, initialisation, races in shared and global memory, barriers, launch limits. `-` in
a column: not compiled for it. No compiled specialisation spills unless it is listed at the end; tests of the kernels
compile some for sm_75 and sm_100, too.

Deleted barriers: `tests/backends/sim/test_mutation.py`, `tests/backends/cuda/test_barriers.py` and the
tests of each kernel; the simulator's conformance suite: `tests/backends/sim/test_conformance.py`.
**No figure here was measured on a GPU**:
`benchmarks/gpu.py` is for that."""

if __name__ == "__main__":
    main()
