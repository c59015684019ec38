"""Memory of a tensor: methods for strides, offsets and addresses; storages."""

from math import prod

from ...core import dtypes
from ...core.arrays import owner, pointer
from ...core.device import host
from ...core.layouts import is_channels_last
from ...core.memory import may_overlap, steps
from ...core.storage import channels_last, channels_last_3d
from ...host.data import is_same_start, mapped_file
from ..define import method


class UntypedStorage:
    """The memory behind one or more tensors, as PyTorch shows it: a row of bytes."""

    def __init__(self, memory=0):
        """The storage of an array, of a number of bytes, uninitialised, or of given bytes."""
        if isinstance(memory, int):
            memory = host().xp.empty(memory, "uint8")
        elif isinstance(memory, (list, tuple)):
            memory = host().xp.asarray(memory, "uint8")
        self.memory = memory

    @staticmethod
    def from_file(filename, shared=False, nbytes=0):
        """The bytes of a file, read when they are looked at. Writes reach the file if it is `shared`, and then it is
        made, or made longer, so that it has `nbytes`; else RuntimeError if it has fewer, and 0 stands for all."""
        return UntypedStorage(mapped_file(filename, shared, nbytes))

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
        return self.memory.reshape(-1, order="A").view("uint8")

    def tolist(self):
        """The bytes, or the elements of a typed storage, in the order of memory."""
        return self.elements().tolist()

    def __getitem__(self, index):
        """An element; of untyped memory a slice is a storage, of the same memory."""
        found = self.elements()[index]
        return UntypedStorage(found) if isinstance(index, slice) and type(self) is UntypedStorage else found.tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __sizeof__(self):
        return object.__sizeof__(self) + self.memory.nbytes

    def element_size(self):
        """The size of an element in bytes; of untyped memory, 1."""
        return self.elements().itemsize

    def clone(self):
        """A copy."""
        return UntypedStorage(self.elements().copy())

    def untyped(self):
        """The memory as bytes."""
        return UntypedStorage(self.memory)

    def fill_(self, value):
        """Write one value everywhere."""
        self.elements()[...] = value
        return self

    def copy_(self, source, non_blocking=None):
        """Write the elements of another storage of the same size."""
        self.elements()[...] = source.elements()
        return self

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

    def clone(self):
        """A copy."""
        return TypedStorage(self.elements().copy(), self.dtype.np)


@method
def _is_view(self):
    """True if this tensor was made as a view of another one, `_base`."""
    return self._base is not None


@method
def stride(self, dim=None):
    """How many elements apart neighbours are in memory, along each dimension or along `dim`.

    For a tensor without elements, where NumPy keeps no strides, those of a contiguous one.
    """
    if self.array.size:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
    else:
        strides = tuple(prod(max(n, 1) for n in self.array.shape[i + 1:]) for i in range(self.array.ndim))
    return strides if dim is None else strides[self.checked_dim(dim)]


@method
def storage_offset(self):
    """The offset of the tensor in its memory, in elements."""
    return self.storage_range()[0]


@method
def storage_range(self):
    """Where the first element lies in the memory that owns it, and how many it holds, in elements."""
    memory = owner(self.array)
    return (pointer(self.array) - pointer(memory)) // self.array.itemsize, memory.nbytes // self.array.itemsize


@method
def is_contiguous(self, memory_format=None):
    """True if the elements lie in memory in the order of the indices, without gaps."""
    if memory_format is not None and memory_format in (channels_last, channels_last_3d):
        return self.array.ndim == (4 if memory_format is channels_last else 5) and is_channels_last(self.array)
    return self.array.flags.c_contiguous


@method
def data_ptr(self):
    """The address of the first element."""
    return pointer(self.array) if self.array.size else 0


@method
def untyped_storage(self):
    """The memory that the tensor looks at, as bytes: ``nbytes()``, ``data_ptr()``."""
    return UntypedStorage(owner(self.array))


@method
def storage(self):
    """The memory that the tensor looks at, as elements."""
    return TypedStorage(owner(self.array), self.array.dtype)


def is_same_memory(a, b):
    """True if two arrays look at the same elements in the same order, so that copying one to the
    other does nothing."""
    return a is b or (may_overlap(a, b) and owner(a) is owner(b) and a.dtype == b.dtype and is_same_start(a, b) and (
        a.shape == b.shape and a.strides == b.strides or steps(a) == steps(b) and fits(a.shape, b.shape)))


def fits(shape, other):
    """True if two shapes are the same but for leading dimensions of size 1."""
    n = min(len(shape), len(other))
    return shape[len(shape) - n:] == other[len(other) - n:]      # the rest is 1s, where the elements are the same
