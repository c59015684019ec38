"""Hooks as users register them, on tensors and nodes; `core/hooks.py` runs them."""

import weakref

from ..core import graph
from ..core.graph import Node
from ..core.hooks import HookDict, hooks_of
from ..core.registry import extends
from ..core.tensor import Tensor

__all__ = ["RemovableHandle", "added"]


class RemovableHandle:
    """The handle of a registered hook: ``handle.remove()`` removes the hook, and so does leaving a
    ``with`` block.

    ``hooks_dict`` maps ids to hooks; ``extra_dict`` is another dict, or several, with the same id
    as a key.
    """

    next_id = removed = 0                        # the numbers of handles made and of hooks removed
    _extra: tuple = ()

    def __init__(self, hooks_dict, *, extra_dict=None):
        RemovableHandle.next_id += 1
        self.id, self._hooks = RemovableHandle.next_id, weakref.ref(hooks_dict)
        if extra_dict is not None:
            self._extra = tuple(map(weakref.ref, [extra_dict] if isinstance(extra_dict, dict)
                                    else extra_dict))

    def remove(self):
        """Remove the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            RemovableHandle.removed += 1
            hooks.pop(self.id, None)
        for ref in self._extra:
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    # A copy, or a handle read from a file, can only remove the hook that was stored with it.
    def __getstate__(self):
        return self.id, [ref() for ref in (self._hooks, *self._extra)]

    def __setstate__(self, state):
        self.id, dicts = state
        self._hooks, *extra = (weakref.ref(HookDict() if d is None else d) for d in dicts)
        self._extra = tuple(extra)


def added(node, when, hook):
    """Add a hook to those of a node or a leaf; returns the handle that removes it."""
    hooks = getattr(hooks_of(node), when)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


# ------------------------------------------------------------------ methods of Tensor
@extends(Tensor)
def retain_grad(self):
    """Keep the gradient of this tensor, the result of a call, in its `grad`."""
    if not self.needs_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.node is not None and not self.retains_grad:
        hooks_of(self.node).retain.append(weakref.ref(self))


@extends(Tensor)
def register_hook(self, hook):
    """Run ``hook(gradient)`` when this tensor's gradient is complete; a returned tensor replaces
    it."""
    if not self.needs_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return added(self.node or self, "pre", hook)


@extends(Tensor)
def register_post_accumulate_grad_hook(self, hook):
    """Run ``hook(tensor)`` each time a backward pass has added to the `grad` of this leaf."""
    if not self.needs_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return added(self, "accumulated", hook)


@extends(Tensor, kind=property)
def output_nr(self):
    """The index of this tensor among the outputs of its graph node."""
    return self.node.op if self.node.__class__ is graph.OutputNode else 0


# ------------------------------------------------------------------ methods of nodes
@extends(Node, "register_hook")
def register_node_hook(self, hook):
    """Run ``hook(grad_inputs, grad_outputs)`` after this node; a returned tuple replaces
    `grad_inputs`."""
    return added(self, "post", hook)


@extends(Node)
def register_prehook(self, hook):
    """Run ``hook(grad_outputs)`` before this node; a returned tuple replaces `grad_outputs`."""
    return added(self, "node_pre", hook)


@extends(Node, kind=property)
def metadata(self):
    """A dict for the user's own notes."""
    return hooks_of(self).metadata
