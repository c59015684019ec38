"""Backward passes that are themselves recorded (``create_graph=True``): their formulas run on
tensors.

- Saved arrays become tensors that are attached to the graph where the arrays came from.
- An input that was not saved is computed from the intermediates (the column `restores`).
- Some gradients have a derivative of zero everywhere (the column `flat`: the gradient of `relu` is
  0 or 1). As in PyTorch they require gradients nevertheless, so that a second backward pass gives
  zeros instead of an error: a `Tied` node attaches the gradient to the inputs. These zeros are not
  computed. `passed` notes the `Tied` nodes that a pass reached, and at its end
  `autograd/recording.py` gives zeros to leaves below them that have no gradient.
"""

import threading

from . import graph
from .grad_mode import grad_mode
from .graph import Node, OutputNode, made_node
from .registry import OPS
from .tensor import Tensor, wrap

__all__ = ["placed", "recorded", "restored", "rewrap", "tied"]


class recorded:
    """A namespace of the ops on tensors: the F of formulas while a backward pass is recorded."""

    has_kernel = staticmethod(lambda name: False)

    @staticmethod
    def placed_values(node, values):
        """The saved `values` of a node as tensors, attached to the graph where they came from."""
        places = (*node.parents, node)
        return tuple([rewrap(value, places[place] if place is not None else None, node.backend)
                      for value, place in zip(values, node.op.saved_places)])


def rewrap(value, node, backend):
    """A saved value for a recorded backward pass: arrays become tensors attached to `node`."""
    if isinstance(value, tuple) and node is not None:      # several inputs, or several outputs
        nodes = node if type(node) is tuple else [OutputNode(node, i) for i in range(len(value))]
        return tuple([rewrap(v, p, backend) for v, p in zip(value, nodes)])
    if not isinstance(value, backend.ndarray):
        return value                                       # a number, an attribute, or not saved
    if isinstance(node, Tensor) and node.array is value:
        return node                                        # a leaf is its own node
    return placed(wrap(value, backend.backend), node)


def placed(tensor, node):
    """Attach a new tensor to `node` or to a leaf; None leaves it detached."""
    if isinstance(node, Tensor):      # a leaf with another array: a clone passes gradients on to it
        node = made_node(OPS["clone"], (node,), (), node.array.shape, node.backend)
    tensor.node, tensor.needs_grad = node, node is not None
    return tensor


def restored(op, place, *kept):
    """The input that `op` computes from its intermediates, attached to its `place` in the graph."""
    made = op.restores[2](recorded, *kept)
    return placed(wrap(made.array, made.backend), place)


# ---- derivatives that are zero ------------------------------------------------------------------
class Passed(threading.local):
    """The `Tied` nodes that backward passes of this thread have reached, and whose zeros are still
    to be given."""

    def __init__(self):
        self.nodes = []


passed = Passed()


class Tied(Node):
    """A node that passes its gradient on to its first parent, and notes that the gradients of the
    others are zero."""

    __slots__ = ()
    made = False                                        # True once one was made in this process

    def pull(self, g, create_graph):
        passed.nodes.append(self)
        return (g, *[None] * (len(self.parents) - 1))


def tied(op, parents, gradients):
    """The `gradients` of a recorded call of `op`, those in its column `flat` tied to its inputs."""
    if not grad_mode.enabled:                              # a pass on tensors, but not recorded
        return gradients
    live = [p for p in parents if p is not None]
    return tuple([tied_to(live, g) if g is not None and x.name in op.flat else g
                  for x, g in zip(op.inputs, gradients)])


def tied_to(parents, g):
    """The gradient `g` with a new node, which ties it to `parents` (nodes and leaf tensors)."""
    result, first = wrap(g.array, g.backend), (g.node or g) if g.needs_grad else None
    Tied.made = True
    graph.record(made_node(OPS["tied"], (first, *parents), (), g.array.shape, g.backend, Tied),
                 result)
    return result
