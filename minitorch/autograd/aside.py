"""``x.data``: the memory of a tensor under a count of writes of its own, as in PyTorch.

Solvers and optimisers write through `.data` into values that a backward pass needs, because they
know better; so such writes are not counted for the tensor. In anomaly mode they are, and a backward
pass that needs an overwritten value raises. So they are where arrays are hidden behind others, as
within `vmap`.
"""

import numpy as np

from ..core.arrays import counted, owner, pointer
from ..core.registry import extends
from ..core.tensor import Tensor
from .anomaly import is_anomaly_enabled

__all__ = ["laid_aside"]


def data(self):
    """The same memory without the graph; a backward pass does not notice what is written through
    it."""
    twin = self.detach()
    if not is_anomaly_enabled():
        twin.array = laid_aside(twin.array)
    return twin


def set_data(self, other):
    """Look at the memory of another tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    if self.needs_grad and other.array.dtype.kind not in "fcV":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or "
                           "complex dtype")
    self.array, self.backend = beside(other.array), other.backend


extends(Tensor, "data")(property(data, set_data))


def laid_aside(array):
    """The same elements of the same memory, counted apart: behind a memoryview, which `counted`
    does not pass.

    Arrays of devices and traces have a method for it.
    """
    if not array.size:
        return array
    if array.__class__ is not np.ndarray:
        return array.laid_aside() if hasattr(array, "laid_aside") else array
    memory = owner(array)
    row = memory if memory.flags.c_contiguous else memory.ravel("K")
    # bfloat16
    root = np.frombuffer(memoryview(row.view("u2") if row.dtype.kind == "V" else row), row.dtype)
    if array is row:
        return root.reshape(array.shape)
    return np.ndarray(array.shape, array.dtype, root, pointer(array) - pointer(memory),
                      array.strides)


def beside(array):
    """The array for a tensor that is given the values of ``x.data``: one whose writes are counted
    with those of x."""
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
