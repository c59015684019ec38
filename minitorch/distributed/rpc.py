"""``torch.distributed.rpc`` as PyTorch has it where it is built without: `is_available` says so, that is all."""

__all__ = ["is_available"]


def is_available():
    """False: calls of functions on other ranks are not supported."""
    return False
