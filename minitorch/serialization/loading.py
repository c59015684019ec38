"""`load`: what PyTorch or `minitorch.save` wrote, without running anything that the file says."""

import io
import os
import pickle
import sys
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec

from ..explain.callers import warn
from . import names
from .archive import Reader, broken, map_file
from .formats import load_file
from .legacy import load_legacy
from .storages import aligned, placer, reference, size_of, swapped
from .tensors import Memory, Typed, shown
from .unpickler import Unpickler, full_name

__all__ = ["load"]


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read an object that `minitorch.save` or ``torch.save`` wrote.

    The file is read as data: tensors, basic Python types and containers, and the classes that the caller has named
    with `minitorch.serialization.add_safe_globals`. Anything else in it is an error, and no code of the file is run.
    Damaged files are found out by their checksums (PyTorch does not look at these).

    Args:
        f: a path, or a file open for reading bytes that can seek.
        map_location: where to put the storages, which otherwise go where they came from: a device or its name; a
            dict from old to new names; or a function of the storage (on the CPU) and its old place that returns a
            storage, or None to do as usual.
        pickle_module: with ``weights_only=False``, the module whose ``Unpickler`` to use.
        weights_only: **False lets the file run any code it likes, with your rights, while it is read.** That is what
            loading a whole pickled module, or objects of your own classes, takes. Never do it with a file that you
            did not write yourself or get from somebody you trust. None means True, unless the environment has
            TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1, which whoever starts a program may set. TORCH_FORCE_WEIGHTS_ONLY_LOAD=1
            makes every call one with True.
        mmap: True to map the file into memory instead of reading it: loading is immediate and memory is taken as it
            is used. Only for paths; changes stay in memory; checksums are not looked at.
        pickle_load_args: with ``weights_only=False``, passed to the ``Unpickler``, such as ``encoding="latin1"``.

    Raises:
        pickle.UnpicklingError: the file holds something that is not on the list, or is damaged.
        RuntimeError: the archive is damaged, a tensor does not fit its storage, or a device is not there.
        EOFError: the file is empty.
    """
    if not (weights_only is None or isinstance(weights_only, bool)):
        raise TypeError(f"weights_only is True or False, got {shown(weights_only)}")
    safe = is_safe(weights_only)
    if safe and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified; with "
                           "weights_only=False the file may run any code")
    if safe and pickle_load_args:
        raise TypeError(f"{', '.join(pickle_load_args)}: options of the Unpickler are for weights_only=False")
    is_path = isinstance(f, (str, bytes, os.PathLike))
    if is_path and os.fsdecode(f).endswith(".safetensors"):
        return load_file(f, device="cpu" if map_location is None else map_location, mmap=bool(mmap))
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    for method in () if is_path else ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{method}'. You can only load from a "
                                 f"path or a file that is seekable. Please pre-load the data into a buffer like "
                                 f"io.BytesIO and try to load from it instead.")
    read = reader_of(safe, pickle_module or pickle, pickle_load_args)
    with open(f, "rb") if is_path else nullcontext(f) as file:
        return load_open(file, f, read, placer(map_location), mmap)


def is_safe(weights_only):
    """True if a file is read as data alone: as the argument says, or the environment."""
    no, yes = [os.environ.get(f"TORCH_FORCE_{word}WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true")
               for word in ("NO_", "")]
    if no and yes:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
                           "be set, but both were set.")
    if no and weights_only is None:
        warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was "
             "not explicitly passed to `torch.load`, forcing weights_only=False.")
    return yes or not (weights_only is False or weights_only is None and no)


def load_open(file, path, read, restore, mmap):
    """The object in an open file, by its format."""
    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input: the file is empty")
    if head.startswith(b"PK\x03\x04"):
        return load_archive(file, read, restore, map_file(path) if mmap else None)
    if head[257:] == b"ustar":
        raise RuntimeError("this is a tar archive, PyTorch's format before 0.1.10, which is not supported: load it in "
                           "PyTorch with weights_only=False, if you trust it, and save it again")
    if head[0] != pickle.PROTO[0]:
        raise pickle.UnpicklingError(f"this is not a PyTorch file: it begins with {head[:16]!r}")
    if mmap:
        raise RuntimeError("mmap can only be used with files saved with "
                           "`save(..., _use_new_zipfile_serialization=True)`, the format since PyTorch 1.6")
    data = file.read()
    found, end = load_legacy(data, read, restore)
    file.seek(start + end)
    return found


# ------------------------------------------------------------------ archives
def load_archive(file, read, restore, mapped):
    archive = Reader(file)
    if "constants.pkl" in archive:
        raise RuntimeError("this is a TorchScript archive: it holds a program, which minitorch cannot run. Save the "
                           "state_dict of the model instead")
    order = archive.text("byteorder") if "byteorder" in archive else b"little"
    if order not in (b"little", b"big"):
        raise broken(f"Unknown endianness type: {order[:20]!r}")
    pickled = archive.text("data.pkl")
    made = {}                                              # key -> the storage, and the dtype that it was read for

    def persistent_load(saved_id):
        kind, key, location, count = reference(saved_id, 4)
        if key not in made:
            data = archive.read(f"data/{key}") if mapped is None else archive.map(f"data/{key}", mapped)
            if order.decode() != sys.byteorder:
                data = swapped(data, kind)
            made[key] = restore(Memory(aligned(data)), location), kind
        memory, first = made[key]
        if order.decode() != sys.byteorder and first is not kind:
            raise broken("a storage from a machine of the other byte order is used as two dtypes")
        if count * size_of(kind) > memory.nbytes():
            raise RuntimeError(f"record data/{key} of {memory.nbytes()} bytes does not hold {count} elements of "
                               f"{kind.name}")
        return Typed(memory, kind.dtype)

    return read(pickled, 0, persistent_load)[0]


# ------------------------------------------------------------------ pickles
def reader_of(safe, module, options):
    """A function that reads one pickle in `data` from a position: it returns the object and the position after it."""
    def read_safely(data, at, persistent_load):
        unpickler = Unpickler(data, persistent_load, at)
        return unpickler.load(), unpickler.at

    def read_anything(data, at, load):
        class Anything(module.Unpickler):
            persistent_load = staticmethod(load)

            def find_class(self, where, name):
                found = known(where, name)
                return super().find_class(where, name) if found is None else found

        file = io.BytesIO(data)
        file.seek(at)
        return Anything(file, **{"encoding": "utf-8", **options}).load(), file.tell()
    return read_safely if safe else read_anything


def moved(where, name):
    """Our own object where version 0.1.0 saved it under the module of that time; None if the module is still there."""
    kind, _, rest = where.removeprefix("minitorch.").partition(".")
    if find_spec("minitorch." + kind) is None:             # a module of the core, or of random numbers
        return getattr(import_module("minitorch"), name)
    if kind == "nn" and rest and find_spec(where) is None:
        return getattr(import_module("minitorch.nn.modules"), name)
    return None


def known(where, name):
    """Our object for a name of PyTorch's, looked for under the same name in this package; None for other names.

    PyTorch itself is never imported.
    """
    full = full_name(where, name)
    if full in names.table():
        return names.table()[full]
    package = full.partition(".")[0]
    if package == "minitorch":
        return moved(where, name)
    if package != "torch":
        return None
    for place in ("minitorch.optim" if full.startswith("torch.optim.") else "minitorch.nn", "minitorch"):
        found = getattr(import_module(place), name, None)
        if found is not None:
            return found
    raise pickle.UnpicklingError(f"this file needs {full}, which minitorch does not have")
