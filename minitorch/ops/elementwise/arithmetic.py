"""Op definitions: arithmetic (operators, division, powers, combinations), elementwise with broadcasting.

Functions of one number are in `pointwise.py`, rounding is in `rounding.py`. The definitions named after operators
serve ``a + b``; the public function of the same name takes PyTorch's further arguments (`alpha`, `rounding_mode`) and
calls the definition.
"""

import cmath
import math

from ...core import dtypes, ranges
from ...core.inplace import inplace
from ...core.older import sorted_out
from ...core.op import Number, Other
from ...core.ranges import number_of
from ...core.tensor import Tensor
from ...host.type_info import result_type
from ..define import composite, method, op, ufunc

NUMBERS = (int, float, bool, complex)
POSITIVE, NONZERO = (0.25, 4.0), (0.5, 2.0)                # domains, where not all of [-2, 2]


def no_bools(*inputs):
    """Raise RuntimeError for bools, which cannot be subtracted; it names the operators that may have been meant."""
    if any(x.__class__ is bool or getattr(getattr(x, "dtype", None), "kind", None) == "b" for x in inputs):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead; for the difference of two "
                           "masks the `^` or `logical_xor()` operator.")


def is_known(x, value):
    """True if the number `x` is `value`; False for one that a compiled program reads in each run."""
    return type(x) in NUMBERS and x == value               # its `__class__` is that of a number


# ---- the operators -----------------------------------------------------------------------------------------
_add = ufunc("add", "``input + other``.", namespace=None, of_numbers=True,
             input=lambda F, g: g,
             other=lambda F, g: g)
_sub = ufunc("sub", "``input - other``.", "subtract", namespace=None, check=no_bools, of_numbers=True,
             input=lambda F, g: g,
             other=lambda F, g: -g)
mul = ufunc("mul", "``input * other``.", "multiply", aliases=("multiply",), of_numbers=True, promotion="factor",
            complex="holomorphic",
            input=lambda F, g, other: g * other,
            other=lambda F, g, input: g * input)
_div = ufunc("div", "``input / other``, true division.", "true_divide", promotion="quotient", namespace=None,
             domain={"other": NONZERO}, of_numbers=True, complex="holomorphic",
             input=lambda F, g, other: g / other,
             other=lambda F, g, input, other: g * (input / other / -other),
             together=lambda F, g, input, other: (q := g / other, q * (input / -other)))
neg = ufunc("neg", "``-input``.", "negative", zeros="linear", aliases=("negative",), input=lambda F, g: -g)


def scaled(input, other, alpha):
    """``alpha * other`` in the type that ``input + alpha * other`` has."""
    if type(alpha) is int and alpha == 1:
        return other
    if hasattr(alpha, "item"):
        alpha = number_of(alpha)
    if is_known(alpha, 1) and alpha is not True:
        return other
    found = result_type(input, other)
    if isinstance(alpha, bool) and found is not dtypes.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and found.category < dtypes.FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if not isinstance(other, Tensor):
        return alpha * other
    if found.category < dtypes.FLOATING and type(alpha) in NUMBERS:
        alpha = ranges.fit(alpha, found)                   # PyTorch refuses what does not fit, where x * 300 wraps
    return mul(other if other.dtype is found else other.to(found), alpha)


@composite(dims="*", inplace=True)
def add(input, other, *tensor, alpha=1, out=None):
    """``input + alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    if tensor:
        (input, other), given = sorted_out("add", (input, other, *tensor), 2, ["alpha"])
        return add(input, other, **given, out=out)
    return _add(input, scaled(input, other, alpha), out=out)


@composite(dims="*", inplace=True, aliases=("subtract",))
def sub(input, other, *tensor, alpha=1, out=None):
    """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    if tensor:
        (input, other), given = sorted_out("sub", (input, other, *tensor), 2, ["alpha"])
        return sub(input, other, **given, out=out)
    return _sub(input, scaled(input, other, alpha), out=out)


@composite(dims="*", method=False)
def rsub(input, other, *, alpha=1):
    """``other - alpha * input``."""
    if not isinstance(input, Tensor):
        raise TypeError(f"rsub(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return sub(other, input, alpha=alpha)


def in_place_sum(name, row):
    """Define the in-place twin of `add` or `sub`, which writes straight into the tensor's memory."""
    plain = inplace(name, row, row.op)

    def twin(self, other, *tensor, alpha=1):
        if tensor:
            (_, other), given = sorted_out(name + "_", (self, other, *tensor), 2, ["alpha"])
            return twin(self, other, **given)
        return plain(self, scaled(self, other, alpha))
    twin.__name__, twin.__doc__ = name + "_", plain.__doc__
    method(twin)


in_place_sum("add", _add)
in_place_sum("sub", _sub)
in_place_sum("subtract", _sub)


# ---- division ----------------------------------------------------------------------------------------------
@composite(dims="*", inplace=True, aliases=("divide",))
def div(input, other, *, rounding_mode=None, out=None):
    """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
    if rounding_mode is None:
        return _div(input, other, out=out)
    if rounding_mode == "floor":
        return floor_divide(input, other, out=out)
    if rounding_mode == "trunc":
        return trunc_divide(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                       f"'{rounding_mode}'")


@composite(dims="*", inplace=True)
def true_divide(input, other, *, out=None):
    """``input / other``, true division."""
    return _div(input, other, out=out)


@op(dims="*", name="rdiv", promotion="float", namespace=None, node_name="DivBackward0",
    keeps=("inverse",), complex="holomorphic",
    restores=("input", "inverse", lambda F, inverse: 1 / inverse),
    sample=lambda d: ([d.array(lo=0.5)], dict(number=d.choice([1, -3.0]))),
    input=lambda F, g, input, inverse, number: F.rdiv_backward(g, input, inverse, number=number))
def _rdiv(F, input, *, number):
    """``number / input``. It keeps the reciprocal: both the input and the result may be written to afterwards."""
    out = F.xp.true_divide(number, input)
    return out, F.asarray(out.copy() if number == 1 else F.xp.true_divide(1, input))


@op(dims="*", promotion="float", namespace=None, complex="holomorphic",
    sample=lambda d: ([d.array(s := d.shape()), d.array(s, 0.5, 2.0)], dict(number=d.choice([1, -3.0]))),
    grad=lambda F, g, input, inverse, number: F.rdiv_backward(g, input, inverse, number=number),
    input=lambda F, g, grad, input, number: g * grad * (2 * number) / (input * input * input))
def rdiv_backward(F, grad, input, inverse: Other = None, *, number=1):
    """``-number * grad / input ** 2``, by the reciprocal of `input` if it is known."""
    inverse = 1 / input if inverse is None else inverse
    return inverse * inverse * grad * -number


def is_float(x, y):
    """True if two operands, one of them possibly a Python number, are floats."""
    return (x if hasattr(x, "dtype") else y).dtype.kind not in "iub"


def check_divisor(other):
    """Division of integers by zero is an error; the elements of tensors are checked by the CPU alone, as in PyTorch."""
    if not hasattr(other, "dtype") and not other:
        raise RuntimeError("ZeroDivisionError")


def quotients(d):
    """A sample of dividends and divisors whose quotient is not near a whole number."""
    divisor = d.array(shape := d.shape(1), 0.5, 2.0) * d.choice([-1, 1])
    return [(d.integers(shape, -3, 3) + d.array(shape, 0.2, 0.8)) * divisor, divisor], {}


@op(dims="*", layout="inputs", promotion="factor", refuses="bc", inplace=True, sample=quotients,
    of_numbers=True, input=lambda F, g: F.zero(g),
    other=lambda F, g: F.zero(g))
def floor_divide(F, input: Number, other: Number):
    """``input / other``, rounded down; RuntimeError for integers divided by zero."""
    if not is_float(input, other):
        check_divisor(other)
    return F.xp.floor_divide(input, other)


@op(dims="*", layout="inputs", promotion="factor", refuses="bc", namespace=None, sample=quotients,
    of_numbers=True, input=lambda F, g: F.zero(g),
    other=lambda F, g: F.zero(g))
def trunc_divide(F, input: Number, other: Number):
    """``input / other``, rounded towards zero; RuntimeError for integers divided by zero."""
    if is_float(input, other):
        return F.xp.trunc(F.xp.true_divide(input, other))
    check_divisor(other)
    quotient, rest = F.xp.divmod(input, other)
    return quotient + ((rest != 0) & (quotient < 0))


@op(dims="*", layout="inputs", promotion="common", refuses="bc", inplace=True, sample=quotients,
    input=lambda F, g: g,
    other=lambda F, g, input, other: -g * F.floor_divide(input, other))
def remainder(F, input: Number, other: Number):
    """The rest of ``input / other`` with the sign of `other`, as Python's ``%``."""
    if not is_float(input, other):
        check_divisor(other)
    return F.xp.remainder(input, other)


@op(dims="*", layout="inputs", promotion="common", refuses="bc", inplace=True, sample=quotients,
    input=lambda F, g: g,
    other=lambda F, g, input, other: -g * F.trunc_divide(input, other))
def fmod(F, input, other: Number):
    """The rest of ``input / other`` with the sign of `input`, as C's fmod."""
    if not is_float(input, other):
        check_divisor(other)
    return F.xp.fmod(input, other)


gcd = ufunc("gcd", "The greatest common divisor of integers.", inputs=["input", "other"], numbers=[], refuses="b",
            sample=lambda d: ([d.integers((2, 3), 1, 9), d.integers((3,), 1, 9)], {}))
lcm = ufunc("lcm", "The least common multiple of integers.", inputs=["input", "other"], numbers=[], refuses="b",
            sample=lambda d: ([d.integers((2, 3), 1, 9), d.integers((3,), 1, 9)], {}))


# ---- powers ------------------------------------------------------------------------------------------------
def positive_exponent(input, exponent):
    """RuntimeError for integers to a negative integer power: the result is not an integer."""
    if exponent.__class__ is int and exponent < 0 and getattr(input, "dtype", None) is not None and \
            input.dtype.kind in "iub":
        raise RuntimeError("Integers to negative integer powers are not allowed.")


@op(dims="*", promotion="common", refuses="b", inplace=True, autocast="float32 on cuda",
    domain={"input": POSITIVE}, check=positive_exponent, complex="holomorphic",
    input=lambda F, g, input, exponent: g * power_slope(F, input, exponent),
    exponent=lambda F, g, input, exponent, out: g * log_slope(F, input, exponent, out))
def pow(F, input: Number, exponent: Number):
    """``input ** exponent``, elementwise.

    Negative exponents of integers: refused as a number; as a tensor they leave 1, -1 or 0.
    """
    if exponent.__class__ in (int, float) and exponent in CHEAP_POWERS and is_float(input, exponent):
        return CHEAP_POWERS[exponent](F.xp, input)
    if not is_float(input, exponent):
        return integer_power(F.xp, input, exponent)
    out = F.xp.power(input, exponent)
    return out if hasattr(input, "dtype") else F.xp.asarray(out, order="C")


# The exponents that programs use most, exact and many times as fast as a general power.
CHEAP_POWERS = {2: lambda xp, x: xp.multiply(x, x), 3: lambda xp, x: x * x * x, 1: lambda xp, x: xp.positive(x),
                0.5: lambda xp, x: xp.sqrt(x), -0.5: lambda xp, x: 1.0 / xp.sqrt(x),
                -1: lambda xp, x: 1.0 / x}


def integer_power(xp, base, exponent):
    """Powers of integers; a negative exponent leaves 1, -1 or 0 as integer division does."""
    if not hasattr(exponent, "dtype") or exponent.dtype.kind == "u":
        return xp.power(base, exponent)
    powers = xp.power(base, xp.maximum(exponent, 0))
    inverse = xp.where(xp.abs(base) == 1, xp.where(exponent % 2 == 0, 1, base), 0)
    return xp.where(exponent < 0, inverse, powers).astype(powers.dtype)


def power_slope(F, input, exponent):
    """d/d input: ``exponent * input ** (exponent - 1)``, and 0 where the exponent is 0."""
    exponent = plain_number(exponent)
    if exponent.__class__ in NUMBERS:
        return exponent * F.pow(input, exponent - 1) if exponent != 0 else F.zero(input)
    slope = exponent * F.pow(input, exponent - 1)
    return F.where(exponent == 0, 0.0, slope)


def plain_number(x):
    """A number that promotion has rounded to bfloat16, which is one of NumPy's, as Python's; all else as it is."""
    return float(x) if x.__class__.__name__ == "bfloat16" else x


def log_slope(F, input, exponent, out):
    """d/d exponent: ``out * log(input)``, and 0 where the input is 0 and the exponent is not negative."""
    is_complex = getattr(out, "array", out).dtype.kind == "c"
    input = plain_number(input)
    if input.__class__ in NUMBERS and input != 0:
        return out * (cmath.log(input) if is_complex else math.log(input) if input > 0 else math.nan)
    wanted = (F.imag(exponent) == 0) & (F.real(exponent) >= 0) if is_complex else exponent >= 0
    at_zero = (input == 0) & wanted
    return F.where(at_zero, 0.0, out * (-math.inf if input.__class__ in NUMBERS else F.log(input)))


@composite(dims="*", out=True)
def float_power(input, exponent):
    """``input ** exponent``, computed and returned in float64, of complex numbers in complex128."""
    if any(x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent)):
        return pow(*[x.to(dtypes.complex128) if isinstance(x, Tensor) else complex(x) for x in (input, exponent)])
    return pow(*[x.to(dtypes.float64) if isinstance(x, Tensor) else float(x) for x in (input, exponent)])


@method
def float_power_(self, exponent):
    """In-place twin of `float_power`, for float64 and complex128 tensors."""
    wide = dtypes.float64
    if self.is_complex() or (exponent.is_complex() if isinstance(exponent, Tensor) else isinstance(exponent, complex)):
        wide = dtypes.complex128
    if self.dtype is not wide:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires "
                           f"dtype {wide}")
    return self.pow_(exponent.to(wide) if isinstance(exponent, Tensor) else
                     float(exponent) if wide is dtypes.float64 else complex(exponent))


# ---- combinations ------------------------------------------------------------------------------------------
@op(dims="*", older=True, layout="inputs", promotion="common", refuses="b", inplace=True,
    complex="holomorphic",
    sample=lambda d: ([d.array(s) for s in d.broadcastable(3)], dict(value=d.choice([1, -0.7]))),
    input=lambda F, g: g,
    tensor1=lambda F, g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda F, g, tensor1, value: g * (tensor1 * value))
def addcmul(F, input, tensor1, tensor2, *, value: float = 1):
    """``input + value * tensor1 * tensor2``."""
    product = tensor1 * tensor2
    return input + (product if is_known(value, 1) else product * kept_whole(value, product))


def kept_whole(value, x):
    """The number `value` as an operand of x: among integers a whole one."""
    return int(value) if x.dtype.kind in "iu" else value


def true_division(input, tensor1, tensor2):
    if tensor1.dtype.kind in "iub" and tensor2.dtype.kind in "iub":
        raise RuntimeError("Integer division with addcdiv is not supported: convert tensor1 or tensor2 first, as in "
                           "tensor1.float(), or write (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype)")


@op(dims="*", older=True, layout="inputs", promotion="common", inplace=True, check=true_division,
    complex="holomorphic",
    sample=lambda d: ([*map(d.array, (s := d.broadcastable(3))[:2]), d.array(s[2], 0.5, 2)],
                      dict(value=d.choice([1, -0.7]))),
    input=lambda F, g: g,
    tensor1=lambda F, g, tensor2, value: g * value / tensor2,
    tensor2=lambda F, g, tensor1, tensor2, value: -g * value * tensor1 / (tensor2 * tensor2))
def addcdiv(F, input, tensor1, tensor2, *, value: float = 1):
    """``input + value * tensor1 / tensor2``."""
    return input + (tensor1 if is_known(value, 1) else tensor1 * value) / tensor2


def one_dtype(input, end, weight):
    for name, x in (("end", end), ("weight", weight)):
        if hasattr(x, "dtype") and x.dtype != input.dtype:
            raise RuntimeError(f"expected dtype {input.dtype} for `{name}` but got dtype {x.dtype}: cast one of them, "
                               f"as in x.to(y.dtype)")


@op(dims="*", layout="inputs", promotion="same", refuses="iub", inplace=True, check=one_dtype,
    complex="holomorphic", tangent="symmetric",
    sample=lambda d: ([*map(d.array, (s := d.broadcastable(3))[:2]), d.choice([0.3, 0.7, d.array(s[2])])], {}),
    input=lambda F, g, weight: g * (1 - weight),
    end=lambda F, g, weight: g * weight,
    weight=lambda F, g, input, end: g * (end - input))
def lerp(F, input, end, weight: Number):
    """``input + weight * (end - input)``, computed from the nearer of the two ends.

    >>> import minitorch
    >>> minitorch.lerp(minitorch.tensor([0.0, 10.0]), minitorch.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    difference = end - input
    if not hasattr(weight, "dtype"):
        return input + weight * difference if abs(weight) < 0.5 else end - difference * (1 - weight)
    return F.xp.where(F.xp.abs(weight) < 0.5, input + weight * difference, end - difference * (1 - weight))
