"""``__torch_function__``: calls that a subclass of Tensor, another class, or a mode answers itself.

Calls do not check for overrides until there is one: when the first subclass is defined, the first
mode is entered or a name of `minitorch.overrides` is used, `activate` replaces the code of all
public functions and methods. The functions stay the same objects. Their new code checks the types
of the arguments, and for plain ones calls the old code, which is now a separate function.
"""

import functools
import inspect
import threading
from types import FunctionType

from ..core.call import overridden
from ..core.inplace import adopt, check_is_no_leaf
from ..core.registry import FUNCTIONS
from ..core.tensor import Size, Tensor
from ..explain.callers import warn
from ..ops import operators
from ..ops.guarded import is_pending, with_free_variables
from . import api
from .spelled import spelled

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "activate",
           "ask_overrides", "asked", "disabled_torch_function", "dispatch", "is_overloaded",
           "layouts", "overloaded", "state"]


class State(threading.local):
    """The modes that this thread has entered, the innermost last, and flags by which blocks switch
    overrides off."""

    modes: tuple = ()
    subclasses = True
    everything = True


state = State()

# Types of arguments that never override; empty while any thread is in a mode, so that all calls are
# checked.
FIXED = {Tensor, Size, int, float, bool, complex, str, type(None), slice, type(...)}
PLAIN = set(FIXED)
_modes_entered = 0
active = False                                             # True once calls check for overrides
_changing = threading.Lock()


def disabled_torch_function(func, types, args=(), kwargs=None):
    """The ``__torch_function__`` of classes that do not override calls, such as Parameter."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class _Off:
    """A block within which `state.<name>` is False."""

    name: str

    def __enter__(self):
        self.outer = getattr(state, self.name)
        setattr(state, self.name, False)

    def __exit__(self, *exc):
        setattr(state, self.name, self.outer)


class DisableTorchFunctionSubclass(_Off):
    """Switches off the overrides of classes within a block, but not modes."""

    name = "subclasses"


class DisableTorchFunction(_Off):
    """Switches off the overrides of classes and modes within a block."""

    name = "everything"


def asked(function, *args):
    """Call a user's function with overrides on, inside a backward pass, which has switched them
    off."""
    before, state.everything = state.everything, True
    try:
        return function(*args)
    finally:
        state.everything = before


# ------------------------------------------------------------------ classes that answer
def is_overloaded(cls):
    """True if a class answers calls itself."""
    found = getattr(cls, "__torch_function__", disabled_torch_function)
    return found is not disabled_torch_function and cls is not Tensor


def overloaded(args):
    """The arguments whose classes answer calls, one for each class, including those in lists and
    tuples.

    They keep their order, except that a subclass comes before its base classes.
    """
    found: list = []
    for arg in args:
        cls = arg.__class__
        if cls in FIXED:
            continue
        if cls is list or cls is tuple:
            for x in arg:
                if x.__class__ not in FIXED and is_overloaded(type(x)):
                    enter(found, x)
        elif is_overloaded(type(arg)):
            enter(found, arg)
    return found


def enter(found, arg):
    """Insert an argument among those found before: subclasses first."""
    cls = type(arg)
    if any([type(other) is cls for other in found]):
        return
    place = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
    found.insert(place, arg)


def would_ask(tensors):
    """True if a mode, or the class of one of the tensors, would be asked about calls on them."""
    return active and (bool(state.modes) or any([is_overloaded(type(t)) or type(t) in layouts
                                                 for t in tensors]))


def ask_overrides(func, tensors, args, kwargs):
    """The answer of a mode, or of the class of one of `tensors`, to ``func(*args, **kwargs)``;
    NotImplemented if there is none."""
    if not would_ask(tensors):
        return NotImplemented
    return ask(func, overloaded(tensors) if state.subclasses else [], args, kwargs)


def dispatch(func, inner, args, kwargs, classes=True):
    """Let modes and classes answer the call ``func(*args, **kwargs)``; without any, call
    ``inner``."""
    found = overloaded((*args, *kwargs.values())) if classes and state.subclasses and state.everything else []
    if not state.everything or not found and not state.modes:
        return by_layout(func, inner, args, kwargs) if layouts else inner(*args, **kwargs)
    result = ask(func, found, *spelled(func, args, kwargs))
    if result is NotImplemented:
        if getattr(inner, "returns_not_implemented", False):
            return result
        raise TypeError(nobody_answered(func, found))
    return result


def dispatch_to_modes(func, inner, args, kwargs):
    """Like `dispatch` for functions that make tensors from data: only modes answer, and the result
    is a plain tensor."""
    return dispatch(func, inner, args, kwargs, classes=False)


# classes of tensors without an array of all elements, such as `sparse.SparseTensor`
layouts: list = []


def by_layout(func, inner, args, kwargs):
    """The answer of an argument in another layout, which comes below all overrides; without one,
    that of ``inner``."""
    for arg in (*args, *kwargs.values()):
        for x in arg if arg.__class__ in (list, tuple) else (arg,):
            if x.__class__ in layouts:
                return x.answer(func, inner, args, kwargs)
    return inner(*args, **kwargs)


def enter_layout(cls, properties=False):
    """Let the class `cls` answer all calls on its tensors, even where blocks switch overrides
    off; with `properties`, also what Tensor has as such."""
    activate()
    layouts.append(cls)
    FIXED.discard(cls)
    PLAIN.discard(cls)
    for name, found in list(vars(Tensor).items()) if properties else ():
        if isinstance(found, property) and getattr(cls, name, None) is found:
            setattr(cls, name, dispatching(found))


def take_over(target, result, writer):
    """Give `target` the array and the node of `result`, which was computed from it: a write in
    place by the method `writer` of a layout whose arrays cannot be written to."""
    check_is_no_leaf(target, writer)
    if result.needs_grad:
        adopt(target, result)
    else:
        target.node, target.needs_grad = None, target.needs_grad and target.node is None
    target.array = result.array


def ask(func, found, args, kwargs):
    """The answer of the innermost mode, else of the first argument in `found` that does not return
    NotImplemented."""
    types = tuple([type(arg) for arg in found])
    if state.modes:
        modes = state.modes
        # calls inside the mode's method go to the next one
        state.modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(func, types, args, kwargs)
        finally:
            state.modes = modes
        if result is not NotImplemented:
            return result
    for arg in found:
        method = arg.__torch_function__
        if getattr(method, "__self__", None) is arg:
            warn("Defining your `__torch_function__ as a plain method is deprecated and will be an error in "
                 "future, please define it as a classmethod.", DeprecationWarning)
        result = method(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def nobody_answered(func, found):
    mode = f" nor in mode {state.modes[-1]}" if state.modes else ""
    return (f"no implementation found for '{full_name(func)}' on types that implement __torch_function__: "
            f"{[type(arg) for arg in found]}{mode}. Multiple dispatch failed for '{full_name(func)}'; all "
            f"__torch_function__ handlers returned NotImplemented")


def full_name(func):
    return f"{getattr(func, '__module__', None) or 'minitorch'}.{getattr(func, '__qualname__', func)}"


@overridden.fill
def first_answer(function, given):
    """The answer, as (answer,), to a call that has stopped at an argument which overrides functions
    without being a tensor: the first of its kind; None for all other calls.

    From then on calls ask beforehand. To ask from the start would cost each call 7 to 27 ns, 1 to
    4 % of a small one.
    """
    for x in given.values() if layouts and hasattr(function, "op") else ():
        if x.__class__ in layouts:                         # an op below `by_layout`
            x.array.refuse()
    if active or not overloaded(given.values()):
        return None
    activate()
    public = FUNCTIONS.get(("", function.__name__))
    args, kwargs = as_called(function, given)
    return (dispatch(function if public is None else public.call, function, args, kwargs),)


def as_called(function, given):
    """The arguments of a call by place, and behind the first default by keyword, from all by name.
    """
    args, kwargs = [], {}
    parameters = inspect.signature(function).parameters
    by_place = True
    for name, x in given.items():
        p = parameters.get(name)                           # None for one of ``*args``
        is_default = p is not None and x is p.default
        by_place = by_place and not is_default and (p is None or p.kind is not p.KEYWORD_ONLY)
        if by_place:
            args.append(x)
        elif not is_default:
            kwargs[name] = x
    return args, kwargs


# ------------------------------------------------------------------ modes
class TorchFunctionMode:
    """A block within which ``__torch_function__(func, types, args, kwargs)`` of this object answers all calls.

    Derive from it and define that method. Calls within the method go to the next mode outside.
    """

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        activate()
        activate_properties()
        state.modes = (*state.modes, self)
        count_modes(1)
        return self

    def __exit__(self, *exc):
        state.modes = state.modes[:-1]
        count_modes(-1)

    @classmethod
    def push(cls, *args, **kwargs):
        """An older spelling of ``cls(...)``."""
        warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)


def count_modes(n):
    """Make all calls check for modes while any thread is in one."""
    global _modes_entered
    with _changing:
        _modes_entered += n
        if _modes_entered:
            PLAIN.clear()
        else:
            PLAIN.update(FIXED)


# ------------------------------------------------------------------ exchanging the code
def guarded(*args, _func=None, _inner=None, _plain=PLAIN, _dispatch=dispatch, **kwargs):
    """The new code of all functions: `_func` is the function itself, `_inner` a function with its
    old code."""
    for arg in args:
        if arg.__class__ not in _plain:
            return _dispatch(_func, _inner, args, kwargs)
    if kwargs:
        for arg in kwargs.values():
            if arg.__class__ not in _plain:
                return _dispatch(_func, _inner, args, kwargs)
    if not _plain:
        return _dispatch(_func, _inner, args, kwargs)
    return _inner(*args, **kwargs)


def exchange(function, func=None):
    """Give `function` the code of `guarded`. `func`: the function that overrides are passed, if not
    `function` itself."""
    if is_guarded(function):
        return
    inner = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                         function.__closure__)
    inner.__kwdefaults__, inner.__doc__, inner.__qualname__ = (function.__kwdefaults__, function.__doc__,
                                                               function.__qualname__)
    inner.__module__, inner.__annotations__ = function.__module__, function.__annotations__
    inner.__dict__.update(function.__dict__)
    if inner.__globals__.get("__name__") == "minitorch.generated":   # its code may be written at its first call
        inner.__globals__["target"] = inner
    if is_pending(inner):
        inner.__kwdefaults__["_load"].target = inner
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = inner                       # for `inspect`: its signature and source
    func = func or function
    inner.returns_not_implemented = func is not function and func.__name__ in OPERATORS.values()
    function.__defaults__ = None
    function.__kwdefaults__ = {"_func": func, "_inner": inner, "_plain": PLAIN, "_dispatch": dispatch}
    function.__code__ = with_free_variables(guarded.__code__, function.__code__.co_freevars)


# Python's operators are, in PyTorch, calls of the methods that they stand for; ``&``, ``//`` and ``==`` are their own.
OPERATORS = {f"__{name}__": method for name, method in operators.BINARY.items()
             if not method.startswith("bitwise") and not name.startswith("floor")}
WRITES = {f"__i{name.strip('_')}__": f"{method}_" for name, method in OPERATORS.items()}
OPERATORS |= {f"__r{name}__": OPERATORS[f"__{name}__"] for name in operators.COMMUTES if f"__{name}__" in OPERATORS}
OPERATORS |= {f"__{name}__": name for name in operators.COMPARISONS if name != "eq"}
UNARY = {f"__{name}__": method for name, method in operators.UNARY.items()}

# PyTorch does not let these be overridden: they make tensors from data, or belong to Python or to
# this machinery.
IGNORED_FUNCTIONS = {
    "is_tensor", "tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "from_dlpack", "is_grad_enabled",
    "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "broadcast_shapes", "can_cast"}
# only modes see these
FACTORIES = {"tensor", "as_tensor", "asarray", "from_numpy", "frombuffer"}
IGNORED_METHODS = {"__new__", "__init__", "__hash__", "__init_subclass__", "__torch_function__",
                   "__getattr__", "__iter__", "__reduce_ex__", "checked_dim", "edge", "graph",
                   "as_subclass", "_make_subclass", "_make_wrapper_subclass", "_repr_html_",
                   "is_inference", "_is_view", "__array_function__", "__array_namespace__"}


def activate():
    """Replace the code of all public functions and of the methods of Tensor, once."""
    global active
    if active:
        return
    active = True
    for (_, name), public in list(FUNCTIONS.items()):
        if isinstance(public.call, FunctionType) and name not in IGNORED_FUNCTIONS:
            exchange(public.call)
    for name, stands_for in UNARY.items():                 # these are the functions of the package themselves
        setattr(Tensor, name, calling(stands_for))
    for name, method in list(vars(Tensor).items()):
        if not isinstance(method, FunctionType) or name in IGNORED_METHODS or name in UNARY or is_guarded(method):
            continue
        stands_for = OPERATORS.get(name) or WRITES.get(name)
        if stands_for is None and method.__name__ != name:
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
        exchange(method, vars(Tensor).get(stands_for))
    for function in (api.backward, api.grad):
        exchange(function)
        inner = function.__kwdefaults__["_inner"]
        function.__kwdefaults__["_inner"] = unasked(inner)


def calling(name):
    """An operator that calls the method `name`, which asks overrides."""
    def operator(self):
        return getattr(Tensor, name)(self)
    return operator


def is_guarded(function):
    """True if a function already has its new code."""
    return function.__code__.co_name == guarded.__code__.co_name


def unasked(inner):
    """`inner` with all overrides off, for the backward pass, which in PyTorch runs in C++ below
    overrides."""
    @functools.wraps(inner)
    def call(*args, **kwargs):
        with DisableTorchFunction():
            return inner(*args, **kwargs)
    return call


@functools.cache
def activate_properties():
    """Replace the code of the properties of Tensor, which modes see too."""
    for found in list(vars(Tensor).values()):
        if isinstance(found, property):
            for function, func in ((found.fget, found.__get__), (found.fset, found.__set__)):
                if isinstance(function, FunctionType):
                    exchange(function, func)
    for (namespace, name), public in list(FUNCTIONS.items()):
        if name in FACTORIES and not namespace and isinstance(public.call, FunctionType):
            exchange(public.call)
            public.call.__kwdefaults__["_dispatch"] = dispatch_to_modes


def dispatching(found):
    """A property that checks overrides first; a subclass has it in place of `found`, a property of
    Tensor."""
    def get(self):
        return dispatch(found.__get__, found.fget, (self,), {})

    def put(self, value):
        return dispatch(found.__set__, found.fset, (self, value), {})

    return property(get, put if found.fset is not None else None, found.fdel, found.__doc__)
