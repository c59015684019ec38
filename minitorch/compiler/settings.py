"""Settings, modes and registered classes, which a function may ask the library and Python for.
Answers are watched by asking again; a function that changes one runs eagerly.
"""

import abc
import inspect
import re
import types

from .watched import PLAIN

__all__ = ["LEVELS", "OF_NUMPY", "answer_of", "is_setter", "registered_classes", "settings_in"]

MODES = tuple([f"minitorch.{name}" for name in (           # their ends are compared after a trace
    "core.dtypes", "autograd.grad_mode", "autograd.anomaly", "amp.autocast_mode")])
ASKED = ("minitorch.settings", "minitorch.printing", *MODES)
QUESTIONS, ORDERS = ("get_", "is_", "are_"), ("set_", "use_")
OF_NUMPY = re.compile("[sg]et(err|buf|_print)|errstate|printoptions")
# Methods of loggers, and the level at which each speaks; None: at one that is given.
LEVELS = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "exception": 40,
          "critical": 50, "fatal": 50, "log": None, "setLevel": None, "handle": None,
          "addHandler": None, "removeHandler": None, "addFilter": None, "handlers": None,
          "callHandlers": None}


def answer_of(f):
    """The function itself if it needs no arguments and says how something is set; else None."""
    if not (isinstance(f, types.FunctionType) and (
            f.__module__ in ASKED and f.__name__.startswith(QUESTIONS)
            or f.__name__ == "initial_seed")):
        return None
    given = inspect.signature(f).parameters.values()
    return f if all([p.default is not p.empty or p.kind in (2, 4) for p in given]) else None


def is_setter(f):
    """True if a function changes a setting that is not a mode of the thread."""
    return (isinstance(f, types.FunctionType) and f.__module__ in ASKED
            and f.__module__ not in MODES and f.__name__.startswith(ORDERS))


def settings_in(module, names):
    """The `names` that are settings of a module of this library, numbers and words."""
    if not module.__name__.startswith("minitorch"):
        return []
    return [n for n in sorted(names) if n[:2] != "__"
            and (n in vars(module) or hasattr(type(module), n)) and type(getattr(module, n)) in PLAIN]


def registered_classes(_):
    """Changes with each ``SomeAbstractClass.register(cls)``, after which `isinstance` may answer
    otherwise."""
    return abc.get_cache_token()
