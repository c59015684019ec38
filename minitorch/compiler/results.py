"""The results of a compiled function: taken apart at the trace, put together after each run.

A result may be a tensor from outside (then it is that tensor again), a view of one (then later
writes to either are seen by the other's graph), a view of another result, or new.
"""

import enum
import weakref
from typing import Any

import numpy as np

from .. import Size, Tensor, device, dtype, layout
from ..extend import attributes_of, note_inference, owner, versions
from ..utils._pytree import tree_flatten

__all__ = ["Results", "bump", "holder_of"]

PLAIN = (type(None), bool, int, float, complex, str, bytes, Size, np.dtype, np.generic, dtype,
         device, enum.Enum, type, type(Ellipsis), layout)
OWN = {"array", "backend", "node", "needs_grad", "_base", "_views", "_grad", "hooks"}


class Results:
    """The pytree of a function's results; ``build(arrays, tensors)`` makes another."""

    links: Any = ()  # (which new one is a view, where its base is)
    versions: Any = ()  # (which new one, how often the program writes to it)

    def __init__(self, result, recorder, tensors, grads):
        """`grads`: of all tensors from outside, id -> (it, its gradient before the run)."""
        self.leaves, self.spec = tree_flatten(result)
        self.new, places = [], {}  # the new tensors; where each tensor comes from
        for n, x in enumerate(self.leaves):
            if isinstance(x, Tensor):
                if id(x) not in places:
                    places[id(x)] = self.place(x, recorder, tensors, grads)
                self.leaves[n] = places[id(x)]
            elif not isinstance(x, PLAIN):
                recorder.give_up(f"it returns a {type(x).__name__}")
        self.count = len(self.new)
        self.single = (len(self.leaves) == 1 and self.spec.is_leaf()
                       and isinstance(self.leaves[0], New))
        self.all_new = all(isinstance(x, New) for x in self.leaves if isinstance(x, Place))
        self.inference = [n for n, t in enumerate(self.new) if t.is_inference()]
        self.links = self.find_links(recorder, tensors, grads)

    def place(self, t, recorder, tensors, grads):
        """Where the program finds a tensor."""
        for i, x in enumerate(tensors):
            if x is t:
                return Argument(i)
        if id(t) in grads:
            return Outside(holder_of(t, grads))
        self.check(t, recorder)
        self.new.append(t)
        return New(len(self.new) - 1)

    @staticmethod
    def check(t, recorder):
        """Give up the recording if a new tensor is more than an array and a node."""
        hooks = t.node.hooks if t.node is not None else t.hooks
        own = type(t) is not Tensor or not OWN >= set(attributes_of.__get__(t))
        if own or hooks is not None or t._grad is not None:
            recorder.give_up("it returns a tensor with a class, hooks, a gradient or attributes of "
                             "its own")
        elif t.array.__class__ is not t.backend.ndarray or not hasattr(t.array, "recorder"):
            recorder.give_up("it returns a tensor on another device")
        elif t.needs_grad and t.node is None:
            recorder.give_up("it returns a leaf that requires grad")
        elif recorder.value_of(t.array).root.kind == "constant":
            recorder.give_up("it returns memory that Python brought along")

    def find_links(self, recorder, tensors, grads):
        """Find the bases of the new tensors that are views."""
        links, hidden = [], {}
        for n, t in enumerate(self.new):
            if t._base is None:
                continue
            place = self.place_of_base(t._base, tensors, grads)
            if place is not None:
                links.append((n, place))
            else:
                hidden.setdefault(id(t._base), []).append(t)
        for views in hidden.values():  # of memory that is not shared otherwise: each is independent
            if any(t.needs_grad for t in views) and overlap([t.array.array for t in views]):
                recorder.give_up("it returns views of the same elements")
        return links

    def place_of_base(self, base, tensors, grads):
        """Where a program finds a tensor that others are views of, or another view of it; None if
        nowhere."""
        for i, x in enumerate(tensors):
            if x is base or x._base is base:
                return Argument(i)
        if id(base) in grads:
            return Outside(base)
        return next((New(k) for k, x in enumerate(self.new) if x is base), None)

    def note_versions(self, recorder):
        """Note how often the program writes to its results; after the trace."""
        found = {id(owner(t.array)): n for n, t in enumerate(self.new)}
        counts = [(n, recorder.writes_to(owner(self.new[n].array))) for key, n in found.items()
                  if recorder.roots[key][1].kind == "made"]
        self.versions = [(n, count) for n, count in counts if count]

    def forget(self):
        """Let go of the tensors of the trace."""
        self.new = ()

    def mark(self, made, name):
        """Set the number of writes to the new tensors of a run, and mark them if they are inference
        tensors."""
        if self.versions:
            bump([(made[n].array, count) for n, count in self.versions], name)
        for n in self.inference:
            note_inference(made[n])

    def build(self, made, tensors):
        """The function's result, built from the new tensors `made` and the arguments."""
        for n, place in self.links:
            source = place.find(made, tensors)
            root = source if source._base is None else source._base
            link(made[n], root)
        if self.single:
            return made[0]
        if self.all_new:
            found = [made[x.at] if x.__class__ is New else x for x in self.leaves]
        else:
            found = [x.find(made, tensors) if isinstance(x, Place) else x for x in self.leaves]
        return self.spec._build(iter(found))


class Place:
    """Where a result comes from."""

    def __init__(self, at):
        self.at = at


class New(Place):
    """A tensor that the program makes."""

    def find(self, made, tensors):
        return made[self.at]


class Argument(Place):
    """A tensor that the function was given."""

    def find(self, made, tensors):
        return tensors[self.at]


class Outside(Place):
    """A tensor that the function found; or the `Grad` of one."""

    def find(self, made, tensors):
        return self.at if isinstance(self.at, Tensor) else self.at.leaf._grad


class Grad:
    """The current gradient of a leaf, which may be another tensor in each run."""

    def __init__(self, leaf):
        self.leaf = leaf

    hooks = None
    array = property(lambda self: None if self.leaf._grad is None else self.leaf._grad.array)
    needs_grad = property(lambda self: self.leaf._grad is not None and self.leaf._grad.needs_grad)


def holder_of(tensor, grads):
    """The object from which later runs read the array of a tensor from outside: the tensor itself,
    or for a gradient the `Grad` of its leaf."""
    return next((Grad(t) for t, grad in grads.values() if grad is tensor), tensor)


def link(view, root):
    """Note that one tensor is a view of another: `core.tensor.mark_view`, for arrays that may be
    the same."""
    view._base = root
    if root._views is None:
        root._views = []
    root._views.append(weakref.ref(view))


def bump(writes, name):
    """Count writes in place: (array, how many)."""
    versions.bump([versions.counted(a) for a, count in writes for _ in range(count)], name)


def overlap(arrays):
    """True if some of these arrays share elements."""
    for n, a in enumerate(arrays):
        for b in arrays[:n]:
            try:
                if np.shares_memory(a, b, max_work=100_000):
                    return True
            except (np.exceptions.TooHardError, TypeError):
                return True
    return False
