"""`NestedBackend`: the ops on arrays that hold a tensor, nested or dense (`NestedArray`).

Inside a call on nested tensors all tensors lie on such a backend. They need no gradients there: the
graph is that of the tensors which their arrays hold, on which the ops are called.
"""

import math
import operator
import weakref
from functools import lru_cache
from typing import Any

from ... import Tensor
from ...extend import OPS, Backend, NoArray, WrappingTensor, from_np, worded, wrap
from ...utils._pytree import tree_leaves, tree_map
from .nested_int import RaggedSize
from .ragged import extent, refused
from .ways import apply, each_result

__all__ = ["NestedArray", "NestedBackend", "lifted", "lowered"]


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

    def like(self, values):
        """An array of the same structure."""
        held = self.held
        return NestedArray(held.like(values) if isinstance(held, WrappingTensor) else values)

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


def operator_of(function):
    """The method of an operator, which is that of tensors."""
    def method(self, other):
        return NestedArray(function(self.held, getattr(other, "held", other)))
    return method


def reduction(name):
    """A method that reduces all numbers to one."""
    def method(self):
        held = self.held.packed() if isinstance(self.held, WrappingTensor) else self.held
        return getattr(values_of(held).array, name)()
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le",
              "gt", "ge", "and_", "or_"):
    setattr(NestedArray, f"__{_name.strip('_')}__", operator_of(getattr(operator, _name)))
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
            if args and isinstance(args[0], Extent):       # zeros, ... of the shape of an array
                array = args[0].array()
                made = found(array.values.array.shape, *args[1:], **options)
                return array.like(wrap(made, self.inner))
            if any([isinstance(x, NestedArray) for x in tree_leaves([args, options])]):
                raise worded(NoArray(f"{name}() of the array of a nested tensor"))
            made = found(*args, **options)
            is_array = isinstance(made, self.inner.ndarray)
            return NestedArray(wrap(made, self.inner)) if is_array else made
        return call

    def copyto(self, target, source, casting="same_kind", where=True):
        """Write to an array."""
        write(target, source)


class NestedBackend(Backend):
    """Batches of ragged elements and dense tensors, whose values lie on the backend `inner`."""

    def __init__(self, inner):
        super().__init__(inner.device, Functions(inner))
        self.inner, self.on_host = inner, inner.on_host

    def __repr__(self):
        return f"<backend {self.device}, nested>"

    def look_up(self, name):
        """An op; layers stand around those of the values, which it calls."""
        op = OPS[name.removeprefix("full_")]

        def call(*arrays, out=None, **attrs):
            found = called(op.name, arrays, attrs)
            return found if out is None else self.xp.copyto(out, found) or out
        call.takes_halves = True
        setattr(self, name, call)
        return call

    def together(self, inputs):
        """The inputs of a call, all on this backend."""
        return [wrap(NestedArray(lowered(x)), self)
                if isinstance(x, Tensor) and x.backend is not self else x for x in inputs]

    def asarray(self, x, dtype=None):
        if not isinstance(x, NestedArray):
            x = NestedArray(wrap(self.inner.asarray(x), self.inner))
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    def from_host(self, array):
        return NestedArray(wrap(self.inner.from_host(array), self.inner))

    def to_host(self, array):
        if isinstance(array.held, WrappingTensor):
            raise worded(NoArray("a nested tensor has no array of all elements"))
        return self.inner.to_host(array.held.array)

    def detached(self, array):
        return array.like(array.values.detach()), self

    def fill_random(self, array, sampler, generator, args):
        drawn = self.inner.xp.empty(array.values.array.shape, array.dtype)
        args = [x.values.array if isinstance(x, NestedArray) else x for x in args]
        self.inner.fill_random(drawn, sampler, generator, args)
        array.values.copy_(wrap(drawn, self.inner))


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

    def array(y, _):
        values = values_of(y)
        shares = base is not None and (values is base.values or values._base is not None)
        return NestedArray(y, base if shares else None, is_copy=op.view and not shares)
    return each_result(found, array)


def dense(op, x):
    """The raw array of an index, which is an attribute."""
    if isinstance(x.held, WrappingTensor):
        raise refused(op, "an index or a mask that is ragged itself", NotImplementedError)
    return x.held.array


def values_of(x):
    """The tensor of all numbers of a tensor, nested or dense."""
    return x._inner if isinstance(x, WrappingTensor) else x


def lifted(x, inside):
    """A tensor as functions see it inside a call: one on a `NestedBackend`; `inside` has those that
    stand for tensors already."""
    if isinstance(x, RaggedSize):
        return x.stand_in
    if not isinstance(x, Tensor) or isinstance(x.backend, NestedBackend):
        return x
    if id(x) not in inside:
        inside[id(x)] = wrap(NestedArray(x), backend_of(x.backend))
    return inside[id(x)]


def lowered(x):
    """The inverse of `lifted`."""
    if not isinstance(x, Tensor) or not isinstance(x.backend, NestedBackend):
        return x
    held = x.array.held
    return held.requires_grad_() if x.needs_grad else held
