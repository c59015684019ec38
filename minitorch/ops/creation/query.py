"""Questions about tensors (``is_tensor(x)``, ``numel(x)``) and constants (``pi``); no op definitions."""

import math

from ...core import device as devices
from ...core import registry
from ...core.device import get
from ...core.dtypes import from_np
from ...core.registry import guests
from ...core.tensor import Tensor, wrap
from ..define import composite, method

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}


@composite(method=False)
def is_tensor(obj):
    """True if `obj` is a tensor."""
    return isinstance(obj, Tensor)


@composite
def is_floating_point(input):
    """True if the dtype of `input` is a floating-point type."""
    return from_np(input.array.dtype).is_floating_point


@composite
def is_complex(input):
    """True if the dtype of `input` is complex."""
    return input.array.dtype.kind == "c"


@composite
def is_signed(input):
    """True if the dtype of `input` has negative values."""
    return from_np(input.array.dtype).is_signed


Tensor.is_meta = property(  # type: ignore[assignment]
    lambda self: self.device.type == "meta", doc="True if it has a shape, but no memory.")


@composite(method=False)
def numel(input):
    """The number of elements of `input`."""
    return input.numel()


@composite(method=False)
def detach(input):
    """The memory of `input` without its graph."""
    return input.detach()


@composite
def is_nonzero(input):
    """True if the one element of `input` is not zero."""
    if input.array.size != 1:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous" if not input.array.size else
                           "Boolean value of Tensor with more than one value is ambiguous")
    return bool(input.item())


@method
def is_set_to(self, tensor):
    """True if both tensors look at the same elements of the same memory."""
    return (self.data_ptr() == tensor.data_ptr() and self.array.shape == tensor.array.shape
            and self.stride() == tensor.stride() and self.array.dtype == tensor.array.dtype)


@method
def is_shared(self):
    """True if the memory is shared between processes: see `share_memory_`. That of a GPU counts as shared."""
    return self.is_cuda or registry.is_shared(self)


@method
def share_memory_(self):
    """Move this tensor, and all that looks at its memory, to memory that processes share; on a GPU nothing happens.

    Processes that are forked later, or get it through a `multiprocessing.Queue`, see each other's writes.
    """
    guests.share_memory([self])
    return self


@method
def pin_memory(self, device=None):
    """This tensor in page-locked memory, from which a GPU copies by itself; without a GPU the tensor itself.

    `device`: whose page-locked memory; the GPU in use for None. The simulator, "sim", has such memory, too, and notices
    if it is written while a copy with ``non_blocking=True`` may still read it.
    """
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned")
    gpu = devices.accelerator() if device is None else get(device)
    if gpu is None or is_pinned(self):
        return self
    return wrap(gpu.pinned_copy(self.array), self.backend)


@method
def is_pinned(self, device=None):
    """True if the memory is page-locked."""
    return self.device.type == "cpu" and devices.is_pinned(self.array)


@composite
def get_device(input):
    """The index of the device of `input`; -1 for the CPU."""
    return -1 if input.device.type == "cpu" else input.device.index or 0


@composite
def is_same_size(input, other):
    """True if both tensors have the same shape."""
    if not isinstance(other, Tensor):
        raise TypeError(f"is_same_size(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return input.array.shape == other.array.shape


@composite
def is_conj(input):
    """False: conjugates are computed at once, not marked."""
    return input.array is None


@composite
def is_neg(input):
    """False: negations are computed at once, not marked."""
    return input.array is None
