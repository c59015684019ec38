"""Memory that processes share: ``x.share_memory_()`` moves a tensor there, with all that looks at the same memory.

A process that is forked later sees the writes of the others, and so does one that gets the tensor through a `Queue`, a
`Pipe` or the arguments of `Process`: what is sent is the name of the memory. It is given back when the tensor of the
process that has made it is gone; others that hold the tensor keep theirs. Saved files hold the values.
"""

import gc
import os
import weakref
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from .. import Tensor
from ..extend import Memory, attributes_of, fills, get_backend, owner, pointer

__all__ = ["is_shared", "share_memory"]

names: dict = {}                                           # id of an array that owns shared memory -> its name
attached: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # name -> that array


@fills("is_shared")
def is_shared(tensor):
    """True if a tensor lies in memory that processes share."""
    return id(owner(tensor.array)) in names


def share_memory(tensors):
    """Move tensors to memory that processes share; what lies there, has no elements, or is not on the CPU, stays."""
    memories = {id(m): m for m in (owner(t.array) for t in tensors if t.device.type == "cpu" and t.array.size)
                if id(m) not in names}
    if not memories:
        return
    lookers = [t for t in gc.get_objects()         # views and detached twins, which nobody lists
               if isinstance(t, Tensor) and id(owner(attributes_of.__get__(t).get("array"))) in memories]
    if any([not isinstance(t.array, np.ndarray) for t in lookers]):
        raise TypeError("share_memory_(): a MaskedTensor or DTensor looks at this memory, whose array has several "
                        "parts: share the tensors that you make one of")
    moved = {key: allocate(memory.nbytes) for key, memory in memories.items()}
    for key, memory in memories.items():
        moved[key][:] = located(memory, memory)
    for t in lookers:
        memory, array = owner(t.array), t.array
        t.array = np.ndarray(array.shape, array.dtype, moved[id(memory)], pointer(array) - pointer(memory),
                             array.strides)


def located(array, memory):
    """The bytes of an array that fills its memory, in the order of memory."""
    flat = np.lib.stride_tricks.as_strided(array, (array.size,), (array.itemsize,))
    return flat.view(np.uint8)


def allocate(size):
    """Shared memory of so many bytes, as an array that owns it."""
    block = SharedMemory(create=True, size=size)
    array = owning(block, size)
    weakref.finalize(array, given_up, block, id(array), os.getpid())
    return array


def owning(block, size):
    """A block as an array of bytes, noted under its name. The array alone keeps the mapping open, not the block, which
    would complain of arrays that are there when the interpreter ends.
    """
    mapping, block._mmap = block._mmap, None
    block._buf.release()
    block._buf = None
    array = np.frombuffer(mapping, np.uint8, size)
    block.close()
    names[id(array)] = block.name
    attached[block.name] = array
    return array


def given_up(block, key, creator):
    """The array of a block is gone: remove the block, if this process has made it."""
    names.pop(key, None)
    if os.getpid() == creator:
        block.unlink()


def attach(name, size):
    """The memory that another process has named, the same object for the same name."""
    array = attached.get(name)
    if array is None:
        array = owning(SharedMemory(name), size)
        weakref.finalize(array, names.pop, id(array), None)
    return Memory.of(array, get_backend("cpu"))


def reduce_memory(memory):
    """The message about a tensor's memory: the name of shared memory, a copy of other memory."""
    name = names.get(id(memory.memory))
    return (attach, (name, memory.nbytes())) if name is not None else memory.__reduce__()


ForkingPickler.register(Memory, reduce_memory)
