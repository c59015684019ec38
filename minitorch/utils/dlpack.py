"""``torch.utils.dlpack``: tensors and other libraries' arrays in one memory."""

from ..core.registry import FUNCTIONS

__all__ = ["from_dlpack", "to_dlpack"]

from_dlpack = FUNCTIONS["", "from_dlpack"].call


def to_dlpack(tensor):
    """The tensor's memory as a capsule that `from_dlpack` of any library takes, once."""
    return tensor.__dlpack__()
