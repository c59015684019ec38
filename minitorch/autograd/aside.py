"""``x.data``: the memory of a tensor with a separate count of writes, as in PyTorch.

Solvers and optimisers deliberately write through `.data` into values that a backward pass needs, so
such writes are not counted for the tensor. Two cases are exceptions: anomaly mode, in which a
backward pass that needs an overwritten value raises, and arrays that wrap others, as within `vmap`.
"""

import numpy as np

from ..core.arrays import counted, owner, pointer
from ..core.registry import extends
from ..core.tensor import Tensor
from .anomaly import is_anomaly_enabled

__all__ = ["laid_aside"]


def data(self):
    """A tensor over the same memory, outside of the graph; a backward pass does not notice writes
    through it."""
    twin = self.detach()
    if not is_anomaly_enabled():
        twin.array = laid_aside(twin.array)
    return twin


def set_data(self, other):
    """Make this tensor use the memory of another one."""
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    if self.needs_grad and other.array.dtype.kind not in "fcV":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or "
                           "complex dtype")
    if other.backend.level is not None:
        other = other.detach()
    array = beside(other.array)
    if self.backend.level is None or self.array.shape != array.shape:
        self.array, self.backend = array, other.backend
    else:                                                  # it keeps its tangent
        self.array = self.backend.apart(self.array)[1](array)


extends(Tensor, "data")(property(data, set_data))


def laid_aside(array):
    """An array over the same memory whose writes are counted separately: it lies behind a
    memoryview, at which `counted` stops.

    Arrays of devices and traces have a method for this.
    """
    if not array.size:
        return array
    if array.__class__ is not np.ndarray:
        return array.laid_aside() if hasattr(array, "laid_aside") else array
    memory = owner(array)
    row = memory if memory.flags.c_contiguous else memory.ravel("K")
    # a memoryview of bfloat16 must be one of integers
    root = np.frombuffer(memoryview(row.view("u2") if row.dtype.kind == "V" else row), row.dtype)
    if array is row:
        return root.reshape(array.shape)
    return np.ndarray(array.shape, array.dtype, root, pointer(array) - pointer(memory),
                      array.strides)


def beside(array):
    """The array for a tensor that is set to ``x.data``: one whose writes are counted with those of
    x."""
    memory = owner(array)
    if memory is counted(array):
        return array
    if (memory.shape, memory.strides, memory.dtype) == (array.shape, array.strides, array.dtype):
        return memory
    if array.__class__ is not np.ndarray:
        return array.backend.of_memory(array, array.shape, [s // array.itemsize
                                                            for s in array.strides],
                                       (pointer(array) - pointer(memory)) // array.itemsize)
    row = memory if memory.flags.c_contiguous else memory.ravel("K")
    return np.ndarray(array.shape, array.dtype, row, pointer(array) - pointer(memory),
                      array.strides)
