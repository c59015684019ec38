"""``torch.cpu.amp``: mixed precision on the processor, by its older name."""

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..core.dtypes import bfloat16

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):                                 # noqa: N801  (PyTorch's name)
    """``amp.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(self, *args, **kwargs):
        super().__init__("cpu", *args, **kwargs)
