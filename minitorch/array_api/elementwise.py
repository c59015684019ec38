"""Functions of each element, with the array API standard's promotion of 0-d tensors and numbers."""

import math

import minitorch as torch

from ..backends import numpy_names
from .promotion import together

# the standard's own list, but for `where`, which is among its functions of searching
__all__ = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift "
    "bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp "
    "expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less "
    "less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor "
    "maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder "
    "round sign signbit sin sinh sqrt square subtract tan tanh trunc").split()


def promoted(name, function):
    """A function of two tensors, or a tensor and a number, that first brings them to the standard's dtype."""
    def call(x1, x2, /):
        return function(*together(x1, x2))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.{function.__name__}` of `x1` and `x2`, brought together by the standard's promotion."
    return call


for _name in __all__:
    _ufunc, _function = numpy_names.ufunc(_name), getattr(torch, _name, None)
    globals()[_name] = promoted(_name, _function) if _ufunc and _ufunc.nin == 2 else _function
equal = promoted("equal", torch.eq)
bitwise_invert = torch.bitwise_not
conj = torch.conj_physical
real = torch.real


def sign(x, /):
    """-1, 0 or 1; x / abs(x) for complex numbers; NaN of NaN, where PyTorch's `sign` has 0."""
    if x.is_complex():
        return torch.where(x == 0, 0, torch.sgn(x))        # without the signs of zeros
    return torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sign(x)


def round(x, /):
    """The nearest integers, of two the even one; of complex numbers for each part."""
    return torch.complex(torch.round(x.real), torch.round(x.imag)) if x.is_complex() else torch.round(x)


def clip(x, /, min=None, max=None):
    """`x`, but where it is under `min` or over `max`, these; its dtype stays. A bound of NaN gives NaN."""
    bounds = []
    for bound, beyond in ((min, lambda b, info: b <= info.min), (max, lambda b, info: b >= info.max)):
        if isinstance(bound, int) and not x.is_floating_point() and beyond(bound, torch.iinfo(x.dtype)):
            bound = None                                   # an integer that does not bind, and may not fit
        if isinstance(bound, float) and math.isnan(bound):
            return torch.full_like(x, bound)
        bounds.append(bound)
    low, high = [b if b is None or isinstance(b, torch.Tensor) else torch.full_like(x, b) for b in bounds]
    return x.clone() if low is None and high is None else torch.clamp(x, low, high).to(x.dtype)


def where(condition, x1, x2, /):
    """`x1` where the condition holds, else `x2`; both of the standard's common dtype."""
    return torch.where(condition, *together(x1, x2))
