"""Measure everything beside PyTorch: ``python -m benchmarks``.

    python -m benchmarks                                   all rows, one thread and two, with memory, import and size
    python -m benchmarks --only 'gpt|softmax' --quick      some rows, roughly
    python -m benchmarks --vs torch,jax --python jax=~/jax/bin/python
    python -m benchmarks --json benchmarks/results/cpu.json --markdown docs/performance.md
    python -m benchmarks --switches --json benchmarks/results/cpu.json --markdown docs/performance.md

Figures are ratios to PyTorch eager, below 1: faster. All rows are measured with one thread; in the other modes those
that have a gate, unless ``--only`` names others. The file of ``--json`` keeps the rows of earlier runs that this
one does not measure; ``--report`` measures nothing and writes the tables from that file. The file of ``--markdown``
keeps what is outside its markers ``<!-- benchmarks -->`` and ``<!-- end of benchmarks -->``.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import sys
from pathlib import Path

from .footprint import import_times, sizes
from .measure import MODES, Contestant, duel, peaks, switch_ratios
from .report import line_of, markdown, put_between_markers
from .rows import load_rows

PEAKS = ("article", "mlp", "wide_mlp", "lenet", "resnet_block", "resnet20", "gpt", "lstm")


def options():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression: rows whose name it is found in; also the "
                        "names memory, import and size")
    parser.add_argument("--vs", default="torch", help="whom to run beside this library, such as torch,jax")
    parser.add_argument("--modes", default="one,two,haswell,malloc",
                        help=f"of {', '.join(MODES)} (default: all but avx2)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row in each mode (default: 1)")
    parser.add_argument("--quick", action="store_true", help="one thread only, 0.4 seconds a row, smaller sizes only")
    parser.add_argument("--json", type=Path, help="file of figures, updated by this run")
    parser.add_argument("--markdown", type=Path, help="file to write the tables into")
    parser.add_argument("--report", action="store_true", help="only write the tables of the figures in --json")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH",
                        help="the interpreter to run a contestant with, where it is not this one")
    parser.add_argument("--switches", action="store_true", help="only measure what each switch of the CPU brings")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    return parser.parse_args()


def machine():
    """The machine on which the figures were taken."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        cpu = found[1] if found else cpu

    def version(name):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "numpy": version("numpy"),
            "torch": version("torch"), "date": datetime.date.today().isoformat()}


def run_mode(mode, names, libraries, args, python, found):
    """Measure the rows in one mode, and print each as it is done."""
    contestants = [Contestant(library, mode, python.get(library, sys.executable)) for library in libraries]
    print(f"\n{mode}\n{'row':36s} " + " ".join(f"{c.library:>22s}" for c in contestants), flush=True)
    for name in names:
        took = duel(contestants, name, 0.4 if args.quick else args.seconds)
        found.setdefault(mode, {})[name] = took
        print(line_of(name, took, [c.library for c in contestants]), flush=True)
        save(args, found)
    for c in contestants:
        c.close()


def save(args, found):
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


def chosen(args):
    """The rows that are asked for, and which of memory, import and size."""
    def wanted(name):
        return re.search(args.only, name)
    names = [name for name in load_rows() if wanted(name)]
    if args.quick:
        names = [name for name in names if not re.search("1e7|/2048/", name)]
    return names, [name for name in ("memory", "import", "size") if wanted(name)]


def main():
    args = options()
    names, others = chosen(args)
    if args.list:
        return print("\n".join(names + others))
    found = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    python = dict(x.split("=", 1) for x in args.python)
    if args.switches:
        found["machine"] = machine()
        found["switches"] = found.get("switches", {}) | switch_ratios(0.4 if args.quick else args.seconds, args.only)
        save(args, found)
    elif not args.report:
        found["machine"] = machine()
        libraries = ["minitorch", *args.vs.split(",")]
        gated = [name for name in names if load_rows()[name].gate is not None]
        for mode in ["one"] if args.quick else args.modes.split(","):
            if mode == "one":
                run_mode(mode, names, [*libraries, "numpy"], args, python, found)
            else:
                run_mode(mode, names if args.only else gated, libraries, args, python, found)
        if "memory" in others or any(name in PEAKS for name in names) and not args.quick:
            asked = [name for name in PEAKS if name in names or re.search(args.only, "memory")]
            found.setdefault("memory", {}).update(peaks(libraries, asked, python))
        if "import" in others:
            found["import"] = import_times(libraries, 3 if args.quick else 11, python)
        if "size" in others:
            found["size"] = sizes(libraries)
        save(args, found)
    text = markdown(found, load_rows())
    if args.markdown:
        put_between_markers(args.markdown, text)
    else:
        print("\n" + text)


if __name__ == "__main__":
    main()
