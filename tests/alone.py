"""Takes the library apart along its wall (`tests/structure/wall.py`), and tests the parts.

    python tests/alone.py                        all of the below
    python tests/alone.py kernel                 the kernel alone, in an empty folder
    python tests/alone.py with sparse            a guest with the kernel and its friends
    python tests/alone.py without sparse         everything but a guest and those who use it

Each part is a copy in a temporary folder. Its tests are the folders of `tests/` that belong to the
packages that are there. `--quick` imports every module of the part and trains a small network in
place of running its tests: so it runs in the test suite. Further arguments go to pytest.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.structure.wall import GUESTS, friends  # noqa: E402

SMOKE = """
import importlib, io, pkgutil, sys
import minitorch as torch

present = set()
for found in pkgutil.walk_packages(torch.__path__, "minitorch."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as error:                   # an extra that is not installed, as CuPy
        if error.name.split(".")[0] == "minitorch":
            raise
    present.add(found.name.split(".")[1])
assert not present & set(ABSENT), present & set(ABSENT)

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
print(len(present), "packages,", len(sys.modules), "modules")
"""


def users(guest):
    """`guest`, and the guests that cannot be without it."""
    return {guest, *(other for other in GUESTS if guest in friends(other))}


def copy(target, absent, whole):
    """The package in the folder `target` without the guests `absent`; `whole`: and its tests."""
    def left_out(folder, names):
        here = Path(folder)
        out = {name for name in names if name == "__pycache__"}
        if here == ROOT / "minitorch":
            out |= {name for name in names if name.split(".")[0] in absent}
        if here == ROOT / "tests":
            out |= {name for name in names if name in absent}
            if absent:                                     # tests of the checkout as a whole
                out |= {"structure", "programs", "parity", "mutation"} & set(names)
        return out
    others = ("tests", "docs", "notebooks", "examples", "benchmarks") if whole else ()
    for name in ("minitorch", *others):
        shutil.copytree(ROOT / name, target / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", target)


def run(name, absent, quick, arguments):
    """Copy the part without `absent` and test it; True if it holds."""
    with tempfile.TemporaryDirectory(prefix="minitorch-alone-") as folder:
        target = Path(folder)
        copy(target, absent, whole=not quick)
        command = ["-m", "pytest", "tests", *arguments]
        if quick:
            command = ["-c", f"ABSENT = {sorted(absent)!r}\n{SMOKE}"]
        env = {**os.environ, "PYTHONPATH": str(target)}
        done = subprocess.run([sys.executable, *command], cwd=target, env=env)
    print(f"{name}: {'holds' if done.returncode == 0 else 'FAILS'}", flush=True)
    return done.returncode == 0


def parts(what, guests):
    """The (name, absent guests) of what is asked for."""
    if what in ("all", "kernel"):
        yield "kernel", set(GUESTS)
    for guest in guests or GUESTS:
        if what in ("all", "with"):
            yield f"with {guest}", set(GUESTS) - {guest} - friends(guest)
        if what in ("all", "without"):
            yield f"without {guest}", users(guest)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="all", choices=("all", "kernel", "with", "without"))
    parser.add_argument("guests", nargs="*", metavar="guest", help="all where none is named")
    parser.add_argument("--quick", action="store_true", help="import and train, without the tests")
    given, rest = parser.parse_known_args(arguments)
    if unknown := set(given.guests) - set(GUESTS):
        parser.error(f"not guests: {', '.join(sorted(unknown))}; guests are {', '.join(GUESTS)}")
    done = [run(*part, given.quick, rest) for part in parts(given.what, given.guests)]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
