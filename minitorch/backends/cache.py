"""Folders on disk for compiled code, for CUDA kernels and for the simulator."""

import os
import sys
import tempfile
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder(name):
    """The folder `name` among minitorch's caches; in the temporary files if the usual one cannot be written to."""
    folder = usual_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"minitorch-{name}-{os.getuid() if hasattr(os, 'getuid') else 0}"
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def usual_folder():
    """The platform's folder for caches, or the one that MINITORCH_CACHE names."""
    given = os.environ.get("MINITORCH_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "minitorch"
