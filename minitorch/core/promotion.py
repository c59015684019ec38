"""Type promotion of an op's inputs: a function for each word of the column `promotion`."""

import functools
import math

from . import dtypes, errors, ranges
from .arrays import is_floating, is_half
from .recording import recorded
from .tensor import Tensor

__all__ = ["PROMOTIONS", "MixedPrecision", "require_floating", "require_tensors"]

HALVES = (dtypes.float16, dtypes.bfloat16)


def participants(inputs, kinds):
    return [getattr(x, "array", x) for x, kind in zip(inputs, kinds) if kind.kind != "other"
            and x is not None]


def cast_all(inputs, kinds, dtype, numbers=True):
    """The inputs as `dtype`: tensors by a (differentiable) cast, `numbers` by `cast_number`."""
    cast = list(inputs)
    for i, (x, kind) in enumerate(zip(inputs, kinds)):
        if isinstance(x, Tensor) and kind.kind != "other":
            cast[i] = x if x.array.dtype == dtype.np else recorded.to(x, dtype=dtype.np)
        elif numbers and x is not None and kind.kind != "other":
            cast[i] = cast_number(x, dtype)
    return cast


def cast_number(x, dtype):
    """A Python number as an operand of `dtype`, as in PyTorch: it wraps around for integers and is
    rounded for 16-bit floats."""
    if dtype.category == dtypes.COMPLEX or dtype.category == dtypes.FLOATING:
        if dtype not in HALVES or (not x and dtype is dtypes.float16):
            return x
        return round_number(x, dtype) if x else dtype.np.type(x)
    if dtype.category == dtypes.BOOL:
        return bool(x)
    x, size = int(x), 8 * dtype.itemsize
    if 0 <= x < 128:                                       # fits every type, as most do
        return x
    if not -2**63 <= x < 2**64:
        raise OverflowError(f"int too big to convert: {x} is beyond the range of 64 bits")
    x %= 2**size
    return x - 2**size if dtype.is_signed and x >= 2**(size - 1) else x


@functools.lru_cache(maxsize=256, typed=True)
def round_number(x, dtype):
    """A nonzero Python number, rounded to a 16-bit float; unchanged if it would become infinite in
    float16."""
    rounded = dtype.np.type(x)
    if dtype is dtypes.bfloat16:         # NumPy would not treat a Python number as weak beside it
        return rounded
    return float(rounded) if math.isfinite(rounded) else x


def promote_common(op, inputs, kinds, attrs):
    """All inputs in the type of PyTorch's promotion."""
    return cast_all(inputs, kinds, dtypes.common_dtype(participants(inputs, kinds)))


def promote_compared(op, inputs, kinds, attrs):
    """Tensors in the type of PyTorch's promotion. Numbers are rounded beside 16-bit floats and
    otherwise unchanged, so a number out of a tensor's range equals none of its elements."""
    dtype = dtypes.common_dtype(participants(inputs, kinds))
    return cast_all(inputs, kinds, dtype, numbers=dtype in HALVES)


def promote_factor(op, inputs, kinds, attrs):
    """All inputs in the type of PyTorch's promotion; numbers are not rounded beside 16-bit floats.
    """
    dtype = dtypes.common_dtype(participants(inputs, kinds))
    return cast_all(inputs, kinds, dtype, numbers=dtype not in HALVES)


def promote_quotient(op, inputs, kinds, attrs):
    """Like "factor"; integers and bools become the default float."""
    found = dtypes.common_dtype(participants(inputs, kinds))
    return (promote_float if found.category < dtypes.FLOATING else promote_factor)(op, inputs,
                                                                                   kinds, attrs)


def promote_fitting(op, inputs, kinds, attrs):
    """All inputs in the type of PyTorch's promotion; a number must fit into it."""
    dtype = dtypes.common_dtype(participants(inputs, kinds))
    inputs = [ranges.fit(x, dtype) if kind.kind == "number" and not isinstance(x, Tensor) else x
              for x, kind in zip(inputs, kinds)]
    return cast_all(inputs, kinds, dtype)


def promote_float(op, inputs, kinds, attrs):
    """All inputs in the type of PyTorch's promotion; integers and bools become the default float.
    """
    found = dtypes.common_dtype(participants(inputs, kinds))
    return cast_all(inputs, kinds, dtypes.get_default_dtype() if found.category < dtypes.FLOATING
                    else found)


def promote_same(op, inputs, kinds, attrs):
    """No promotion: the tensors must have one dtype; numbers stay as they are."""
    found = dict.fromkeys(dtypes.from_np(x.dtype) for x in participants(inputs, kinds)
                          if hasattr(x, "dtype"))
    if len(found) > 1:
        first, second = list(found)[:2]
        of = {kind.name: dtypes.from_np(x.array.dtype).name for x, kind in zip(inputs, kinds)
              if isinstance(x, Tensor) and kind.kind != "other"}
        which = ", ".join(f"{name} is {dtype}" for name, dtype in of.items())
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {first.name} != "
                           f"{second.name} in {op.name}(): {which}; cast one of them, as in "
                           f"`{next(iter(of))}.to({second})`")
    return inputs


def promote_numbers(op, inputs, kinds, attrs):
    """No promotion: the tensors must have one dtype; numbers are cast to it."""
    inputs = promote_same(op, inputs, kinds, attrs)
    return cast_all(inputs, kinds, dtypes.common_dtype([x for x in participants(inputs, kinds)
                                                        if hasattr(x, "dtype")]))


def promote_first(op, inputs, kinds, attrs):
    """All inputs in the type of the first; a number must fit into it."""
    dtype = dtypes.from_np(inputs[0].array.dtype)
    inputs = [ranges.fit(x, dtype) if kind.kind == "number" and not isinstance(x, Tensor) else x
              for x, kind in zip(inputs, kinds)]
    return cast_all(inputs, kinds, dtype)


def promote_floating(op, inputs, kinds, attrs):
    """No promotion: the tensors must have one dtype, a floating-point one."""
    inputs = promote_same(op, inputs, kinds, attrs)
    for x in participants(inputs, kinds):
        if hasattr(x, "dtype"):
            require_floating(op.name, x)
    return inputs


class MixedPrecision(RuntimeError):
    """Raised for a 16-bit input with float32 weights. The function that called the op catches it,
    and casts before and after."""


def promote_norm(op, inputs, kinds, attrs):
    """No promotion, and floats only; raises `MixedPrecision` if the first input has 16 bits and the
    others are float32."""
    found = [x.dtype for x in participants(inputs, kinds)]
    if is_half(found[0]) and len(found) > 1 and all(d == "float32" for d in found[1:]):
        raise errors.worded(MixedPrecision(f"{op.name}(): the input is {found[0]}, the weights are "
                                           f"float32"))
    return promote_floating(op, inputs, kinds, attrs)


def require_tensors(*inputs):
    """The inputs' arrays. Fails for numbers in the place of tensors; the error then names the
    argument."""
    return [x.array for x in inputs]


def require_floating(name, x):
    """NotImplementedError, as in PyTorch, if a raw array is not of a floating-point type."""
    if not dtypes.from_np(x.dtype).is_floating_point:
        raise errors.not_implemented(name, x.dtype)


def promote_any(op, inputs, kinds, attrs):
    """Any types, unchanged; 16-bit floats are computed in float32 and rounded once."""
    return inputs


def computing(promote):
    """`promote`, with NotImplementedError for 8-bit floats, which can be stored and cast but not
    computed with."""
    @functools.wraps(promote)
    def checked(op, inputs, kinds, attrs):
        inputs = promote(op, inputs, kinds, attrs)
        dtype = next(x for x in inputs if isinstance(x, Tensor)).array.dtype
        if dtype.itemsize == 1 and is_floating(dtype):
            raise errors.not_implemented(op.name, dtype)
        return inputs
    return checked


# The words of the column `promotion`. The reference pages show the functions' docstrings.
PROMOTIONS = {"common": computing(promote_common), "compared": promote_compared,
              "factor": promote_factor, "quotient": promote_quotient, "fitting": promote_fitting,
              "float": computing(promote_float), "same": promote_same, "numbers": promote_numbers,
              "first": promote_first, "floating": computing(promote_floating), "norm": promote_norm,
              "any": computing(promote_any)}
