"""``torch._utils``: helpers of PyTorch's own that programs import all the same."""

import importlib
from functools import reduce

from . import cat, cuda
from . import device as _device
from .serialization.tensors import rebuild_parameter as _rebuild_parameter
from .serialization.tensors import rebuild_parameter_with_state as _rebuild_parameter_with_state
from .serialization.tensors import rebuild_tensor as _rebuild_tensor
from .serialization.tensors import rebuild_tensor_v2 as _rebuild_tensor_v2
from .serialization.tensors import rebuild_tensor_v3 as _rebuild_tensor_v3
from .utils.data.worker import ExceptionWrapper

__all__ = ["ExceptionWrapper", "_element_size", "_flatten_dense_tensors", "_get_all_device_indices",
           "_get_available_device_type", "_get_device_index", "_import_dotted_name", "_rebuild_parameter",
           "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
           "_reorder_tensors_as", "_take_tensors", "_unflatten_dense_tensors", "classproperty"]


# ---- lists of tensors as one ----------------------------------------------------------------------------------
def _flatten_dense_tensors(tensors):
    """All elements of tensors of one dtype, in order, as a 1-D tensor: a copy."""
    return cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Views of the 1-D tensor `flat` with the shapes of `tensors`, in order."""
    made, start = [], 0
    for t in tensors:
        made.append(flat.narrow(0, start, t.numel()).view(t.shape))
        start += t.numel()
    return tuple(made)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, each of at most `size_limit` bytes (or of one tensor), as an iterator."""
    chunks = {}
    for t in tensors:
        kind, size = t.type(), t.numel() * t.element_size()
        chunk, taken = chunks.get(kind, ([], 0))
        if chunk and taken + size > size_limit:
            yield chunk
            chunk, taken = [], 0
        chunk.append(t)
        chunks[kind] = chunk, taken + size
    for chunk, _ in chunks.values():
        if chunk:
            yield chunk


def _reorder_tensors_as(tensors, ordered_tensors):
    """`tensors`, which are sorted by type, in the order in which `ordered_tensors` has these types."""
    by_type = {}
    for t in tensors:
        by_type.setdefault(t.type(), []).append(t)
    iterators = {kind: iter(found) for kind, found in by_type.items()}
    return tuple(next(iterators[t.type()]) for t in ordered_tensors)


# ---- devices -----------------------------------------------------------------------------------------------------
def _get_available_device_type():
    """The kind of accelerator that there is: "cuda" or None."""
    return "cuda" if cuda.is_available() else None


def _get_all_device_indices():
    """The numbers of all GPUs."""
    return list(range(cuda.device_count()))


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device, given as a number, a text or a device; with `optional` None is the current GPU.

    ValueError for a device that is none of a GPU; ``-1`` for the processor, with `allow_cpu`.
    """
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        device = -1 if device.type == "cpu" else device.index
    if isinstance(device, int):
        return device
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return cuda.current_device()


# ---- Python ------------------------------------------------------------------------------------------------------
def _import_dotted_name(name):
    """The object that a name such as "package.module.Class.attribute" means."""
    first, *rest = name.split(".")
    return reduce(getattr, rest, importlib.import_module(first))


class classproperty:                                       # noqa: N801  (PyTorch's name)
    """Decorator of a method that is an attribute of the class."""

    def __init__(self, fget):
        self.fget = fget if isinstance(fget, classmethod) else classmethod(fget)

    def __get__(self, instance, owner=None):
        return self.fget.__get__(None, owner if owner is not None else type(instance))()


def _element_size(dtype):
    """The size of an element of a dtype, in bytes."""
    return dtype.itemsize
