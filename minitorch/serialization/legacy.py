"""PyTorch's format before version 1.6 (2020): a row of pickles, then the storages.

The pickles are a magic number, the protocol's version, facts about the machine, the object, and the keys of its
storages; each storage follows as a 64-bit count of elements and the elements. Older still, and not read here: tar
archives (before 0.1.10).
"""

import pickle
import struct
import sys

import numpy as np

from .storages import reference, size_of, swapped
from .tensors import Memory, Typed, is_equal, shown

__all__ = ["load_legacy"]

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001


def load_legacy(data, read, restore):
    """The object in `data`, and the position after it.

    ``read(data, position, persistent_load)`` reads one pickle and returns the object and the position after it;
    ``restore(memory, location)`` brings a storage to its device.
    """
    def refuse(saved_id):
        raise pickle.UnpicklingError("a storage is referred to where none can be")

    magic, at = read(data, 0, refuse)
    if not is_equal(magic, MAGIC):
        raise RuntimeError("Invalid magic number; corrupt file?")
    version, at = read(data, at, refuse)
    if not is_equal(version, VERSION):
        raise RuntimeError(f"Invalid protocol version: {shown(version)}")
    facts, at = read(data, at, refuse)
    big = isinstance(facts, dict) and facts.get("little_endian") is False
    storages = Storages(data, restore)
    found, at = read(data, at, storages.load)
    keys, at = read(data, at, refuse)
    if not isinstance(keys, list) or len(keys) != len(storages.host) or \
            not all(isinstance(key, str) and key in storages.host for key in keys):
        raise RuntimeError("the list of storages does not match those in use; corrupt file?")
    for key in keys:
        at = storages.fill(key, at, big)
    return found, at


class Storages:
    """The storages of one file: made when the object refers to them, filled when it has been read."""

    def __init__(self, data, restore):
        self.data, self.restore, self.host, self.made, self.total = data, restore, {}, {}, 0

    def load(self, saved_id):
        kind, key, location, count, view = reference(saved_id, 5)
        if view is not None:
            raise pickle.UnpicklingError("views of storages, from PyTorch before 0.4, are not supported")
        size = count * size_of(kind)
        if key not in self.host:
            self.total += size
            if self.total > len(self.data):
                raise RuntimeError("the storages claim to be larger than the file")
            self.host[key] = np.zeros(size, np.uint8), kind
            self.made[key] = self.restore(Memory(self.host[key][0]), location)
        if self.host[key][1] is not kind or self.host[key][0].nbytes != size:
            raise RuntimeError(f"storage {key!r} is referred to with different types or sizes")
        return Typed(self.made[key], kind.dtype)

    def fill(self, key, at, big):
        """Read one storage at position `at`; the position after it."""
        array, kind = self.host[key]
        end = at + 8 + array.nbytes
        if end > len(self.data) or struct.unpack_from("<q", self.data, at)[0] * size_of(kind) != array.nbytes:
            raise RuntimeError(f"storage {key!r} ends too early or has another size; corrupt file?")
        array[:] = np.frombuffer(self.data, np.uint8, array.nbytes, at + 8)
        if big != (sys.byteorder == "big"):
            array[:] = swapped(array, kind)
        self.made[key].fill(array)
        return end
