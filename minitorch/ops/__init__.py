"""The op definitions, one folder for each kind, and the methods that Tensor gets from them.

Importing this imports every module under this folder, which enters its definitions in the registry: a new op is a
definition in one of them, or a new file; nothing else names it.
"""

import gc
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType

from ..core.inplace import inplace
from ..core.registry import FUNCTIONS, METHODS, guests
from ..core.tensor import Tensor

collecting = gc.isenabled()
gc.disable()                                               # thousands of objects are made, and all stay: 8 ms saved
try:
    for found in walk_packages(__path__, f"{__name__}."):
        import_module(found.name)
finally:
    if collecting:
        gc.enable()

from . import operators  # noqa: E402
from .creation import query as query  # noqa: E402  whose constants the package's root shows
from .define import casting, publish  # noqa: E402
from .elementwise import special  # noqa: E402
from .guarded import guarded as explained  # noqa: E402
from .methods import as_method  # noqa: E402


def bind_methods():
    """Give Tensor its methods: those of the registry, their in-place twins, and the explicit ones, which come first."""
    for (namespace, name), public in list(FUNCTIONS.items()):
        if public.method:
            setattr(Tensor, name, as_method(public.call))
        if public.inplace:
            op, call = getattr(public.call, "op", None), public.call
            lowers = (getattr(op or call, "autocast", None) or "").startswith("lower")
            twin = inplace(name, casting(call, "off") if lowers else call, op,     # writes with all of its digits
                           public.inplace == "repeated")
            twin.__wrapped__ = as_method(public.call)      # whose signature `inspect` shows
            setattr(Tensor, name + "_", twin)
            if not namespace:                              # torch.exp_(x) is x.exp_()
                function = FunctionType(twin.__code__, twin.__globals__, name + "_", None, twin.__closure__)
                function.__wrapped__, function.__doc__ = public.call, twin.__doc__
                publish(function, name + "_", method=False)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
    for name in ("zero_", "fill_", "resize_as_", "detach_"):
        function = getattr(Tensor, name)
        publish(explained(function) if name == "detach_" else function, name, method=False)
    operators.bind()


special.publish_special()
bind_methods()


def __getattr__(name):
    """``torch.ops.mylib``: the operators that a program has made with `library` in its namespace."""
    if name.startswith("_") or "op_namespace" not in guests:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return guests.op_namespace(name)
