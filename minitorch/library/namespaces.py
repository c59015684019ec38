"""``torch.ops``: operators of the user's own by namespace and name, ``torch.ops.mylib.sin(x)``."""

from functools import cache

from .. import Tensor, sparse
from ..extend import FUNCTIONS
from ..nn import functional
from .operators import OPERATORS

__all__ = ["Aten", "Namespace", "Packet", "namespace"]


class Namespace:
    """The operators whose names begin with ``name::``, as attributes."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        found = OPERATORS.get(f"{self.name}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return found

    def __dir__(self):
        return sorted(key.partition("::")[2] for key in OPERATORS if key.startswith(f"{self.name}::"))

    def __repr__(self):
        return f"<operators {self.name}::...>"


class Packet:
    """``torch.ops.aten.add``, PyTorch's own operator of that name: called, it is this library's function or method.

    Overloads (``.default``, ``.Tensor``, ``.int``) are told apart by PyTorch's schemas; here each is the same function.
    """

    def __init__(self, name, function):
        self.__name__, self.function, self.overload = name, function, cache(lambda overload: Overload(self, overload))

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self.overload(overload)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


class Overload:
    """One overload of a `Packet`: ``torch.ops.aten.add.Tensor``."""

    def __init__(self, packet, overload):
        self.overloadpacket, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"

    def __call__(self, *args, **kwargs):
        return self.overloadpacket(*args, **kwargs)

    def name(self):
        """Its name with the namespace, such as "aten::add.Tensor"."""
        shown = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self.overloadpacket.__name__}{shown}"

    def __str__(self):
        return f"aten.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class Aten:
    """``torch.ops.aten``: PyTorch's own operators by name, as far as functions or methods here have their names."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return packet(name)

    def __repr__(self):
        return "<operators aten::...>"


SPACES = "", "linalg", "special", "fft"
# PyTorch's operators whose functions have other names, or none, here.
WRITTEN = {"slice": lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * (dim % x.dim()) + (
               slice(start, end, step),)],
           "index": lambda x, indices: x[tuple([slice(None) if i is None else i for i in indices])],
           "alias": lambda x: x.view_as(x), "_to_copy": lambda x, **options: x.to(copy=True, **options),
           "_sparse_addmm": lambda x, a, b, *, beta=1, alpha=1: sparse.addmm(x, a, b, beta=beta, alpha=alpha),
           "_sparse_mm_reduce_impl": lambda a, b, reduce: sparse.mm(a, b, reduce)}


@cache
def packet(name):
    """The operator of that name. AttributeError if there is no function or method like it."""
    for plain in (name, name.removeprefix("_")):           # `_softmax`, `_pin_memory`
        spaces = [FUNCTIONS[space, plain].call for space in SPACES if (space, plain) in FUNCTIONS]
        found = [WRITTEN.get(plain), *spaces, getattr(functional, plain, None), getattr(Tensor, plain, None)]
        for function in found:
            if callable(function):
                return Packet(name, function)
    raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")


@cache
def known(name):
    return Aten() if name == "aten" else Namespace(name)


def namespace(name):
    """The operators of a namespace. AttributeError if there are none: tools ask modules for names of all kinds."""
    if name != "aten" and not any([key.startswith(f"{name}::") for key in OPERATORS]):
        raise AttributeError(f"module 'minitorch.ops' has no attribute {name!r}: no operator of a namespace {name!r} "
                             f"has been defined")
    return known(name)
