"""CUDA devices. There is no CUDA backend in this version: everything here says so, truthfully and as PyTorch would.

Programs that ask ``torch.cuda.is_available()`` first run on the CPU.
"""

from . import amp  # noqa: F401

__all__ = ["current_device", "device_count", "empty_cache", "get_device_name", "is_available", "is_initialized",
           "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated", "synchronize"]


def is_available():
    """Whether tensors can live on a CUDA device: not in this version."""
    return False


def is_initialized():
    """Whether a CUDA device is in use."""
    return False


def device_count():
    """The number of CUDA devices that can be used."""
    return 0


def manual_seed(seed):
    """Seed the current device's generator; without a device nothing happens, as in PyTorch."""


def manual_seed_all(seed):
    """Seed the generators of all devices; without a device nothing happens, as in PyTorch."""


def empty_cache():
    """Give unused device memory back; without a device nothing happens, as in PyTorch."""


def memory_allocated(device=None):
    """Bytes of device memory in use."""
    return 0


def max_memory_allocated(device=None):
    """The most bytes of device memory that were in use."""
    return 0


def _no_device(*args, **kwargs):
    """RuntimeError: there is no device."""
    raise RuntimeError("No CUDA device is available: this version of minitorch computes on the CPU. Guard such calls "
                       "with `if minitorch.cuda.is_available():`")


current_device = synchronize = get_device_name = get_device_properties = set_device = _no_device
