"""The functors (`src/functors.cuh`) of op definitions and of NumPy's ufuncs."""

import re

__all__ = ["BINARY", "FUNCTORS", "SAME_AS", "TRUTHS", "UNARY", "functor_call",
           "ufunc_functor"]


def functor_call(op):
    """The name of a definition's functor, and the attributes that are the functor's numbers with their defaults."""
    functor, *attributes = re.findall(r"\w+", op.functor)
    return functor, {k: dict(op.attrs)[k] for k in attributes}


# name: (functor, kinds of dtypes that it computes in: f floats, i signed and u unsigned integers, b bools)
FLOATS, NUMERIC, ALL = "f", "fiu", "fiub"
UNARY = {"positive": ("identity", NUMERIC), "negative": ("negative", "fi"), "absolute": ("absolute", ALL),
         "fabs": ("absolute", FLOATS), "sign": ("sign", NUMERIC), "square": ("square", NUMERIC),
         "reciprocal": ("reciprocal", FLOATS), "logical_not": ("logical_not", ALL), "invert": ("invert", "iu"),
         "isnan": ("is_nan", ALL), "isinf": ("is_inf", ALL), "isfinite": ("is_finite", ALL),
         "signbit": ("sign_bit", FLOATS), "sqrt": ("sqrt_of", FLOATS),
         "arcsin": ("asin_of", FLOATS), "arccos": ("acos_of", FLOATS), "arctan": ("atan_of", FLOATS),
         "arcsinh": ("asinh_of", FLOATS), "arccosh": ("acosh_of", FLOATS), "arctanh": ("atanh_of", FLOATS),
         **{name: (name + "_of", FLOATS) for name in (
             "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
             "floor", "ceil", "trunc", "rint")}}
BINARY = {"add": ("add", ALL), "subtract": ("subtract", NUMERIC), "multiply": ("multiply", ALL),
          "true_divide": ("true_divide", FLOATS), "floor_divide": ("floor_divide", NUMERIC),
          "remainder": ("remainder", NUMERIC), "fmod": ("fmod_of", NUMERIC), "power": ("power", NUMERIC),
          "maximum": ("maximum", ALL), "minimum": ("minimum", ALL), "fmax": ("fmax_of", ALL), "fmin": ("fmin_of", ALL),
          "arctan2": ("atan2_of", FLOATS), "hypot": ("hypot_of", FLOATS), "copysign": ("copysign_of", FLOATS),
          "logaddexp": ("logaddexp", FLOATS), "logaddexp2": ("logaddexp2", FLOATS),
          **{name: (name, ALL) for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                                            "logical_and", "logical_or", "logical_xor")},
          **{name: (name, "iub") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
          "left_shift": ("left_shift", "iu"), "right_shift": ("right_shift", "iu")}
SAME_AS = {"abs": "absolute", "divide": "true_divide", "mod": "remainder", "bitwise_not": "invert", "conj": "positive",
           "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
TRUTHS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
          "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "signbit"}
FUNCTORS = {name: (*found, nin) for nin, table in ((1, UNARY), (2, BINARY)) for name, found in table.items()}


def ufunc_functor(name, kind):
    """The functor of a ufunc of NumPy's for operands of a kind ("f", "i", "u" or "b"); None if it
    has none."""
    functor, kinds, _ = FUNCTORS.get(SAME_AS.get(name, name), (None, "", 0))
    return functor if kind in kinds else None
