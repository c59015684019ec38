"""Folders on disk for compiled code, for CUDA kernels and for the simulator.

What lies there is run, so nobody else may put anything there: a folder is used only if it is this user's own, and an
entry only if it is the user's and has the checksum that stands beside it. What is damaged is made again.
"""

import atexit
import functools
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from pathlib import Path

__all__ = ["cache_folder", "checksum_of", "folder_elsewhere", "is_kept", "keep", "scratch_folder"]

LEFT_OVER = 3600.0                                         # seconds after which nobody works on an unfinished entry


def cache_folder(name):
    """The folder `name` among minitorch's caches: this user's own, closed to others.

    Where there is none, and none can be made, a folder for this process alone, with a warning.
    """
    try:
        folder = usual_folder() / name
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        refuse_foreign(folder)
    except (OSError, RuntimeError) as error:               # RuntimeError: there is no home
        return private_folder(name, os.getpid(), str(error))
    return folder


def refuse_foreign(folder):
    """PermissionError if somebody else may put things into `folder` or in its place; closes a folder of our own."""
    if os.name != "posix":
        return
    me = os.geteuid()
    link, above, own = os.lstat(folder.parent), os.stat(folder.parent), os.lstat(folder)
    open_to_all = above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX
    if open_to_all and above.st_uid == me and not os.environ.get("MINITORCH_CACHE"):
        os.chmod(folder.parent, stat.S_IMODE(above.st_mode) & ~0o022)      # made under a umask of 002
        open_to_all = False
    if not {link.st_uid, above.st_uid} <= {me, 0} or open_to_all:
        raise PermissionError(f"{folder.parent} is not this user's alone")
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != me:
        raise PermissionError(f"{folder} is not a folder of this user's")
    if own.st_mode & 0o077:
        os.chmod(folder, 0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")


@functools.cache
def private_folder(name, process, why):
    """A new folder that ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix=f"minitorch-{name}-"))
    warnings.warn(f"compiled kernels are kept in {folder}, for this process only: {why}. Let the environment variable "
                  f"MINITORCH_CACHE name a folder of your own", stacklevel=2)

    def end():
        if os.getpid() == process:                         # and not in a process forked from it
            shutil.rmtree(folder, ignore_errors=True)
    atexit.register(end)
    return folder


def folder_elsewhere(name, error):
    """A folder for this process alone, with a warning. It takes the place of the usual one, whose
    disk is full or runs no code, or where something else lies in the place of an entry."""
    key = name, os.getpid()
    if key not in elsewhere:
        elsewhere[key] = private_folder(*key, str(error))
    return elsewhere[key]


elsewhere: dict = {}


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


# ------------------------------------------------------------------ entries
def is_kept(path):
    """True if the entry `path` is there, is ours, and is what `keep` wrote."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            return False
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            return False
        return checksum_of(path).read_bytes() == digest(Path(path).read_bytes())
    except OSError:
        return False


def keep(path, content):
    """Write an entry so that no other process ever sees a part of it, and no power cut leaves one unnoticed."""
    remove_left_overs(path.parent)
    for place, data in ((path, content), (checksum_of(path), digest(content))):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="part-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        except OSError:
            os.unlink(temporary)
            raise


def checksum_of(path):
    """The file that holds the checksum of the entry `path`."""
    return path.with_name(path.name + ".sha256")


def digest(content):
    return hashlib.sha256(content).hexdigest().encode()


def scratch_folder(folder):
    """A context: a folder in `folder` for unfinished work."""
    remove_left_overs(folder)
    return tempfile.TemporaryDirectory(dir=folder, prefix="build-")


@functools.cache
def remove_left_overs(folder):
    """Remove what killed processes left behind in `folder` long ago; once in this process."""
    for entry in os.scandir(folder):
        if entry.name.startswith(("build-", "part-", "tmp")):
            remove_old(entry)


def remove_old(entry):
    try:
        if time.time() - entry.stat(follow_symlinks=False).st_mtime < LEFT_OVER:
            return
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
    except OSError:                                        # another process removed it first
        pass
