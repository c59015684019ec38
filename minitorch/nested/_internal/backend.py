"""`NestedBackend`: the ops on arrays that hold a tensor, nested or dense (`NestedArray`).

A nested tensor lies on such a backend, and inside a call on one all tensors do. They need no
gradients there: the graph is that of the tensors which their arrays hold, on which the ops are
called.
"""

import math
import weakref
from functools import lru_cache
from typing import Any

import numpy as np

from ... import Tensor
from ...extend import OPS, Backend, from_np, worded, wrap
from ...utils._pytree import tree_leaves, tree_map
from .batch import Batch
from .ragged import extent, refused
from .ways import apply, each_result

__all__ = ["NestedArray", "NestedBackend", "Outside", "backend_of", "no_batch"]


# ---- arrays --------------------------------------------------------------------------------------
class Contiguous:
    """The flags of an array that is not looked at."""

    c_contiguous = forc = contiguous = writeable = True
    f_contiguous = owndata = False


class Extent(tuple):
    """The shape of a nested array, which knows the `array`: ``xp.zeros(x.shape)`` lies as that."""

    array: Any                                             # a weak reference


class NestedArray:
    """The array of a nested tensor inside a call, or of a dense one beside it: `held`.

    `shape` has stand-ins for ragged sizes.
    """

    __slots__ = ("held", "shape", "ndim", "dtype", "base", "is_copy", "__weakref__")
    __array_priority__ = 3000
    __hash__ = object.__hash__
    flags = Contiguous

    def __init__(self, held, base=None, is_copy=False):
        self.held, self.shape = held, Extent(extent(held))
        self.shape.array = weakref.ref(self)
        self.ndim, self.dtype = len(self.shape), held.dtype.np
        self.base, self.is_copy = base, is_copy            # is_copy: of what a view would show

    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)

    @property
    def strides(self):
        return tuple([math.prod(self.shape[d + 1:]) * self.itemsize for d in range(self.ndim)])

    values = property(lambda self: values_of(self.held), doc="The tensor of all numbers.")

    @property
    def backend(self):
        """The backend of such arrays."""
        return backend_of(self.held.backend)

    def like(self, values):
        """An array of the same structure."""
        held = self.held
        return type(self)(held.like(values) if isinstance(held, Batch) else values)

    def astype(self, dtype, *args, **options):
        return self.like(self.values.to(from_np(dtype)))

    def copy(self, order="K"):
        return self.like(self.values.clone())

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return called("slice", (self,), {"index": index})

    def __setitem__(self, index, value):
        target = self if all([p is Ellipsis for p in index]) else self[index]
        write(target, value)

    def fill(self, value):
        self.values.fill_(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """Which values are finite or NaN: questions of anomaly mode."""
        if ufunc in (np.isfinite, np.isnan, np.isinf):
            return ufunc(self.values.array)
        return NotImplemented


class Outside(NestedArray):
    """The array of a nested tensor outside of all calls, as users have it, and of its gradient.
    What it holds needs no gradient."""

    __slots__ = ()

    def as_tensor(self, backend):
        """The leaf around it, of a class of nested tensors: `core.tensor.wrap` asks for it."""
        made = object.__new__(getattr(self.held, "tensor_class", Tensor))
        made.array, made.backend = self, backend
        return made

    def refuse(self, name="the op"):
        """NotImplementedError of an op that is called with it."""
        raise worded(NotImplementedError(f"{name}(): a definition cannot be called with nested "
                                         f"tensors, only a public function can"))


def operator_of(name):
    """The method of an operator, which is an op."""
    def method(self, other):
        return called(name, (self, other), {})
    return method


def reduction(name):
    """A method that reduces all numbers to one."""
    def method(self):
        held = self.held.packed() if isinstance(self.held, Batch) else self.held
        return getattr(values_of(held).array, name)()
    return method


for _name, _op in dict(
        add="add", sub="sub", mul="mul", truediv="div", floordiv="floor_divide", mod="remainder",
        pow="pow", eq="eq", ne="ne", lt="lt", le="le", gt="gt", ge="ge", **{
            "and": "bitwise_and", "or": "bitwise_or"}).items():
    setattr(NestedArray, f"__{_name}__", operator_of(_op))
for _name in ("all", "any", "max", "min"):
    setattr(NestedArray, _name, reduction(_name))


def write(target, value):
    """Write an array or a number to the memory of another array."""
    if target.is_copy:
        raise worded(NotImplementedError("a write to a view of a nested tensor that has no view of "
                                         "this kind: write to its elements, unbind()"))
    if isinstance(value, NestedArray):
        value = called("expand", (value,), {"size": target.shape}) if value.ndim else value
        value = value.values
    target.values.copy_(value) if isinstance(value, Tensor) else target.values.fill_(value)


# ---- the backend ---------------------------------------------------------------------------------
class Functions:
    """The array module of `NestedBackend`: what functions ask for outside of their ops."""

    ndarray = NestedArray

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        found = getattr(self.inner.xp, name)
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args, **options):
            pattern, values = pattern_of(name, *args[:1])
            if pattern is not None:
                return pattern.like(wrap(found(values, *args[1:], **options), self.inner))
            if any([isinstance(x, NestedArray) for x in tree_leaves([args, options])]):
                raise worded(NotImplementedError(f"{name}() of the array of a nested tensor"))
            made = found(*args, **options)
            is_array = isinstance(made, self.inner.ndarray)
            return NestedArray(wrap(made, self.inner)) if is_array else made
        return call

    def copyto(self, target, source, casting="same_kind", where=True):
        """Write to an array."""
        write(target, source)


def pattern_of(name, first=None):
    """The array whose structure the result of a function has, and what its numbers are asked for;
    (None, None) if no array says it."""
    if isinstance(first, Extent) and (array := first.array()) is not None:
        return array, array.values.array.shape             # as in zeros(x.shape)
    if name in ("array", "zeros_like") and isinstance(first, NestedArray):
        return first, first.values.array
    return None, None


class Ragged:
    """The mark of nested arrays: they stand above forward mode and batches."""

    number = math.inf


class NestedBackend(Backend):
    """Batches of ragged elements and dense tensors, whose values lie on the backend `inner`."""

    untraced = "there are nested tensors"
    through: Any = None                                    # in `crossing`

    @staticmethod
    def text_of(tensor):
        """``repr`` of a nested tensor."""
        grad = (f", grad_fn={tensor.grad_fn}" if tensor.grad_fn else
                ", requires_grad=True" * tensor.requires_grad)
        return tensor.array.held.text(grad)

    def __init__(self, inner):
        super().__init__(inner.device, Functions(inner))
        self.inner, self.on_host = inner, inner.on_host
        self.levels, self.marks = inner.levels, (*inner.marks, Ragged)

    def __repr__(self):
        return f"<backend {self.device}, nested>"

    def look_up(self, name):
        """An op; layers stand around those of the values, which it calls."""
        op = OPS[name.removeprefix("full_")]

        def call(*arrays, out=None, **attrs):
            for x in arrays:
                if x.__class__ is Outside:
                    x.refuse(op.name)
            found = called(op.name, arrays, attrs)
            return found if out is None else self.xp.copyto(out, found) or out
        call.takes_halves = True
        setattr(self, name, call)
        return call

    def together(self, inputs):
        """The inputs of a call, all on this backend."""
        return [on(self, x) if isinstance(x, Tensor) else x for x in inputs]

    def join(self, x):
        raise no_batch()

    def asarray(self, x, dtype=None):
        if not isinstance(x, NestedArray):
            x = NestedArray(wrap(self.inner.asarray(x), self.inner))
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    def from_host(self, array):
        return NestedArray(wrap(self.inner.from_host(array), self.inner))

    def to_host(self, array):
        if isinstance(array.held, Batch):
            raise worded(RuntimeError(".numpy() and .tolist() are not supported for nested "
                                      "tensors: values() has the numbers"))
        return self.inner.to_host(array.held.array)

    def beside(self, inner):
        """The backend of nested arrays on `inner`, that of another device."""
        return backend_of(inner)

    def from_backend(self, array, source, non_blocking=False):
        moved = array.values.to(self.device, non_blocking=non_blocking)
        return array.like(moved)

    def detached(self, array):
        return array.like(array.values.detach()), self

    def fill_random(self, array, sampler, generator, args):
        drawn = self.inner.xp.empty(array.values.array.shape, array.dtype)
        args = [x.values.array if isinstance(x, NestedArray) else x for x in args]
        self.inner.fill_random(drawn, sampler, generator, args)
        array.values.copy_(wrap(drawn, self.inner))


def no_batch():
    """The error of `vmap` where a nested tensor would go into a batch, or out of one."""
    return worded(RuntimeError("vmap: a nested tensor cannot go into a batch or out of one: its "
                               "values() can"))


@lru_cache(maxsize=32)                                     # each vmap has a backend of its own
def backend_of(inner):
    """The `NestedBackend` for values on `inner`."""
    return NestedBackend(inner)


def called(name, arrays, attrs):
    """The result of an op on nested arrays, as nested arrays."""
    op = OPS[name]
    inputs = [x.held if isinstance(x, NestedArray) else x for x in arrays]
    if not op.variadic:                                    # inputs that are optional
        inputs += [None] * (len(op.inputs) - len(inputs))
    attrs = tree_map(lambda x: dense(op, x) if isinstance(x, NestedArray) else x, attrs)
    found = apply(op, inputs, attrs)
    base = (arrays[0].base or arrays[0]) if op.view else None

    kind = next((type(x) for x in arrays if isinstance(x, NestedArray)), NestedArray)

    def array(y, _):
        values = values_of(y)
        shares = base is not None and (values is base.values or values._base is not None)
        return kind(y, base if shares else None, is_copy=op.view and not shares)
    return each_result(found, array)


def dense(op, x):
    """The raw array of an index, which is an attribute."""
    if isinstance(x.held, Batch):
        raise refused(op, "an index or a mask that is ragged itself", NotImplementedError)
    return x.held.array


def values_of(x):
    """The tensor of all numbers of a tensor, nested or dense."""
    return x._inner if isinstance(x, Batch) else x


def on(F, x):
    """A tensor on the backend `F`."""
    if x.backend is F:
        return x
    return wrap(x.array if isinstance(x.backend, NestedBackend) else NestedArray(x), F)
