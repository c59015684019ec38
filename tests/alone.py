"""Tests parts of the library: the kernel, the kernel with a guest, and all but a guest.

    python tests/alone.py                        all of the below
    python tests/alone.py kernel                 the kernel alone
    python tests/alone.py with sparse            the kernel, a guest and its friends
    python tests/alone.py without sparse         everything but a guest and those who use it

Each part is copied into an empty folder and runs its tests there: doctests, and the folders of
`tests/` named as its packages; `with` a guest those of the guest. Further arguments go to pytest.
`--quick` imports every module of a part and trains a small network instead: half a second each.
"""

import argparse
import importlib
import io
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.structure.wall import GUESTS, KERNEL, friends  # noqa: E402

# Shared by the tests of all packages, and what they read beside the package.
SHARED = {"__init__", "conftest", "helpers", "data", "recorded"}
READ = ("docs", "notebooks", "examples", "benchmarks")


def users(guest):
    """`guest`, and the guests that need it."""
    return {guest, *(other for other in GUESTS if guest in friends(other))}


def parts(what, guests):
    """The (name, present guests, guest whose tests run or "" for all) of what is asked for."""
    if what in ("all", "kernel"):
        yield "kernel", set(), ""
    for guest in guests or GUESTS:
        if what in ("all", "with"):
            yield f"with {guest}", {guest, *friends(guest)}, guest
        if what in ("all", "without"):
            yield f"without {guest}", {*GUESTS} - users(guest), ""


def copy(folder, target, wanted=lambda name: True):
    """Copy a folder of the checkout to `target`: what lies in it whose name, without its ending, is
    wanted."""
    def left_out(parent, names):
        out = {name for name in names if name == "__pycache__"}
        if Path(parent) == ROOT / folder:
            out |= {name for name in names if not wanted(name.split(".")[0])}
        return out
    shutil.copytree(ROOT / folder, target / folder, ignore=left_out)


# ---- with its tests ----------------------------------------------------------------------------
def passes(guests, tested, arguments):
    """True if tests pass in a folder that has nothing but the kernel and `guests`: all that belong
    to these, or those of the guest `tested`."""
    with tempfile.TemporaryDirectory(prefix="minitorch-alone-") as folder:
        target = Path(folder)
        copy("minitorch", target, lambda name: name not in GUESTS or name in guests)
        copy("tests", target, {*KERNEL, *guests, *SHARED}.__contains__)
        for beside in READ:
            copy(beside, target)
        shutil.copy(ROOT / "pyproject.toml", target)
        env = {**os.environ, "PYTHONPATH": folder}
        own = [f"{place}/{tested}{end}" for place in ("tests", "minitorch") for end in ("", ".py")]
        paths = [path for path in own if tested and (target / path).exists()]
        command = [sys.executable, "-m", "pytest", *paths, *arguments]
        return subprocess.run(command, cwd=target, env=env).returncode == 0


# ---- in half a second --------------------------------------------------------------------------
def quick(asked):
    """Yield (name, True if it holds) for each part: they are forked off a process that has imported
    the kernel, whose folder gets the guests of one part after the other."""
    with tempfile.TemporaryDirectory(prefix="minitorch-alone-") as folder:
        target, aside = Path(folder), Path(folder, "aside")
        copy("minitorch", target)
        aside.mkdir()
        move(GUESTS, target / "minitorch", aside)
        sys.dont_write_bytecode = False                    # each part reads that of the others
        sys.path.insert(0, folder)
        importlib.import_module("minitorch")
        for name, guests, _ in asked:
            move(guests, aside, target / "minitorch")
            yield name, in_a_fork(lambda guests=guests: smoke(guests))
            move(guests, target / "minitorch", aside)


def move(names, source, target):
    for path in source.iterdir():
        if path.name.split(".")[0] in names:
            path.rename(target / path.name)


def in_a_fork(function):
    """True if `function` ends without an error in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            function()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def smoke(guests):
    """Import all modules of the kernel and `guests`, train a network, save it and load it."""
    import minitorch as torch
    importlib.invalidate_caches()
    present = set()
    for module in pkgutil.walk_packages(torch.__path__, "minitorch."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:           # an extra that is not installed, as CuPy
                if error.name.split(".")[0] == "minitorch":
                    raise
            present.add(module.name.split(".")[1])
    assert present == {*KERNEL, *guests}, present ^ {*KERNEL, *guests}

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(64, 3)
    y = (x * torch.tensor([1.0, -2.0, 0.5])).sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0], losses
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="all",
                        choices=("all", "kernel", "with", "without"))
    parser.add_argument("guests", nargs="*", metavar="guest", help="all where none is named")
    parser.add_argument("--quick", action="store_true", help="import and train, without the tests")
    given, rest = parser.parse_known_args(arguments)
    if unknown := set(given.guests) - set(GUESTS):
        parser.error(f"not guests: {', '.join(sorted(unknown))}; guests are {', '.join(GUESTS)}")
    asked = parts(given.what, given.guests)
    if given.quick:
        results = quick(asked)
    else:
        results = ((name, passes(guests, tested, rest)) for name, guests, tested in asked)
    failed = 0
    for name, holds in results:
        failed += not holds
        print(f"{name}: {'holds' if holds else 'FAILS'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
