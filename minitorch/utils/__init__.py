"""Helpers beside the library proper, spelt as in ``torch.utils``: ``data`` and whatever else lies in this folder.

Submodules are imported when first asked for (``minitorch.utils.data``), so ``import minitorch`` does not pay for them.
"""

import gc
import importlib
import importlib.util
import weakref

from ..core.attributes import kept
from ..core.graph import Node


def __getattr__(name: str):
    if name.startswith("__") or importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def set_module(obj, mod):
    """Let the object say that it is of the module `mod`, a name."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchange two tensors: what is held as `t1` becomes `t2`, with class, values, gradient and attributes.

    RuntimeError if one of them is referred to weakly (as the base of views is not, but a view is) or stands in a graph.
    """
    for t in (t1, t2):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {'t1' if t is t1 else 't2'} because it has weakref associated with it")
        tuples = [x for x in gc.get_referrers(t) if type(x) is tuple]
        if any([isinstance(x, Node) for x in gc.get_referrers(*tuples)] if tuples else ()):
            raise RuntimeError("Cannot swap a tensor that stands in a graph: call backward first, or compute under "
                               "no_grad")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = kept.__get__(t1), kept.__get__(t2)
    kept.__set__(t1, second)
    kept.__set__(t2, first)
