"""C text to a loaded library, built once and kept on disk.

The key of an entry is what it is made from: text, headers, compiler, flags, processor, version of this package. The
folder is this user's alone, an entry has its checksum beside it, and one that is damaged is built again
(`backends/cache.py`); a text is compiled under a name of its own, synced and renamed, so several processes may build
the same one.
"""

import ctypes
import functools
import hashlib
from pathlib import Path

import numpy as np

from ...core.arrays import pointer
from ..cache import cache_folder, is_kept, keep, scratch_folder
from . import blas
from .toolchain import Unavailable, compiler, run

__all__ = ["HEADERS", "Library", "address", "addresses", "build"]

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


def build(source, flags=()):
    """The `Library` of a C text, which may include "prelude.h"; `flags` are added to those of the compiler.

    `Unavailable` where there is no compiler, or where the text needs BLAS and NumPy's was not found; RuntimeError with
    the compiler's words if it refuses the text.
    """
    command, version = compiler()                          # asked each time: MINITORCH_NATIVE and CC may have changed
    return built(source, (*command, *flags), version)


@functools.lru_cache(maxsize=512)
def built(source, command, version):
    key = hashlib.sha256("\0".join([source, headers(), *command, version, package_version()]).encode())
    library = cache_folder("native") / f"{key.hexdigest()[:32]}.so"
    if not is_kept(library):
        with scratch_folder(library.parent) as scratch:
            file, out = Path(scratch) / "source.c", Path(scratch) / library.name
            file.write_text(source)
            done = run([*command, f"-I{HEADERS}", "-o", str(out), str(file), "-lm"])
            if done.returncode:
                raise RuntimeError(f"{command[0]} refused the code:\n{done.stderr[:4000]}")
            keep(library, out.read_bytes())
    return Library(source, library)


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
