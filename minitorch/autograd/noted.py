"""Backward passes through calls with tangents: nodes that remember the tangents of saved values.

A recorded backward pass also differentiates at the open levels of forward mode.
"""

from ..core import graph
from ..core.grad_mode import grad_mode
from ..core.tensor import Tensor
from ..utils._pytree import register_pytree_node
from .saved import Packed, PackedValues

__all__ = ["Noted", "node_of", "note", "outputs_of"]


def outputs_of(result):
    """The tensors that a call returned, as a tuple."""
    return result if isinstance(result, (tuple, list)) else (result,)


def node_of(outputs):
    """The node of the call that returned `outputs`; None if it was not recorded."""
    node = next((out.node for out in outputs if isinstance(out, Tensor) and out.node is not None), None)
    return node.parents[0] if node.__class__ is graph.OutputNode else node


class Noted(PackedValues):
    """The saved values of a node, and their `tangents`: a dict or None for each input, then that of
    the result.

    A result of several tensors has a tuple of dicts.
    """

    def __new__(cls, values, tangents):
        self = super().__new__(cls, values)
        self.tangents = tangents
        return self


register_pytree_node(Noted, lambda x: (list(x), x.tangents), Noted)


class Noting:
    """A node whose saved values have tangents; a backward pass on tensors uses them while their
    levels are open."""

    __slots__ = ()

    def as_tensors(self, values=None):
        """Like `Node.as_tensors`, with the tangents."""
        found, tangents = super().as_tensors(values), self.saved.tangents
        if not grad_mode.levels:
            return found
        for x, place in zip(found, self.op.saved_places):
            if place is not None and not (isinstance(x, Tensor) and any([x is p for p in self.parents])):
                several = tangents[place]
                for t, held in zip(x, several) if isinstance(x, tuple) else ((x, several),):
                    if isinstance(t, Tensor) and held is not None:
                        t.tangents = held
        return found


_noting: dict = {}


def note(op, inputs, result):
    """Store in the node of a call the tangents of its saved values."""
    outputs = outputs_of(result)
    node = node_of(outputs)
    if node is None or not op.saves_arrays or node.op is not op:
        return
    cls = node.__class__
    if not isinstance(node, Noting):
        if cls not in _noting:
            _noting[cls] = type(f"Noting{cls.__name__}", (Noting, cls), {"__slots__": ()})
        node.__class__ = _noting[cls]
    of_result = tuple([out.tangents for out in outputs])
    node.saved = Noted(values_of(node, inputs), (*[getattr(x, "tangents", None) for x in inputs],
                                                 of_result if op.outputs != 1 else of_result[0]))


def values_of(node, inputs):
    """The saved values of a node, including an input that would otherwise be restored without its
    tangents."""
    values = list(node.saved)
    for x in node.op.restores[:1]:
        i = node.op.saved_fields.index(x)
        if values[i] is None and not any([isinstance(x, Packed) for x in values]):
            values[i] = inputs[node.op.saved_places[i]].array
    return values
