"""Complex numbers: gradients in PyTorch's convention, from formulas that are written for real ones.

The gradient of a real L with respect to a complex z = x + iy is ``dL/dx + i dL/dy``, twice the
conjugate Wirtinger derivative. It points in the direction in which L grows, so ``z - lr * z.grad``
descends. For an op with a complex derivative f'(z), the gradient of the input is ``g conj(f'(z))``.

The formulas of such ops (whose column `complex` is "holomorphic") are written as for real numbers:
they are linear in g and return ``g f'(z)``. So ``conj(formula(conj(g)))`` is the gradient for any
formula, and doing the same with tensors gives all higher derivatives. Formulas that read no values
are linear maps with real coefficients: the two conjugates would cancel, so these ops need no
`ComplexNode`. Ops without a complex derivative (`abs`, `real`, `vector_norm`, `svd`, ...) have
formulas that follow this convention themselves ("conjugate"). An op whose formulas read values and
whose column is None refuses complex numbers.

A real operand of a complex call is cast before the call, and the formula of the cast takes the real
part of its gradient.

Source: K. Kreutz-Delgado, "The complex gradient operator and the CR-calculus" (2009),
https://arxiv.org/abs/0906.4835.
"""

from .recording import recorded
from .tensor import Tensor
from .typed import TypedMultiOutputNode, TypedNode


class ComplexNode(TypedNode):
    """A call on complex numbers of an op that has a complex derivative."""

    __slots__ = ()

    def pull(self, g, create_graph):
        """The gradients: the conjugates of the formulas' results for the conjugate of `g`."""
        xp = self.backend.backend.xp
        pulled = TypedNode.pull(self, conjugate(g, xp), create_graph)
        return [conjugate(gp, xp) for gp in pulled]


class ComplexMultiOutputNode(ComplexNode, TypedMultiOutputNode):
    """A `ComplexNode` of a call with several outputs."""

    __slots__ = ()


def conjugate(g, xp):
    """The conjugate of a gradient (an array or a tensor), or of each in a tuple; None and real
    gradients are returned as they are."""
    if g is None:
        return None
    if isinstance(g, (tuple, list)):
        return tuple([conjugate(x, xp) for x in g])
    if isinstance(g, Tensor):
        return recorded.conj(g) if g.array.dtype.kind == "c" else g
    return xp.conjugate(g) if g.dtype.kind == "c" else g
