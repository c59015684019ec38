"""``torch.accelerator``: the device beside the processor, whichever there is: a GPU."""

from . import cuda
from .core.device import device
from .cuda import device_count, is_available, synchronize

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index",
           "synchronize"]


def current_accelerator(check_available=False):
    """The kind of device, ``device("cuda")``, or None where there is none."""
    return device("cuda") if is_available() else None


def current_device_index():
    """The number of the GPU in use."""
    return cuda.current_device()


def set_device_index(device):
    """Use another GPU."""
    cuda.set_device(device)
