"""Complex numbers: gradients in PyTorch's convention, from formulas that are written for real ones.

The gradient of a real L by a complex z = x + iy is ``dL/dx + i dL/dy``, twice the conjugate
Wirtinger derivative: the direction in which L grows, so that ``z - lr * z.grad`` descends. For an
op with a complex derivative f'(z) the gradient of the input is ``g conj(f'(z))``.

Formulas of such ops (the column `complex` says "holomorphic") are written as for real numbers: they
are linear in g, and give ``g f'(z)``. So ``conj(formula(conj(g)))`` is what is asked for, whatever
the formula is made of, and conjugating tensors in its place gives all higher derivatives. Formulas
that read no values are linear maps with real coefficients: the two conjugates would cancel, and
such calls leave other nodes. Ops without a complex derivative (`abs`, `real`, `vector_norm`, `svd`,
...) have formulas in this convention themselves ("conjugate"), and an op that says neither refuses
complex numbers.

A real operand beside a complex one was cast before the call; the formula of the cast takes the real
part.

Source: K. Kreutz-Delgado, "The complex gradient operator and the CR-calculus" (2009),
https://arxiv.org/abs/0906.4835.
"""

from .recording import recorded
from .tensor import Tensor
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
    """The conjugate of a gradient, raw or a tensor, or of those in a tuple; None and real ones as
    they are."""
    if g is None:
        return None
    if isinstance(g, (tuple, list)):
        return tuple([conjugate(x, xp) for x in g])
    if isinstance(g, Tensor):
        return recorded.conj(g) if g.array.dtype.kind == "c" else g
    return xp.conjugate(g) if g.dtype.kind == "c" else g
