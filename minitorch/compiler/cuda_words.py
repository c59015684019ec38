"""CUDA C++ as a dialect: scalar functions are the functors of the device's own kernels."""

import math

import numpy as np

from ..backends.cuda import c_name, ufunc_functor
from ..extend import is_half
from . import c_words
from .printer import INFIX, Dialect

__all__ = ["COMBINED", "Cuda", "FUNCTORS_OF", "supported"]

COMBINED = {               # functor, statement, beginning
    "sum": ("Add", "{0} + {1}", "0"),
    "rowsum": ("Add", "{0} + {1}", "0"),
    "prod": ("Times", "{0} * {1}", "1"),
    "max": ("Max", "op::greater_of<{2}>({0}, {1})", "op::lowest<{2}>()"),
    "min": ("Least", "op::lesser_of<{2}>({0}, {1})", "op::highest<{2}>()"),
}
FUNCTOR = """struct {name} {{{remark}
  template <class A> __device__ __forceinline__ A operator()(A a, A b) const {{ return {found}; }}
}};
"""
FUNCTORS_OF = {
    "min": FUNCTOR.format(name="Least", remark="        // NaN counts as the least",
                          found="a < b || a != a ? a : b"),
    "prod": FUNCTOR.format(name="Times", remark="", found="a * b"),
}


def functor(op, dtype):
    """The functor of a scalar function for operands of a dtype; None if it has none."""
    kind = "f" if is_half(dtype) else dtype.kind
    if op.startswith("op::"):
        return op[4:] if kind == "f" else None             # bfloat16 and float16 too
    return "logical_not" if kind == "b" and op == "invert" else ufunc_functor(op, kind)


def supported(op, dtype):
    """True if a scalar function has CUDA for operands of a dtype."""
    return op == "select" or functor(op, dtype) is not None


def number(value, dtype):
    """A number as CUDA C++."""
    if dtype.kind == "b":
        return str(bool(value)).lower()
    if dtype.kind in "iu":
        return "op::lowest<long long>()" if int(value) == -1 << 63 else c_words.number(value, dtype)
    with np.errstate(all="ignore"):
        value = dtype.type(value)
    if is_half(dtype):
        value, dtype = np.float32(value), np.dtype(np.float32)
    kind = c_name(dtype)
    if math.isnan(value):
        return f"static_cast<{kind}>(__int_as_float(0x7fffffff))"
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}op::highest<{kind}>())"
    return c_words.number(value, dtype)


class Cuda(Dialect):
    """The spellings of CUDA C++."""

    keeper, kept_by = "kept", "k"
    number = staticmethod(number)

    def ctype(self, n):
        return "float" if is_half(n.dtype) else c_name(n.dtype)

    def widened(self, x, dtype):
        return f"widen({x})"

    def narrowed(self, x, dtype):
        return f"narrow<{c_name(dtype)}>({x})"

    def converted(self, x, n):
        return f"static_cast<{self.ctype(n)}>({x})"

    def scalar(self, n, x):
        if n.op == "select":
            return f"{x[0]} ? {x[1]} : {x[2]}"
        dtype, kind = n.args[0].dtype, self.ctype(n.args[0])
        if n.op in INFIX and dtype.kind != "b":
            return f"{x[0]} {INFIX[n.op]} {x[1]}"
        numbers = [number(v, dtype) for v in n.value] if n.value else [f"{kind}(0)"] * 2
        return f"op::{functor(n.op, dtype)}()({', '.join(x + numbers)})"

    def cost(self, n):
        if n.op == "cast":
            return 1
        costs = [cost for _, cost in c_words.SCALAR.get(n.op, {}).values()]
        return max(costs, default=12)                      # others are functors of whole ops

    def start(self, kind, dtype, ctype):
        return COMBINED[kind][2].format("", "", ctype)

    def collected(self, e, cell, x):
        return self.combined(e.kind, cell, x, self.total_type(e))

    def combined(self, kind, cell, x, ctype):
        """The statement that combines a cell with a value."""
        return f"{cell} = {COMBINED[kind][1].format(cell, x, ctype)};"
