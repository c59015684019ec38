"""Subclasses of Tensor: how they are made, and the ``__torch_function__`` that they inherit.

Results of calls on a subclass have that class, unless it overrides this. A class with
``__torch_function__ = disabled_torch_function``, such as Parameter, does not override calls: its
results are plain tensors, and it costs calls nothing.
"""

from ..core.tensor import Tensor, wrap
from ..ops.shapes.shape import alias
from . import dispatch
from .dispatch import DisableTorchFunctionSubclass

__all__ = ["converted"]

# attributes stored in a tensor are returned unchanged
UNWRAPPED = {"grad", "_grad", "_base"}
COMPUTED = {"T", "H", "mT", "mH", "data", "real", "imag"}  # properties that are tensors


def torch_function(cls, func, types, args=(), kwargs=None):
    """Answer a call: run it, and convert the tensors among its results to this class."""
    if not all([issubclass(cls, t) for t in types]):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        stored = getattr(func, "__self__", None)
        if isinstance(stored, property) and any([vars(Tensor).get(name) is stored for name in UNWRAPPED]):
            return result
        return converted(result, cls)


def converted(result, cls):
    """A result, or a tuple or list of results, with plain tensors converted to `cls`."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if type(result) in (list, tuple):
        return type(result)([converted(x, cls) for x in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[converted(x, cls) for x in result])
    return result


def as_subclass(self, cls):
    """A tensor of the class `cls` over the same memory; gradients flow through."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                        "Make sure your class inherits from Tensor.")
    out = alias(self)
    if cls is not Tensor:
        out.__class__ = cls
    return out


def make_subclass(cls, data, require_grad=False, **options):
    """A leaf of the class `cls` over the memory of `data`, without its graph: for the ``__new__``
    of subclasses."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError("cls must be a type that inherits from Tensor")
    out = wrap(data.array, data.backend)
    out.needs_grad = bool(require_grad)
    out.__class__ = cls
    return out


def make_wrapper_subclass(cls, *args, **options):
    """Raises NotImplementedError: tensors without memory need ``__torch_dispatch__``, which is not
    supported."""
    raise RuntimeError("_make_wrapper_subclass needs __torch_dispatch__, which minitorch does not have: derive from "
                       "Tensor and make it with _make_subclass or as_subclass, or write a class with "
                       "__torch_function__ that holds a tensor")


def init_subclass(cls, **options):
    """Note a new subclass; if it answers calls, calls check for overrides from now on."""
    super(Tensor, cls).__init_subclass__(**options)
    if not dispatch.is_overloaded(cls):
        dispatch.FIXED.add(cls)
        if dispatch.PLAIN:
            dispatch.PLAIN.add(cls)
        return
    dispatch.activate()
    asks = getattr(cls.__torch_function__, "__func__", None) is not torch_function
    for name, found in list(vars(Tensor).items()):
        if name == "__dict__" or not isinstance(found, property):
            continue
        if (asks or name in COMPUTED) and inherited(cls, name) is found:
            setattr(cls, name, dispatch.dispatching(found))


def inherited(cls, name):
    """The attribute as it is stored in the class that defines it."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


for _name, _function in dict(
        as_subclass=as_subclass, _make_subclass=staticmethod(make_subclass),
        _make_wrapper_subclass=staticmethod(make_wrapper_subclass), __init_subclass__=classmethod(init_subclass),
        __torch_function__=classmethod(torch_function)).items():
    setattr(Tensor, _name, _function)
for _function in (torch_function, as_subclass, make_subclass):
    _function.__qualname__ = "Tensor." + _function.__name__
