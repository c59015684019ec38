"""``torch.xpu``: Intel's GPUs. There are none here, and what asks says so, as in PyTorch built without them."""

__all__ = ["current_device", "device_count", "empty_cache", "get_device_name", "is_available", "is_bf16_supported",
           "is_initialized", "manual_seed", "manual_seed_all", "memory_allocated", "set_device", "synchronize"]



def is_available():
    """False."""
    return False


is_initialized = is_bf16_supported = is_available


def device_count():
    """0."""
    return 0


def empty_cache():
    """Nothing: there is no memory of such a device."""


def manual_seed(seed):
    """Nothing: there is no device whose random numbers it would begin."""


manual_seed_all = manual_seed


def memory_allocated(device=None):
    """0."""
    return 0


def synchronize(device=None):
    """AssertionError: there is no such device."""
    raise AssertionError("minitorch computes on the processor and, with CuPy, on CUDA's GPUs; there are no XPUs")


set_device = current_device = get_device_name = synchronize
