"""The guards of a plan: conditions that held in the trace and must still hold in a call.

The kinds of the arguments are checked first, by their `signature`. The other guards are objects
with a method ``hold(tensors)``, where `tensors` are the arguments of the call.
"""

import enum
import inspect
from operator import attrgetter, is_

import numpy as np

from .. import Size, Tensor, device, dtype, get_default_dtype
from ..amp import autocast_mode as mixed_precision
from ..extend import get_backend, grad_mode, owner, pointer
from ..nn import Module
from .items import into
from .trace import has_hooks

__all__ = ["Arrays", "Leaves", "Memory", "Unhooked", "circumstances", "signature",
           "watched_modules"]

array_of, needs_grad_of = attrgetter("array"), attrgetter("needs_grad")
BY_VALUE = (type(None), bool, int, str, bytes, complex, Size, dtype, device, enum.Enum, type)


def circumstances():
    """The modes that a program depends on, all of this thread."""
    mixed = mixed_precision.state
    return (grad_mode.enabled, grad_mode.inference, get_default_dtype(), get_backend(),
            tuple(mixed.devices.items()) if mixed.enabled else None)


def signature(args, kwargs):
    """The tensors among the arguments, other objects among them, and a key, equal for calls that
    can share a program.

    Objects are distinguished by identity: a program keeps those of its trace, and watches their
    attributes.
    """
    tensors, others, key = [], [], []
    for x in args:
        describe(x, tensors, others, key)
    if kwargs:
        for name, x in kwargs.items():
            key.append(name)
            describe(x, tensors, others, key)
    return tensors, others, tuple(key)


def describe(x, tensors, others, key):
    if isinstance(x, Tensor):
        for i, t in enumerate(tensors):
            if t is x:                                     # the same tensor twice
                key.append(i)
                return
        tensors.append(x)
        a = x.array
        key.append((a.shape, a.dtype, a.strides, x.needs_grad, x.backend, x.node is None))
    elif isinstance(x, (tuple, list)):
        key.append((type(x), len(x)))
        for item in x:
            describe(item, tensors, others, key)
    elif isinstance(x, dict):
        key.append((type(x), tuple(x)))
        for item in x.values():
            describe(item, tensors, others, key)
    elif isinstance(x, float):
        key.append((type(x), x or repr(x)))                # 0.0 is not -0.0
    elif isinstance(x, slice):
        key.append((slice, x.start, x.stop, x.step))
    elif isinstance(x, np.generic):
        key.append((type(x), x.tobytes()))
    elif isinstance(x, BY_VALUE):
        key.append((type(x), x))
    else:
        others.append(x)
        key.append((type(x), id(x)))


def watched_modules(function):
    """The modules that a function can see (its own, its closure's, its globals'), each with all
    inside it."""
    found = []
    bound = getattr(function, "__self__", None)
    try:
        seen = inspect.getclosurevars(getattr(function, "__func__", function))
        values = [bound, *seen.nonlocals.values(), *seen.globals.values()]
        values += vars(bound).values() if hasattr(bound, "__dict__") else ()
    except (TypeError, ValueError):        # not written in Python, or a variable has no value yet
        values = [bound]
    for value in values:
        for v in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(v, Module):
                found += v.modules()
    return list(dict.fromkeys(found))


class Sharing:
    """Guard: the same arrays share memory with those that a program writes to. Shared memory that
    is only read does not matter."""

    def __init__(self, arrays, written):
        first = self.first(arrays)
        self.written = written
        self.groups = {first[n] for n in written}
        self.expected = [n if n in self.groups else -1 for n in first]
        self.offsets = self.places(arrays)

    @staticmethod
    def first(arrays):
        """For each array the number of the first one in the same memory."""
        seen: dict = {}
        return [seen.setdefault(id(a if a.base is None else owner(a)), n)
                for n, a in enumerate(arrays)]

    def places(self, arrays):
        """Where the arrays of a group lie, relative to its first."""
        return [pointer(arrays[n]) - pointer(arrays[k])
                for n, k in enumerate(self.expected) if k not in (-1, n)]

    def same(self, arrays):
        """True if these arrays share memory as the ones in the trace did."""
        groups = self.groups
        return ([n if n in groups else -1 for n in self.first(arrays)] == self.expected
                and self.places(arrays) == self.offsets)


# ------------------------------------------------------------------ what comes from outside
class Arrays:
    """Guard: the tensors that a program uses from outside have arrays of the same kind, and need
    gradients or do not, as in the trace."""

    def __init__(self, tensors, values):
        self.tensors = tensors
        self.kinds = [(v.shape, v.dtype, v.example.strides) for v in values]
        self.flags = [t.needs_grad for t in tensors]
        self.seen = [v.example for v in values]  # the arrays that were last seen to be right

    def hold(self, tensors):
        if not all(map(is_, map(array_of, self.tensors), self.seen)):
            for t, (shape, dtype, strides) in zip(self.tensors, self.kinds):
                a = t.array
                if a is None or a.shape != shape or a.dtype is not dtype or a.strides != strides:
                    return False
            self.seen = [t.array for t in self.tensors]    # these need no other look next time
        return all(map(is_, map(needs_grad_of, self.tensors), self.flags))


class Leaves:
    """Guard: the leaves that get gradients already have one or do not, and need one or do not, as
    in the trace."""

    def __init__(self, leaves):
        self.leaves = leaves  # (leaf, True if it has no gradient, True if it needs one)

    def hold(self, tensors):
        for t, none, needs_grad in self.leaves:
            if (t._grad is None) is not none or t.needs_grad is not needs_grad:
                return False
        return True


class Unhooked:
    """Guard: these tensors have no hooks that a gradient would run."""

    def __init__(self, tensors):
        self.tensors = tensors

    def hold(self, tensors):
        for t in self.tensors:
            if t.hooks is not None and has_hooks(t):
                return False
        return True


class Memory:
    """Guard: values that are written to share memory as in the trace, and those whose addresses the
    trace has read have the same relative addresses.

    `outside` are the tensors that follow the arguments, `values` the values of both. `written`:
    numbers of values that are written to; `addressed`: ids of memory whose address was read.
    """

    def __init__(self, outside, values, written, addressed):
        self.outside, self.written = outside, written
        roots = {values[n].root for n in written}
        self.sharing = Sharing([v.example for v in values], [
            n for n, v in enumerate(values) if v.root in roots]) if roots else None
        self.placed = [(n, into(v.example), owner(v.example).nbytes)
                       for n, v in enumerate(values) if id(owner(v.example)) in addressed]

    def hold(self, tensors):
        tensors = [*tensors, *self.outside]
        for n, offset, nbytes in self.placed:
            a = tensors[n].array
            if owner(a).nbytes != nbytes or into(a) != offset:
                return False
        if self.sharing is None:
            return True
        if not all(may_be_written(tensors[n]) for n in self.written):
            return False
        return self.sharing.same([t.array for t in tensors])


def may_be_written(t):
    """False where eager runs raise errors, or change the graph of the tensor's base."""
    base = getattr(t, "_base", None)
    if base is not None and base.needs_grad and grad_mode.enabled:
        return False
    return grad_mode.inference or not (isinstance(t, Tensor) and t.is_inference())
