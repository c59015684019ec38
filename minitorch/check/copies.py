"""``python -m minitorch notebooks [DIR]``: copy the student notebooks out, and open JupyterLab if it is installed."""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
PACKAGE = Path(__file__).resolve().parents[1]
PLACES = (PACKAGE / "lessons", PACKAGE.parent / "notebooks" / "student")     # in a wheel, in a checkout


def main(argv=None):
    parser = argparse.ArgumentParser("minitorch notebooks", description=__doc__)
    parser.add_argument("dir", nargs="?", type=Path, default=Path("minitorch_notebooks"), help="default: %(default)s")
    parser.add_argument("--no-open", action="store_true", help="only copy")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there, your work too")
    options = parser.parse_args(argv)
    source = next((place for place in PLACES if place.is_dir()), None)
    if source is None:
        print("The notebooks are not in this installation: install a wheel of minitorch, or clone its repository.",
              file=sys.stderr)
        return 1
    new, kept = copy(source, options.dir, options.overwrite)
    print(f"{len(new)} notebooks copied to {options.dir.resolve()}" + (
        f", {len(kept)} that were there left as they are (--overwrite replaces them)" if kept else ""))
    if importlib.util.find_spec("matplotlib") is None:
        print("They draw with matplotlib, which is not installed: pip install matplotlib scikit-learn")
    if options.no_open:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        print("To work on them: pip install jupyterlab, then jupyter lab in that folder; or open them in VS Code.")
        return 0
    return subprocess.run([sys.executable, "-m", "jupyterlab", str(options.dir)], env=quiet(os.environ)).returncode


def quiet(environment):
    """An environment in which linear algebra uses one thread, unless it says how many.

    A lesson's matrices are small: more threads only wait for each other, and on a busy machine a lesson of 17 s took
    274 s with them.
    """
    return {**dict.fromkeys(THREADS, "1"), **environment}


def copy(source, target, overwrite=False):
    """Copy the notebooks of `source` to `target`; the names of those copied, and of those left alone."""
    target.mkdir(parents=True, exist_ok=True)
    new, kept = [], []
    for path in sorted(source.glob("*.ipynb")):
        there = target / path.name
        if there.exists() and not overwrite:
            kept.append(path.name)
        else:
            shutil.copyfile(path, there)
            new.append(path.name)
    return new, kept
