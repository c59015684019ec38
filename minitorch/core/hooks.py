"""Hooks: those of one tensor or node, which run around its step of a backward pass, and node hooks,
which see all nodes.

The methods by which users register the former are in `autograd/hooks.py`.
"""

from functools import partial

from . import dtypes, graph
from .errors import worded
from .tensor import Tensor, wrap

__all__ = ["Hooks", "NodeHook", "add_node_hook", "hooks_of", "remove_node_hook"]


class HookDict(dict):
    """A dict that a handle can refer to weakly."""

    __slots__ = ("__weakref__",)


class Hooks:
    """The hooks of one node or leaf.

    - `pre`: hooks of tensors, on the gradient before it is used
    - `node_pre`, `post`: hooks of nodes, before and after their step
    - `accumulated`: hooks of leaves, after their `grad` has changed
    - `retain`: weak references to the tensors that called `retain_grad`
    """

    def __init__(self):
        self.pre, self.node_pre, self.post, self.accumulated = [HookDict() for _ in range(4)]
        self.retain, self.metadata = [], {}


def hooks_of(node):
    """The hooks of a node or a leaf, created on first use."""
    if node.hooks is None:
        node.hooks = Hooks()
    return node.hooks


# ---- around one step of a backward pass ---------------------------------------------------------
def before_node(place, g, create_graph):
    """Run the hooks that see a gradient before it is used; tensors with `retain_grad` add it to
    their `grad`. Returns the gradient, which hooks may replace."""
    hooks = place.hooks
    seen = shown(place, g, create_graph) if hooks.pre or hooks.retain else None
    for hook in list(hooks.pre.values()):          # all see one tensor: hooks may set attributes
        result = hook(seen)
        if result is not None:
            g = taken(hook, result, g, create_graph)
            seen = result if result is g or result.array is g else shown(place, g, create_graph)
    for ref in hooks.retain:
        tensor = ref()
        if tensor is not None:
            retain(tensor, seen, create_graph)
    for hook in list(hooks.node_pre.values()):
        several = type(g) is list
        gs = g if several else [g]
        result = hook(tuple([shown(place, x, create_graph) for x in gs]))
        if result is not None:
            gs = replaced(hook, result, gs, create_graph)
            g = gs if several else gs[0]
    return g


def after_node(place, pulled, g, create_graph):
    """Run the hooks that see both gradients of a node: of its inputs and of its outputs."""
    for hook in list(place.hooks.post.values()):
        gs = g if type(g) is list else (g,)
        result = hook(tuple([shown(place, x, create_graph) for x in pulled]),
                      tuple([shown(place, x, create_graph) for x in gs]))
        if result is not None:
            pulled = tuple(replaced(hook, result, pulled, create_graph))
    return pulled


def after_leaf(leaf, g, create_graph):
    """Run the hooks of a leaf after `g` was added to its `grad`: its own, and those of its
    `AccumulateGrad` node."""
    for hook in list(leaf.hooks.accumulated.values()):
        result = hook(leaf)
        if result is not None and result is not leaf:
            raise worded(RuntimeError("Tensor post accumulate grad hooks should return None: what "
                                      "they change of the tensor they write into it"))
    for hook in list(leaf.hooks.post.values()):
        hook((), (shown(leaf, g, create_graph),))


def shown(place, g, create_graph):
    """A gradient as hooks see it: a tensor, or None."""
    return g if g is None or create_graph else wrap(g, place.backend.backend)


def retain(tensor, g, create_graph):
    """Add a gradient to the `grad` of a computed tensor."""
    if tensor._grad is None:
        tensor._grad = g if create_graph else wrap(g.array.copy(), g.backend)
    else:
        tensor._grad = tensor._grad + g


def taken(hook, result, g, create_graph):
    """The gradient that a hook returned to replace `g`; an error unless it is a tensor of the same
    dtype and shape."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}': hook "
                        f"'{name_of(hook)}' must return a Tensor, or None to leave the gradient as "
                        f"it is")
    dtype = g.array.dtype if create_graph else g.dtype
    if result.array.dtype != dtype:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the type of value (was "
                           f"{dtypes.from_np(dtype)} got {result.dtype})")
    if result.array.shape != g.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value (was "
                           f"{list(g.shape)} got {list(result.shape)})")
    return result if create_graph else result.array


def replaced(hook, results, gs, create_graph):
    """The gradients that a hook of a node returned, in a tuple, to replace `gs`."""
    if not isinstance(results, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(results).__name__}'")
    if len(results) != len(gs):
        raise RuntimeError(f"hook '{name_of(hook)}' has returned an incorrect number of values "
                           f"(got {len(results)}, but expected {len(gs)})")
    if any(r is not None and g is None for r, g in zip(results, gs)):
        raise RuntimeError("can't replace a None gradient with a non-None value")
    return [None if r is None else taken(hook, r, g, create_graph) for r, g in zip(results, gs)]


def name_of(hook):
    return getattr(hook, "__name__", None) or type(hook).__name__


# ---- hooks on all nodes -------------------------------------------------------------------------
class NodeHook:
    """Notified of all nodes while it is in the list: the base of anomaly mode, the profiler, the
    compiler. Subclasses override the methods that they need.

    All threads share one list. While it is empty, a call and a step of a backward pass pay one
    ``is None``.
    """

    def recorded(self, node, result):
        """Called with each new node and the result of its call, a tensor or a tuple of tensors."""

    def run(self, node, pull):
        """Called for each step of a backward pass; returns ``pull()``, the gradients for the node's
        parents."""
        return pull()

    def backward(self, run):
        """Called for each backward pass as a whole; must call ``run()``."""
        run()


def add_node_hook(hook):
    """Notify `hook` of all nodes from now on. Around a step, the hook that was added last is the
    outermost."""
    graph.set_node_hooks((*(graph.node_hooks or ()), hook))


def remove_node_hook(hook):
    """Stop notifying `hook`; nothing happens if it is not in the list."""
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
