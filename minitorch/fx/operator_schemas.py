"""Arguments of calls in one form: by position as given and the rest by name, with the defaults written out."""

import inspect
import typing
import warnings
from functools import lru_cache
from numbers import Number

from .. import dtype
from ..extend import FUNCTIONS
from ..nn import modules

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
           "normalize_function", "normalize_module", "type_matches"]


class ArgsKwargsPair(typing.NamedTuple):
    """Arguments by position and by name."""

    args: tuple
    kwargs: dict


@lru_cache(maxsize=1024)
def signature(function):
    """The signature of a function as it was written, without those that stand around it."""
    return inspect.signature(inspect.unwrap(function) if not hasattr(function, "__signature__") else function)


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of a public function, in a list: functions have one here. None if there is none.

    With `return_schemas` a pair, whose second part, PyTorch's schemas, is None.
    """
    try:
        found = [signature(op)]
    except (TypeError, ValueError):
        found = None
    return (found, None) if return_schemas else found


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of `target`, a function, as an `ArgsKwargsPair` with all defaults; None if its signature
    does not say what they are. By name only with `normalize_to_only_use_kwargs`.

    `arg_types` and `kwarg_types` distinguish PyTorch's overloads; there are none here.
    """
    found = get_signature_for_torch_op(target)
    return None if found is None else normalized(found[0], args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The same for a call of the submodule `target` of `root`, if it is one of `nn`'s; else None.

    RuntimeError if there is no such submodule.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that "
                           f"target!") from error
    if getattr(modules, type(module).__name__, None) is not type(module):
        return None
    return normalized(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def normalized(sig, args, kwargs, by_name):
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    if any(p.kind not in plain for p in sig.parameters.values()):
        return None
    try:
        bound = sig.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    given = bound.arguments
    first = 0 if by_name else len(args)
    names = list(sig.parameters)
    return ArgsKwargsPair(tuple([given[k] for k in names[:first]]), {k: given[k] for k in names[first:]})


def with_defaults(function, args, kwargs):
    """Arguments as PyTorch's functions in Python hand them on: those that have no default by position, the others by
    name, with their defaults; as they are if they do not fit."""
    sig = signature(function)
    try:
        bound = sig.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    bound.apply_defaults()
    required = [k for k, p in sig.parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    others = [k for k in sig.parameters if k not in required]
    if any(sig.parameters[k].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for k in others):
        return args, kwargs
    return tuple([bound.arguments[k] for k in required]), {k: bound.arguments[k] for k in others}


def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError for a call of a function that writes in place, or into ``out=``."""
    name = getattr(target, "__name__", "")
    if kwargs.get("out") is not None or name.endswith("_") and not name.endswith("__") and (
            "", name) in FUNCTIONS or kwargs.get("inplace"):
        raise RuntimeError(f"Tried to trace mutable operation {name}. FX only supports functional code, so operations "
                           f"that mutate operands in-place (e.g. via `out` arguments) are not supported")


# ------------------------------------------------------------------ types
def create_type_hint(x):
    """The type of a list or tuple of types: ``list[int]`` of ``[int, int]``; another object itself."""
    if not isinstance(x, (list, tuple)):
        return x
    base = x[0] if x else typing.Any
    for t in x:
        if isinstance(t, type) and isinstance(base, type) and issubclass(base, t):
            base = t
        elif not (isinstance(t, type) and isinstance(base, type) and issubclass(t, base)):
            base = typing.Any
            break
    return list[base] if isinstance(x, list) else tuple[base, ...]         # type: ignore[valid-type]


def type_matches(signature_type, argument_type):
    """True if an argument of the one type may be given where the other is expected."""
    if signature_type is argument_type:
        return True
    origin = typing.get_origin(signature_type)
    if origin is typing.Union:
        return any(type_matches(t, argument_type) for t in typing.get_args(signature_type))
    if origin is list:
        return element_matches(typing.get_args(signature_type)[0], argument_type)
    if signature_type is int and argument_type is dtype:
        return True
    if signature_type is Number and argument_type in (int, float):
        return True
    return isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(
        argument_type, signature_type)


def element_matches(element, argument_type):
    if argument_type is int and element is int:            # a number stands for a list of it
        return True
    if not isinstance(element, type):
        warnings.warn(f"Does not support nested parametric types, got {list[element]}. Please file a bug.",
                      stacklevel=4)
        return False
    if typing.get_origin(argument_type) not in (list, tuple):
        return False
    return all(t is Ellipsis or issubclass(t, element) for t in typing.get_args(argument_type))
