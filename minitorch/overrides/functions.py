"""The functions of `overrides`: for functions of the user's own, modes, and lists of what can be overridden."""

import contextlib
import functools
import inspect
from importlib import import_module
from types import FunctionType

from .. import Tensor
from ..autograd import dispatch
from ..autograd.dispatch import TorchFunctionMode, overloaded, state
from ..core.registry import FUNCTIONS

__all__: list[str] = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
    "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function"
]


# ------------------------------------------------------------------ for functions of the user's own
def has_torch_function(relevant_args):
    """True if an argument or a mode overrides the call; plain tensors and parameters do not."""
    if not state.everything:
        return False
    return bool(state.modes) or (state.subclasses and any([dispatch.is_overloaded(type(x)) for x in relevant_args]))


def has_torch_function_unary(tensor):
    """`has_torch_function` of one argument."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors):
    """`has_torch_function` of several arguments."""
    return has_torch_function(tensors)


def handle_torch_function(public_api, relevant_args, /, *args, **kwargs):
    """Let a mode, or one of `relevant_args`, answer the call ``public_api(*args, **kwargs)``.

    >>> import minitorch
    >>> from minitorch.overrides import handle_torch_function, has_torch_function_unary
    >>> def double(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(double, (x,), x)
    ...     return 2 * x
    """
    found = overloaded([x for x in relevant_args if type(x) not in (list, tuple)]) if state.subclasses else []
    result = dispatch.ask(public_api, found, args, kwargs)
    if result is NotImplemented:
        raise TypeError(dispatch.nobody_answered(public_api, found))
    return result


def wrap_torch_function(dispatcher):
    """Decorator of a function that overrides may answer; `dispatcher`, of its parameters, returns those to ask."""
    def wrap(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return wrapped
    return wrap


def is_tensor_like(inp):
    """True for tensors and whatever has a ``__torch_function__``."""
    return hasattr(inp, "__torch_function__")


def _get_overloaded_args(relevant_args, get_type_fn=type):
    return overloaded(relevant_args) if state.everything and state.subclasses else []


# ------------------------------------------------------------------ modes
class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that leaves all calls as they are, to derive from."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    return state.modes[-1] if state.modes else None


def _get_current_function_mode_stack():
    return list(state.modes)


@contextlib.contextmanager
def _pop_mode_temporarily():
    modes = state.modes
    state.modes = modes[:-1]
    try:
        yield modes[-1]
    finally:
        state.modes = modes


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Within the block classes are asked again, inside a ``__torch_function__`` too."""
    outer = state.subclasses, state.everything
    state.subclasses = state.everything = True
    try:
        yield
    finally:
        state.subclasses, state.everything = outer


# ------------------------------------------------------------------ what can be overridden
def namespaces():
    """The public modules by name, Tensor among them."""
    found = {"torch": import_module("minitorch"), "torch.Tensor": Tensor}
    for namespace in dict.fromkeys(namespace for namespace, _ in FUNCTIONS if namespace):
        found[f"torch.{namespace}"] = import_module(f"...{namespace}", __name__)
    return found


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


@functools.cache
def _overridable():
    """({namespace: functions}, {function: name}) of all that overrides are asked about."""
    ignored, found, names = get_ignored_functions(), {}, {}
    for prefix, namespace in namespaces().items():
        found[namespace] = functions = []
        inside = vars(Tensor) if namespace is Tensor else {
            name: public.call for (where, name), public in FUNCTIONS.items()
            if where == prefix.removeprefix("torch").removeprefix(".")}
        for name, function in inside.items():
            if isinstance(function, property):
                function, name = function.__get__, f"{name}.__get__"
            elif not isinstance(function, FunctionType) or function in ignored or not is_public(name):
                continue
            functions.append(function)
            names.setdefault(function, f"{prefix}.{name}")
    return found, names


def get_overridable_functions():
    """{namespace: functions in it that overrides are asked about}."""
    return _overridable()[0]


@functools.cache
def get_ignored_functions():
    """Public functions about which overrides are not asked: they make tensors, or take none."""
    takes_none = [public.call for (namespace, name), public in FUNCTIONS.items() if not namespace
                  and (name in dispatch.IGNORED_FUNCTIONS or not takes_a_tensor(public.call))]
    methods = [method for name, method in vars(Tensor).items()
               if name in dispatch.IGNORED_METHODS and isinstance(method, FunctionType)]
    return {*takes_none, *methods, has_torch_function, handle_torch_function, Tensor.__torch_function__,
            Tensor._make_subclass, Tensor.as_subclass}


def takes_a_tensor(function):
    """True if a function's first parameter is a tensor, judged by its name."""
    first = next(iter(inspect.signature(function).parameters), "")
    return first not in ("", "size", "sizes", "start", "end", "n", "steps", "row", "low", "high", "s", "data", "obj",
                         "window_length", "mode", "d", "seed", "shape", "filename")


def get_default_nowrap_functions():
    """Properties that return a tensor which is stored: the default ``__torch_function__`` leaves its class as it is."""
    return {Tensor.grad.__get__}


def resolve_name(f):
    """The name of a function, such as "torch.Tensor.add"; None if overrides are not asked about it."""
    try:
        return _overridable()[1].get(f)
    except TypeError:                                      # not hashable
        return None


def is_tensor_method_or_property(func):
    """True if a function that overrides were asked about is a method or property of Tensor."""
    return func in get_overridable_functions()[Tensor] or getattr(func, "__name__", "") == "__get__"


@functools.cache
def get_testing_overrides():
    """{function: one of the same parameters that returns -1}, for all functions that overrides are asked about."""
    return {function: stub_of(function) for functions in get_overridable_functions().values() for function in functions}


def stub_of(function):
    """A function with the parameters of `function`, which returns -1."""
    def stub(*args, **kwargs):
        if signature is not None:
            signature.bind(*args, **kwargs)
        return -1
    try:
        signature = stub.__signature__ = inspect.signature(function)
    except (TypeError, ValueError):                        # the getter of a property
        signature = None
    return stub
