"""Nodes of calls on other types than float32 or float64 alone: they cast each gradient to the type
of its input.

The inputs of a fast call are all float32 or all float64, so its formulas return that type. All
other calls (16-bit floats, mixed types, numbers) make a `TypedNode`. On the host, its formulas get
16-bit floats as float32, for two reasons: NumPy lets a Python number change the type of a product
with bfloat16, and results should not be rounded after each step of a formula. On a device they get
16-bit floats unchanged, because its kernels compute in float32 and round once.
"""

from .arrays import is_half, is_inexact
from .graph import MultiOutputNode, Node
from .recording import recorded
from .tensor import Tensor, wrap


class TypedNode(Node):
    """A call whose gradients are cast to `dtypes`, those of its inputs."""

    __slots__ = ("dtypes",)

    def pull(self, g, create_graph):
        F, op, values = self.backend, self.op, self.checked_values()
        pull = op.pull if F.pull_of is None else F.pull_of(self, create_graph)
        if create_graph:
            values = self.agreeing(self.as_tensors(values))
            pulled = pull(op.recorded, g, values, self.parents)
        elif F is F.backend or not F.on_host:
            pulled = pull(F, g, values, self.parents)
        else:
            pulled = pull(F.backend, widened(g, F.ndarray), widened(values, F.ndarray),
                          self.parents)
        return [gp if gp is None or d is None else fitted(gp, d)
                for gp, d in zip(pulled, self.dtypes)]

    def agreeing(self, values):
        """The saved tensors; intermediates from which an input is restored are cast to its type."""
        if not self.op.restores:
            return values
        return tuple([wrap(fitted(x.array, self.dtypes[0]), x.backend) if name in self.op.keeps
                      else x for name, x in zip(self.op.saved_fields, values)])


class TypedMultiOutputNode(TypedNode, MultiOutputNode):
    """A `TypedNode` of a call with several outputs."""

    __slots__ = ()


def fitted(gradient, dtype):
    """A gradient (an array or a tensor), cast to the type of its input. A real input gets the real
    part of a complex gradient."""
    is_raw = not isinstance(gradient, Tensor)
    found = gradient.dtype if is_raw else gradient.array.dtype
    if found is dtype or found == dtype or not is_inexact(found) or not is_inexact(dtype):
        return gradient
    return gradient.astype(dtype) if is_raw else recorded.to(gradient, dtype=dtype)


def widened(value, ndarray):
    """A 16-bit array as float32, also inside tuples and lists; other values unchanged."""
    if isinstance(value, ndarray):
        return value.astype("float32") if is_half(value.dtype) else value
    return (tuple([widened(v, ndarray) for v in value]) if value.__class__ in (tuple, list)
            else value)
