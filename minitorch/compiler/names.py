"""``torch.compiler``: questions and settings about compilation.

A function is compiled by running it once while everything is recorded; during that run
`is_compiling` is True.
"""

import functools
import threading

import numpy as np

from .. import Tensor
from ..extend import get_backend, wrap
from ..nn import Module
from ..utils._pytree import tree_map
from . import trace
from .compiled import Compiled
from .module import CompiledModule
from .options import BACKENDS, check_backend
from .stance import current

__all__ = ["allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting",
           "list_backends", "reset", "set_default_backend", "set_stance", "substitute_in_graph",
           "wrap_numpy"]


def is_compiling():
    """True if this thread is running a function in order to compile it."""
    return any(t.recorder.thread == threading.get_ident() for t in trace.active)


is_dynamo_compiling = is_compiling


def is_exporting():
    """False: nothing is exported."""
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """Mark a function as not to be compiled; usable as a decorator. A compiled function or module
    gives the original.

    A compiled function that calls it runs eagerly as a whole: there are no graph breaks.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, CompiledModule):
        return fn._orig_mod
    if isinstance(fn, Module):
        fn.forward = disable(fn.forward, reason=reason)
        return fn
    if isinstance(fn, Compiled):
        fn = fn.function

    @functools.wraps(fn)
    def eagerly(*args, **kwargs):
        if trace.active:
            name, why = getattr(fn, "__name__", fn), f": {reason}" if reason else ""
            for tracing in trace.active:
                tracing.recorder.give_up(f"it calls {name}, which is not to be compiled{why}")
        return fn(*args, **kwargs)
    return eagerly


def allow_in_graph(fn):
    """`fn` (a function, or a list of functions) as it is: a trace goes through all functions."""
    return fn


def assume_constant_result(fn):
    """`fn` unchanged: a program keeps Python results without tensors as constants anyway."""
    return fn


def substitute_in_graph(original_fn, *, can_constant_fold_through=False,
                        skip_signature_check=False):
    """A decorator that returns the function: compilation needs no substitutes."""
    return lambda fn: fn


def wrap_numpy(fn):
    """`fn`, which takes and returns NumPy arrays, as a function of tensors."""
    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = tree_map(lambda x: x.numpy() if isinstance(x, Tensor) else x, (args, kwargs))
        result = fn(*args, **kwargs)
        host = get_backend("cpu")
        return tree_map(lambda x: wrap(x, host) if isinstance(x, np.ndarray) else x, result)
    return wrapped


def reset():
    """Forget the programs of all compiled functions."""
    for compiled in list(Compiled.living):
        compiled.plans.clear()
        compiled.quick = compiled._last = None


class set_stance:                                          # noqa: N801  (PyTorch's name)
    """Choose how compiled functions behave from now on, or within a ``with`` block, or in a
    decorated function.

    stance: "default"; "force_eager": they run eagerly; "eager_on_recompile": they run eagerly where
        they would be compiled again; "fail_on_recompile": RuntimeError in that case. ValueError for
        other texts.
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in current.WORDS:
            raise ValueError(f"the stance is one of {', '.join(current.WORDS)}, not {stance!r}")
        if skip_guard_eval_unsafe or force_backend is not None:
            raise NotImplementedError("set_stance takes the stance alone: programs are always "
                                      "checked, and compile has the argument backend")
        self.stance, self.before = stance, current.word
        current.take(stance)

    def __enter__(self):
        current.take(self.stance)
        return self

    def __exit__(self, *exc):
        current.take(self.before)

    def __call__(self, fn):
        current.take(self.before)

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)
        return wrapped


def list_backends(exclude_tags=()):
    """The names that `compile` knows for its argument `backend`; it takes those of PyTorch's as
    "auto"."""
    return list(BACKENDS)


def set_default_backend(backend):
    """Set the backend that `compile` uses if none is given; None: "auto"."""
    check_backend("auto" if backend is None else backend)
    current.backend = "auto" if backend is None else backend


def get_default_backend():
    """The backend that `compile` uses if none is given."""
    return current.backend


def cudagraph_mark_step_begin():
    """Does nothing: a captured graph keeps its results until its next run anyway."""
