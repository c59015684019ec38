"""Hooks: on one tensor or node, run around its step of a backward pass, and on all nodes at once."""

import weakref
from functools import partial

from ..core import graph
from ..core.tensor import wrap

__all__ = ["AccumulateGrad", "Hooks", "NodeHook", "RemovableHandle", "add_node_hook", "remove_node_hook"]


class AccumulateGrad:
    """How a leaf appears in `next_functions`, as in PyTorch; `variable` is the leaf."""

    next_functions = ()

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def __repr__(self):
        return "<AccumulateGrad>"

    def __eq__(self, other):
        return isinstance(other, AccumulateGrad) and self.variable is other.variable

    def __hash__(self):
        return id(self.variable)


class RemovableHandle:
    """The handle of a registered hook: ``handle.remove()`` takes the hook away; also a context manager."""

    next_id = removed = 0                                  # how many there were, and how many were taken away

    def __init__(self, hooks):
        RemovableHandle.next_id += 1
        self.id, self._hooks = RemovableHandle.next_id, weakref.ref(hooks)

    def remove(self):
        hooks = self._hooks()
        if hooks is not None:
            RemovableHandle.removed += 1
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class HookDict(dict):
    """A dict that a handle can refer to weakly."""

    __slots__ = ("__weakref__",)


class Hooks:
    """The hooks of one node or leaf, by when they run; `retain`: the tensors that want the gradient kept."""

    def __init__(self):
        self.pre, self.post, self.accumulated = HookDict(), HookDict(), HookDict()
        self.retain, self.metadata = [], {}

    def add(self, when, hook):
        hooks = getattr(self, when)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle


def hooks_of(node):
    """The hooks of a node or a leaf, made when first asked for."""
    if node.hooks is None:
        node.hooks = Hooks()
    return node.hooks


# ------------------------------------------------------------------ around one step of a backward pass
def before_node(place, g, create_graph):
    """Run the hooks that see a gradient before it is used, then keep it for `retain_grad`."""
    hooks = place.hooks
    if type(g) is list:
        return g
    for hook in list(hooks.pre.values()):
        result = hook(g if create_graph else wrap(g, place.backend.backend))
        if result is not None:
            g = result if create_graph else result.array
    for ref in hooks.retain:
        tensor = ref()
        if tensor is not None:
            tensor._grad = g if create_graph else wrap(g.copy(), place.backend.backend)
    return g


def after_node(place, pulled, g, create_graph):
    """Run the hooks that see a node's input and output gradients together."""

    def show(x):
        return x if x is None or create_graph else wrap(x, place.backend.backend)

    for hook in list(place.hooks.post.values()):
        shown = tuple(map(show, g)) if type(g) is list else (show(g),)
        result = hook(tuple(map(show, pulled)), shown)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            pulled = tuple(r if r is None or create_graph else r.array for r in result)
    return pulled


# ------------------------------------------------------------------ hooks on all nodes
class NodeHook:
    """Told of all nodes while it is in the list: anomaly mode, the profiler, the compiler. Subclasses override some.

    The list is one for all threads. While it is empty, a call and a step of a backward pass pay one ``is None``.
    """

    def recorded(self, node, result):
        """Called with each new node and what its call returned: a tensor or a tuple of some."""

    def run(self, node, pull):
        """Called for each step of a backward pass; returns ``pull()``, the gradients for the node's parents."""
        return pull()

    def backward(self, run):
        """Called for each backward pass as a whole; has to call ``run()``."""
        run()


def add_node_hook(hook):
    """Tell `hook` of all nodes from now on; the last one added is the outermost of those that run around a step."""
    graph.set_node_hooks((*(graph.node_hooks or ()), hook))


def remove_node_hook(hook):
    """Tell `hook` no more; nothing happens if it is not in the list."""
    graph.set_node_hooks([h for h in graph.node_hooks or () if h is not hook])


def run_with_hooks(node, g, create_graph):
    """``node.pull(g, create_graph)`` with all node hooks around it."""
    pull = partial(node.pull, g, create_graph)
    for hook in graph.node_hooks or ():
        pull = partial(hook.run, node, pull)
    return pull()


def tell_backward(run):
    """``run()``, a whole backward pass, with all node hooks around it."""
    for hook in graph.node_hooks or ():
        run = partial(hook.backward, run)
    run()
