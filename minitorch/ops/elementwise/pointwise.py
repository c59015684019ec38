"""Op definitions: exponentials, logarithms, roots and trigonometry, of one number, and some of two.

Integers and bools become the default float first. Shapes stay; two inputs broadcast. Functions that NumPy lacks are in
`special.py`.
"""

import math

from ...core.op import Number
from ..define import composite, op, ufunc
from .arithmetic import pow

POSITIVE, UNIT, INNER = (0.25, 4.0), (-0.75, 0.75), (0.1, 0.9)     # domains, where not all of [-2, 2]
LN2, LN10, PI = math.log(2), math.log(10), math.pi

# ---- exponentials and logarithms ---------------------------------------------------------------------------
exp = ufunc("exp", "The exponential, e to the power `input`.", promotion="float", complex="holomorphic",
            autocast="float32 on cuda",
            input=lambda F, g, out: g * out)
exp2 = ufunc("exp2", "2 to the power `input`.", promotion="float", complex="holomorphic",
             input=lambda F, g, out: g * out * LN2)
expm1 = ufunc("expm1", "``exp(input) - 1``, without cancellation near 0.", zeros="kept", promotion="float",
              complex="holomorphic", autocast="float32 on cuda", input=lambda F, g, out: g * (out + 1))
log = ufunc("log", "The natural logarithm.", promotion="float", complex="holomorphic", autocast="float32 on cuda",
            domain={"input": POSITIVE},
            input=lambda F, g, input: g / input)
log2 = ufunc("log2", "The logarithm to base 2.", promotion="float", complex="holomorphic", autocast="float32 on cuda",
             domain={"input": POSITIVE}, input=lambda F, g, input: g / (input * LN2))
log10 = ufunc("log10", "The logarithm to base 10.", promotion="float", complex="holomorphic",
              autocast="float32 on cuda",
              domain={"input": POSITIVE}, input=lambda F, g, input: g / (input * LN10))
log1p = ufunc("log1p", "``log(1 + input)``, without cancellation near 0.", zeros="kept", promotion="float",
              complex="holomorphic", autocast="float32 on cuda", node_name="Log1PBackward0",
              domain={"input": (-0.75, 3.0)}, input=lambda F, g, input: g / (input + 1))


@op(dims="*", promotion="float", inplace=True, fusible=True, functor="sigmoid",
    complex="holomorphic", input=lambda F, g, out: g * (out * (1 - out)))
def sigmoid(F, input):
    """``1 / (1 + exp(-input))``; to full relative precision also where it is close to 0."""
    return 1 / (1 + F.xp.exp(-input))


@op(dims="*", promotion="float", refuses="c", inplace=True, domain={"input": INNER},
    input=lambda F, g, input, eps: logit_slope(F, g, input, eps))
def logit(F, input, *, eps: float | None = None):
    """``log(input / (1 - input))``, with `input` clamped to [eps, 1 - eps] first if `eps` is given.

    Without `eps` NaN outside [0, 1].
    """
    x = input if eps is None else F.xp.clip(input, eps, 1 - eps)
    return F.xp.log(x / (1 - x))


def logit_slope(F, g, x, eps):
    """1 / (x (1 - x)) in the domain; outside it NaN, or 0 where `eps` clamps."""
    slope = g / (x * (1 - x))
    if eps is None:
        return F.where((x >= 0) & (x <= 1), slope, math.nan)
    return F.masked(slope, (x >= eps) & (x <= 1 - eps))


# ---- roots and powers --------------------------------------------------------------------------------------
sqrt = ufunc("sqrt", "The square root.", zeros="kept", promotion="float", complex="holomorphic",
             domain={"input": POSITIVE}, input=lambda F, g, out: g / (2 * out))


@op(dims="*", promotion="float", complex="holomorphic", inplace=True, autocast="float32 on cuda",
    functor="rsqrt_of",
    domain={"input": POSITIVE}, input=lambda F, g, out: out * out * out * g * -0.5)
def rsqrt(F, input):
    """``1 / sqrt(input)``."""
    return F.xp.reciprocal(F.xp.sqrt(input))


reciprocal = ufunc("reciprocal", "``1 / input``.", promotion="float", complex="holomorphic", autocast="float32 on cuda",
                   domain={"input": (0.5, 2.0)}, input=lambda F, g, out: -g * out * out)


@composite(dims="*", inplace=True, out=True)
def square(input):
    """``input ** 2``; bools become int64."""
    return pow(input, 2)


# ---- trigonometry ------------------------------------------------------------------------------------------
sin = ufunc("sin", "The sine of `input` (radians).", zeros="kept", promotion="float", complex="holomorphic",
            input=lambda F, g, input: g * F.cos(input))
cos = ufunc("cos", "The cosine of `input` (radians).", promotion="float", complex="holomorphic",
            input=lambda F, g, input: -g * F.sin(input))
tan = ufunc("tan", "The tangent of `input` (radians).", zeros="kept", promotion="float", complex="holomorphic",
            autocast="float32 on cuda",
            domain={"input": (-1.2, 1.2)}, input=lambda F, g, out: g * (out * out + 1))
asin = ufunc("asin", "The angle, between -pi/2 and pi/2, whose sine is `input`.", "arcsin", zeros="kept",
             aliases=("arcsin",),
             promotion="float", complex="holomorphic", autocast="float32 on cuda", domain={"input": UNIT},
             input=lambda F, g, input: g * F.rsqrt(1 - input * input))
acos = ufunc("acos", "The angle, between 0 and pi, whose cosine is `input`.", "arccos", aliases=("arccos",),
             promotion="float", complex="holomorphic", autocast="float32 on cuda", domain={"input": UNIT},
             input=lambda F, g, input: -g * F.rsqrt(1 - input * input))
atan = ufunc("atan", "The angle, between -pi/2 and pi/2, whose tangent is `input`.", "arctan", zeros="kept",
             aliases=("arctan",),
             promotion="float", complex="holomorphic", input=lambda F, g, input: g / (input * input + 1))
atan2 = ufunc("atan2", "The angle, between -pi and pi, from the first axis to the point (`other`, `input`).",
              "arctan2", aliases=("arctan2",), promotion="float", numbers=[], domain={"other": (0.5, 2.0)},
              input=lambda F, g, input, other: g * over_square(F, other, input),
              other=lambda F, g, input, other: -g * over_square(F, input, other))


def over_square(F, x, y):
    """``x / (x^2 + y^2)``, and 0 where both are 0."""
    square = x * x + y * y
    return F.where(square == 0, 0.0, x / square)


@op(dims="*", node_name="Deg2RadBackward0", zeros="linear", promotion="float", refuses="c",
    inplace=True, input=lambda F, g: g * (PI / 180))
def deg2rad(F, input):
    """Degrees as radians: ``input * pi / 180``."""
    return input * (PI / 180)


@op(dims="*", node_name="Rad2DegBackward0", zeros="linear", promotion="float", refuses="c",
    inplace=True, input=lambda F, g: g * (180 / PI))
def rad2deg(F, input):
    """Radians as degrees: ``input * 180 / pi``."""
    return input * (180 / PI)


@op(dims="*", promotion="float", complex="holomorphic", inplace=True,
    input=lambda F, g, input: g * F.sinc_derivative(input))
def sinc(F, input):
    """``sin(pi input) / (pi input)``, and 1 at 0."""
    x = input * PI
    return F.xp.where(x == 0, 1, F.xp.sin(x) / F.xp.where(x == 0, 1, x))


@op(dims="*", node_name="SincSlopeBackward0", promotion="float", complex="holomorphic",
    namespace=None,
    input=lambda F, g, input, out: -g * F.where(input == 0, PI**2 / 3, PI**2 * F.sinc(input) + 2 * out / input))
def sinc_derivative(F, input):
    """The derivative of `sinc`: ``(cos(pi x) - sinc(x)) / x``; near 0, where that cancels, its series."""
    xp = F.xp
    t = (PI * input) ** 2
    near = input * (PI**2 / -3) * (1 - t / 10 * (1 - t / 28 * (1 - t / 54)))
    return xp.where(xp.abs(input) < 0.05, near, (xp.cos(PI * input) - F.sinc(input)) / xp.where(input == 0, 1, input))


# ---- hyperbolic functions ----------------------------------------------------------------------------------
sinh = ufunc("sinh", "The hyperbolic sine.", zeros="kept", promotion="float", complex="holomorphic",
             autocast="float32 on cuda", input=lambda F, g, input: g * F.cosh(input))
cosh = ufunc("cosh", "The hyperbolic cosine.", promotion="float", complex="holomorphic", autocast="float32 on cuda",
             input=lambda F, g, input: g * F.sinh(input))
tanh = ufunc("tanh", "The hyperbolic tangent.", zeros="kept", promotion="float", complex="holomorphic",
             input=lambda F, g, out: g * (1 - out * out))
asinh = ufunc("asinh", "The number whose hyperbolic sine is `input`.", "arcsinh", zeros="kept", aliases=("arcsinh",),
              promotion="float", complex="holomorphic", input=lambda F, g, input: g * F.rsqrt(input * input + 1))
acosh = ufunc("acosh", "The number, not negative, whose hyperbolic cosine is `input`.", "arccosh",
              aliases=("arccosh",), promotion="float", complex="holomorphic", domain={"input": (1.25, 4.0)},
              input=lambda F, g, input: g * acosh_slope(F, input))
atanh = ufunc("atanh", "The number whose hyperbolic tangent is `input`.", "arctanh", zeros="kept", aliases=("arctanh",),
              promotion="float", complex="holomorphic", domain={"input": UNIT},
              input=lambda F, g, input: g / (1 - input * input))


def acosh_slope(F, x):
    """``1 / sqrt(x^2 - 1)``; of complex numbers on the same branch as `acosh`."""
    if getattr(x, "array", x).dtype.kind == "c":
        return F.rsqrt(x - 1) * F.rsqrt(x + 1)
    return F.rsqrt(x * x - 1)


# ---- two numbers -------------------------------------------------------------------------------------------
@op(dims="*", layout="inputs", promotion="common", complex="holomorphic", refuses="iub",
    input=lambda F, g, input, other: g * F.sigmoid(input - other),
    other=lambda F, g, input, other: g * F.sigmoid(other - input))
def logaddexp(F, input, other):
    """``log(exp(input) + exp(other))``, without overflow."""
    if input.dtype.kind != "c":
        return F.xp.logaddexp(input, other)
    first = (input.real >= other.real) | (input.real != input.real)
    top, low = F.xp.where(first, input, other), F.xp.where(first, other, input)
    same = (input == other) & F.xp.isinf(input.real)
    return F.xp.where(same, input, top + F.xp.log1p(F.xp.exp(low - top)))


@op(dims="*", layout="inputs", promotion="common", refuses="iub",
    input=lambda F, g, input, other: g * F.sigmoid((input - other) * LN2),
    other=lambda F, g, input, other: g * F.sigmoid((other - input) * LN2))
def logaddexp2(F, input, other):
    """``log2(2 ** input + 2 ** other)``, without overflow."""
    return F.xp.logaddexp2(input, other)


hypot = ufunc("hypot", "``sqrt(input ** 2 + other ** 2)``, without overflow.", refuses="iub", numbers=[],
              domain={"input": (0.5, 2.0)},
              input=lambda F, g, input, out: g * (input / out),
              other=lambda F, g, other, out: g * (other / out))


def times_log(F, x, y, log):
    """``x * log(y)``, and 0 where x is 0, unless y is NaN."""
    product = x * (log(y) if hasattr(y, "dtype") else float(log(float(y))))
    return F.xp.where((x == 0) & (y == y), 0, product)


@op(dims="*", layout="inputs", promotion="float", refuses="c", inplace=True,
    domain={"other": POSITIVE},
    input=lambda F, g, input, other: F.where((input == 0) & (other <= 0), 0.0, F.xlogy(g, other)),
    other=lambda F, g, input, other: g * input / other)
def xlogy(F, input: Number, other: Number):
    """``input * log(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
    return times_log(F, input, other, F.xp.log)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    domain={"other": (-0.75, 3.0)}, node_name="SpecialXlog1PyBackward0",
    input=lambda F, g, input, other: F.where((input == 0) & (other <= -1), 0.0, F.xlog1py(g, other)),
    other=lambda F, g, input, other: g * input / (other + 1))
def xlog1py(F, input: Number, other: Number):
    """``input * log1p(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
    return times_log(F, input, other, F.xp.log1p)
