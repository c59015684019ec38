"""Two other formats: safetensors, written by the package of that name, and NumPy's ``.npz``, which is ours alone.

Both are read here, number by number: files may be forged.
"""

import os
from contextlib import nullcontext

import numpy as np

from ..core.device import get
from ..core.tensor import Tensor, wrap
from .archive import map_file, written_whole
from .foreign import DAMAGED, npz, safetensors

__all__ = ["save_file", "load_file", "save_npz", "load_npz"]


def save_file(tensors, filename, metadata=None):
    """Write a dict of tensors as a ``.safetensors`` file, as ``safetensors.torch.save_file`` does.

    Args:
        tensors: name -> tensor. Tensors that share memory are refused, since the format cannot say so.
        filename: a path; it is written whole or not at all.
        metadata: text -> text, kept in the file's head.
    """
    arrays = host_arrays(tensors)
    memories = {}
    for name, tensor in tensors.items():
        first = memories.setdefault(tensor.untyped_storage().data_ptr(), name)
        if first != name and tensor.numel():
            raise RuntimeError(f"Some tensors share memory, which this format cannot express: {first!r} and {name!r}. "
                               f"Save a clone() of one of them, or use minitorch.save")
    content = needed().save(arrays, metadata)
    with written_whole(filename) as file:
        file.write(content)


def load_file(filename, device="cpu", *, mmap=False):
    """The dict of tensors in a ``.safetensors`` file, on `device`. Needs no package.

    With `mmap` the file is mapped into memory instead of being read: loading is immediate, several processes share the
    pages, and what has been read may be dropped again when memory is short. Writes to the tensors stay in memory.

    Raises:
        RuntimeError: the file is not of this format or not whole, or holds a dtype that minitorch does not have.
    """
    backend = get(device)
    with open(filename, "rb") as file:
        try:
            mapped = np.frombuffer(map_file(filename), np.uint8) if mmap else None
            return {name: wrap(backend.from_host(array), backend) for name, array in safetensors(file, mapped)}
        except (ValueError, RecursionError) as error:
            why = str(error)[:300]
            raise RuntimeError(f"{os.fspath(filename)!r} is not a whole safetensors file: {why}") from error


def needed():
    try:
        from safetensors import numpy
    except ImportError:
        raise RuntimeError("this needs the package safetensors, which is not installed: "
                           "`pip install safetensors`") from None
    return numpy


def save_npz(file, tensors):
    """Write a dict of tensors as NumPy's ``.npz``, readable by ``numpy.load``. Not in PyTorch.

    Args:
        file: a path (nothing is appended to it; written whole or not at all) or a file open for writing bytes.
        tensors: name -> tensor. bfloat16, which the format does not have, is refused.
    """
    arrays = host_arrays(tensors)
    for name, array in arrays.items():
        if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
            raise TypeError(f"{name!r} is bfloat16, which .npz files do not have: save {name}.float()")
    if hasattr(file, "write"):
        np.savez(file, **arrays)
    else:
        with written_whole(file) as target:
            np.savez(target, **arrays)


def load_npz(file, device="cpu"):
    """The dict of tensors in an ``.npz`` file, on `device`; pickled objects in it are refused. Not in PyTorch.

    Raises:
        RuntimeError: the file is not of this format or not whole, holds arrays of a type that no tensor has, or unpacks
            to more than a hundred times its size (and 64 MB).
    """
    backend = get(device)
    with nullcontext(file) if hasattr(file, "read") else open(file, "rb") as stream:
        try:
            return {name: wrap(backend.from_host(array), backend) for name, array in npz(stream)}
        except DAMAGED as error:
            why = str(error)[:300] or type(error).__name__
            raise RuntimeError(f"this is not a whole .npz file of tensors: {why}") from error


def host_arrays(tensors):
    """The values of a dict of tensors as contiguous NumPy arrays; TypeError for anything else."""
    for name, value in tensors.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"expected a dict from names to tensors, got {name!r}: {type(value).__name__}")
    return {name: np.asarray(t.backend.to_host(t.array), order="C") for name, t in tensors.items()}
