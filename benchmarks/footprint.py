"""Costs before anything runs: time to import, and size on disk."""

import importlib.metadata
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median


def import_times(libraries, rounds, python):
    """Library -> processor seconds of ``import library`` in a fresh process beyond those of an empty programme."""
    programs = {"": "pass", **{library: f"import {library}" for library in libraries}}
    times: dict = {library: [] for library in programs}
    with tempfile.TemporaryDirectory() as folder:          # compiled files, which the first round writes
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": folder}
        for i in range(rounds + 1):
            for library, text in programs.items():
                seconds = child_seconds([python.get(library, sys.executable), "-c", text], env)
                if i:
                    times[library].append(seconds)
    empty = median(times.pop(""))
    out = {library: {"cpu": median(found) - empty} for library, found in times.items()}
    if "torch" in out:
        for library, found in times.items():
            pairs = zip(found, times["torch"])
            out[library]["cpu_ratio"] = median([(a - empty) / (b - empty) for a, b in pairs])
    return out


def child_seconds(command, env):
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    before = spent()
    subprocess.run(command, check=True, capture_output=True, env=env)
    return spent() - before


def sizes(libraries):
    """Library -> MiB on disk, with what must be installed beside it: NumPy for this one, PyTorch's requirements."""
    out = {}
    if "minitorch" in libraries:
        here = Path(importlib.util.find_spec("minitorch").origin).parent
        out["minitorch"] = (folder_size(here) + installed_size("numpy")) / 2**20
    if "torch" in libraries:
        out["torch"] = sum(installed_size(name) for name in with_requirements("torch")) / 2**20
    return out


def folder_size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def installed_size(name):
    """Bytes of an installed distribution, compiled files of Python apart (they are made after installing)."""
    files = importlib.metadata.files(name) or []
    paths = [Path(file.locate()) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.exists())


def with_requirements(name, found=None):
    """A distribution and all that it requires unconditionally, by name."""
    found = [] if found is None else found
    if name.lower() in found:
        return found
    try:
        required = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return found
    found.append(name.lower())
    for line in required:
        if ";" not in line:
            with_requirements("".join(c if c.isalnum() or c in "-_." else " " for c in line).split()[0], found)
    return found
