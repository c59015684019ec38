"""The functors (`src/functors.cuh`) of op definitions and of NumPy's ufuncs."""

import re

from ... import numpy_names

__all__ = ["FUNCTORS", "functor_call", "ufunc_functor"]


def functor_call(op):
    """The name of a definition's functor, and the attributes that are the functor's numbers with their defaults."""
    functor, *attributes = re.findall(r"\w+", op.functor)
    return functor, {k: dict(op.attrs)[k] for k in attributes}


# The functors of NumPy's ufuncs, by their names in C++: "_of" where C has a function of the name.
SPELLED = {
    "positive": "identity", "absolute": "absolute", "fabs": "absolute", "isnan": "is_nan",
    "isinf": "is_inf", "isfinite": "is_finite", "signbit": "sign_bit", "arcsin": "asin_of",
    "arccos": "acos_of", "arctan": "atan_of", "arcsinh": "asinh_of", "arccosh": "acosh_of",
    "arctanh": "atanh_of", "arctan2": "atan2_of", "divide": "true_divide",
    **{name: f"{name}_of" for name in (
        "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fmax", "fmin", "fmod", "hypot", "log",
        "log10", "log1p", "log2", "rint", "sin", "sinh", "sqrt", "tan", "tanh")},
    **{name: name for name in (
        "add", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "floor_divide", "greater",
        "greater_equal", "left_shift", "less", "less_equal", "logaddexp", "logaddexp2",
        "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
        "not_equal", "power", "remainder", "right_shift", "sign", "square", "subtract")}}
# Functors for fewer kinds of dtypes than NumPy's ufuncs.
NARROWER = {"ceil": ("ceil_of", "f"), "floor": ("floor_of", "f"), "trunc": ("trunc_of", "f"),
            "reciprocal": ("reciprocal", "f"), "conjugate": ("identity", "fiu"),
            "negative": ("negative", "fi"), "invert": ("invert", "iu")}


def kinds_of(name):
    """The kinds of dtypes that a ufunc computes in: f floats, i and u integers, b bools."""
    found = numpy_names.ufunc(name)
    loops = {loop.split("->")[0] for loop in found.types}
    return "".join([kind for kind, char in zip("fiub", "flL?") if char * found.nin in loops])


# ufunc: (functor, the kinds of dtypes that it computes in)
FUNCTORS = {name: (functor, kinds_of(name)) for name, functor in SPELLED.items()} | NARROWER


def ufunc_functor(name, kind):
    """The functor of a ufunc of NumPy's for operands of a kind ("f", "i", "u" or "b"); None if it
    has none."""
    functor, kinds = FUNCTORS.get(numpy_names.canonical(name), (None, ""))
    return functor if kind in kinds else None
