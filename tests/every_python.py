"""Runs the core tests on every Python of this machine from 3.10 on, with the lowest and the newest NumPy it takes.

    python tests/every_python.py                     # all that are found: on the path, pyenv's, uv's
    python tests/every_python.py 3.10 3.13t --numpy lowest -- -k indexing

Free-threaded ones (3.13t) run with the GIL off. Each environment is made in a folder of its own, kept under
``--folder`` for the next time. No GPU, no g++ and no PyTorch are needed.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
NAMES = [f"3.{minor}{kind}" for minor in range(10, 16) for kind in ("", "t")]
# NumPy's first release with wheels for a Python, where pyproject's lower bound has none.
FIRST_NUMPY = {"3.10": "2.0.0", "3.11": "2.0.0", "3.12": "2.0.0", "3.13": "2.1.0", "3.14": "2.3.2"}
CORE = """core/test_tensor core/test_views core/test_devices core/test_dtypes core/test_printing core/test_memory
autograd/test_autograd autograd/test_function autograd/test_paths ops/test_indexing ops/test_reductions
ops/test_pointwise ops/test_matmul ops/test_linalg ops/test_op_columns ops/test_out ops/test_overlap
nn/test_functional nn/test_module nn/test_losses optim/test_optim optim/test_schedules optim/test_state
random/test_random serialization/test_serialization serialization/test_archives utils/test_data
utils/test_data_workers utils/test_pytree backends/cpu/test_threads compiler/test_compile compiler/test_guards
func/test_func recorded/test_recorded""".split()
ABOUT = """import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")))"""


def found():
    """{"3.13t": path} of the Pythons that start, the first of each version."""
    places = [shutil.which(f"python{name}") for name in NAMES]
    home = pathlib.Path.home()
    for pattern in (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3"):
        places += sorted(map(str, home.glob(pattern)), reverse=True)
    pythons = {}
    for place in [*places, sys.executable]:
        if place:
            said = subprocess.run([place, "-c", ABOUT], capture_output=True, text=True)
            if not said.returncode and said.stdout.strip() in NAMES:
                pythons.setdefault(said.stdout.strip(), place)
    return dict(sorted(pythons.items(), key=lambda pair: NAMES.index(pair[0])))


def lowest():
    """The NumPy that pyproject.toml allows at least."""
    return re.search(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text()).group(1)


def environment(folder, name, python, numpy):
    """The interpreter of an environment with this NumPy; made at the first time."""
    place = folder / f"{name}-{numpy}"
    inner = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", place], check=True)
        wanted = "numpy" if numpy == "newest" else f"numpy=={FIRST_NUMPY.get(name.rstrip('t'), lowest())}"
        subprocess.run([inner, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary",
                        "numpy", wanted, "pytest", "pytest-xdist", "hypothesis", "ml_dtypes"], check=True)
        (place / "ready").touch()
    return inner


def tried(python, name, options):
    """The last line of pytest, and its exit status."""
    files = [f"tests/{file}.py" for file in CORE]
    gil = {"PYTHON_GIL": "0"} if name.endswith("t") else {}
    done = subprocess.run([python, "-m", "pytest", "-n", "0", "-q", "--no-header", "-rfE", *files, *options], cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **gil}, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return [line for line in lines if line.startswith(("FAILED", "ERROR"))] + lines[-1:], done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help="3.10, 3.13t ...; all by default")
    parser.add_argument("--numpy", choices=["lowest", "newest"], action="append")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "every_python")
    given, options = parser.parse_known_args()
    options = [option for option in options if option != "--"]
    pythons, bad = found(), 0
    print("found:", ", ".join(f"{name} ({place})" for name, place in pythons.items()))
    for name in given.versions or pythons:
        for numpy in given.numpy or ["lowest", "newest"]:
            try:
                python = environment(given.folder.resolve(), name, pythons[name], numpy)
            except (KeyError, subprocess.CalledProcessError) as error:
                print(f"Python {name}, {numpy} NumPy: cannot be tested: {error!r}", flush=True)
                bad += 1
                continue
            exact = subprocess.run([python, "-c", "import numpy; print(numpy.__version__)"], capture_output=True,
                                   text=True)
            said, status = tried(python, name, options)
            print(f"Python {name}, NumPy {exact.stdout.strip()}:", *said, sep="\n    ", flush=True)
            bad += status != 0
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
