"""Complex numbers: gradients in PyTorch's convention, from formulas that are written for real ones.

The gradient of a real L by a complex z = x + iy is ``dL/dx + i dL/dy``, twice the conjugate Wirtinger derivative: the
direction in which L grows, so that ``z - lr * z.grad`` descends. For an op with a complex derivative f'(z) the gradient
of the input is ``g conj(f'(z))``.

Formulas of such ops (the column `complex` says "holomorphic") are written as for real numbers: they are linear in g,
and give ``g f'(z)``. So ``conj(formula(conj(g)))`` is what is asked for, whatever the formula is made of, and
conjugating tensors in its place gives all higher derivatives. Formulas that read no values are linear maps with real
coefficients: the two conjugates would cancel, and such calls leave other nodes. Ops without a complex derivative
(`abs`, `real`, `vector_norm`, `svd`, ...) have formulas in this convention themselves ("conjugate"), and an op that
says neither refuses complex numbers.

A real operand beside a complex one was cast before the call; the formula of the cast takes the real part.

Source: K. Kreutz-Delgado, "The complex gradient operator and the CR-calculus" (2009), https://arxiv.org/abs/0906.4835.
"""

from ..core import graph
from ..core.graph import Node
from ..core.inplace import geometry
from ..core.op import recorded
from ..core.registry import NAMES, OPS
from ..core.tensor import Tensor
from .typed import TypedMultiOutputNode, TypedNode


class ComplexNode(TypedNode):
    """A call on complex numbers of an op that has a complex derivative."""

    __slots__ = ()

    def computed(self, g, values, create_graph):
        """The gradients: conjugates of what the formulas give for the conjugate of `g`."""
        xp = self.backend.backend.xp
        pulled = TypedNode.computed(self, conjugate(g, xp), values, create_graph)
        return [conjugate(gp, xp) for gp in pulled]


class ComplexMultiOutputNode(ComplexNode, TypedMultiOutputNode):
    """A `ComplexNode` of a call with several outputs."""

    __slots__ = ()


def conjugate(g, xp):
    """The conjugate of a gradient, raw or a tensor, or of those in a tuple; None and real ones as they are."""
    if g is None:
        return None
    if isinstance(g, (tuple, list)):
        return tuple([conjugate(x, xp) for x in g])
    if isinstance(g, Tensor):
        return recorded.conj(g) if g.array.dtype.kind == "c" else g
    return xp.conjugate(g) if g.dtype.kind == "c" else g


# ------------------------------------------------------------------ writes to parts
def node_of_parts(name, parents, tensor, base, piece):
    """As `core.inplace.make_node`, where `base` is complex and `piece` of it real, or the other way round.

    Everything is counted in real numbers, and seen as complex ones at the end.
    """
    (size, stride, offset), layout = in_parts(piece), in_parts(base.array)
    values = dict(size=size, stride=stride, storage_offset=offset, layout=layout)
    place = base.backend
    parents = [as_parts(p, x, place) for p, x in zip(parents, (base.array, piece))]
    node = made(OPS[name], tuple(parents), size if name == "as_strided" else layout[0], place)
    node.saved = tuple([values[field] for field in node.op.saved_fields])
    is_complex = tensor.array.dtype.kind == "c"
    return made(OPS["view_as_complex"], (node,), tensor.array.shape, place) if is_complex else node


def in_parts(array):
    """Size, stride and offset of an array, those of a complex one in real numbers."""
    size, stride, offset = geometry(array)
    return (size, stride, offset) if array.dtype.kind != "c" else (
        (*size, 2), (*[2 * s for s in stride], 1), 2 * offset)


def as_parts(parent, array, backend):
    """A node of the parts of `array`, which stands at `parent`; a real array's own node."""
    if parent is None or array.dtype.kind != "c":
        return parent
    return made(OPS["view_as_real"], (parent,), (*array.shape, 2), backend)


def made(op, parents, shape, backend):
    """A node that no call has made."""
    node = Node()
    node.op, node.parents, node.saved, node.shape = op, parents, (), shape
    node.backend, node.time, node.hooks = backend, graph.version_counter, None
    return node


NAMES.update(ComplexNode=ComplexNode, ComplexMultiOutputNode=ComplexMultiOutputNode)
