"""Arguments of a wrong type, named after a call has failed of them: ``view_as(): argument 'other' must be Tensor``.

Public functions look at no argument beforehand. What a string, None or a float does inside of one is an error of
Python's or NumPy's about something that the caller never wrote; `rightly` finds the argument that it stems from.
"""

import inspect

from ..core.dtypes import dtype
from ..core.tensor import Tensor
from .failures import wrong_index

__all__ = ["no_device", "of_call", "of_frame", "rightly"]

# Words of Python's and NumPy's errors for a value that is not an integer or a number, or that they
# cannot compute with.
TELLING = ("object", "operand", "not supported between", "could not convert", "invalid literal", "ufunc", "numpy",
           "ndarray", "np.", "can't multiply", "can only", "an integer", "unhashable", "unsupported")
DIMENSIONS = ("dim", "dim0", "dim1", "start_dim", "end_dim", "axis0", "axis1")


def of_call(error, function, args, kwargs, name=None):
    """The error to raise instead of `error`, which ``function(*args, **kwargs)`` raised."""
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, args)) | {f"argument {i}": args[i] for i in range(len(names), len(args))} | kwargs
    return rightly(error, name or function.__name__, given, defaults_of(function))


def of_frame(error, function):
    """The error to raise instead of `error`, which `function`, whose frame is the first of the error's, raised."""
    frame = error.__traceback__.tb_frame
    code = frame.f_code
    end = code.co_argcount + code.co_kwonlyargcount
    given = {k: frame.f_locals[k] for k in code.co_varnames[:end] if k in frame.f_locals}
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[end]
        given |= {f"{rest}[{i}]": x for i, x in enumerate(frame.f_locals.get(rest, ()))}
    return rightly(error, function.__name__, given, defaults_of(function))


def defaults_of(function):
    """The defaults of a function's parameters, by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def rightly(error, name, given, defaults):
    """`error` in PyTorch's class and words, if one of the arguments `given`, by name, is of a wrong type."""
    if getattr(error, "explained", False) or isinstance(error, ArithmeticError | MemoryError | OSError):
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


def _no_number(error, name, given, defaults):
    """An argument that stands where an integer, another number or a tensor belongs."""
    if not isinstance(error, TypeError | ValueError | IndexError | AttributeError):
        return None
    text = str(error)
    telling = any(word in text for word in TELLING)
    for k, x in given.items():
        whole, default = k in DIMENSIONS, defaults.get(k)
        named = telling and (f"'{_type(x)}'" in text or isinstance(x, str | list) and repr(x) in text)
        if isinstance(x, float) and (whole or named and "integer" in text):
            return must_be(name, given, k, "int")
        words = whole or named or telling and ("string" in text or "ufunc" in text)
        if isinstance(x, str) and not isinstance(default, str) and words:
            return must_be(name, given, k, "int" if whole else "Tensor or a number")
        if x is None and telling and ("None" in text or "ufunc" in text) and (k not in defaults or default is not None):
            return must_be(name, given, k, "int" if whole or type(default) is int else "Tensor or a number")
        if named and k not in defaults and isinstance(x, list | tuple | bool | int | float):
            return must_be(name, given, k, "Tensor")
        if type(x) is dtype and k != "dtype" and telling:
            return must_be(name, given, k, "Tensor")
    return None


def no_device(type, index, types):
    """The error for a device type and index that do not name a device."""
    if not isinstance(type, str):
        return TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
    if type not in types:
        return RuntimeError(f"Expected one of {', '.join(types)} device type at start of device string: {type}")
    if not isinstance(index, int):
        return TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
    return RuntimeError(f"Device index must not be negative, got {index}")
