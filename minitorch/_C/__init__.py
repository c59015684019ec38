"""The few names of PyTorch's C module that programs with subclasses of Tensor use."""

from ..autograd.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass
from ..autograd.dispatch import disabled_torch_function as _disabled_torch_function_impl
from ..autograd.dispatch import state as _state

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]


def _is_torch_function_enabled():
    return _state.everything and _state.subclasses


def _is_torch_function_mode_enabled():
    return bool(_state.modes)
