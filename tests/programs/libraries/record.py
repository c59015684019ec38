"""Writes what PyTorch prints for the programs beside this file.

    python -m tests.programs.libraries.record [NAME ...]

Needs PyTorch and the libraries. tests/programs/test_libraries.py compares what minitorch prints with it.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parents[1] / "data" / "libraries"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
HELPERS = ("shown", "record")


def programs():
    """The names of all programs."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)


def needed(name):
    """The modules that a program imports beside ours, from its line ``# needs: ...``."""
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if line.startswith("# needs: "))[len("# needs: "):].split()


def printed(name, folder, *options):
    """The output of a program, run by ``python options`` in a folder."""
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run([sys.executable, *options, str(HERE / f"{name}.py")], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main(names):
    import tempfile
    RECORDED.mkdir(exist_ok=True)
    for name in names or programs():
        with tempfile.TemporaryDirectory() as folder:
            (RECORDED / f"{name}.txt").write_text(printed(name, folder), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
