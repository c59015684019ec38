"""Writes in place to views of tensors in the graph: which are refused, and which views get new nodes afterwards."""

from ..core import graph
from ..core.graph import Node, OutputNode
from .function import FunctionNode

__all__ = ["check_view", "views_to_remake"]

WHY_NOT = ("This view was created inside a custom Function (or because an input was returned as-is) and the "
           "autograd logic to handle view+inplace would override the custom backward associated with the custom "
           "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
           "output of the custom Function.")


class StaleNode(OutputNode):
    """Behind a view that a Function has returned, once its memory was written to: gradients through it are refused."""

    __slots__ = ()

    def __init__(self, node, view):
        self.op, self.parents, self.saved, self.shape = 0, (node,), (), view.array.shape
        self.backend, self.time, self.hooks = node.backend, graph.version_counter, None

    def pull(self, g, create_graph):
        raise RuntimeError(f"Output of {self.name()} is a view and its base or another view of its base has been "
                           f"modified inplace. {WHY_NOT}")


def check_view(view, writer):
    """RuntimeError for a write in place that would change a base in the graph without the right gradients."""
    if not view.needs_grad:
        raise RuntimeError(f"A view was created in no_grad mode and is being modified inplace with grad mode enabled: "
                           f"{writer}() would change its base behind the graph's back. Make the view and write to it "
                           f"both inside or both outside the no_grad block.")
    found = function_between(view, view._base)
    if found is not None:
        raise RuntimeError(f"Output of {found.name()} is a view and is being modified inplace. {WHY_NOT}")


def views_to_remake(base):
    """The views of `base`, which is being written to, that can be made again; gradients of the others are refused."""
    remade = []
    for view in [ref() for ref in base._views]:
        found = None if view is None or not base.needs_grad else function_between(view, base)
        if found is not None:
            view.node = StaleNode(found, view)
        elif view is not None:
            remade.append(view)
    return remade


def function_between(view, base):
    """The node of the Function that has made `view`, or what it looks at, out of its base; None if there is none."""
    node, end = view.node, base.node or base
    while isinstance(node, Node) and node is not end:
        if isinstance(node, FunctionNode):
            return node
        if not isinstance(node, OutputNode) and not getattr(node.op, "view", False):
            return None
        node = node.parents[0]
    return None
