"""PyTorch's ``torch.overrides``: classes and modes that answer calls of this library themselves.

The machinery is in `minitorch/autograd/dispatch.py`, the functions in `functions.py`. Asking this module for one of its
names, defining a subclass or entering a mode switches it on; a class that is not derived from Tensor is asked from then
on.
"""

from ..autograd import dispatch
from . import functions

__all__ = list(functions.__all__)


def __getattr__(name):
    if name.startswith("__") or not hasattr(functions, name):
        raise AttributeError(f"module 'minitorch.overrides' has no attribute {name!r}")
    dispatch.activate()
    return getattr(functions, name)


def __dir__():
    return __all__
