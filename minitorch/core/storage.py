"""The memory behind tensors as PyTorch shows it, and the names of layouts and memory formats."""

import numpy as np

from . import dtypes
from .arrays import pointer
from .registry import late


class UntypedStorage:
    """The memory behind one or more tensors, as PyTorch shows it: a row of bytes."""

    def __init__(self, memory):
        self.memory = memory

    def nbytes(self):
        """The number of bytes."""
        return self.memory.nbytes

    size = __len__ = nbytes

    def data_ptr(self):
        """The address of the first byte."""
        return pointer(self.memory)

    def __eq__(self, other):
        return type(self) is type(other) and self.memory is other.memory

    def __hash__(self):
        return id(self.memory)

    def elements(self):
        return self.memory.reshape(-1, order="A").view(np.uint8)

    def tolist(self):
        """The bytes, or the elements of a typed storage, in the order of memory."""
        return self.elements().tolist()

    def __getitem__(self, index):
        return self.elements()[index].tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        return f"<{type(self).__name__} of {self.nbytes()} bytes>"


class TypedStorage(UntypedStorage):
    """The memory behind one or more tensors: a row of elements."""

    def __init__(self, memory, dtype):
        self.memory, self.dtype = memory, dtypes.from_np(dtype)

    def elements(self):
        return self.memory.reshape(-1, order="A").view(self.dtype.np)

    def size(self):
        """The number of elements."""
        return self.memory.nbytes // self.dtype.itemsize

    __len__ = size


class layout:
    """How a tensor lies in memory; this library knows `strided` only."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


class TensorLayout(layout):
    """What `x.layout` gives: equal to `strided`; called, ``x.layout()``, a picture of storage and strides."""

    def __init__(self, tensor):
        self.name, self.tensor = "strided", tensor

    def __eq__(self, other):
        return isinstance(other, layout) and other.name == self.name

    def __hash__(self):
        return hash(strided)

    def __reduce__(self):
        return layout, (self.name,)

    def __call__(self):
        """Storage and strides as a picture: see `minitorch.viz.layout`."""
        return late.draw_layout(self.tensor)


class memory_format(layout):
    """An order of the dimensions in memory."""


strided: layout = layout("strided")
contiguous_format, channels_last, channels_last_3d, preserve_format = map(
    memory_format, ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"))
