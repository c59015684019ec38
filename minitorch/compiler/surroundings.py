"""Python values that a function reads besides its arguments: globals, closures, attributes of
modules and objects.

A program uses the values that these had in its trace, so it is valid only while they are the same
objects (or equal numbers and strings). Tensors may change their values, because a program reads
these in each run. Objects of this package and of Python are left out, and so are optimisers, which
take their steps themselves.
"""

import functools
import sys
import types
from collections import deque
from operator import getitem, is_

import numpy as np

from .. import Tensor
from ..extend import Stepping, module_changes
from ..nn import Module

__all__ = ["Surroundings"]

PLAIN = (type(None), bool, int, float, complex, str, bytes)
MANY = 2000                # places; any found after these are not checked
OURS = {"minitorch", "numpy", "builtins", *sys.stdlib_module_names} - {"__main__"}
PLACES = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
          "_backward_pre_hooks")
OF_ALL = frozenset(vars(Module()))                         # attributes of any module, also hooks


class Surroundings:
    """The places that a function reads, and their values; ``hold()`` is True if they are unchanged.
    """

    def __init__(self, function, arguments):
        self.slots, self.in_modules, self.cells = Slots(), Slots(), []
        self.arrays, self.seen, self.names = False, {}, set()
        self.strange = next((type(x).__name__ for x in arguments if is_strange(x)), None)
        self.queue = deque([function, *arguments])
        while self.queue and len(self.slots.keys) + len(self.in_modules.keys) < MANY:
            self.look(self.queue.popleft())
        self.contents = [contents(c) for c in self.cells]
        self.changes = module_changes()
        self.none = not (self.slots.keys or self.slots.sized or self.cells or self.in_modules.keys)

    def hold(self, tensors=()):
        """True if everything is as it was: a guard of a plan."""
        if self.none:
            return True
        if not self.slots.same():
            return False
        for c, x in zip(self.cells, self.contents):
            if contents(c) is not x:
                return False
        if self.in_modules.keys and self.changes != (now := module_changes()):
            if now[0] != self.changes[0] or not self.in_modules.same():
                return False
            self.changes = now
        return True

    def changed(self):
        """A value that has changed, in words; "" if none has."""
        for slots in (self.slots, self.in_modules):
            found = slots.changed()
            if found is not None:
                return f"it changes {found!r}, which is not a tensor's value"
        return "" if self.hold() else "it changes a variable from outside"

    # -- finding -----------------------------------------------------------------------------------
    def look(self, x):
        """Note the places in an object, and the objects to look at next."""
        if isinstance(x, (*PLAIN, Tensor, Stepping)) or id(x) in self.seen:
            return
        self.seen[id(x)] = x  # and keep it, so that its id stays its own
        if isinstance(x, np.ndarray):
            self.arrays = True
        elif isinstance(x, types.FunctionType):
            self.function(x)
        elif isinstance(x, types.MethodType):
            self.queue.extend((x.__self__, x.__func__))
        elif isinstance(x, functools.partial):
            self.queue.extend((x.func, x.args, x.keywords))
        elif isinstance(x, Module):
            self.module(x)
        elif isinstance(x, (list, tuple, deque)):
            self.slots.add_all(x, range(len(x)))
            self.queue.extend(x)
        elif isinstance(x, dict):
            self.slots.add_all(x, list(x))
            self.queue.extend(x.values())
        elif isinstance(x, (types.ModuleType, type)):
            self.named(x)
        elif hasattr(x, "__wrapped__"):                    # a compiled function
            self.queue.append(x.__wrapped__)
        elif is_foreign(type(x).__module__) and hasattr(x, "__dict__"):
            self.slots.add_all(vars(x), list(vars(x)))
            self.queue.extend(vars(x).values())
            self.methods(type(x))

    def function(self, f):
        """A function of the user: its closure, and the globals that it names."""
        if not is_foreign(f.__globals__.get("__name__")):
            f = f.__wrapped__ if hasattr(f, "__wrapped__") else f
            if not is_foreign(f.__globals__.get("__name__")):
                return
        for c in f.__closure__ or ():
            self.cells.append(c)
            self.queue.append(contents(c))
        names = names_in(f.__code__)
        self.names |= names
        found = [n for n in names if n in f.__globals__]
        self.slots.add(f.__globals__, found)
        self.queue.extend(f.__globals__[n] for n in found)
        self.queue.extend((f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)))

    def module(self, m):
        """A layer or model: its attributes and hooks, through the count of changes to modules."""
        kept = vars(m)
        inner = [kept[p] for p in PLACES if p in kept]
        self.in_modules.add(kept, [k for k, v in kept.items()
                                   if k in PLACES or isinstance(v, (*PLAIN, tuple, Tensor))])
        for place in inner:
            self.in_modules.add_all(place, list(place))
            self.queue.extend(place.values())
        # Objects that can change inside, such as lists; for the user's classes, also attributes
        # that are assigned without `__setattr__`.
        counted = PLAIN if is_foreign(type(m).__module__) else (*PLAIN, tuple, Tensor)
        others = [k for k, v in kept.items() if k not in OF_ALL and not isinstance(v, counted)]
        self.slots.add(kept, others)
        self.queue.extend(kept[k] for k in others)
        self.methods(type(m))

    def methods(self, cls):
        """The functions of a class of the user's."""
        for c in cls.__mro__:
            if is_foreign(c.__module__):
                self.queue.extend(f for f in vars(c).values() if isinstance(f, types.FunctionType))

    def named(self, x):
        """A Python module or a class: the attributes whose names occur in the functions seen so
        far."""
        if is_foreign(getattr(x, "__module__", None) or x.__name__):
            found = [n for n in self.names if n in vars(x) and not n.startswith("__")]
            self.slots.add(vars(x), found)
            self.queue.extend(vars(x)[n] for n in found)


class Slots:
    """Places in dicts and lists, with their values."""

    def __init__(self):
        self.places, self.keys, self.values = [], [], []
        self.sized, self.sizes = [], []

    def add(self, place, keys):
        for k in keys:
            self.places.append(place)
            self.keys.append(k)
            self.values.append(place[k])

    def add_all(self, place, keys):
        """All of a container, and how many there are."""
        self.add(place, keys)
        self.sized.append(place)
        self.sizes.append(len(place))

    def same(self):
        try:
            if all(map(is_, map(getitem, self.places, self.keys), self.values)):
                return not self.sizes or [*map(len, self.sized)] == self.sizes
        except (KeyError, IndexError):
            return False
        return self.changed() is None

    def changed(self):
        """The key of the first place whose value has changed, or None; equal numbers and strings
        are unchanged."""
        for n, (place, key, value) in enumerate(zip(self.places, self.keys, self.values)):
            try:
                now = place[key]
            except (KeyError, IndexError):
                return key
            if now is not value:
                if type(now) is not type(value) or not isinstance(value, PLAIN):
                    return key
                if repr(now) != repr(value):
                    return key
                self.values[n] = now
        return None if [*map(len, self.sized)] == self.sizes else "a list or dict"


def is_foreign(module_name):
    """True if something of this module is the user's, or at least not Python's or ours."""
    return (module_name or "").split(".")[0] not in OURS


def is_strange(x):
    """True if an argument cannot be watched: a set, an iterator, an object that keeps its state
    elsewhere."""
    known = np.ndarray, types.BuiltinFunctionType, types.MethodType
    return not (hasattr(x, "__dict__") or isinstance(x, known)
                or type(x).__module__.split(".")[0] in ("minitorch", "numpy"))


def contents(cell):
    try:
        return cell.cell_contents
    except ValueError:                                     # not assigned yet
        return None


def names_in(code):
    """The names of globals and attributes in a piece of code, and in the functions in it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant)
    return found
