"""Conversion of a public function to a method of Tensor."""

import inspect
from types import FunctionType

from ..core.op import deferred
from ..core.template import write_call

__all__ = ["as_method"]


def as_method(call):
    """A public function as a method: the same code, its first parameter called ``self``, as `inspect` then shows."""
    row = getattr(call, "op", None)
    if row is not None:
        twin = deferred(row.name, f"<minitorch method {row.name}>", lambda: write_call(row, bare=False), {"op": row})
        twin.__doc__, twin.op = call.__doc__, row
    else:
        twin = FunctionType(call.__code__, call.__globals__, call.__name__, call.__defaults__, call.__closure__)
        twin.__kwdefaults__, twin.__doc__ = call.__kwdefaults__, call.__doc__
    twin.source, twin.formula, twin.explain = call.source, call.formula, call.explain
    twin.__qualname__ = "Tensor." + call.__name__
    code = call.__code__
    if hasattr(call, "__signature__") or not code.co_argcount or code.co_varnames[0] in code.co_cellvars:
        first, *rest = inspect.signature(call).parameters.values()
        twin.__signature__ = inspect.Signature([first.replace(name="self"), *rest], __validate_parameters__=False)
    else:                                                  # cheaper than a Signature, and there are hundreds
        twin.__code__ = code.replace(co_varnames=("self", *code.co_varnames[1:]))
    return twin
