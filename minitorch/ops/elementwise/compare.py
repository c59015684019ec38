"""Op definitions: comparisons, logic, bits, kinds of floats, the larger and the smaller of two, clamp, `where`.

Comparisons and logic give bools and have no gradient. Extremes over a dimension are in `reductions/extreme.py`.
"""

import math

from ...core import errors
from ...core.op import Number, Other
from ...core.tensor import Tensor, wrap
from ...host.type_info import result_type
from ..define import composite, method, op, ufunc


def no_gradient(name, doc, xp_name=None, inputs=("input", "other"), **options):
    return ufunc(name, doc, xp_name, inputs=list(inputs), **options)


def comparison(name, doc, xp_name, *aliases, refuses=""):
    return no_gradient(name, f"``{doc}``, as bools.", xp_name, promotion="compared", numbers=["other"], aliases=aliases,
                       refuses=refuses)


# ---- comparisons and logic ---------------------------------------------------------------------------------
eq = comparison("eq", "input == other", "equal")
ne = comparison("ne", "input != other", "not_equal", "not_equal")
lt = comparison("lt", "input < other", "less", "less", refuses="c")
le = comparison("le", "input <= other", "less_equal", "less_equal", refuses="c")
gt = comparison("gt", "input > other", "greater", "greater", refuses="c")
ge = comparison("ge", "input >= other", "greater_equal", "greater_equal", refuses="c")
logical_and = no_gradient("logical_and", "True where both are nonzero.", numbers=[])
logical_or = no_gradient("logical_or", "True where one or both are nonzero.", numbers=[])
logical_xor = no_gradient("logical_xor", "True where just one of them is nonzero.", numbers=[])
logical_not = no_gradient("logical_not", "True where `input` is zero.", inputs=["input"],
                          promotion=None)

# ---- bits --------------------------------------------------------------------------------------------------
WHOLE: dict = dict(sample=lambda d: ([d.integers((2, 3), 0, 9), d.integers((3,), 0, 9)], {}))
bitwise_and = no_gradient("bitwise_and", "``input & other`` for integers, bit by bit, and bools.", **WHOLE)
bitwise_or = no_gradient("bitwise_or", "``input | other`` for integers, bit by bit, and bools.", **WHOLE)
bitwise_xor = no_gradient("bitwise_xor", "``input ^ other`` for integers, bit by bit, and bools.", **WHOLE)
bitwise_not = no_gradient("bitwise_not", "``~input`` for integers, bit by bit, and bools.", "invert", ["input"],
                          promotion="common", sample=lambda d: ([d.integers((2, 3), 0, 9)], {}))
bitwise_left_shift = no_gradient("bitwise_left_shift", "``input << other``; 0 when all bits are shifted out.",
                                 "left_shift", refuses="b", **WHOLE)
bitwise_right_shift = no_gradient("bitwise_right_shift", "``input >> other``; the sign stays when all bits are shifted "
                                  "out.", "right_shift", refuses="b", **WHOLE)

# ---- kinds of floats ---------------------------------------------------------------------------------------
isnan = no_gradient("isnan", "True where `input` is not a number.", zeros="kept", inputs=["input"],
                    promotion=None, inplace=False)
isinf = no_gradient("isinf", "True where `input` is infinite.", zeros="kept", inputs=["input"],
                    promotion=None, inplace=False)
isfinite = no_gradient("isfinite", "True where `input` is neither infinite nor NaN.",
                       inputs=["input"], promotion=None, inplace=False)


@op(dims="*", zeros="kept", refuses="c")
def isposinf(F, input):
    """True if `input` is positive infinity."""
    return input == F.xp.inf


@op(dims="*", zeros="kept", refuses="c")
def isneginf(F, input):
    """True if `input` is negative infinity."""
    return input == -F.xp.inf


@op(dims="*", layout="inputs")
def isreal(F, input):
    """True if `input` has no imaginary part: True for every real dtype."""
    return F.xp.isreal(input)


# ---- the larger and the smaller ----------------------------------------------------------------------------
def share(F, g, input, other, loses):
    """Gradient of the larger (or smaller) of two: 0 where the input `loses`, half where both are equal."""
    return F.masked(F.where(input == other, g * 0.5, g), F.logical_not(loses))


@op(dims="*", layout="inputs", promotion="common", refuses="c", kinks="ties",
    input=lambda F, g, input, other: share(F, g, input, other, input < other),
    other=lambda F, g, input, other: share(F, g, input, other, other < input))
def maximum(F, input, other):
    """The larger of the two, NaN if either is; the gradient of equal values is shared."""
    return F.xp.maximum(input, other)


@op(dims="*", layout="inputs", promotion="common", refuses="c", kinks="ties",
    input=lambda F, g, input, other: share(F, g, input, other, input > other),
    other=lambda F, g, input, other: share(F, g, input, other, other > input))
def minimum(F, input, other):
    """The smaller of the two, NaN if either is; the gradient of equal values is shared."""
    return F.xp.minimum(input, other)


def without_ties(d):
    """A sample of two arrays that share no value."""
    first, second = d.broadcastable(2)
    return [d.distinct(first), d.distinct(second, -1.93, 2.07)], {}


@op(dims="*", layout="inputs", promotion="common", refuses="c", sample=without_ties,
    input=lambda F, g, input, other: F.masked(g, (input >= other) | F.isnan(other)),
    other=lambda F, g, input, other: F.masked(g, F.logical_not((input >= other) | F.isnan(other))))
def fmax(F, input, other):
    """The larger of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
    return F.xp.fmax(input, other)


@op(dims="*", layout="inputs", promotion="common", refuses="c", sample=without_ties,
    input=lambda F, g, input, other: F.masked(g, (input <= other) | F.isnan(other)),
    other=lambda F, g, input, other: F.masked(g, F.logical_not((input <= other) | F.isnan(other))))
def fmin(F, input, other):
    """The smaller of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
    return F.xp.fmin(input, other)


# ---- clamp -------------------------------------------------------------------------------------------------
def within(input, min, max):
    """True where `input` is between the bounds; either may be None."""
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


def clamp_sample(d):
    x = d.distinct(shape := d.shape())
    low, high = d.array(shape, -1.9, 0.9), d.array(shape, -0.9, 1.9)
    return [x, *d.choice([(-1.01, 1.23), (None, 0.47), (-0.51, None), (1.2, -1.3), (low, high), (None, high)])], {}


@op(dims="*", layout="inputs", promotion="common", refuses="c", inplace=True, aliases=("clip",),
    sample=clamp_sample, input=lambda F, g, input, min, max: F.masked(g, within(input, min, max)),
    min=lambda F, g, input, min, max: F.masked(g, input < min if max is None else (input < min) & (min < max)),
    max=lambda F, g, input, min, max: F.masked(g, input > max if min is None else (input > max) | (max < min)))
def clamp(F, input, min: Number = None, max: Number = None):
    """`input` between `min` and `max`, tensors or numbers, or None for no bound; `max` if they cross.

    Beside a number, a tensor without dimensions is one too. The gradient at a bound goes to `input`.

    >>> import minitorch
    >>> minitorch.clamp(minitorch.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = hasattr(min, "dtype"), hasattr(max, "dtype")
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if max is None:                                        # against a number `clip` is faster than `maximum`
        return F.xp.maximum(input, min) if low or input.dtype.kind not in "fV" else F.xp.clip(input, min, math.inf)
    if min is None:
        return F.xp.minimum(input, max) if high or input.dtype.kind not in "fV" else F.xp.clip(input, -math.inf, max)
    if low != high and (min if low else max).ndim:
        raise TypeError("clamp(): min and max must both be tensors or both be numbers: write "
                        "x.clamp(min=...).clamp(max=...)")
    return F.xp.clip(input, min, max)


@composite(dims="*", inplace=True, out=True)
def clamp_min(input, min):
    """`input`, but not below `min`, a number or a tensor."""
    if min is None:
        raise TypeError("clamp_min(): argument 'min' (position 2) must be Tensor or Number, not NoneType")
    return clamp(input, min)


@composite(dims="*", inplace=True, out=True)
def clamp_max(input, max):
    """`input`, but not above `max`, a number or a tensor."""
    if max is None:
        raise TypeError("clamp_max(): argument 'max' (position 2) must be Tensor or Number, not NoneType")
    return clamp(input, None, max)


@op(dims="*", promotion="same", refuses="c", inplace=True)
def heaviside(F, input, values):
    """0 where `input` is negative (or NaN), `values` where it is 0, 1 where it is positive."""
    return F.xp.where(input == 0, values, (input > 0).astype(input.dtype))


# ---- where -------------------------------------------------------------------------------------------------
@op(dims="*", layout="inputs", promotion="fitting", namespace=None,
    input=lambda F, g, condition: F.masked(g, condition),
    other=lambda F, g, condition: F.masked(g, F.logical_not(condition)))
def where(F, condition: Other, input: Number, other: Number):
    """`input` where `condition` holds, `other` elsewhere."""
    return F.xp.where(condition, input, other)


@composite(dims="*", public_name="where", method=False, out=True)
def choose(condition, input=None, other=None):
    """`input` where `condition` (bools) holds, `other` elsewhere; all three broadcast, numbers are taken too.

    Without `input` and `other` the indices where `condition` holds, as ``nonzero(as_tuple=True)``.

    >>> import minitorch
    >>> x = minitorch.tensor([-2.0, 3.0])
    >>> minitorch.where(x > 0, x, 0)
    tensor([0., 3.])
    """
    if other is None:
        if input is not None:
            raise TypeError("where() takes `condition` alone, or `condition`, `input` and `other`")
        return condition.nonzero(as_tuple=True)
    if condition.array.dtype.kind != "b" and condition.array.dtype != "uint8":
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{condition.dtype}: write x != 0 or x.bool()")
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        found, backend = result_type(input, other).np, condition.backend
        input, other = [wrap(backend.xp.asarray(x, found), backend) for x in (input, other)]
    return where(condition, input, other)


@method(name="where")
def where_method(self, condition, other):
    """This tensor where `condition` (bools) holds, `other` elsewhere."""
    return choose(condition, self, other)


@composite(dims="*", method=False)
def fill(input, value):
    """A tensor like `input` filled with `value`, a number or a 0-d tensor."""
    return input.clone().fill_(value)


# ---- whole tensors -----------------------------------------------------------------------------------------
def check_close(input, other):
    if input.dtype != other.dtype:
        names = [errors.TYPE_NAMES.get(x.dtype.name, x.dtype.name) for x in (input, other)]
        raise RuntimeError(f"{names[0]} did not match {names[1]}: cast one of them, as in x.to(y.dtype)")


@op(dims="*", layout="inputs",
    check=check_close, promotion="same", sample=lambda d: ([d.array((2, 3)), d.array((3,))], dict(atol=0.5)))
def isclose(F, input, other, *, rtol=1e-05, atol=1e-08, equal_nan=False):
    """``|input - other| <= atol + rtol |other|``, elementwise; infinities are close to themselves only.

    NaN is close to nothing, or with `equal_nan` to NaN.
    """
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    xp, close = F.xp, input == other
    if input.dtype.kind not in "fV":
        input, other = input.astype("float64"), other.astype("float64")
    elif equal_nan:
        close = close | (xp.isnan(input) & xp.isnan(other))
    difference = xp.abs(input - other)
    return close | (xp.isfinite(difference) & (difference <= atol + xp.abs(rtol * other)))


@composite
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if all elements are close (see `isclose`), as a bool."""
    return all_of(isclose(input, other, rtol, atol, equal_nan))


@composite
def equal(input, other):
    """True if two tensors have the same shape and equal elements, as a bool."""
    return input.array.shape == other.array.shape and all_of(eq(input, other))


def all_of(x):
    """True if all elements are True, as a bool."""
    return bool(x.backend.to_host(x.array) if x.is_meta else x.array.all())    # the first raises an error: no values
