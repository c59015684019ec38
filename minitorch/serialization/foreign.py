"""Reading safetensors and ``.npz``: headers checked before anything is allocated, and only plain numbers taken.

A file may be damaged or forged: what it asks for is bounded by its own size.
"""

import re
import struct
import sys
import zlib

import numpy as np

from ..core import dtypes
from ..utils.bounds import exactly, most_of, numbers, size_of

__all__ = ["DAMAGED", "npz", "safetensors"]

MAX_HEADER = {"safetensors": 100_000_000, "npy": 10_000}   # as in the package, and in NumPy
DAMAGED = (ValueError, OverflowError, KeyError, IndexError, EOFError, NotImplementedError, RuntimeError, struct.error,
           zlib.error, OSError)
SAFETENSORS = {"F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16, "BF16": dtypes.bfloat16,
               "I64": dtypes.int64, "I32": dtypes.int32, "I16": dtypes.int16, "I8": dtypes.int8,
               "U64": dtypes.uint64, "U32": dtypes.uint32, "U16": dtypes.uint16, "U8": dtypes.uint8,
               "BOOL": dtypes.bool, "C64": dtypes.complex64}


# ------------------------------------------------------------------ safetensors
def safetensors(file, mapped=None):
    """(name, array) for each tensor of an open file; where it is also `mapped`, an array of bytes, over that memory."""
    import json
    end = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if end < 8 or length > min(end - 8, MAX_HEADER["safetensors"]):
        raise ValueError(f"its header of {length} bytes does not fit")
    header = json.loads(exactly(file, length).tobytes().decode("utf-8"), parse_int=short_int,
                        object_pairs_hook=distinct)
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    header.pop("__metadata__", None)
    described = sorted((describe(name, entry) for name, entry in header.items()), key=lambda found: found[1])
    at = 0
    for _, (start, stop), _, _ in described:
        if start != at:
            raise ValueError("its tensors do not lie one behind the other")
        at = stop
    if 8 + length + at != end:
        raise ValueError(f"its tensors have {at} bytes, but {end - 8 - length} are there")
    found = {}
    for name, (start, stop), dtype, shape in described:    # in the order of the file, to be read in one go
        data = exactly(file, stop - start) if mapped is None else mapped[8 + length + start:8 + length + stop]
        if data.ctypes.data % dtype.itemsize:
            data = data.copy()                             # it lies askew in the file
        little = dtype.np if sys.byteorder == "little" or dtype.np.kind == "V" else dtype.np.newbyteorder("<")
        found[name] = numbers(data, little, shape)
    return [(name, found[name]) for name in header]


def short_int(text):
    if len(text) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(text)


def distinct(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is used twice")
    return found


def describe(name, entry):
    """Name, (start, stop), dtype and shape of a tensor, checked."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name[:60]!r} should have a dtype, a shape and data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or not isinstance(offsets, list) or len(offsets) != 2 or \
            any(type(n) is not int or n < 0 for n in offsets):
        raise ValueError(f"{name[:60]!r} should have a list for its shape and two numbers for its place")
    if not isinstance(kind, str) or kind not in SAFETENSORS:
        if isinstance(kind, str) and re.fullmatch("[A-Z][A-Z0-9_]{1,15}", kind):
            raise RuntimeError(f"tensor {name[:60]!r} of this file is of {kind}, a dtype that minitorch does not have")
        raise ValueError(f"{name[:60]!r} should have the name of a dtype")
    dtype = SAFETENSORS[kind]
    if offsets[1] - offsets[0] != size_of(shape, dtype.itemsize):
        raise ValueError(f"{name[:60]!r} has another size than its shape says")
    return name, tuple(offsets), dtype, tuple(shape)


# ------------------------------------------------------------------ npz
def npz(file):
    """(name, array) for each array of an open archive."""
    import zipfile
    begin = file.tell()
    most = most_of(file.seek(0, 2) - begin)
    file.seek(begin)
    try:
        with zipfile.ZipFile(file) as archive:
            return arrays(archive, most).items()
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from error


def arrays(archive, most):
    """Name -> array for all entries, if they unpack to no more than `most` bytes."""
    entries, found = archive.infolist(), {}
    if sum(entry.file_size for entry in entries) > most:
        raise ValueError(f"it would unpack to more than {most >> 20} MB. If you trust it, read it by numpy.load")
    for entry in entries:
        name, dot, suffix = entry.filename.rpartition(".npy")
        if suffix or not dot or name in found or entry.compress_type not in (0, 8):        # stored, deflated
            raise ValueError(f"{entry.filename[:60]!r} is not an array of an .npz file")
        with archive.open(entry) as stream:
            found[name] = npy(stream, entry.file_size, name)
    return found


HEADER = {key: re.compile(rf"""['"]{key}['"]\s*:\s*{value}\s*[,}}]""") for key, value in {
    "descr": """['"]([^'"]{0,60})['"]""", "fortran_order": "(True|False)", "shape": r"\(([0-9L,\s]{0,2000})\)"}.items()}


def npy(file, size, name):
    """The array in a stream of `size` bytes, NumPy's format for one array."""
    magic = file.read(8)
    if len(magic) < 8 or magic[:6] != b"\x93NUMPY" or magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise ValueError(f"{name[:60]!r} does not begin as an array does")
    layout = "<H" if magic[6] == 1 else "<I"
    length, = struct.unpack(layout, file.read(struct.calcsize(layout)))
    if length > MAX_HEADER["npy"]:
        raise ValueError(f"{name[:60]!r} has a header of {length} bytes")
    header = exactly(file, length).tobytes().decode("latin1")
    matches = {key: pattern.search(header) for key, pattern in HEADER.items()}
    if not header.startswith("{") or None in matches.values():
        raise ValueError(f"{name[:60]!r} is not an array of numbers (or objects would have to be unpickled for it)")
    descr, fortran, sizes = (match[1] for match in matches.values())
    if not re.fullmatch("[<>|=]?([?]|b1|[iu][1248]|f[248]|c8|c16)", descr):
        raise ValueError(f"{name[:60]!r} has values of type {descr!r}, which no tensor has")
    shape = tuple(short_int(n.strip().rstrip("L")) for n in sizes.split(",") if n.strip())
    dtype = np.dtype(descr)
    nbytes = size_of(shape, dtype.itemsize)
    if size != 8 + struct.calcsize(layout) + length + nbytes:
        raise ValueError(f"{name[:60]!r} has another size than its shape says")
    array = numbers(exactly(file, nbytes), dtype, shape, "F" if fortran == "True" else "C")
    if file.read(1):                                       # only at the end is the checksum looked at
        raise ValueError(f"{name[:60]!r} does not end where it should")
    return array
