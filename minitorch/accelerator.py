"""``torch.accelerator``: the device beside the processor, whichever there is. There is none in this version."""

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available():
    """Whether there is one: no."""
    return False


def device_count():
    """How many there are."""
    return 0


def current_accelerator(check_available=False):
    """The device, or None."""
    return None
