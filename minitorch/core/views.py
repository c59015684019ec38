"""Writes in place to views of tensors in the graph: the refused ones, and the new nodes of views
after a write."""

from .arrays import owner, pointer
from .graph import Node, OutputNode, made_node
from .registry import OPS

__all__ = ["check_view", "geometry", "in_parts", "node_of_view", "views_to_remake"]

WHY_NOT = ("This view was created inside a custom Function (or because an input was returned "
           "as-is) and the autograd logic to handle view+inplace would override the custom "
           "backward associated with the custom Function, leading to incorrect gradients. This "
           "behavior is forbidden. You can fix this by cloning the output of the custom Function.")


class StaleNode(OutputNode):
    """The node of a view that a Function returned, after its memory was written to: it refuses
    gradients."""

    __slots__ = ()

    def pull(self, g, create_graph):
        raise RuntimeError(f"Output of {self.name()} is a view and its base or another view of its "
                           f"base has been modified inplace. {WHY_NOT}")


def check_view(view, writer):
    """RuntimeError if a write to `view` would leave its base with wrong gradients: the view was
    made without recording, or by a Function."""
    if not view.needs_grad:
        raise RuntimeError(f"A view was created in no_grad mode and is being modified inplace with "
                           f"grad mode enabled: {writer}() would change its base behind the "
                           f"graph's back. Make the view and write to it both inside or both "
                           f"outside the no_grad block.")
    found = function_between(view, view._base)
    if found is not None:
        raise RuntimeError(f"Output of {found.name()} is a view and is being modified inplace. "
                           f"{WHY_NOT}")


def views_to_remake(base):
    """The views of `base` that can get a new node after a write to it. Those that a Function made
    get a `StaleNode`."""
    remade = []
    for view in [ref() for ref in base._views]:
        found = None if view is None or not base.needs_grad else function_between(view, base)
        if found is not None:
            view.node = made_node(0, (found,), (), view.array.shape, found.backend, StaleNode)
        elif view is not None:
            remade.append(view)
    return remade


def function_between(view, base):
    """The node of a Function on the way from `base` to `view`; None if only view ops made it."""
    node, end = view.node, base.node or base
    while isinstance(node, Node) and node is not end:
        if node.is_function:
            return node
        if not isinstance(node, OutputNode) and not getattr(node.op, "view", False):
            return None
        node = node.parents[0]
    return None


# ---- their nodes --------------------------------------------------------------------------------
def geometry(array):
    """Size, stride and offset of an array, in elements, relative to the array that owns the memory.
    """
    return (array.shape, tuple([s // array.itemsize for s in array.strides]),
            (pointer(array) - pointer(owner(array))) // array.itemsize)


def in_parts(array):
    """Like `geometry`, with a complex array counted in real numbers."""
    size, stride, offset = geometry(array)
    if array.dtype.kind != "c":
        return size, stride, offset
    return (*size, 2), (*[2 * s for s in stride], 1), 2 * offset


def node_of_view(name, parents, tensor, base, piece):
    """A node for `tensor` by the op `name`: "as_strided" reads the part of `base` where the array
    `piece` lies, "as_strided_scatter" replaces it.

    If one of them is complex and the other is not, both are counted in real numbers, and the result
    is viewed as complex at the end.
    """
    op, F, shape = OPS[name], base.backend, tensor.array.shape
    mixed = piece.dtype.kind != base.array.dtype.kind
    describe = in_parts if mixed else geometry
    where, layout = describe(piece), describe(base.array)
    values = dict(zip(("size", "stride", "storage_offset"), where), layout=layout)
    saved = tuple([values[field] for field in op.saved_fields])
    if not mixed:
        return made_node(op, parents, saved, shape, F)
    parents = tuple([as_parts(p, x, F) for p, x in zip(parents, (base.array, piece))])
    node = made_node(op, parents, saved, where[0] if name == "as_strided" else layout[0], F)
    if tensor.array.dtype.kind != "c":
        return node
    return made_node(OPS["view_as_complex"], (node,), (), shape, F)


def as_parts(parent, array, backend):
    """A node that views `array`, the result of `parent`, as real numbers; `parent` itself if it is
    real."""
    if parent is None or array.dtype.kind != "c":
        return parent
    return made_node(OPS["view_as_real"], (parent,), (), (*array.shape, 2), backend)
