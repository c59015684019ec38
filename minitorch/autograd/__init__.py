"""Automatic differentiation: the tape (`graph`), the backward pass (`engine`), the modes, user-defined functions."""

import importlib

from . import anomaly, aside, functional, graph, inference, subclasses  # noqa: F401
from .anomaly import detect_anomaly, set_detect_anomaly
from .api import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .variable import Variable

__all__ = ["Function", "Variable", "anomaly", "backward", "detect_anomaly", "enable_grad", "functional", "grad",
           "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]


def __getattr__(name):
    """Names that need the whole library: imported on first use."""
    if name in ("gradcheck", "gradgradcheck"):
        return getattr(importlib.import_module("..testing.gradcheck", __name__), name)
    if name in ("profiler", "forward_ad"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'minitorch.autograd' has no attribute {name!r}")
