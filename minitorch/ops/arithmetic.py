"""The op table, arithmetic: operators, powers, comparisons and logic, elementwise with broadcasting.

The rows named after operators are what ``a + b`` calls; the public function of the same name takes PyTorch's further
arguments (`alpha`, `rounding_mode`) and calls the row.
"""

import numpy as np

from ..op import Number, Other, composite, op, ufunc

POSITIVE, UNIT, NONZERO = (0.25, 4.0), (-0.75, 0.75), (0.5, 2.0)   # domains, where not all of [-2, 2]

# ---- the operators -----------------------------------------------------------------------------------------
_add = ufunc("add", "``input + other``.", namespace=None,
             input=lambda F, g: g,
             other=lambda F, g: g)
_sub = ufunc("sub", "``input - other``.", "subtract", namespace=None,
             input=lambda F, g: g,
             other=lambda F, g: -g)
mul = ufunc("mul", "``input * other``.", "multiply", aliases=("multiply",),
            input=lambda F, g, other: g * other,
            other=lambda F, g, input: g * input)
_div = ufunc("div", "``input / other``, true division.", "true_divide", promotion="float", namespace=None,
             domain={"other": NONZERO},
             input=lambda F, g, other: g / other,
             other=lambda F, g, other, out: -g * out / other)
neg = ufunc("neg", "``-input``.", "negative", aliases=("negative",), input=lambda F, g: -g)


@composite(inplace=True, out=True)
def add(input, other, *, alpha=1):
    """``input + alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    return _add(input, other) if alpha == 1 else _add(input, mul(other, alpha))


@composite(inplace=True, out=True, aliases=("subtract",))
def sub(input, other, *, alpha=1):
    """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    return _sub(input, other) if alpha == 1 else _sub(input, mul(other, alpha))


@composite(inplace=True, out=True)
def rsub(input, other, *, alpha=1):
    """``other - alpha * input``."""
    return sub(other, input, alpha=alpha)


@composite(inplace=True, out=True, aliases=("divide",))
def div(input, other, *, rounding_mode=None):
    """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode == "trunc":
        return trunc_divide(input, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                       f"'{rounding_mode}'")


@composite(inplace=True, out=True)
def true_divide(input, other):
    """``input / other``, true division."""
    return _div(input, other)


def check_divisor(F, input, other):
    """Division by zero has no answer in the integers."""
    if F.xp.result_type(input, other).kind in "iub" and not F.xp.all(other):
        raise RuntimeError("ZeroDivisionError")


@op(promotion="common", inplace=True, domain={"other": NONZERO}, kinks="steps",
    input=lambda F, g: g * 0.0,
    other=lambda F, g: g * 0.0)
def floor_divide(F, input: Number, other: Number):
    """``input / other``, rounded down."""
    check_divisor(F, input, other)
    return F.xp.floor_divide(input, other)


@op(promotion="common", namespace=None, domain={"other": NONZERO}, kinks="steps",
    input=lambda F, g: g * 0.0,
    other=lambda F, g: g * 0.0)
def trunc_divide(F, input: Number, other: Number):
    """``input / other``, rounded towards zero."""
    check_divisor(F, input, other)
    if F.xp.result_type(input, other).kind == "f":
        return F.xp.trunc(F.xp.true_divide(input, other))
    quotient, rest = F.xp.divmod(input, other)
    return quotient + ((rest != 0) & ((quotient < 0)))


@op(promotion="common", inplace=True, domain={"other": NONZERO}, kinks="steps",
    input=lambda F, g: g,
    other=lambda F, g, input, other: -g * F.floor_divide(input, other))
def remainder(F, input: Number, other: Number):
    """The rest of ``input / other`` with the sign of `other`, as Python's ``%``."""
    check_divisor(F, input, other)
    return F.xp.remainder(input, other)


# ---- powers ------------------------------------------------------------------------------------------------
@op(promotion="common", inplace=True, domain={"input": POSITIVE},
    input=lambda F, g, input, exponent: g * power_slope(F, input, exponent),
    exponent=lambda F, g, input, exponent, out: g * log_slope(F, input, exponent, out))
def pow(F, input: Number, exponent: Number):
    """``input ** exponent``, elementwise."""
    if F.xp.result_type(input, exponent).kind in "iu":
        return integer_power(F.xp, input, exponent)
    if exponent.__class__ in (int, float) and exponent in CHEAP_POWERS:
        return CHEAP_POWERS[exponent](F.xp, input)
    return F.xp.power(input, exponent)


# NumPy's power takes 20 to 50 times as long as these for the exponents that programs use most.
CHEAP_POWERS = {2: lambda xp, x: xp.multiply(x, x), 3: lambda xp, x: x * x * x, 1: lambda xp, x: xp.positive(x),
                0.5: lambda xp, x: xp.sqrt(x), -1: lambda xp, x: 1.0 / x}


def integer_power(xp, base, exponent):
    """Powers of integers; a negative exponent leaves 1, -1 or 0 as integer division does."""
    if exponent.__class__ is int and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if not hasattr(exponent, "dtype") or exponent.dtype.kind == "u":
        return xp.power(base, exponent)
    powers = xp.power(base, xp.maximum(exponent, 0))
    inverse = xp.where(xp.abs(base) == 1, xp.where(exponent % 2 == 0, 1, base), 0)
    return xp.where(exponent < 0, inverse, powers).astype(powers.dtype)


def power_slope(F, input, exponent):
    """d/d input: ``exponent * input ** (exponent - 1)``, and 0 where the exponent is 0."""
    if exponent.__class__ in (int, float, bool):
        return exponent * F.pow(input, exponent - 1) if exponent != 0 else input * 0.0
    slope = exponent * F.pow(input, exponent - 1)
    return F.where(exponent == 0, 0.0, slope)


def log_slope(F, input, exponent, out):
    """d/d exponent: ``out * log(input)``, and 0 where the input is 0 and the exponent is not negative."""
    if input.__class__ in (int, float, bool):
        return out * float(np.log(input)) if input != 0 else F.where(exponent >= 0, 0.0, out * float("-inf"))
    at_zero = F.logical_and(input == 0, exponent >= 0)
    return F.where(at_zero, 0.0, out * F.log(input))


# ---- comparisons and logic: no gradients -------------------------------------------------------------------
def comparison(name, doc, xp_name, *aliases):
    return ufunc(name, doc + " The result is a bool tensor.", xp_name, inputs=["input", "other"],
                 aliases=aliases)


eq = comparison("eq", "``input == other``.", "equal")
ne = comparison("ne", "``input != other``.", "not_equal", "not_equal")
lt = comparison("lt", "``input < other``.", "less", "less")
le = comparison("le", "``input <= other``.", "less_equal", "less_equal")
gt = comparison("gt", "``input > other``.", "greater", "greater")
ge = comparison("ge", "``input >= other``.", "greater_equal", "greater_equal")
logical_and = comparison("logical_and", "Whether both are nonzero.", "logical_and")
logical_or = comparison("logical_or", "Whether one or both are nonzero.", "logical_or")
logical_xor = comparison("logical_xor", "Whether just one of them is nonzero.", "logical_xor")
logical_not = ufunc("logical_not", "Whether `input` is zero.", promotion=None)
bitwise_and = ufunc("bitwise_and", "``input & other``.", inputs=["input", "other"])
bitwise_or = ufunc("bitwise_or", "``input | other``.", inputs=["input", "other"])
bitwise_xor = ufunc("bitwise_xor", "``input ^ other``.", inputs=["input", "other"])
bitwise_not = ufunc("bitwise_not", "``~input``.", "invert", promotion=None)


# ---- choosing ----------------------------------------------------------------------------------------------
@op(promotion="common", namespace=None,
    input=lambda F, g, condition: F.where(condition, g, 0.0),
    other=lambda F, g, condition: F.where(condition, 0.0, g))
def where(F, condition: Other, input: Number, other: Number):
    """`input` where `condition` holds, `other` elsewhere."""
    # Two Python numbers would become float64; one of them may keep the other array's dtype.
    out = F.xp.where(condition, input, other)
    return out


@op(promotion="common", inplace=False, kinks="ties",
    input=lambda F, g, input, other: g * share(F, input > other, input == other),
    other=lambda F, g, input, other: g * share(F, input < other, input == other))
def maximum(F, input: Number, other: Number):
    """The larger of the two, NaN if either is; the gradient of equal values is shared."""
    return F.xp.maximum(input, other)


@op(promotion="common", inplace=False, kinks="ties",
    input=lambda F, g, input, other: g * share(F, input < other, input == other),
    other=lambda F, g, input, other: g * share(F, input > other, input == other))
def minimum(F, input: Number, other: Number):
    """The smaller of the two, NaN if either is; the gradient of equal values is shared."""
    return F.xp.minimum(input, other)


def share(F, wins, ties):
    """The share of the gradient: 1 where it wins, a half where both are equal."""
    return wins + ties * 0.5
