"""``torch.cpu.amp``: mixed precision on the processor, by its older name."""

from ..core.dtypes import bfloat16
from . import GradScaler as _GradScaler
from .autocast_mode import autocast as _autocast

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):                                 # noqa: N801  (PyTorch's name)
    """``amp.autocast("cpu", ...)``."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
