"""``torch.accelerator``: the device beside the processor, whichever there is: a GPU."""

from . import cpu, cuda
from .core.device import device as _Device
from .cuda import (
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
    synchronize,
)

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "device_count", "empty_cache",
           "get_device_module", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
           "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index",
           "synchronize"]


def current_accelerator(check_available=False):
    """The kind of device, ``device("cuda")``, or None where there is none."""
    return _Device("cuda") if is_available() else None


def current_device_index():
    """The number of the GPU in use."""
    return cuda.current_device()


def set_device_index(device):
    """Use another GPU."""
    cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def get_device_module(device=None):
    """``torch.cuda`` or ``torch.cpu``: that of a device or its name; default: of the accelerator, if there is one."""
    if isinstance(device, str):
        device = _Device(device)
    kind = ("cuda" if is_available() else "cpu") if device is None else device.type
    if kind not in ("cuda", "cpu"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return cuda if kind == "cuda" else cpu
