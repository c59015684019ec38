"""The guards of a program: the kinds of its arguments, and the modules whose mode changes what a function does."""

import inspect

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..utils._pytree import tree_map

__all__ = ["signature", "watched_modules", "flatten", "rebuild"]


def signature(args, kwargs):
    """The tensors among the arguments, and a key that is equal for calls that can share a program."""
    tensors, key = [], []
    for x in args:
        describe(x, tensors, key)
    if kwargs:
        for name, x in kwargs.items():
            key.append(name)
            describe(x, tensors, key)
    return tensors, tuple(key)


def describe(x, tensors, key):
    if isinstance(x, Tensor):
        for i, t in enumerate(tensors):
            if t is x:                                     # the same tensor twice
                key.append(i)
                return
        a = x.array
        tensors.append(x)
        key.append((a.shape, a.dtype, a.strides, x.needs_grad, x.backend, x.node is None))
    elif isinstance(x, (tuple, list)):
        key.append((type(x), len(x)))
        for item in x:
            describe(item, tensors, key)
    elif isinstance(x, dict):
        key.append((dict, tuple(x)))
        for item in x.values():
            describe(item, tensors, key)
    else:
        try:
            hash(x)
            key.append((type(x), x))
        except TypeError:
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


def flatten(x, leaves):
    """A pytree as a template, with its tensors put into `leaves`."""
    def place(v):
        if not isinstance(v, Tensor):
            return v
        leaves.append(v)
        return Leaf(len(leaves) - 1)
    return tree_map(place, x)


class Leaf:
    """The place of a tensor in a template."""

    def __init__(self, index):
        self.index = index


def rebuild(template, leaves):
    """The pytree that `flatten` took apart, with other tensors."""
    return tree_map(lambda v: leaves[v.index] if isinstance(v, Leaf) else v, template)
