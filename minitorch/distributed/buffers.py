"""Tensors as flat arrays of the host, and the checks of arguments that the collectives share.

A call works on the memory of a contiguous tensor of the host itself; of any other it works on a copy, which is written
back when the call is done. PyTorch's gloo refuses tensors that are not contiguous.
"""

import numpy as np

from .. import Tensor
from ..extend import bump_version, calling_line

__all__: list = []


def check_tensor(tensor, name):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
                        f"             but got {type(tensor)} instead.")


def check_list(tensors, name):
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
                        f"             but got {type(tensors)} with elements of type "
                        f"{[type(t).__name__ for t in tensors] if isinstance(tensors, (list, tuple)) else '?'}.")


def check_dtypes(*tensors):
    """All tensors of one dtype."""
    for tensor in tensors:
        if tensor.dtype is not tensors[0].dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes: found {tensors[0].dtype} and "
                             f"{tensor.dtype}")


def check_count(name, tensors, size, what):
    if len(tensors) != size:
        raise RuntimeError(f"{name}: invalid {what} (expected length {size}, as the group's, got {len(tensors)})")


def check_parts(name, tensors, size, what, shape):
    """A tensor of one shape for each of `size` ranks."""
    check_count(name, tensors, size, what)
    for i, tensor in enumerate(tensors):
        if tuple(tensor.shape) != tuple(shape):
            raise RuntimeError(f"{name}: invalid tensor size at index {i} (expected {tuple(shape)}, got "
                               f"{tuple(tensor.shape)})")


def source(tensor, group=None):
    """A tensor's elements as a flat array, to be read: of the host, or of the device if the group carries that."""
    if group is not None and group.carries(tensor):
        array = tensor.array
        return (array if array.flags.c_contiguous else array.copy()).reshape(-1)
    array = tensor.backend.to_host(tensor.array)
    return np.ascontiguousarray(array).reshape(-1)


class Target:
    """A tensor's elements as a flat `array` to write to; `flush()` when that is done."""

    __slots__ = ("tensor", "array", "whole", "stays")

    def __init__(self, tensor, writer, group=None):
        self.tensor, self.stays = tensor, group is not None and group.carries(tensor)
        bump_version(tensor, writer, calling_line())
        if self.stays:
            self.whole = None if tensor.array.flags.c_contiguous else tensor.array.copy()
            self.array = (tensor.array if self.whole is None else self.whole).reshape(-1)
            return
        array = tensor.array
        host = array if array.__class__ is np.ndarray else tensor.backend.to_host(array)
        if host.flags.c_contiguous and (host is array or tensor.device.type == "cpu"):
            self.whole, self.array = None, host.reshape(-1)
        else:
            self.whole = np.array(host, order="C")
            self.array = self.whole.reshape(-1)

    def flush(self):
        """Write the copy back, where there is one."""
        if self.whole is not None:
            tensor = self.tensor
            found = self.whole if self.stays or tensor.device.type == "cpu" else tensor.backend.from_host(self.whole)
            tensor.array[...] = found


def targets_of(tensors, writer, group=None):
    """The arrays of several targets, and a function that flushes all."""
    targets = [Target(tensor, writer, group) for tensor in tensors]

    def flush():
        for target in targets:
            target.flush()
    return [target.array for target in targets], flush


def words(tensor, *rest):
    """The text that ranks must agree on: dtype, shape and more."""
    return " ".join([tensor.dtype.name, str(list(tensor.array.shape)), *rest])
