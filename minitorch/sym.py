"""``torch.sym_max`` and its kind: functions of sizes, which are Python's numbers here.

PyTorch has symbols in the place of sizes while it compiles. There are none here, so `SymInt`, `SymFloat` and `SymBool`
are types of no object: programs ask ``isinstance(n, (int, torch.SymInt))``.
"""

import math
import operator

from . import Tensor

__all__ = ["SymBool", "SymFloat", "SymInt", "_assert", "_assert_async", "sym_float", "sym_fresh_size", "sym_int",
           "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]


class SymInt:
    """The type of symbols in the place of whole numbers. There are none."""

    def __init__(self, node):
        raise NotImplementedError(f"there are no symbols: sizes are Python's numbers, not a {type(self).__name__}")


class SymFloat(SymInt):
    """The type of symbols in the place of floats. There are none."""


class SymBool(SymInt):
    """The type of symbols in the place of truth values. There are none."""


def sym_int(a):
    """`a` rounded towards zero, as an int."""
    return math.trunc(a)


def sym_float(a):
    """`a` as a float."""
    return float(a)


def sym_not(a):
    """Not `a`: of a truth value, or elementwise of a tensor."""
    return ~a if isinstance(a, Tensor) else not a


def sym_max(a, b):
    """The larger of two numbers; a float if one of them is."""
    return _compared(max, a, b)


def sym_min(a, b):
    """The smaller of two numbers; a float if one of them is."""
    return _compared(min, a, b)


def _compared(choose, a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        raise AssertionError(f"expected two numbers, not bools, got {a!r} and {b!r}")
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_ite(b, t, f):
    """`t` if `b` is true, else `f`; both of one type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError(f"expected a truth value and two values of one type, got {b!r}, {t!r} and {f!r}")
    return t if b else f


def sym_sum(args):
    """The sum of a list of numbers."""
    return sum(args)


def sym_sqrt(a):
    """The square root of a number."""
    return math.sqrt(a)


def sym_fresh_size(expr):
    """NotImplementedError: there are no symbols."""
    raise NotImplementedError("there are no symbols: sizes are Python's numbers")


def _assert(condition, message):
    """``assert condition, message``; `condition` may be a tensor of one element."""
    if not isinstance(condition, bool) and not isinstance(condition, Tensor):
        condition = operator.truth(condition)
    assert condition, message


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError with that message if the only element of a tensor is zero; here, at once."""
    if not input:
        raise RuntimeError(assert_msg)
