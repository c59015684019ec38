"""Arrays of other libraries, taken over by DLPack without a copy: the structs of dlpack.h, read by ctypes.

https://dmlc.github.io/dlpack/latest/c_api.html; versions before 1.0, and 1.x.
"""

import ctypes
import weakref
from math import prod
from typing import NamedTuple

import numpy as np

from ..core.dtypes import bfloat16

__all__ = ["Memory", "capsule_of", "device_of", "taken"]

HOST = 1
DEVICES = {HOST: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}   # DLDeviceType: CPU, CUDA, pinned memory, CUDA managed


class Tensor(ctypes.Structure):
    """struct DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """struct DLManagedTensor, before version 1.0."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    """struct DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


FORMS = {b"dltensor": Managed, b"dltensor_versioned": Versioned}
USED = {name: b"used_" + name for name in FORMS}           # the capsule keeps a pointer to its name
KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex", 6: "bool"}
python = ctypes.pythonapi
python.PyCapsule_IsValid.argtypes = python.PyCapsule_GetPointer.argtypes = python.PyCapsule_SetName.argtypes = (
    ctypes.py_object, ctypes.c_char_p)
python.PyCapsule_GetPointer.restype = ctypes.c_void_p


def opened(capsule):
    """The name of a capsule and the struct in it. BufferError for one of another kind, or one that was taken."""
    for name, form in FORMS.items():
        if python.PyCapsule_IsValid(capsule, name):
            return name, form.from_address(python.PyCapsule_GetPointer(capsule, name))
    raise BufferError(f"from_dlpack() takes an unconsumed DLPack capsule, not {capsule!r}")


def device_of(source):
    """Where an array that speaks DLPack lies, or that of a capsule: the name of the kind of device, and its number.

    BufferError for a kind of device that there is not.
    """
    if hasattr(source, "__dlpack_device__"):
        kind, number = source.__dlpack_device__()
    elif hasattr(source, "__dlpack__"):                    # of the first versions: on the host
        kind, number = HOST, 0
    else:
        tensor = opened(source)[1].tensor
        kind, number = tensor.device_type, tensor.device
    if int(kind) not in DEVICES:
        raise BufferError(f"from_dlpack: DLPack device type {int(kind)} is not known, expected "
                          f"{', '.join(f'{n} ({name})' for n, name in DEVICES.items())}")
    return DEVICES[int(kind)], number


def capsule_of(source, stream):
    """The capsule of an array that speaks DLPack, for work on a stream, before which its library's work comes."""
    if not hasattr(source, "__dlpack__"):
        return source
    try:
        return source.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:                                      # of before 1.0
        return source.__dlpack__(stream=stream)


def dtype_of(tensor):
    """The NumPy dtype of a struct's elements."""
    if tensor.lanes == 1 and (tensor.code, tensor.bits) == (4, 16):
        return np.dtype(bfloat16.np)
    name = KINDS.get(tensor.code, "") + ("" if tensor.code == 6 else str(tensor.bits))
    try:
        if tensor.lanes == 1:
            return np.dtype(name)
    except TypeError:                                      # the error below says more
        pass
    raise BufferError(f"from_dlpack: elements of DLPack's type code {tensor.code}, {tensor.bits} bits and "
                      f"{tensor.lanes} lanes have no dtype here")


class Memory(NamedTuple):
    """The memory of a capsule that was taken: `nbytes` from address `low`, in which an array begins at `start`; its
    strides are in bytes. The maker of the capsule is told when `owner` is gone."""

    low: int
    nbytes: int
    start: int
    shape: tuple
    strides: tuple
    dtype: np.dtype
    owner: object


def taken(capsule):
    """The `Memory` of a capsule, which nobody can take again. BufferError for one that cannot be understood."""
    name, managed = opened(capsule)
    if isinstance(managed, Versioned) and managed.major > 1:
        raise BufferError(f"from_dlpack: DLPack {managed.major}.{managed.minor} is not known, "
                              f"expected 1.x")
    tensor = managed.tensor
    dtype, shape = dtype_of(tensor), tuple(tensor.shape[:tensor.ndim])
    counts = tensor.strides[:tensor.ndim] if tensor.strides else [prod(shape[d + 1:]) for d in range(len(shape))]
    strides = tuple([n * dtype.itemsize for n in counts])
    start, low, nbytes = (tensor.data or 0) + tensor.byte_offset, 0, 0
    if 0 not in shape:
        reach = [s * (n - 1) for s, n in zip(strides, shape)]
        low = sum([s for s in reach if s < 0])
        nbytes = sum([s for s in reach if s > 0]) - low + dtype.itemsize
    python.PyCapsule_SetName(capsule, USED[name])
    return Memory(start + low, nbytes, start, shape, strides, dtype, Owner(managed))


class Owner:
    """Tells the maker of a capsule that was taken when nobody needs its memory."""

    def __init__(self, managed):
        if managed.deleter:
            weakref.finalize(self, managed.deleter, ctypes.addressof(managed)).atexit = False
