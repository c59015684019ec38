"""What only recorded backward passes (``create_graph=True``) need: zero derivatives, and inputs that were not kept.

The gradient of `relu` changes in steps with its input: its derivative is zero. It requires gradients all the same, as
PyTorch's does, so that a second backward pass finds zeros instead of an error: it is tied to the input by a node that
passes zeros on. Definitions say by the column `flat` which gradients these are.
"""

from ..core import graph
from ..core.graph import Node
from ..core.registry import OPS
from ..core.tensor import wrap


def tied(node, gradients):
    """The `gradients` that `node` found in a recorded backward pass, those in the column `flat` tied to its inputs."""
    live = [p for p in node.parents if p is not None]
    names = [x.name for x in node.op.inputs]
    return tuple([tied_to(live, g) if g is not None and name in node.op.flat else g
                  for name, g in zip(names, gradients)])


def tied_to(parents, g):
    """The gradient `g`, and behind it a node that passes zeros on to `parents`: nodes and leaf tensors."""
    result = wrap(g.array, g.backend)
    parents = ((g.node or g) if g.needs_grad else None, *parents)
    saved = (tuple(tuple(p.shape) for p in parents[1:]),)
    result.node, result.needs_grad = node_of("tied", parents, saved, g.array.shape, g.backend), True
    if graph.node_hooks is not None:
        graph.tell_recorded(result.node, result)
    return result


def node_of(name, parents, saved, shape, backend):
    """A node that no call has made."""
    node = Node()
    node.op, node.parents, node.saved, node.shape, node.backend = OPS[name], parents, saved, shape, backend
    node.time, node.hooks = graph.version_counter, None
    return node


def behind(leaf):
    """A node that passes its gradient on to `leaf`: values that are not the leaf's stand there in the graph."""
    return node_of("clone", (leaf,), (), leaf.array.shape, leaf.backend)


def restored(node):
    """The saved values of `node`, with the input that its op `restores` in place of None."""
    name, _, function = node.op.restores
    saved, asarray = dict(zip(node.op.saved_fields, node.saved)), node.backend.asarray
    for k in node.op.keeps:                                # NumPy makes scalars of 0-d arrays
        saved[k] = asarray(saved[k])
    if saved[name] is None:
        saved[name] = asarray(function(node.backend, *[saved[k] for k in node.op.keeps]))
    return tuple(saved.values())
