"""``torch.mps``: Apple's GPUs. There are none here, and what asks says so, as in PyTorch built without them."""

from ..xpu import device_count, is_available, manual_seed

__all__ = ["current_allocated_memory", "device_count", "empty_cache", "is_available", "manual_seed", "seed",
           "set_per_process_memory_fraction", "synchronize"]


def synchronize():
    """RuntimeError: there is no such device."""
    raise RuntimeError("minitorch computes on the processor and, with CuPy, on CUDA's GPUs; there is no MPS")


def set_per_process_memory_fraction(fraction):
    """RuntimeError: there is no such device."""
    synchronize()


seed = empty_cache = current_allocated_memory = synchronize
