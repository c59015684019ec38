"""``torch.mtia``: Meta's accelerators. There are none here, and what asks says so."""

from ..xpu import device_count, is_available, is_initialized

__all__ = ["device_count", "is_available", "is_initialized"]
