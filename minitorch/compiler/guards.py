"""The guards of a program: the kinds of its arguments, and the modules whose mode changes what a function does."""

import enum
import inspect

import numpy as np

from ..amp import autocast_mode as mixed_precision
from ..core import device, dtypes
from ..core.arrays import owner, pointer
from ..core.grad_mode import grad_mode
from ..core.tensor import Size, Tensor
from ..nn.modules.module import Module

__all__ = ["Sharing", "circumstances", "signature", "watched_modules"]

BY_VALUE = (type(None), bool, int, str, bytes, complex, Size, dtypes.dtype, device.device, enum.Enum, type)


def circumstances():
    """The modes that a program depends on, all of this thread."""
    mixed = mixed_precision.state
    return (grad_mode.enabled, grad_mode.inference, dtypes.get_default_dtype(), device.default.get(),
            tuple(mixed.devices.items()) if mixed.enabled else None)


def signature(args, kwargs):
    """The tensors among the arguments, other objects among them, and a key, equal for calls that can share a program.

    Objects are told apart by identity: a program keeps those of its trace, and watches their attributes.
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
        try:
            a = x.array
        except NotImplementedError:                        # nested or masked, whose class answers calls itself
            key.append(type(x))
            return
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
    """The modules that a function can see (its own, its closure's, its globals'), each with all inside it."""
    found = []
    bound = getattr(function, "__self__", None)
    try:
        seen = inspect.getclosurevars(getattr(function, "__func__", function))
        values = [bound, *seen.nonlocals.values(), *seen.globals.values(), *vars(bound).values()] if hasattr(
            bound, "__dict__") else [bound, *seen.nonlocals.values(), *seen.globals.values()]
    except TypeError:                                      # not written in Python
        values = [bound]
    for value in values:
        for v in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(v, Module):
                found += v.modules()
    return list(dict.fromkeys(found))


class Sharing:
    """Which arrays share memory with those that a program writes to. Sharing that is only read does not matter."""

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
        return [seen.setdefault(id(a if a.base is None else owner(a)), n) for n, a in enumerate(arrays)]

    def places(self, arrays):
        """Where the arrays of a group lie, relative to its first."""
        return [pointer(arrays[n]) - pointer(arrays[k]) for n, k in enumerate(self.expected) if k not in (-1, n)]

    def same(self, arrays):
        """True if these arrays share memory as the ones in the trace did."""
        groups = self.groups
        return ([n if n in groups else -1 for n in self.first(arrays)] == self.expected
                and self.places(arrays) == self.offsets)
