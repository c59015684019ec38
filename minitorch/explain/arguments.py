"""Arguments of a wrong type, named after a call has failed of them: ``view_as(): argument 'other' must be Tensor``.

Public functions look at no argument beforehand. What a string, None or a float does inside of one is an error of
Python's or NumPy's about something that the caller never wrote; `rightly` finds the argument that it stems from.
"""

import inspect
from collections.abc import Callable
from types import NoneType
from typing import NamedTuple

from ..core.call import overridden
from ..core.dtypes import dtype
from ..core.tensor import Tensor
from .failures import retold, wrong_index

__all__ = ["no_device", "of_call", "of_frame", "rightly"]

DIMENSIONS = ("dim", "dim0", "dim1", "start_dim", "end_dim", "axis0", "axis1")
REQUIRED = inspect.Parameter.empty                         # the default of a parameter without one


def of_call(error, function, args, kwargs, name=None):
    """The error to raise instead of `error`, which ``function(*args, **kwargs)`` raised."""
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, args)) | {f"argument {i}": args[i] for i in range(len(names), len(args))} | kwargs
    return rightly(error, name or function.__name__, given, defaults_of(function))


def of_frame(error, function):
    """The error to raise instead of `error`, which `function`, whose frame is the first of the
    error's, raised. As (answer,), the answer of an argument that overrides functions instead."""
    frame = error.__traceback__.tb_frame
    code = frame.f_code
    end = code.co_argcount + code.co_kwonlyargcount
    known = inspect.signature(function).parameters         # without NumPy's names
    given = {k: frame.f_locals[k] for k in code.co_varnames[:end]
             if k in known and k in frame.f_locals}
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[end]
        given |= {f"{rest}[{i}]": x for i, x in enumerate(frame.f_locals.get(rest, ()))}
    return (overridden(function, given)
            or rightly(error, function.__name__, given, defaults_of(function)))


def defaults_of(function):
    """The defaults of a function's parameters, by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def rightly(error, name, given, defaults):
    """`error` in PyTorch's class and words, if one of the arguments `given`, by name, is of a wrong type."""
    if getattr(error, "explained", False):
        return retold(error, name, given)
    if isinstance(error, ArithmeticError | MemoryError | OSError):
        return error
    found = _no_tensor(error, name, given, defaults) or _no_number(error, name, given, defaults) or wrong_index(error)
    if found is None:
        return error
    found.explained = True
    return found


def must_be(name, given, k, wanted):
    position = f" (position {list(given).index(k) + 1})" if k != "self" else ""
    return TypeError(f"{name}(): argument '{k}'{position} must be {wanted}, not {_type(given[k])}")


def _type(x):
    return "torch.dtype" if type(x) is dtype else type(x).__name__


def _no_tensor(error, name, given, defaults):
    """An argument, or an element of one, that was asked for what only tensors have."""
    if not isinstance(error, AttributeError):
        return None
    culprit, wanted = getattr(error, "obj", None), "int" if error.name == "__index__" else "Tensor"
    if isinstance(culprit, Tensor) or error.name is None:
        return None
    for k, x in given.items():
        if x is culprit:
            return must_be(name, given, k, "int" if k in DIMENSIONS or type(defaults.get(k)) is int else wanted)
    for i, x in enumerate(given.values()):
        for j, element in enumerate(x if isinstance(x, list | tuple) else ()):
            if element is culprit:
                return TypeError(f"{name}(): expected {wanted} as element {j} in argument {i}, but got "
                                 f"{_type(culprit)}")
    return None


# ---- an argument in the place of an integer, another number or a tensor ------------------------
# How Python's and NumPy's errors begin to speak of a value that they cannot compute or count with.
ABOUT_VALUES = ("object", "operand", "not supported between", "could not convert",
                "invalid literal", "ufunc", "numpy", "ndarray", "np.", "can't multiply",
                "can only", "an integer", "unhashable", "unsupported")
NUMBER = "Tensor or a number"


def mentions(text, *words):
    """True if an error's text is about a value, and one of these words is in it."""
    return any([word in text for word in ABOUT_VALUES]) and any([word in text for word in words])


def names(text, x):
    """True if an error's text is about a value of x's type, or x itself."""
    return mentions(text, f"'{_type(x)}'", *([repr(x)] if isinstance(x, str | list) else ()))


class Rule(NamedTuple):
    """Arguments of the types `given` are wrong for a parameter if an error accuses them."""

    given: object
    parameter: Callable                                    # (name, default): is the rule about it?
    said: Callable                                         # (the error's text, the argument)
    wanted: str                                            # what the argument must be


RULES = (
    Rule(float | str, lambda k, default: k in DIMENSIONS, lambda text, x: True, "int"),
    Rule(float, lambda k, default: True,
         lambda text, x: names(text, x) and "integer" in text, "int"),
    Rule(str, lambda k, default: not isinstance(default, str),
         lambda text, x: names(text, x) or mentions(text, "string", "ufunc"), NUMBER),
    Rule(NoneType,
         lambda k, default: type(default) is int or k in DIMENSIONS and default is not None,
         lambda text, x: mentions(text, "None", "ufunc"), "int"),
    Rule(NoneType, lambda k, default: default is not None,
         lambda text, x: mentions(text, "None", "ufunc"), NUMBER),
    Rule(list | tuple | int | float, lambda k, default: default is REQUIRED, names, "Tensor"),
    Rule(dtype, lambda k, default: k != "dtype", lambda text, x: mentions(text, ""), "Tensor"),
)


def _no_number(error, name, given, defaults):
    """The first argument to which a rule applies."""
    if not isinstance(error, TypeError | ValueError | IndexError | AttributeError):
        return None
    text = str(error)
    for k, x in given.items():
        for rule in RULES:
            if (isinstance(x, rule.given) and rule.parameter(k, defaults.get(k, REQUIRED))
                    and rule.said(text, x)):
                return must_be(name, given, k, rule.wanted)
    return None


# ---- devices -----------------------------------------------------------------------------------
def no_device(type, index, types):
    """The error for a device type and index that do not name a device."""
    if not isinstance(type, str):
        return TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
    if type not in types:
        return RuntimeError(f"Expected one of {', '.join(types)} device type at start of device string: {type}")
    if not isinstance(index, int):
        return TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
    return RuntimeError(f"Device index must not be negative, got {index}")
