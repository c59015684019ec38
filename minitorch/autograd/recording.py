"""For recorded backward passes (``create_graph=True``) only: zero derivatives, and inputs that were not kept.

The gradient of `relu` changes in steps with its input: its derivative is zero. It requires gradients all the same, as
PyTorch's does, so that a second backward pass finds zeros instead of an error: it is tied to the input by a node that
stands for zeros. Definitions say by the column `flat` which gradients these are.

The zeros themselves are not computed: nothing but the nodes that a pass reached is noted, and what has no gradient at
its end although it lies below them has the gradient zero.
"""

import threading

from ..core import engine, graph
from ..core.grad_mode import grad_mode
from ..core.graph import Node, placed
from ..core.registry import OPS
from ..core.tensor import wrap


# ------------------------------------------------------------------ derivatives that are zero
class Passed(threading.local):
    """The `Tied` nodes that the backward passes of this thread have gone through and not yet dealt with."""

    def __init__(self):
        self.nodes = []


passed = Passed()


class Tied(Node):
    """A node that passes its gradient on to the first of its parents, and to the others zeros, in that it is noted."""

    __slots__ = ()
    made = False               # whether there was ever one in this process

    def pull(self, g, create_graph):
        passed.nodes.append(self)
        return (g, *[None] * (len(self.parents) - 1))


def tied(op, parents, gradients):
    """The `gradients` of a recorded call of `op`, those in its column `flat` tied to its inputs."""
    if not grad_mode.enabled:                              # a pass on tensors that is not recorded
        return gradients
    live = [p for p in parents if p is not None]
    return tuple([tied_to(live, g) if g is not None and x.name in op.flat else g for x, g in zip(op.inputs, gradients)])


def tied_to(parents, g):
    """The gradient `g`, and behind it a node that ties it to `parents`, nodes and leaf tensors."""
    result, node = wrap(g.array, g.backend), Tied()
    result.tangents = g.tangents
    node.op, node.parents, node.saved = OPS["tied"], ((g.node or g) if g.needs_grad else None, *parents), ()
    node.shape, node.backend, node.hooks, node.time = g.array.shape, g.backend, None, graph.version_counter
    result.node, result.needs_grad, Tied.made = node, True, True
    if graph.node_hooks is not None:
        graph.tell_recorded(node, result)
    return result


def run_noting(roots, seeds, create_graph, retain_graph, capture=None):
    """A backward pass as `engine.run`; what has no gradient then, but lies below `Tied` nodes, is given zeros."""
    start = len(passed.nodes)
    try:
        engine.run(roots, seeds, create_graph, retain_graph, capture)
        found = below(passed.nodes[start:])
    finally:
        del passed.nodes[start:]
    for place in found if capture is None else capture:
        if capture is not None and capture[place] is None and place in found:
            g = zeros(place, seeds[0])
            capture[place] = g if create_graph else g.array
        elif capture is None and not place.parents and place._grad is None and place.needs_grad:
            place._grad = zeros(place, seeds[0])


def zeros(place, seed):
    """The gradient zero of a node or a leaf tensor; a node's in the dtype of `seed`."""
    backend = place.backend.backend
    return wrap(backend.xp.zeros(place.shape, place.array.dtype if not place.parents else seed.array.dtype), backend)


def below(nodes):
    """All that lies behind the parents, but the first, of `Tied` nodes."""
    return behind(p for node in nodes for p in node.parents[1:])


def behind(places):
    """The nodes and leaf tensors that those at `places` were computed from, themselves included: the keys of a dict."""
    found = dict.fromkeys(places)
    todo = list(found)
    for place in todo:                                     # grows while it is read
        for parent in place.parents:
            if parent is not None and parent not in found:
                found[parent] = None
                todo.append(parent)
    return found


# ------------------------------------------------------------------ inputs that were not kept
def restored(op, place, *kept):
    """The input that `op` restores of its intermediates, at its `place` in the graph."""
    made = op.restores[2](op.recorded, *kept)
    return placed(wrap(made.array, made.backend), place)
