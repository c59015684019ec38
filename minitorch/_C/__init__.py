"""The few names of PyTorch's C module that programs use: those for subclasses of Tensor, and types."""

from types import SimpleNamespace

from ..autograd.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from ..autograd.dispatch import disabled_torch_function as _disabled_torch_function_impl
from ..autograd.dispatch import state as _state
from ..core.device import device
from ..core.dtypes import dtype
from ..core.grad_mode import grad_mode
from ..core.storage import layout, memory_format
from ..core.tensor import Size
from ..core.tensor import Tensor as TensorBase
from ..random.generator import Generator, default_generator

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "Size", "TensorBase",
           "_disabled_torch_function_impl", "default_generator", "device", "dtype", "layout", "memory_format"]

_TensorBase = TensorBase
_TensorMeta = type(TensorBase)


def _is_torch_function_enabled():
    return _state.everything and _state.subclasses


def _is_torch_function_mode_enabled():
    return bool(_state.modes)


def _are_functorch_transforms_active():
    return bool(grad_mode.batches or grad_mode.levels)


def _log_api_usage_once(name):
    """Nothing: nobody counts."""


def _get_tracing_state():
    """None: TorchScript traces nothing."""


def __getattr__(name):
    if name != "_nn":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..nn.parameter import parse_to
    return SimpleNamespace(_parse_to=parse_to)
