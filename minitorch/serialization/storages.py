"""The storages that a file refers to: what a reference says, byte order, and on which device they are put."""

import pickle

import numpy as np

from ..core.device import device, get
from .names import StorageType
from .tensors import Memory, is_equal, shown

__all__ = ["reference", "size_of", "swapped", "aligned", "placer"]


def reference(saved_id, fields):
    """The fields of a reference to a storage: its type, key, location, count, and in old files a view."""
    if type(saved_id) is not tuple or len(saved_id) != fields + 1 or not is_equal(saved_id[0], "storage"):
        raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {shown(saved_id)}")
    kind, key, location, count = saved_id[1:5]
    if not isinstance(kind, StorageType) or type(key) is not str or type(location) is not str \
            or type(count) is not int or count < 0:
        raise pickle.UnpicklingError(f"a reference to a storage has a type, key, location and count, got "
                                     f"{shown(saved_id)}")
    return saved_id[1:]


def size_of(kind):
    return 1 if kind.dtype is None else kind.dtype.itemsize


def swapped(data, kind):
    """Bytes from a machine of the other byte order, turned round; a complex number is two."""
    unit = size_of(kind) // (2 if kind.dtype is not None and kind.dtype.is_complex else 1)
    whole = data[:len(data) - len(data) % unit]
    return np.ascontiguousarray(whole.reshape(-1, unit)[:, ::-1]).reshape(-1)


def aligned(data):
    """`data`, copied if it lies askew in a mapped file."""
    return data if data.ctypes.data % 16 == 0 else data.copy()


# ------------------------------------------------------------------ where storages go
def placer(map_location):
    """The function that brings a storage, just read and on the CPU, to where it belongs."""
    if map_location is None:
        return default_place
    if isinstance(map_location, dict):
        return lambda memory, location: default_place(memory, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        target = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda memory, location: default_place(memory, target)
    if not callable(map_location):
        raise TypeError(f"map_location is a device, its name, a dict or a function, got {type(map_location).__name__}")

    def place(memory, location):
        found = map_location(memory, location)
        if found is not None and not isinstance(found, Memory):
            raise TypeError(f"the function map_location returns a storage or None, got {type(found).__name__}")
        return default_place(memory, location) if found is None else found
    return place


def default_place(memory, location):
    location = str(location)
    if location == "cpu":
        return memory
    try:
        backend = get(location)
    except (RuntimeError, ValueError, ImportError, AssertionError) as error:
        if location.startswith("cuda"):
            raise RuntimeError(f"Attempting to deserialize object on a CUDA device but it is not available ({error}). "
                               f"If you are running on a CPU-only machine, please use minitorch.load with "
                               f"map_location=minitorch.device('cpu') to map your storages to the CPU.") from error
        raise RuntimeError(f"don't know how to restore data location of a storage (tagged with {shown(location)}); "
                           f"map_location='cpu' brings it to the CPU") from error
    return memory.to(backend)
