"""The backends: one object for each device, made when the device is first asked for.

`get(device)` finds or makes it; `register(type, maker)` adds a kind of device in one call: the maker is given the
device's index (or None) and returns a `Backend`.
"""

from ..device import TYPES
from ..device import device as Device
from . import cuda
from .base import Backend
from .cpu.backend import make_cpu
from .switches import cudnn, mkl, mkldnn, mps, openmp

__all__ = ["Backend", "convolution_method", "cpu", "cuda", "cudnn", "get", "mkl", "mkldnn", "mps", "openmp", "register"]

cpu = make_cpu(None)
default = cpu                                             # where new tensors live
_makers = {"cpu": make_cpu, "cuda": cuda.make_cuda, "sim": cuda.make_sim}
_made = {("cpu", None): cpu, ("cpu", 0): cpu}


def register(type, maker):
    """Let ``device(type)`` stand for the backends that ``maker(index)`` returns."""
    _makers[type] = maker
    if type not in TYPES:
        TYPES.append(type)


def made():
    """The (type, index) of the devices that are in use."""
    return list(_made)


def get(where=None):
    """The backend of a device, a string, an index or a backend; the default one for None."""
    if where is None:
        return default
    if isinstance(where, Backend):
        return where
    where = Device(where)
    key = where.type, where.index
    if key == ("cuda", None):
        key = "cuda", cuda.current_device()
    if key not in _made:
        if where.type not in _makers:
            raise RuntimeError(f"device '{where}' has no backend here: known are {', '.join(_makers)}")
        _made[key] = _makers[where.type](key[1])
        from .watched import watching
        if watching.current is not None:                   # a profile is running
            watching.current.watch(_made[key])
    return _made[key]


def convolution_method(name):
    """A context in which the CPU computes convolutions by the method of that name, where it applies.

    Without it the cheapest one is estimated from the shapes: see `minitorch/ops/convolution_methods.py`.
    """
    from ..ops.convolution_methods import using
    return using(name)
