"""`save`: objects with tensors in them, written as PyTorch writes them."""

import codecs
import io
import os
import pickle
import struct
import sys
from types import FunctionType

import numpy as np

from ..core import dtypes
from ..core.device import device, get, host
from ..ops.shapes.memory import UntypedStorage
from . import legacy, names
from .archive import Writer, written_whole
from .tensors import Memory, Typed

__all__ = ["save"]


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Write an object to a file in PyTorch's format: `minitorch.load` and ``torch.load`` both read it.

    Tensors may be anywhere in it, in dicts, lists, tuples, in a module's or an optimiser's ``state_dict()``. Tensors
    that share memory share it again after loading: all the memory behind a view is saved, so save ``x.clone()`` where
    `x` is a small part of something large. ``grad`` and hooks are not saved.

    A path is written beside the old file and then takes its place: whatever happens, the file holds either what it
    held before or all of the new.

    Args:
        obj: what to save. PyTorch reads tensors, basic Python types and containers without being asked to trust the
            file; other objects are saved as `pickle` saves them.
        f: a path, or an object with a ``write`` method that takes bytes.
        pickle_module: `pickle`, or a module whose ``Pickler`` is written in Python, such as dill.
        pickle_protocol: 2 to 5. PyTorch's default loader reads 2 only.
        _use_new_zipfile_serialization: False for the format before PyTorch 1.6.

    Raises:
        RuntimeError: tensors of different dtypes share memory, or the file's folder does not exist.
        AttributeError: `f` is neither a path nor has it a ``write`` method.

    >>> import io, minitorch
    >>> file = io.BytesIO()
    >>> minitorch.save({"w": minitorch.ones(2), "step": 3}, file)
    >>> minitorch.load(io.BytesIO(file.getvalue()))
    {'w': tensor([1., 1.]), 'step': 3}
    """
    is_path = isinstance(f, (str, bytes, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
                             f"{type(f).__name__}")
    storages = Storages()
    pickled = pickled_with(storages, obj, pickle_module, pickle_protocol, _use_new_zipfile_serialization)
    write_to = write_archive if _use_new_zipfile_serialization else write_legacy
    if is_path:
        with written_whole(f) as file:
            write_to(file, pickled, storages, pickle_protocol)
    else:
        write_to(f, pickled, storages, pickle_protocol)


def write_archive(file, pickled, storages, protocol):
    archive = Writer(all_written(file))
    archive.add("data.pkl", pickled)
    archive.add("byteorder", sys.byteorder.encode())
    for key, storage in enumerate(storages.found):
        archive.add(f"data/{key}", memoryview(storages.contents(storage)))
    archive.add("version", b"3\n")
    archive.add(".data/serialization_id", archive.identity().encode())
    archive.close()


def write_legacy(file, pickled, storages, protocol):
    write = all_written(file)
    sizes = {kind: struct.calcsize(kind[0]) for kind in ("short", "int", "long")}
    facts = {"protocol_version": legacy.VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    keys = sorted(str(key) for key in range(len(storages.found)))
    for part in (legacy.MAGIC, legacy.VERSION, facts):
        write(pickle.dumps(part, protocol))
    write(pickled + pickle.dumps(keys, protocol))
    for key in keys:
        storage = storages.found[int(key)]
        contents = storages.contents(storage)
        write(struct.pack("<q", len(contents) // storages.dtypes[id(storage.memory)].itemsize))
        write(memoryview(contents))


def all_written(file):
    """``file.write`` for streams that may take less than all they are given."""
    def write(data):
        rest = memoryview(data)
        while len(rest):
            n = file.write(rest)
            if n is None or n >= len(rest):
                return
            rest = rest[n:]
    return write


class Storages:
    """The storages found while an object is pickled, and the ids under which the pickle refers to them."""

    def __init__(self):
        self.found, self.keys, self.dtypes = [], {}, {}

    def reference(self, storage, legacy=False):
        """PyTorch's persistent id: what stands in the pickle for the storage."""
        memory, dtype = storage.memory, getattr(storage, "dtype", dtypes.uint8)
        untyped = storage.untyped if isinstance(storage, Typed) else not hasattr(storage, "dtype")
        kind = names.UNTYPED if untyped else names.STORAGE_OF[dtype]
        if not isinstance(storage, (Typed, Memory)):       # one that the user saves
            storage = Memory.of(memory, backend_of(memory))
        storage = getattr(storage, "storage", storage)
        if self.dtypes.setdefault(id(memory), dtype) is not dtype and memory.nbytes:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types: "
                               "save a clone() of one of them")
        if id(memory) not in self.keys:
            self.keys[id(memory)] = str(len(self.found))
            self.found.append(storage)
        place = storage.device
        location = "cpu" if place.type != "cuda" else f"cuda:{place.index or 0}"
        found = "storage", kind, self.keys[id(memory)], location, memory.nbytes // dtype.itemsize
        return (*found, None) if legacy else found

    def contents(self, storage):
        """All whole elements of a storage, as bytes."""
        data = storage.host_bytes()
        return data[:len(data) - len(data) % self.dtypes[id(storage.memory)].itemsize]


def backend_of(memory):
    return host() if isinstance(memory, np.ndarray) else get(f"cuda:{memory.device.id}")


# ------------------------------------------------------------------ the pickle
def pickled_with(storages, obj, module, protocol, zipped):
    """The pickle of `obj`; its storages are gathered in `storages`."""
    base = pickle._Pickler if module is pickle else module.Pickler
    if not issubclass(base, pickle._Pickler):
        raise TypeError(f"{module.__name__}.Pickler is not written in Python (a subclass of pickle._Pickler), so it "
                        f"cannot be taught PyTorch's names; use pickle or dill")
    protocol = pickle.HIGHEST_PROTOCOL if protocol is None or protocol < 0 else protocol
    if not 2 <= protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"pickle_protocol must be 2 to {pickle.HIGHEST_PROTOCOL}, got {protocol}")

    buffer = io.BytesIO()
    pickler_over(base, storages, zipped)(buffer, protocol).dump(obj)
    return buffer.getvalue()


def pickler_over(base, storages, zipped):
    """A class of picklers over a Python one, with PyTorch's names for what PyTorch has and references for storages."""
    class Pickler(base):
        dispatch = dict(base.dispatch)

        def persistent_id(self, value):
            return storages.reference(value, not zipped) if isinstance(value, UntypedStorage) else None

        def save_global(self, value, name=None):
            # a function of a guest says itself which of PyTorch's stands in files for it
            place = names.names().get(id(value)) or getattr(value, "saved_as", None)
            if place is None:
                super().save_global(value, name)
                return
            if self.proto >= 4:
                for part in place:
                    self.save(part)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + "\n".join((*place, "")).encode())
            self.memoize(value)

        def save_device(self, value):
            self.save_reduce(device, (value.type,) if value.index is None else (value.type, value.index), obj=value)

        def save_bytes(self, value):
            if value or self.proto >= 3:
                base.save_bytes(self, value)
            else:                                          # PyTorch's loader knows bytes in this form only
                self.save_reduce(codecs.encode, ("", "latin1"), obj=value)

        dispatch[FunctionType] = save_global
        dispatch[names.StorageType] = dispatch[dtypes.dtype] = save_global
        dispatch[device], dispatch[bytes] = save_device, save_bytes
    return Pickler
