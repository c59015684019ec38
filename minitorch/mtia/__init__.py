"""``torch.mtia``: Meta's accelerators. There are none here: what asks says so, as in PyTorch built without them."""

from ..xpu import device_count, is_available, is_initialized

__all__ = ["device_count", "is_available", "is_initialized"]
