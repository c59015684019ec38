"""The arrays and the backend of a trace: operations on them are carried out on the real ones and
recorded."""

from __future__ import annotations

import operator
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..backends.numpy_names import IN_PLACE, OPERATORS, class_of
from ..extend import OPS, Backend, owner, pointer, versions, wrap
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["Traced", "TracedNumber", "TracedScalar", "Tracer", "arrays_in", "bare", "is_named_tuple"]

# Operators that make a number of numbers
OF_NUMBERS = [getattr(np, OPERATORS[f.__name__]) for f in (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
    operator.abs)]
# NumPy computes ``x ** n`` with these, unlike `numpy.power`
EXACT_POWERS = {-1: np.reciprocal, 0.5: np.sqrt, 1: np.positive, 2: np.square}


def bare(x):
    """A pytree with the real arrays in place of traced ones."""
    return tree_map(lambda v: v.array if isinstance(v, Traced) else v, x)


def arrays_in(x):
    """The traced arrays in a pytree."""
    return [v for v in tree_leaves(x) if isinstance(v, Traced)]


def is_named_tuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


class Behind(NamedTuple):
    """Lies between the array of ``x.data`` and the memory `obj`, in place of the memoryview that is
    there outside of traces."""

    obj: Any


# ------------------------------------------------------------------ arrays that write down what is
class Traced(NDArrayOperatorsMixin):
    """A real array and its place in the program. It has NumPy's methods and operators; each one is
    recorded."""

    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, array, recorder, tensor=None):
        self.array, self.recorder, self.tensor, self.value = array, recorder, tensor, None
        if versions.counted(array) is array and recorder.owners.setdefault(id(array), self) is self:
            recorder.writes[id(array)] = versions.count(array)
            versions.share(array, self)

    def looked_at(self):
        """The array, whose kind Python asks for: that of a tensor from outside has to stay."""
        if self.tensor is not None:
            self.recorder.looked[id(self)] = self
        return self.array

    # attributes that are the same in every run with the same shapes
    shape = property(lambda self: self.looked_at().shape)
    dtype = property(lambda self: self.looked_at().dtype)
    ndim = property(lambda self: self.looked_at().ndim)
    size = property(lambda self: self.looked_at().size)
    strides = property(lambda self: self.looked_at().strides)
    itemsize = property(lambda self: self.looked_at().itemsize)
    nbytes = property(lambda self: self.looked_at().nbytes)
    flags = property(lambda self: self.looked_at().flags)

    @property
    def base(self):
        """None for an array that owns its memory, else the traced array that does."""
        memory = versions.counted(self.array)
        found = self.recorder.owners.get(id(memory))
        if found is not self:
            return Traced(memory, self.recorder) if found is None else found
        below = owner(memory)  # of ``x.data``: that array lies behind a memoryview
        return None if below is memory else Behind(self.recorder.owners.get(id(below), below))

    def laid_aside(self):
        """The array of ``x.data``: a view whose writes are not counted."""
        if self.array.__class__ is not np.ndarray and not hasattr(self.array, "laid_aside"):
            return self
        function = lambda array, _: wrap(array, self.recorder.base).data.array
        return self.recorder.call("index", "getitem", function, (self, ...), {})

    @property
    def data(self):
        """The address, as `core.arrays.pointer` reads it. Offsets between addresses are the same in
        every run."""
        self.recorder.addressed.add(id(owner(self.array)))
        return Address(pointer(self.array))

    def as_array(self):
        """The result of ``np.asarray``: the array itself."""
        return self

    def __len__(self):
        return len(self.looked_at())

    def __iter__(self):
        return (self[i] for i in range(len(self.array)))

    # operations that depend on the data
    def read(self, how):
        self.recorder.give_up(f"Python reads a value ({how})")
        return self.array

    def __array__(self, dtype=None, copy=None):
        found = self.read("as a NumPy array")
        # of a device, whose arrays convert by no other way
        backend = getattr(type(found), "backend", None)
        return np.asarray(found if backend is None else backend.to_host(found), dtype)

    def get(self):
        """The array on the host, as one of a device has it: printed, among others."""
        return self.__array__()

    def __bool__(self):
        return bool(self.read("bool"))

    def __int__(self):
        return int(self.read("int"))

    def __float__(self):
        return float(self.read("float"))

    def __index__(self):
        return operator.index(self.read("index"))

    def item(self, *args):
        return self.read("item").item(*args)

    def tolist(self):
        return self.read("tolist").tolist()

    def number(self):
        """The one element, for a parameter that takes a number: see `TracedNumber`."""
        return self.recorder.number(self)

    @property
    def ctypes(self):
        return self.read("address").ctypes

    # operations
    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        kind = "ufunc" if method == "__call__" else method
        writes = tuple(x for x in out if x is not None) + ((inputs[0],) if method == "at" else ())
        if out:
            kwargs["out"] = out if len(out) > 1 else out[0]
        call = getattr(ufunc, method)
        return self.recorder.call(kind, ufunc.__name__, call, inputs, kwargs, writes)

    def __array_function__(self, function, types, args, kwargs):
        name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
        if not re.fullmatch(r"np(\.[A-Za-z_]\w*)+", name) or (
                operator.attrgetter(name[3:])(np) is not function):
            self.recorder.give_up(f"{name} is not a function of NumPy")
        what = name.removeprefix("np.")
        return self.recorder.call("call", what, function, args, kwargs, out_of(kwargs))

    def __pow__(self, other):
        takes = self.dtype.kind in "fc"                    # NumPy takes no such way for bfloat16
        exact = EXACT_POWERS.get(other) if type(other) in (int, float) and takes else None
        return super().__pow__(other) if exact is None else exact(self)

    def __getitem__(self, index):
        return self.recorder.call("index", "getitem", operator.getitem, (self, index), {})

    def __setitem__(self, index, value):
        self.recorder.write("setitem", self, operator.setitem, (self, index, value))

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a traced array has no attribute {name!r}")
        if name in ("T", "real", "imag", "mT"):
            return self.recorder.call("attribute", name, lambda x: getattr(x, name), (self,), {})
        if not callable(getattr(np.ndarray, name)):
            return getattr(self.read(f"as {name}"), name)
        writes = name in IN_PLACE or class_of(name) == "write"
        return lambda *args, **kwargs: self.recorder.call(
            "method", name, lambda x, *a, **k: getattr(x, name)(*a, **k), (self, *args), kwargs,
            (self,) if writes else out_of(kwargs))


class TracedScalar(Traced):
    """A number, not an array, that a function of NumPy's returned: ``s += 1`` makes another one."""

    def as_array(self):
        """The number as an array."""
        made = Traced(self.array, self.recorder)
        made.value, self.recorder.owners[id(self.array)] = self.value, made
        return made


class TracedNumber(Traced):
    """A Python number that a program reads out of a tensor in each run: ``alpha=t``.

    It passes for one where its type is asked for. It can be an operand, and what is computed of
    numbers alone is a number again; whatever else is done with it reads its value.
    """

    shape, ndim, size = (), 0, 1
    __class__ = property(lambda self: type(self.array))    # type: ignore[assignment]

    def __init__(self, number, recorder, value):
        self.array, self.recorder, self.tensor, self.value = number, recorder, None, value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        found = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        alone = all([isinstance(bare(x), (bool, int, float)) for x in inputs])
        return found.number() if alone and ufunc in OF_NUMBERS else found

    def __pow__(self, other):
        return self.read("power") ** other

    def __rpow__(self, other):
        return Traced.__rpow__(self, other) if isinstance(other, Traced) else (
            other ** self.read("power"))

    def __hash__(self):
        return hash(self.read("hash"))

    def __repr__(self):
        return repr(self.read("printed"))

    def __format__(self, spec):
        return format(self.read("printed"), spec)

    def __getattr__(self, name):
        return getattr(self.read(name), name)


for _name in vars(NDArrayOperatorsMixin):
    # ``__iadd__`` of ``__add__``
    if _name.startswith("__i") and "__" + _name[3:] in vars(NDArrayOperatorsMixin):
        setattr(TracedScalar, _name, lambda self, other: NotImplemented)


class Address:
    """The address of an array, where device arrays have it."""

    def __init__(self, ptr):
        self.ptr = ptr


def out_of(kwargs):
    out = kwargs.get("out")
    return () if out is None else out if isinstance(out, tuple) else (out,)


# ------------------------------------------------------------------ a backend that writes down what
class TracedModule:
    """The array module: its functions record themselves, its types and constants are what they
    are."""

    def __init__(self, module, recorder, path=""):
        self._module, self._recorder, self._path = module, recorder, path

    ndarray = Traced

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if isinstance(getattr(np, name, None), np.ufunc) and not self._path:
            return TracedUfunc(found, name, self._recorder)
        if hasattr(found, "__path__") or (
                hasattr(found, "__name__") and found.__class__.__name__ == "module"):
            return TracedModule(found, self._recorder, f"{self._path}{name}.")
        if isinstance(found, type) or not callable(found):
            return found
        what, recorder = f"{self._path}{name}", self._recorder
        if class_of(what) == "metadata":
            return lambda *args, **kwargs: found(*bare(args), **bare(kwargs))
        if name == "asarray":
            return lambda x, *args, **kwargs: (
                x.as_array() if isinstance(x, Traced) and not (args or kwargs)
                else recorder.call("call", what, found, (x, *args), kwargs))
        return lambda *args, **kwargs: recorder.call("call", what, found, args, kwargs,
                                                     out_of(kwargs))


class TracedUfunc:
    """One ufunc of the array module, and its methods (`reduce`, `at`, ...)."""

    def __init__(self, ufunc, name, recorder):
        self._ufunc, self._recorder = ufunc, recorder
        self._name, self._nin = getattr(np, name).__name__, getattr(np, name).nin

    def __call__(self, *inputs, **kwargs):
        inputs, out = inputs[:self._nin], inputs[self._nin:]
        if out:
            kwargs["out"] = out[0] if len(out) == 1 else out
        return self._recorder.call("ufunc", self._name, self._ufunc, inputs, kwargs, out_of(kwargs))

    def __getattr__(self, name):
        found = getattr(self._ufunc, name)
        if not callable(found):
            return found
        def call(*args, **kwargs):
            writes = (args[0],) if name == "at" else out_of(kwargs)
            if name == "reduce" and len(args) > 3 and args[3] is not None:
                writes = (args[3],)
            return self._recorder.call(name, self._name, found, args, kwargs, writes)
        return call


class Tracer(Backend):
    """A backend of traced arrays in front of a real one."""

    def __init__(self, base, recorder, calls=None):
        """`calls`: the backend whose ops are recorded as one instruction, if it is not `base`."""
        inline = {name: kernel for name, kernel in base.kernels.items()
                  if base.on_host and OPS[name].inline}
        super().__init__(base.device, TracedModule(base.xp, recorder), inline)
        self.base, self.recorder, self.block, self.calls = base, recorder, None, calls or base
        self.ndarray = Traced

    def has_kernel(self, name):
        return self.base.has_kernel(name)

    def __getattr__(self, name):
        plain = name.removeprefix("full_")
        row = OPS.get(plain)
        if row is None:
            return super().__getattr__(name)
        inline = row.inline and (self.base.on_host or plain not in self.base.kernels)
        if row.xp_name or row.view or inline:
            found = self.find(name)
        else:
            found = self.opaque(name, getattr(self.calls, name))
        setattr(self, name, found)
        return found

    def opaque(self, name, function):
        """An op as one instruction."""
        plain = name.removeprefix("full_")
        kind = "op" if plain == name else "full op"
        return lambda *args, **kwargs: self.recorder.call(kind, plain, function, args, kwargs)

    def strided(self, array, shape, strides):
        args = array, shape, strides
        return self.recorder.call("backend", "strided", self.base.strided, args, {})

    def of_memory(self, array, size, stride, offset):
        self.recorder.addressed.add(id(owner(bare(array))))
        args = array, size, stride, offset
        return self.recorder.call("backend", "of_memory", self.base.of_memory, args, {})

    def fill_random(self, array, sampler, generator, args):
        if not any([generator is known for known in self.recorder.generators]):
            self.recorder.give_up("it draws from a generator that it has made itself")
        args = array, sampler, generator, args
        self.recorder.call("backend", "fill_random", self.base.fill_random, args, {},
                           writes=(array,), pure=False)

    def from_host(self, array):
        """Values from Python, which are the same in every later run, in new memory each time."""
        if isinstance(array, Traced):
            return array
        made = self.base.from_host(array)
        return self.recorder.call("call", "array", self.base.xp.array, (made,), {})

    def from_backend(self, array, source, non_blocking=False):
        self.recorder.give_up("it brings values from another device")
        return self.base.from_backend(array, source, non_blocking)

    def to_host(self, array):
        return self.base.to_host(array.read("on the host") if isinstance(array, Traced) else array)
