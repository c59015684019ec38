"""The GPU programme: everything that only a GPU can tell, in one command that makes the most of a short loan.

    python -m benchmarks.gpu --out results                 # on a machine with a GPU: ten minutes at most
    python -m benchmarks.gpu --out results --resume        # goes on where it was cut off
    python -m benchmarks.gpu --compile --arch 90           # before, without a GPU: kernels into the cache, to carry
    python -m benchmarks.gpu --rehearse                    # all of it on the simulator, small; measures nothing

In this order: a smoke run of some seconds, checked against NumPy; the rates of kernels beside PyTorch's in alternating
turns, with their ceilings, and correctness at those sizes; training steps, eager and as captured graphs; host time of
calls; graphs against eager steps; a loader with pinned memory; the simulator's conformance suite, whose results are
goldens; the tests of kernels. Each group runs in a process with limits (`benchmarks/supervised.py`): a kernel that
faults or hangs costs its row. Each result is a line of results.jsonl at once; results.md is the page of them.

Kernels are compiled into the folder that MINITORCH_CACHE names; ``--cubins FILE`` is an archive of it that is unpacked
before and packed into the results after. `benchmarks/gpu_tools.py` is for sanitizers, the profiler and tuning.
"""

import argparse
import os
import platform
import re
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path

from .supervised import Lines, supervise, work_through

ROOT = Path(__file__).parent.parent
# group -> seconds for an item; what a group is, is in gpu_groups.py
LIMITS = {"smoke": 20, "rates": 40, "training": 60, "launch": 30, "graphs": 60, "loader": 30, "conformance": 60,
          "suite": 240, "trial": 20}
GROUPS = [name for name in LIMITS if name != "trial"]


def compile_ahead(arch):
    """Compile the kernels of all rows and training steps for an architecture, into the cache. Needs no GPU."""
    from minitorch.backends.cuda.runtime.compile import compile_source

    from . import dry
    from .gpu_groups import items_of
    codes = dry.codes_of_programme()
    with dry.launches() as found:
        for item in items_of("smoke", options(["--device", "dry"])).values():
            with suppress(Exception):                      # the results are nonsense: only launches count
                item()
    codes = list(dict.fromkeys([*codes, *[launch.code for launch in found]]))
    for i, code in enumerate(codes, 1):
        path = compile_source(code.source, code.macros, code.arch if code.arch != "90" else arch, "cubin")
        print(f"{i} of {len(codes)}: {code.entry}, {path}", flush=True)


def unpack(archive):
    """Put the kernels of an archive into the cache; nothing where there is none."""
    from minitorch.backends.cache import cache_folder
    if archive.exists():
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if re.fullmatch(r"[\w.-]+\.cubin(\.sha256)?", name):
                    (cache_folder("kernels") / name).write_bytes(packed.read(name))


def pack(archive):
    """The cubins of the cache as one archive."""
    from minitorch.backends.cache import cache_folder
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(cache_folder("kernels").glob("*.cubin*")):
            packed.write(path, path.name)


def about(device):
    """What the results were taken on."""
    import cupy

    import minitorch

    from .gpu_clock import pytorch
    simulated = device.startswith("sim")
    backend, torch = minitorch.backends.get(device), None if simulated else pytorch()
    return {"device": "simulator" if simulated else minitorch.cuda.get_device_name(), "simulated": simulated,
            "arch": backend.machine.arch, "when": time.strftime("%Y-%m-%d"), "python": platform.python_version(),
            "versions": f"minitorch {minitorch.__version__}, CuPy {cupy.__version__}, "
                        f"PyTorch {torch.__version__ if torch else 'not there'}"}


def child(args):
    """Do some items of one group, in this process."""
    from .gpu_groups import items_of
    items = {"about": lambda: about(args.device)} if args.child == "about" else items_of(args.child, args)
    if args.names == ["?"]:                                # which are there
        print("\n".join(items))
    else:
        work_through(Lines(args.out / "results.jsonl"), args.child, items, args.names)


def names_of(group, args):
    """The names of a group's items, asked of a process: this one does not import what may fault."""
    import subprocess
    done = subprocess.run(command(group, args, ["?"]), capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        return [f"the group cannot be made: {done.stderr.strip().splitlines()[-1][:300]}"]
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []                   # `only` may leave none


def command(group, args, names):
    """The command line of a process that does some items of a group."""
    given = [sys.executable, "-m", "benchmarks.gpu", "--child", group, "--device", args.device, "--out",
             str(args.out.resolve())]
    given += ["--quick"] * args.quick + (["--only", args.only] if args.only else [])
    return [*given, "--", *names]


def run(args):
    """All groups, one after the other, until the time is over; the page of results after each."""
    from . import gpu_page
    lines = Lines(args.out / "results.jsonl")
    if lines.path.exists() and not args.resume:
        raise SystemExit(f"{lines.path} is there: go on with --resume, or name another folder with --out")
    args.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * args.minutes
    if args.cubins:
        unpack(args.cubins)
    for group in ["about", *args.groups.split(",")]:
        start = time.monotonic()
        names = ["about"] if group == "about" else names_of(group, args)
        left = supervise(lines, group, names, lambda names, group=group: command(group, args, names),
                         (args.limit or LIMITS[group]) if group in LIMITS else 60, until=until)
        print(f"{group}: {time.monotonic() - start:.0f} s" + (f", not come to: {', '.join(left)}" if left else ""),
              flush=True)
        (args.out / "results.md").write_text(gpu_page.page(lines.read()), encoding="utf-8")
        if time.monotonic() > until:
            break
    if args.cubins:
        pack(args.out / "cubins.zip")
    print((args.out / "results.md").read_text(encoding="utf-8"))


def options(given=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or sim to try the programme")
    parser.add_argument("--out", type=Path, default=Path("gpu-results"), help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="keep the results that are there, make the others")
    parser.add_argument("--groups", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}; joined by commas")
    parser.add_argument("--only", help="rows whose name has this regular expression")
    parser.add_argument("--minutes", type=float, default=9.0, help="when to stop (default: 9)")
    parser.add_argument("--limit", type=float, help="seconds for each item, instead of the group's own")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--cubins", type=Path, help="an archive of compiled kernels, unpacked before, packed after")
    parser.add_argument("--compile", action="store_true", help="only compile the kernels, for --arch; needs no GPU")
    parser.add_argument("--arch", default="90", help="for --compile: 80, 90 or 100")
    parser.add_argument("--rehearse", action="store_true", help="everything on the simulator, with kernels that fail")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args(given)
    unknown = [name for name in args.groups.split(",") if name not in LIMITS]
    if unknown or args.names and not args.child:
        parser.error(f"there is no group {', '.join(unknown or args.names)}: write --groups with names of "
                     f"{', '.join(GROUPS)}, joined by commas")
    return args


def main():
    args = options()
    if args.child:
        child(args)
    elif args.compile:
        compile_ahead(args.arch)
    elif args.rehearse:
        with tempfile.TemporaryDirectory() as folder:
            args.device, args.quick, args.out = "sim", True, Path(folder)
            args.groups = ",".join(dict.fromkeys(["smoke", "trial", *args.groups.split(",")]))
            run(args)
    else:
        run(args)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    main()
