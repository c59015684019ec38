"""``torch.jit`` as PyTorch has it where TorchScript is switched off (``PYTORCH_JIT=0``): functions stay what they are.

Decorators return the function, `script` and `trace` the function or module that they are given, `is_scripting` is
False. What only compiled code has, above all files of TorchScript, is refused: `save` and `load` say what to do.
`compile` is what makes programs faster here.
"""

import typing
from typing import Any, Final, NamedTuple

from ..futures import Future, completed
from ..nn import Module
from . import annotations  # noqa: F401  (a module of PyTorch's)

__all__ = ["Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction",
           "ScriptModule", "TracerWarning", "annotate", "enable_onednn_fusion", "export", "export_opnames", "fork",
           "freeze", "fuser", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
           "onednn_fusion_enabled", "optimize_for_inference", "optimized_execution", "run_frozen_optimizations", "save",
           "script", "script_if_tracing", "script_method", "set_fusion_strategy", "strict_fusion", "trace",
           "trace_module", "unused", "wait"]

of_class = isinstance                                      # `isinstance` of this module is PyTorch's


class Error(RuntimeError):
    """The error that compiled code of TorchScript raises; nothing raises it here."""


class TracerWarning(Warning):
    """PyTorch's warning of traces that depend on values; nothing is traced here."""


class Attribute(NamedTuple):
    """A value of a `ScriptModule` with its type, as a pair."""

    value: Any
    type: Any


class ScriptModule(Module):
    """An ordinary module: a program's own subclasses run as they are."""


class RecursiveScriptModule(ScriptModule):
    """A module that `script` has compiled. There are none here."""


class ScriptFunction:
    """A function that `script` has compiled. There are none here."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("there are no compiled functions of TorchScript: call the function as it is")


class CompilationUnit:
    """Source of TorchScript, which is not compiled here: NotImplementedError."""

    def __init__(self, lang=None, *args, **kwargs):
        if lang is not None:
            raise NotImplementedError("source of TorchScript is not compiled: write it as a Python function")


class TensorType:
    """The type of tensors in TorchScript, which programs name in annotations."""

    @staticmethod
    def get():
        """The type, without a shape."""
        return TensorType()


# ---- what returns what it is given ---------------------------------------------------------------------------
def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """`obj`, a function, class or module, as it is."""
    return obj


def trace(func=None, example_inputs=None, **kwargs):
    """`func`, a function or a module, as it is: it is not called."""
    return func


def trace_module(mod, inputs, **kwargs):
    """The module `mod` as it is."""
    return mod


def _overload(func):
    """`func` as it is: a decorator of signatures."""
    return func


_overload_method = _overload


def script_method(fn):
    """`fn` as it is: a decorator of methods of a `ScriptModule`."""
    return fn


script_if_tracing = export = interface = script_method


def ignore(drop=False, **kwargs):
    """A decorator, with or without arguments, that returns the function."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """`fn` as it is. A property stays a property."""
    return fn


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module as it is, which must be in evaluation mode."""
    if of_class(mod, Module) and mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on "
                           "your module before freezing.")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module as it is, which must be in evaluation mode."""
    return freeze(mod)


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Nothing: there is no graph to simplify."""


def annotate(the_type, the_value):
    """The value."""
    return the_value


# ---- what is asked ---------------------------------------------------------------------------------------------
def is_scripting():
    """False: no code is compiled by TorchScript."""
    return False


def is_tracing():
    """False: `trace` does not run anything."""
    return False


def isinstance(obj, target_type):                          # noqa: A001  (PyTorch's name)
    """True if `obj` is of a type that may name element types: ``list[int]``, ``dict[str, Tensor]``,
    ``Optional[int]``.

    An empty list or dict is of every such type. Tuples are of one type for each of their items.
    """
    if of_class(target_type, tuple):
        return any([isinstance(obj, t) for t in target_type])
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type is Any:
        return True
    if origin is None:
        return of_whole_class(obj, target_type)
    if origin in (list, set, frozenset):
        return of_class(obj, origin) and all([isinstance(x, inner[0]) for x in obj])
    if origin is dict:
        return of_class(obj, dict) and all([isinstance(x, tuple[inner]) for x in obj.items()])  # type: ignore
    if origin is tuple:
        types = inner[:1] * len(obj) if of_class(obj, tuple) and inner[-1:] == (...,) else inner
        return of_class(obj, tuple) and len(obj) == len(types) and all(map(isinstance, obj, types))
    if origin is Final:
        return isinstance(obj, inner[0])
    return any([isinstance(obj, t) for t in inner]) if inner else of_class(obj, origin)      # Optional, Union, A | B


def of_whole_class(obj, target_type):
    """`isinstance` for a type without element types."""
    if target_type in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):   # noqa: UP006
        raise RuntimeError(f"isinstance needs an element type, for instance {target_type}[int]")
    return obj is None if target_type is None else of_class(obj, target_type)


# ---- tasks -------------------------------------------------------------------------------------------------
def fork(func, *args, **kwargs):
    """A `Future` of ``func(*args, **kwargs)``, which is called at once."""
    return completed(func, *args, **kwargs)


def wait(future):
    """The value of a future."""
    return future.wait()


# ---- switches, and what is refused -----------------------------------------------------------------------------
class optimized_execution:                                 # noqa: N801  (PyTorch's name)
    """A context, or a decorator, that changes nothing: there is no code to optimise."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __call__(self, fn):
        return fn


strict_fusion = fuser = optimized_execution


def set_fusion_strategy(strategy):
    """Taken as PyTorch takes it, a list of pairs such as ``("STATIC", 2)``: nothing is fused. Returns the last."""
    before, _state["strategy"] = _state["strategy"], list(strategy)
    return before


def enable_onednn_fusion(enabled):
    """Kept: nothing is fused."""
    _state["onednn"] = bool(enabled)


def onednn_fusion_enabled():
    """The flag that `enable_onednn_fusion` was given."""
    return _state["onednn"]


_state = {"strategy": [("STATIC", 2), ("DYNAMIC", 10)], "onednn": False}


def save(m, f, _extra_files=None):
    """NotImplementedError: there is no compiled code to write. Save the ``state_dict()``."""
    raise NotImplementedError(f"a {type(m).__name__} is not compiled, so jit.save has nothing to write: "
                              "torch.save(module.state_dict(), path) saves what it has learned")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """NotImplementedError: a file of TorchScript holds code for PyTorch's interpreter."""
    raise NotImplementedError("a file of TorchScript holds code for PyTorch's interpreter. In PyTorch: "
                              "torch.save(torch.jit.load(path).state_dict(), new_path); then load that into the module")


def _get_trace_graph(f, args=(), kwargs=None, strict=True, return_inputs=False, **options):
    """NotImplementedError: nothing is traced into TorchScript's graphs; `fx.symbolic_trace` gives
    a graph of calls."""
    raise NotImplementedError("nothing is traced into graphs of TorchScript: "
                              "torch.fx.symbolic_trace(model) gives a graph of calls")


def export_opnames(m):
    """NotImplementedError: compiled modules have a list of operators, and there are none."""
    raise NotImplementedError("only a compiled module has a list of operators, and nothing is compiled by TorchScript")


