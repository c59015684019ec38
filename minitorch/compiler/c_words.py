"""C as a dialect: types, scalar functions by kinds of their operands, numbers."""

import math

import numpy as np

from ..backends.numpy_names import is_truth
from ..extend import is_half
from .printer import INFIX, Dialect

__all__ = ["C", "EXTREMES", "SIGNS", "TYPES", "number", "supported"]

TYPES = {                  # in memory
    "float32": "float", "float64": "double", "bfloat16": "uint16_t", "float16": "uint16_t",
    "int64": "i64", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t",
    "bool": "uint8_t"}
HALVES = {"bfloat16": "m", "float16": "h"}             # how their functions begin
EXTREMES = {"max": "maximum", "min": "minimum"}        # their scalar functions
SIGNS = {"sum": "+", "rowsum": "+", "prod": "*", "max": "max", "min": "min"}   # of reductions

# Functions of floats that are m_name and d_name here: (NumPy's name, its name here, cost)
TRANSCENDENTAL = (
    ("exp", "exp", 12), ("tanh", "tanh", 20), ("log", "log", 14), ("sigmoid", "sigmoid", 16),
    ("log1p", "log1p", 30), ("expm1", "expm1", 30), ("sinh", "sinh", 40), ("cosh", "cosh", 40),
    ("arcsinh", "asinh", 50), ("arccosh", "acosh", 50), ("arctanh", "atanh", 40),
    ("arctan", "atan", 30))
# In double precision NumPy's own loops of these, which are vectorised on some processors, beat
# calls of libm.
FLOAT_ONLY = (
    ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("arcsin", "asin"), ("arccos", "acos"),
    ("exp2", "exp2"), ("log2", "log2"), ("log10", "log10"))


def alike(kinds, text, cost):
    """One text for several kinds of operands."""
    return dict.fromkeys(kinds, (text, cost))


def of_libm(text, cost, of_doubles=None):
    """A function of libm, whose name ends in f for floats; `text` has its name as {{f}}."""
    return {"f": (text.replace("{f}", "f"), cost),
            "d": (text.replace("{f}", ""), of_doubles or cost)}


# NumPy's function -> by kind of its operands: f float32, d float64, i integers, b bools: (C, cost)
SCALAR: dict = {
    "add": {**alike("fdi", "{0} + {1}", 1), "b": ("({0} | {1})", 1)},
    "subtract": alike("fdi", "{0} - {1}", 1),
    "multiply": {**alike("fdi", "{0} * {1}", 1), "b": ("({0} & {1})", 1)},
    "divide": alike("fd", "{0} / {1}", 4),
    "negative": alike("fdi", "-{0}", 1),
    "positive": alike("fdi", "{0}", 0),
    "square": alike("fdi", "{0} * {0}", 1),
    "reciprocal": {"f": ("1.0f / {0}", 4), "d": ("1.0 / {0}", 4)},
    "absolute": {**of_libm("fabs{f}({0})", 1), "i": ("({0} < 0 ? -{0} : {0})", 1), "b": ("{0}", 0)},
    "sqrt": of_libm("sqrt{f}({0})", 6, of_doubles=8),
    **{name: {"f": (f"m_{here}({{0}})", cost), "d": (f"d_{here}({{0}})", 2 * cost)}
       for name, here, cost in TRANSCENDENTAL},
    **{name: {"f": (f"m_{here}({{0}})", 40)} for name, here in FLOAT_ONLY},
    "logaddexp": {"f": ("m_logaddexp({0}, {1})", 60), "d": ("d_logaddexp({0}, {1})", 60)},
    "power": {"f": ("m_pow({0}, {1})", 60)},
    "arctan2": {"f": ("m_atan2({0}, {1})", 40)},
    "hypot": {"f": ("m_hypot({0}, {1})", 10)},
    "erf": {"f": ("m_erf({0})", 24), "d": ("erf({0})", 60)},
    "rint": of_libm("rint{f}({0})", 1),
    "sign": {**alike("fd", "({0} != {0} ? {0} : ({0} > 0) - ({0} < 0))", 3),
             "i": ("(({0} > 0) - ({0} < 0))", 2)},
    "signbit": alike("fd", "(signbit({0}) != 0)", 1),
    "copysign": of_libm("copysign{f}({0}, {1})", 1),
    "fmax": alike("fd", "({0} >= {1} || {1} != {1} ? {0} : {1})", 2),
    "fmin": alike("fd", "({0} <= {1} || {1} != {1} ? {0} : {1})", 2),
    "floor": of_libm("floor{f}({0})", 1),
    "ceil": of_libm("ceil{f}({0})", 1),
    "trunc": of_libm("trunc{f}({0})", 1),
    "maximum": {"f": ("m_max({0}, {1})", 2), "d": ("m_maxd({0}, {1})", 2),
                "i": ("({0} > {1} ? {0} : {1})", 1), "b": ("({0} | {1})", 1)},
    "minimum": {"f": ("m_min({0}, {1})", 2), "d": ("m_mind({0}, {1})", 2),
                "i": ("({0} < {1} ? {0} : {1})", 1), "b": ("({0} & {1})", 1)},
    "isnan": {**alike("fd", "({0} != {0})", 1), **alike("ib", "0", 0)},
    "isfinite": of_libm("(fabs{f}({0}) < INFINITY)", 1),
    "isinf": of_libm("(fabs{f}({0}) == INFINITY)", 1),
    "logical_and": alike("fdib", "(({0} != 0) & ({1} != 0))", 1),
    "logical_or": alike("fdib", "(({0} != 0) | ({1} != 0))", 1),
    "logical_xor": alike("fdib", "(({0} != 0) ^ ({1} != 0))", 1),
    "logical_not": alike("fdib", "({0} == 0)", 1),
    "bitwise_and": alike("ib", "({0} & {1})", 1),
    "bitwise_or": alike("ib", "({0} | {1})", 1),
    "bitwise_xor": alike("ib", "({0} ^ {1})", 1),
    "invert": {"i": ("~{0}", 1), "b": ("!{0}", 1)},
    **{name: alike("fdib", f"({{0}} {sign} {{1}})", 1) for name, sign in INFIX.items()
       if is_truth(name)},
    "select": alike("fdib", "({0} ? {1} : {2})", 1),
}


def kind_of(dtype):
    """The letter of SCALAR for a dtype, "" if there is none; 16-bit floats are floats here."""
    if is_half(dtype):
        return "f"
    if not dtype.isnative:
        return ""
    if dtype.kind == "f":                                  # bfloat16 is among the halves above
        return {4: "f", 8: "d"}.get(dtype.itemsize, "")
    if dtype.kind == "u":
        return "i" if dtype.itemsize == 1 else ""
    return dtype.kind if dtype.kind in "ib" else ""


def supported(op, dtype):
    """True if a scalar function has C for operands of a dtype."""
    return kind_of(dtype) in SCALAR.get(op, ())


def number(value, dtype):
    """A number as C."""
    if dtype.kind in "iub":
        return integer(int(value))
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


def integer(value):
    """An integer as C."""
    if value == -1 << 63:                                  # whose digits without sign are too large
        return "INT64_MIN"
    return f"{value}LL" if abs(value) >= 1 << 31 else str(value)


def neutral(kind, dtype):
    """The start of a maximum, below all values of a dtype; of a minimum, above them."""
    if dtype.kind in "iu" and dtype.itemsize < 8:
        return str(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)
    return {"max": {"f": "-INFINITY", "i": "INT64_MIN", "b": "0"},
            "min": {"f": "INFINITY", "i": "INT64_MAX", "b": "1"}}[kind][dtype.kind]


class C(Dialect):
    """The spellings of C."""

    number = staticmethod(number)

    def ctype(self, n):
        return "int" if n.dtype == bool else "float" if is_half(n.dtype) else TYPES[n.dtype.name]

    def widened(self, x, dtype):
        return f"{HALVES[dtype.name]}_widen({x})"

    def narrowed(self, x, dtype):
        return f"{HALVES[dtype.name]}_narrow({x})"

    def converted(self, x, n):
        return f"({self.ctype(n)})({x})"

    def scalar(self, n, x):
        if n.op == "coefficient":
            return f"({TYPES[n.dtype.name]})H[{n.value}]"
        if n.op == "index":
            return f"{n.value[0]}({', '.join([*x, *map(str, n.value[1:])])}, wrong)"
        return self.function(n.op, n.args[-1].dtype, *x)

    def function(self, name, dtype, *x):
        """NumPy's function of operands of a dtype."""
        return SCALAR[name][kind_of(dtype)][0].format(*x)

    def cost(self, n):
        return 1 if n.op in ("cast", "index") else SCALAR[n.op][kind_of(n.args[-1].dtype)][1]

    def start(self, kind, dtype, ctype):
        if kind == "logaddexp":
            return "-INFINITY"
        return neutral(kind, dtype) if kind in EXTREMES else int(kind == "prod")

    def collected(self, e, cell, x):
        if e.kind in EXTREMES:
            return f"{cell} = {self.function(EXTREMES[e.kind], e.x.dtype, cell, x)};"
        return f"{cell} {SIGNS[e.kind]}= {x};"
