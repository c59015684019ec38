"""``torch.cuda.amp``: mixed precision on GPUs, by its older name.

Without a GPU `autocast` and `GradScaler` are switched off with a warning, as in PyTorch.
"""

from ..core.device import accelerator
from ..core.dtypes import float16
from ..explain.callers import warn
from . import GradScaler as _GradScaler
from . import custom_bwd as _custom_bwd
from . import custom_fwd as _custom_fwd
from .autocast_mode import autocast as _autocast

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _usable(enabled, what):
    """`enabled`, if there is a GPU; False, with PyTorch's warning, if not."""
    if enabled and accelerator() is None:
        warn(f"{what}CUDA is not available.  Disabling.")
        return False
    return enabled


class autocast(_autocast):                                 # noqa: N801  (PyTorch's name)
    """``amp.autocast("cuda", ...)``."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        super().__init__("cuda", dtype, _usable(enabled, "User provided device_type of 'cuda', but "), cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        enabled = _usable(enabled, "torch.cuda.amp.GradScaler is enabled, but ")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """``amp.custom_fwd`` for "cuda"."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd=None):
    """``amp.custom_bwd`` for "cuda"."""
    return _custom_bwd(bwd, device_type="cuda")
