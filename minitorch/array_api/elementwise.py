"""Functions of each element, with the array API standard's promotion of 0-d tensors and numbers."""

import math

import minitorch as torch

from .promotion import together

UNARY = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor",
         "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative", "positive",
         "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc")
BINARY = ("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
          "copysign", "divide", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp",
          "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow",
          "remainder", "subtract")
__all__ = ["bitwise_invert", "clip", "conj", "equal", "real", *UNARY, *BINARY]


def promoted(name, function):
    """A function of two tensors, or a tensor and a number, that first brings them to the standard's dtype."""
    def call(x1, x2, /):
        return function(*together(x1, x2))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.{function.__name__}` of `x1` and `x2`, brought together by the standard's promotion."
    return call


globals().update({name: getattr(torch, name) for name in UNARY})
globals().update({name: promoted(name, getattr(torch, name)) for name in BINARY})
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
