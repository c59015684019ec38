"""C text to a loaded library, built once and kept on disk.

The key of an entry is what it is made from: text, headers, compiler, flags, processor, version of this package. The
folder is this user's alone, an entry has its checksum beside it, and one that is damaged is built again
(`backends/cache.py`); a text is compiled under a name of its own, synced and renamed, so several processes may build
the same one.
"""

import ctypes
import errno
import functools
import hashlib
import os
import threading
from pathlib import Path

import numpy as np

from ...core.arrays import pointer
from ..cache import cache_folder, folder_elsewhere, is_kept, keep, scratch_folder
from . import blas
from .toolchain import NO_ANSWER, Unavailable, compiler, run, say

__all__ = ["HEADERS", "Building", "Library", "address", "addresses", "build"]

PATIENCE, LIMIT = 5.0, 300.0   # seconds after which a build goes on in the background, and is ended

HEADERS = Path(__file__).with_name("src")                 # the folder of prelude.h and the others
KINDS = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int, "d": ctypes.c_double, "f": ctypes.c_float,
         "o": ctypes.py_object, "": None}


class Library:
    """A loaded library. `source` is the C text, `path` the file."""

    def __init__(self, source, path):
        self.source, self.path = source, path
        self.handle = ctypes.CDLL(str(path))
        if hasattr(self.handle, "bind_products"):          # of prelude.h: who calls BLAS includes it
            found = blas.products()
            if found is None:
                raise Unavailable("NumPy's BLAS has no interface for C that was found to work")
            self.handle.bind_products(found.sgemm, found.dgemm)

    def function(self, name, arguments="", result=""):
        """One of its functions. `arguments`, `result`: p pointer, l int64_t, i int, d double, f float, o object.

        Other threads run Python while it runs. A pointer is an address (`address`) or None.
        """
        found = ctypes.CFUNCTYPE(KINDS[result], *[KINDS[c] for c in arguments.replace(" ", "")])((name, self.handle))
        found.library = self                               # whoever has the function keeps the library
        return found


class Building(Unavailable):
    """A library that is still being built, by the thread `job`."""

    def __init__(self, command, job):
        super().__init__(f"{command} is still building it, in the background")
        self.job = job


def build(source, flags=(), wait=True):
    """The `Library` of a C text, which may include "prelude.h"; `flags` are added to those of the compiler.

    Raises `Unavailable` without a compiler that answers, or if the text needs BLAS and NumPy's was
    not found; RuntimeError with the compiler's words if it refuses the text. A build that takes
    longer than a few seconds says so once on stderr. Unless the caller wants to `wait`, it then
    raises `Building`, and goes on in the background.
    """
    command, version = compiler()                          # asked each time: MINITORCH_NATIVE and CC may have changed
    if command[0] in silent:
        raise Unavailable(silent[command[0]])
    try:
        return built(source, (*command, *flags), version)
    except Building as building:
        if not wait:
            raise
        building.job.join()
    return built(source, (*command, *flags), version)


@functools.lru_cache(maxsize=512)
def built(source, command, version):
    key = hashlib.sha256("\0".join([source, headers(), *command, version, package_version()]).encode())
    name = f"{key.hexdigest()[:32]}.so"
    folder = cache_folder("native")
    found = kept(source, folder / name)
    if found is not None:
        return found
    work = name, os.getpid()
    job = jobs.get(work)
    if job is None:
        job = jobs[work] = Job(source, command, folder, name)
        job.join(PATIENCE)
    if job.is_alive():
        announce(command[0])
        raise Building(command[0], job)
    jobs.pop(work, None)
    return job.answer()


jobs: dict = {}                # (name of an entry, process) -> the job that builds it
silent: dict = {}              # compilers that did not answer -> that in words
announced: list = []


def announce(command):
    """Say once on stderr that compiling takes long."""
    if not announced:
        announced.append(True)
        say(f"minitorch: {command} has been compiling for {PATIENCE:g} s and goes on; "
            f"compiled functions run as before meanwhile")


class Job(threading.Thread):
    """The build of one text."""

    def __init__(self, source, command, folder, name):
        super().__init__(name=f"minitorch builds {name}", daemon=True)
        self.what, self.found, self.error = (source, command, folder, name), None, None
        self.start()

    def run(self):
        source, command, folder, name = self.what
        try:
            try:
                self.found = made(source, command, folder / name)
            except OSError as error:
                self.found = made(source, command, folder_elsewhere("native", error) / name)
        except OSError as error:
            self.error = Unavailable(f"compiled code can neither be kept nor run: {error}")
        except Exception as error:
            self.error = error

    def answer(self):
        """The library, or the error."""
        if self.error is not None:
            raise self.error
        return self.found


def kept(source, path):
    """The library in the cache; None if there is none, or it cannot be loaded."""
    try:
        return Library(source, path) if is_kept(path) else None
    except OSError:
        return None


def made(source, command, path):
    """Compile a text, load the library to see that this can be done, and keep it. OSError if the
    place cannot be used."""
    with scratch_folder(path.parent) as scratch:
        file, out = Path(scratch) / "source.c", Path(scratch) / path.name
        file.write_text(source)
        done = run([*command, f"-I{HEADERS}", "-o", str(out), str(file), "-lm"], LIMIT)
        if done.returncode == NO_ANSWER:
            silent[command[0]] = done.stderr
            raise Unavailable(done.stderr)
        if done.returncode:
            raise_for_disk(done.stderr)
            raise RuntimeError(f"{command[0]} refused the code:\n{done.stderr[:4000]}")
        if not out.exists():
            raise Unavailable(f"{command[0]} succeeded and wrote nothing")
        try:
            ctypes.CDLL(str(out))
        except OSError as error:
            raise not_loaded(error, command[0], out)
        keep(path, out.read_bytes())
    return Library(source, path)


def raise_for_disk(words):
    """OSError if a compiler says that it could not write."""
    for code in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
        if os.strerror(code) in words:
            raise OSError(code, os.strerror(code))


def not_loaded(error, command, out):
    """The error for a library that cannot be loaded: OSError if its place may be the reason, as a
    disk from which no code is run; Unavailable if the compiler wrote no library."""
    if "invalid ELF" in str(error) or "too short" in str(error) or "wrong" in str(error):
        return Unavailable(f"{command} wrote what cannot be loaded: {error}")
    return error


@functools.lru_cache(maxsize=1)
def headers():
    """A fingerprint of the headers."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(HEADERS.glob("*.h")))).hexdigest()


@functools.lru_cache(maxsize=1)
def package_version():
    """The version of this package, without importing its root."""
    text = Path(__file__).parents[2].joinpath("__init__.py").read_text(encoding="utf-8")
    return next((line for line in text.splitlines() if line.startswith("__version__")), "")


def address(array):
    """Where the first element of an array lies, as a number; 0 for None."""
    return 0 if array is None else pointer(array)


def addresses(arrays):
    """An array of pointers for C (``char **``), to be kept as long as it is used."""
    return np.array([address(a) for a in arrays], np.uintp)
