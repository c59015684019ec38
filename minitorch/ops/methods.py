"""Conversion of a public function to a method of Tensor."""

import inspect
from types import FunctionType

from ..core.generate import deferred
from ..core.template import write_call
from .guarded import guarded, is_pending

__all__ = ["as_method"]


def as_method(call):
    """A public function as a method: the same code, its first parameter called ``self``, as `inspect` then shows."""
    row, code = getattr(call, "op", None), call.__code__
    if row is not None:
        twin = deferred(row.name, f"<minitorch method {row.name}>", lambda: write_call(row, bare=False), {"op": row})
        twin.__doc__, twin.op = call.__doc__, row
    elif is_pending(call):
        twin = guarded(copied(call.__wrapped__, as_self(call.__wrapped__.__code__)))
        twin.__name__ = call.__name__
    else:
        twin = copied(call, code)
    twin.source, twin.formula, twin.explain = call.source, call.formula, call.explain
    twin.dims = call.dims
    twin.__qualname__ = "Tensor." + call.__name__
    if is_pending(twin):
        return twin
    if hasattr(call, "__signature__") or as_self(code) is code:
        first, *rest = inspect.signature(call).parameters.values()
        twin.__signature__ = inspect.Signature([first.replace(name="self"), *rest], __validate_parameters__=False)
    else:                                                  # cheaper than a Signature, and there are hundreds
        twin.__code__ = as_self(code)
    return twin


def copied(function, code):
    """A function of its own with the code `code`."""
    twin = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__, twin.__doc__ = function.__kwdefaults__, function.__doc__
    return twin


def as_self(code):
    """The code with its first parameter called ``self``, where that is possible."""
    if not code.co_argcount or code.co_varnames[0] in code.co_cellvars:
        return code
    return code.replace(co_varnames=("self", *code.co_varnames[1:]))
