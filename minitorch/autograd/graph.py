"""``torch.autograd.graph``: nodes, edges, hooks on several gradients, hooks on saved tensors.

The classes of the graph are in `minitorch/core/graph.py`, the hooks on saved tensors in `saved.py`.
"""

import sys
import threading
from typing import Any, NamedTuple

from ..core import engine
from ..core.graph import MultiOutputNode, Node, OutputNode, bump_version
from ..core.tensor import Tensor
from .hooks import RemovableHandle
from .nodes import AccumulateGrad, accumulate_grad, shown
from .saved import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = ["GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


# ------------------------------------------------------------------ edges
class GradientEdge(NamedTuple):
    """Output `output_nr` of `node`, into which a gradient flows. `autograd.grad` and `backward`
    take it like a tensor."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor):
    """The edge at which the gradient of `tensor` arrives; it does not keep the tensor's memory."""
    if isinstance(tensor, GradientEdge):
        return tensor
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor.node is None:
        return GradientEdge(accumulate_grad(tensor), 0)
    if tensor.node.__class__ is OutputNode:
        return GradientEdge(shown(tensor.node), tensor.node.op, tensor.node)
    return GradientEdge(shown(tensor.node), 0)


def place_of(x, roots=()):
    """The node or leaf of a tensor or an edge in the graph behind `roots`."""
    if not isinstance(x, GradientEdge):
        return x.node or x
    if isinstance(x.node, AccumulateGrad):
        return x.node.variable
    if not isinstance(x.node, MultiOutputNode):
        return x.node
    if x.ownership_token is not None:
        return x.ownership_token
    _, order = engine.count_uses(roots)
    found = (n for n in order if n.__class__ is OutputNode and n.parents[0] is x.node and n.op == x.output_nr)
    return next(found, None) or OutputNode(x.node, x.output_nr)


def increment_version(tensor):
    """Count a write in place to a tensor, or to each of several, for writes that the library did
    not make."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference():
            bump_version(t, "increment_version()")


# ------------------------------------------------------------------ the pass that is running
def current_pass():
    """The local variables of the innermost backward pass in this thread; None if none is running.

    They are read from Python's stack: so a pass does no work for the few callers of this function.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not engine.run.__code__:
        frame = frame.f_back
    return None if frame is None else frame.f_locals


def will_run(place, running):
    """True if the pass will compute a gradient for this node or leaf."""
    wanted, capture = running["wanted"], running["capture"]
    return place in running["places"] and (place in wanted or place in capture)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Run ``fn(gradients)`` once a backward pass has computed all gradients of `tensors` that it
    will compute.

    The others are None. With mode="any", ``fn(gradient)`` runs with the first gradient computed.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    make = all_known if mode == "all" else first_known
    return MultiHandle(tuple(make(list(tensors), fn)))


def all_known(tensors, fn):
    places, waiting, lock = [place_of(t) for t in tensors], {}, threading.Lock()

    def hook(i, grad):
        running = current_pass()
        key = id(running["ready"])
        with lock:
            # the list is kept alive, so that its id stays unique
            if key not in waiting:
                left = sum([will_run(p, running) for p in places])
                waiting[key] = [running["ready"], [None] * len(places), left]
            entry = waiting[key]
            entry[1][i] = grad
            entry[2] -= 1
            if entry[2]:
                return
            del waiting[key]
        fn(entry[1])

    return [t.register_hook(lambda grad, i=i: hook(i, grad)) for i, t in enumerate(tensors)]


def first_known(tensors, fn):
    seen = [None]

    def hook(grad):
        # one list for each pass, kept alive as above
        ready = current_pass()["ready"]
        if seen[0] is not ready:
            seen[0] = ready
            fn(grad)

    return [t.register_hook(hook) for t in tensors if t.requires_grad]


class MultiHandle(RemovableHandle):
    """The handle of a hook on several tensors."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        """Remove the hook from all tensors."""
        for handle in self.handles:
            handle.remove()
