"""Forward mode: ``torch.autograd.forward_ad``.

>>> import minitorch
>>> from minitorch.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(minitorch.tensor([1.0, 2.0]), minitorch.tensor([1.0, 0.0]))
...     forward_ad.unpack_dual(x * x).tangent
tensor([2., 0.])

A dual tensor is a value and a tangent, the derivative of the value in one direction. Each call on
dual tensors computes both, also in `no_grad`. If an input requires grad, both are recorded: a
backward pass through the tangent gives second derivatives. In `inference_mode` tangents are not
computed. The package `dual` derives them from the op definitions.
"""

from typing import Any, NamedTuple

from ..core.arrays import is_inexact
from ..core.dtypes import from_np
from ..core.grad_mode import grad_mode
from ..core.tensor import Tensor
from .dual.crossing import dual, tangent_of, without_level
from .dual.levels import close, opened
from .grad_mode import _Mode

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def current():
    """The dual level of this thread; None outside of one. `func.jvp` has separate levels."""
    return next((level for level in grad_mode.levels if level.name is not None), None)


def enter_dual_level():
    """Enter the dual level, 0; RuntimeError if it is entered already: `func.jvp` nests."""
    if current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    opened(0).__enter__()
    return 0


def exit_dual_level(*, level=None):
    """Leave the dual level; tangents made at it disappear. RuntimeError if it is not the innermost
    level."""
    found = current()
    if level not in (None, 0) or found is not None and found is not grad_mode.levels[-1]:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    if found is None:
        raise RuntimeError("Dual level must be a positive number.")
    grad_mode.levels = grad_mode.levels[:-1]
    close(found)


class dual_level(_Mode):
    """A block or a decorated function: `make_dual` makes dual tensors there, and calls compute their tangents."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def level_named(level):
    found = current()
    if level not in (None, 0) and found is not None:
        raise RuntimeError(f"Trying to use a forward AD level, {level}, that does not exist: the only one is 0.")
    return found


def make_dual(tensor, tangent, *, level=None):
    """A view of `tensor` with the given tangent, a tensor of its shape; both must be floating
    point.

    Gradients flow to both. RuntimeError outside of `dual_level`, for other shapes, and for
    tensors that have a tangent already.
    """
    at = level_named(level)
    if at is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    for x, what in ((tensor, "primal"), (tangent, "tangent")):
        if not isinstance(x, Tensor):
            raise TypeError(f"make_dual(): expected the {what} to be a Tensor, but got {type(x).__name__}")
        if not is_inexact(x.array.dtype):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {from_np(x.array.dtype)}")
    if tangent_of(tensor, at) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                           "level 0 is not supported.")
    if tangent_of(tangent, at) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not "
                           "supported.")
    return dual(tensor, tangent, at)


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`: the value, and the tangent or None."""

    primal: Any
    tangent: Any


def unpack_dual(tensor, *, level=None):
    """The value and the tangent of a tensor, as a named tuple (primal, tangent); both are differentiable.

    The tangent is None for a tensor that depends on no dual tensor, or has no derivative, and outside of `dual_level`.
    """
    at = level_named(level)
    if at is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(without_level(tensor, at), tangent_of(tensor, at))


# ---- whether tangents are computed --------------------------------------------------------------------------
def _is_fwd_grad_enabled():
    """True if calls compute tangents at the moment."""
    return not grad_mode.inference


class _set_fwd_grad_enabled:
    """Switches the computation of tangents on or off within a block."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.outer = grad_mode.levels
        if not self.mode:
            grad_mode.levels = ()

    def __exit__(self, *exc):
        grad_mode.levels = self.outer
