"""Op definitions: signs, rounding, and the parts of a floating-point number.

Integers round to themselves; their gradient and that of every sign is 0.
"""

from ...core import dtypes, errors, ranges
from ...core.errors import worded
from ...core.op import Number
from ...core.tensor import Tensor
from ...return_types import frexp as Frexp
from ..define import composite, op, ufunc
from .arithmetic import mul, pow
from .compare import without_ties

# ---- signs -------------------------------------------------------------------------------------------------
abs = ufunc("abs", "The absolute value; its gradient at 0 is 0.", "absolute", zeros="kept", aliases=("absolute",),
            refuses="b", kinks="zero", complex="conjugate", input=lambda F, g, input: g * F.sgn(input))


@op(dims="*", zeros="kept", promotion="common", refuses="c", inplace=True, kinks="steps",
    input=lambda F, g: F.zero(g))
def sign(F, input):
    """-1, 0 or 1 by the sign of `input`; 0 for NaN. Complex numbers have no sign, see `sgn`."""
    if input.dtype.kind == "b":
        return input.copy()
    return (input > 0).astype(input.dtype) - (input < 0)


def sgn_slope(F, g, input, out):
    """``(g - out Re(g conj(out))) / |input|``, the part of `g` across the direction; 0 at 0 and for real numbers."""
    if getattr(out, "array", out).dtype.kind != "c":
        return F.zero(g)
    size = F.abs(input)
    return (g - out * F.real(g * F.conj(out))) / F.masked_fill(size, size == 0, float("inf"))


@op(dims="*", zeros="kept", layout="inputs", promotion="common", inplace=True, kinks="steps",
    complex="conjugate", input=lambda F, g, input, out: sgn_slope(F, g, input, out))
def sgn(F, input):
    """The direction of a complex number, ``x / |x|`` and 0 for 0; the `sign` of real numbers."""
    if input.dtype.kind != "c":
        return F.sign(input)
    size = F.xp.abs(input)
    return input / F.xp.where(size == 0, 1, size).astype(size.dtype)


@op(dims="*", zeros="kept", refuses="c", inplace=False, kinks="steps")
def signbit(F, input):
    """True if the sign is negative, that of -0.0 included."""
    return F.xp.signbit(input) if input.dtype.kind in "fV" else input < 0


@op(dims="*", promotion="float", inplace=True, kinks="zero",
    input=lambda F, g, input, out: g * (F.sign(input) * F.sign(out)),
    other=lambda F, g: F.zero(g))
def copysign(F, input, other: Number):
    """The absolute value of `input` with the sign of `other`; the gradient at 0 is 0."""
    return F.xp.copysign(input, other)


@composite(dims="*")
def positive(input):
    """`input` itself; RuntimeError for bools."""
    if input.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported: convert it first, as in x.int()")
    return input


def between_steps(d):
    """A sample whose elements are neither whole numbers nor halves."""
    shape = d.shape(1)
    return [d.integers(shape, -2, 2) + d.array(shape, 0.1, 0.4)], {}


# ---- rounding ----------------------------------------------------------------------------------------------
def rounding(name, doc, *aliases):
    """Define an op that maps numbers to whole ones."""
    def forward(F, input):
        return input.copy() if input.dtype.kind in "iu" else getattr(F.xp, name)(input)
    forward.__name__, forward.__doc__ = name, doc + " The gradient is 0."
    return op(dims="*", promotion="common", refuses="bc", zeros="kept", inplace=True, kinks="steps",
              sample=between_steps, aliases=aliases, input=lambda F, g: F.zero(g))(forward)


floor = rounding("floor", "The largest whole number that is not above `input`.")
ceil = rounding("ceil", "The smallest whole number that is not below `input`.")
trunc = rounding("trunc", "`input` without what follows the point.", "fix")


@op(dims="*", zeros="kept", promotion="common", refuses="bc", inplace=True, kinks="steps",
    input=lambda F, g: F.zero(g),
    sample=lambda d: (between_steps(d)[0], dict(decimals=d.choice([0, -2]))))
def round(F, input, *, decimals: int = 0):
    """`input` rounded to `decimals` places (to tens, hundreds, ... if negative), halves to the even neighbour.

    Integers are returned as they are; with `decimals` they are refused.
    """
    if input.dtype.kind in "iu":
        if decimals:
            raise NotImplementedError(f"round() with decimals={decimals} is not implemented for {input.dtype}: convert "
                                      f"the tensor first, as in x.float()")
        return input.copy()
    if decimals == 0:
        return F.xp.rint(input)
    if not hasattr(decimals, "__index__"):
        raise worded(TypeError(f"round(): argument 'decimals' must be int, not {type(decimals).__name__}"))
    scale = 10.0 ** max(decimals, -decimals)
    return F.xp.rint(input * scale) / scale if decimals > 0 else F.xp.rint(input / scale) * scale


@op(dims="*", zeros="kept", promotion="common", refuses="iubc", inplace=True, kinks="steps",
    sample=between_steps, tangent="symmetric", input=lambda F, g: g)
def frac(F, input):
    """The fractional part: ``input - trunc(input)``, with the sign of `input`."""
    return input - F.xp.trunc(input)


# ---- the parts and the neighbours of a float ---------------------------------------------------------------
@op(dims="*", zeros="kept", layout="inputs", inplace=True,
    input=lambda F, g, input: F.masked(g, F.isfinite(input)))
def nan_to_num(F, input, *, nan=None, posinf=None, neginf=None):
    """`input` with NaN replaced by `nan` (0) and infinities by `posinf`, `neginf` (the dtype's limits)."""
    if input.dtype.kind not in "fV":
        return input.copy()
    out, limit = input.copy(), float(ranges.limits(dtypes.from_np(input.dtype)).max)
    out[F.xp.isnan(input)] = 0 if nan is None else nan
    out[input == F.xp.inf] = limit if posinf is None else posinf
    out[input == -F.xp.inf] = -limit if neginf is None else neginf
    return out


nextafter = ufunc("nextafter", "The next float after `input` towards `other`.", refuses="iub", numbers=[],
                  native=True, sample=without_ties, input=lambda F, g, input, other: F.masked(g, input != other),
                  other=lambda F, g: F.zero(g))


def check_floating(input):
    if input.dtype.kind not in "fV":
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype}")


@op(dims="* -> *, *", promotion="common", check=check_floating, outputs=(True, False),
    sample=lambda d: ([d.array(s := d.shape(1), 0.6, 0.9) * 2.0 ** d.integers(s, -3, 3)], {}),
    input=lambda F, g, out1: F.ldexp(g[0], out1, sign=-1))
def frexp(F, input):
    """(mantissa, exponent) with ``input = mantissa * 2 ** exponent`` and the mantissa in [0.5, 1); int32 exponents.

    >>> import minitorch
    >>> minitorch.frexp(minitorch.tensor([6.0])).exponent
    tensor([3], dtype=torch.int32)
    """
    mantissa, exponent = F.xp.frexp(input)
    return Frexp(mantissa, F.xp.asarray(exponent, "int32"))


@op(dims="*", layout="inputs", name="ldexp", namespace=None, promotion="any",
    input=lambda F, g, exponent, sign: F.ldexp(g, exponent, sign=sign),
    sample=lambda d: ([d.array((2, 3)), d.integers((2, 3), -3, 3)], dict(sign=d.choice([1, -1]))))
def _ldexp(F, input, exponent, *, sign):
    """``input * 2 ** (sign * exponent)`` for an integer tensor `exponent`, exactly."""
    return F.xp.ldexp(input, exponent if sign == 1 else -exponent)


@composite(dims="*", inplace=True, out=True)
def ldexp(input, other):
    """``input * 2 ** other``; for floats and integers exactly, even where the power alone would overflow."""
    for place, name, x in (1, "input", input), (2, "other", other):
        if not isinstance(x, Tensor):
            raise TypeError(f"ldexp(): argument '{name}' (position {place}) must be Tensor, not {type(x).__name__}")
    if input.is_floating_point() and other.array.dtype.kind in "iub":
        if other.array.dtype.kind == "b":
            raise errors.not_implemented("ldexp", other.array.dtype)
        return _ldexp(input, other, 1)
    return mul(input, pow(2.0, other))
