"""Automatic differentiation: the tape (`graph`), the backward pass (`engine`), the modes, user-defined functions."""

from . import graph
from .engine import backward, grad
from .function import Function
from .grad_mode import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
                        set_grad_enabled)

__all__ = ["Function", "backward", "grad", "graph", "enable_grad", "inference_mode", "is_grad_enabled",
           "is_inference_mode_enabled", "no_grad", "set_grad_enabled"]
