"""Words of C: types, scalar functions by kinds of their operands, numbers."""

import math

import numpy as np

from ..core.arrays import is_half

__all__ = ["HALVES", "SCALAR", "TYPES", "kind_of", "neutral", "number", "supported"]

TYPES = {"float32": "float", "float64": "double", "int64": "i64", "int32": "int32_t", "int16": "int16_t",
         "int8": "int8_t", "uint8": "uint8_t", "bool": "uint8_t", "bfloat16": "uint16_t",
         "float16": "uint16_t"}                            # in memory
HALVES = {"bfloat16": "m", "float16": "h"}                 # how their functions begin

# NumPy's function -> by kind of its operands: f float32, d float64, i integers, b bools: (C, rough cost)
SCALAR: dict = {
    "add": {**dict.fromkeys("fdi", ("{0} + {1}", 1)), "b": ("({0} | {1})", 1)},
    "subtract": dict.fromkeys("fdi", ("{0} - {1}", 1)),
    "multiply": {**dict.fromkeys("fdi", ("{0} * {1}", 1)), "b": ("({0} & {1})", 1)},
    "divide": dict.fromkeys("fd", ("{0} / {1}", 4)),
    "negative": dict.fromkeys("fdi", ("-{0}", 1)),
    "positive": dict.fromkeys("fdi", ("{0}", 0)),
    "square": dict.fromkeys("fdi", ("{0} * {0}", 1)),
    "reciprocal": {"f": ("1.0f / {0}", 4), "d": ("1.0 / {0}", 4)},
    "absolute": {"f": ("fabsf({0})", 1), "d": ("fabs({0})", 1), "i": ("({0} < 0 ? -{0} : {0})", 1), "b": ("{0}", 0)},
    "sqrt": {"f": ("sqrtf({0})", 6), "d": ("sqrt({0})", 8)},
    **{name: {"f": (f"m_{short or name}({{0}})", cost), "d": (f"d_{short or name}({{0}})", 2 * cost)} for name, short,
       cost in (("exp", "", 12), ("tanh", "", 20), ("log", "", 14), ("sigmoid", "", 16), ("log1p", "", 30),
                ("expm1", "", 30), ("sinh", "", 40), ("cosh", "", 40), ("arcsinh", "asinh", 50),
                ("arccosh", "acosh", 50), ("arctanh", "atanh", 40), ("arctan", "atan", 30))},
    # in double precision NumPy's own loops of these, which are vectorised on some processors, beat calls of libm
    **{name: {"f": (f"m_{short or name}({{0}})", 40)} for name, short in (
        ("sin", ""), ("cos", ""), ("tan", ""), ("arcsin", "asin"), ("arccos", "acos"), ("exp2", ""), ("log2", ""),
        ("log10", ""))},
    "logaddexp": {"f": ("m_logaddexp({0}, {1})", 60), "d": ("d_logaddexp({0}, {1})", 60)},
    "power": {"f": ("m_pow({0}, {1})", 60)}, "arctan2": {"f": ("m_atan2({0}, {1})", 40)},
    "hypot": {"f": ("m_hypot({0}, {1})", 10)},
    "erf": {"f": ("m_erf({0})", 24), "d": ("erf({0})", 60)},
    "rint": {"f": ("rintf({0})", 1), "d": ("rint({0})", 1)},
    "sign": {**dict.fromkeys("fd", ("({0} != {0} ? {0} : ({0} > 0) - ({0} < 0))", 3)),
             "i": ("(({0} > 0) - ({0} < 0))", 2)},
    "signbit": dict.fromkeys("fd", ("(signbit({0}) != 0)", 1)),
    "copysign": {"f": ("copysignf({0}, {1})", 1), "d": ("copysign({0}, {1})", 1)},
    "fmax": dict.fromkeys("fd", ("({0} >= {1} || {1} != {1} ? {0} : {1})", 2)),
    "fmin": dict.fromkeys("fd", ("({0} <= {1} || {1} != {1} ? {0} : {1})", 2)),
    "floor": {"f": ("floorf({0})", 1), "d": ("floor({0})", 1)}, "ceil": {"f": ("ceilf({0})", 1), "d": ("ceil({0})", 1)},
    "trunc": {"f": ("truncf({0})", 1), "d": ("trunc({0})", 1)},
    "maximum": {"f": ("m_max({0}, {1})", 2), "d": ("m_maxd({0}, {1})", 2), "i": ("({0} > {1} ? {0} : {1})", 1),
                "b": ("({0} | {1})", 1)},
    "minimum": {"f": ("m_min({0}, {1})", 2), "d": ("m_mind({0}, {1})", 2), "i": ("({0} < {1} ? {0} : {1})", 1),
                "b": ("({0} & {1})", 1)},
    "isnan": {**dict.fromkeys("fd", ("({0} != {0})", 1)), **dict.fromkeys("ib", ("0", 0))},
    "isfinite": {"f": ("(fabsf({0}) < INFINITY)", 1), "d": ("(fabs({0}) < INFINITY)", 1)},
    "isinf": {"f": ("(fabsf({0}) == INFINITY)", 1), "d": ("(fabs({0}) == INFINITY)", 1)},
    "logical_and": dict.fromkeys("fdib", ("(({0} != 0) & ({1} != 0))", 1)),
    "logical_or": dict.fromkeys("fdib", ("(({0} != 0) | ({1} != 0))", 1)),
    "logical_xor": dict.fromkeys("fdib", ("(({0} != 0) ^ ({1} != 0))", 1)),
    "logical_not": dict.fromkeys("fdib", ("({0} == 0)", 1)),
    "bitwise_and": dict.fromkeys("ib", ("({0} & {1})", 1)), "bitwise_or": dict.fromkeys("ib", ("({0} | {1})", 1)),
    "bitwise_xor": dict.fromkeys("ib", ("({0} ^ {1})", 1)), "invert": {"i": ("~{0}", 1), "b": ("!{0}", 1)},
    **{name: dict.fromkeys("fdib", (f"({{0}} {sign} {{1}})", 1)) for name, sign in dict(
        equal="==", not_equal="!=", greater=">", less="<", greater_equal=">=", less_equal="<=").items()},
    "select": dict.fromkeys("fdib", ("({0} ? {1} : {2})", 1)),
}


def kind_of(dtype):
    """The letter of SCALAR for a dtype; "" if there is none. 16-bit floats are float32 where they are not in memory."""
    if is_half(dtype):
        return "f"
    return {"f": {4: "f", 8: "d"}.get(dtype.itemsize, ""), "i": "i", "u": "i" if dtype.itemsize == 1 else "",
            "b": "b"}.get(dtype.kind, "") if dtype.isnative else ""


def supported(op, dtype):
    """Whether a scalar function has C for operands of a dtype."""
    return kind_of(dtype) in SCALAR.get(op, ())


def number(value, dtype):
    """A number as C."""
    if dtype.kind in "iub":
        return f"{int(value)}" + ("LL" if abs(int(value)) >= 1 << 31 else "") if int(value) != -1 << 63 else "INT64_MIN"
    with np.errstate(all="ignore"):
        x = dtype.type(value)
    if is_half(dtype):
        x, dtype = np.float32(x), np.dtype(np.float32)
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    text = repr(float(x)) if dtype.itemsize == 8 else f"{x:.9g}"
    text += "" if any(c in text for c in ".en") else ".0"
    text += "f" if dtype.itemsize == 4 else ""
    return f"({text})" if text.startswith("-") else text


def neutral(kind, dtype):
    """The largest value below all others of a dtype, for a maximum; the other way round for a minimum."""
    if dtype.kind in "iu" and dtype.itemsize < 8:
        return str(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)
    return {"max": {"f": "-INFINITY", "i": "INT64_MIN", "b": "0"},
            "min": {"f": "INFINITY", "i": "INT64_MAX", "b": "1"}}[kind][dtype.kind]
