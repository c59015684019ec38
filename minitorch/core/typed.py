"""Nodes of calls on other types than float32 or float64 alone: each gradient gets the type of its
input.

The fast call takes float32 and float64 tensors of one type, so its formulas cannot make anything
else. All other calls leave a `TypedNode`: 16-bit floats, mixed types, numbers. NumPy does not know
that a Python number has no say in the type of a product with bfloat16, and 16-bit numbers are
better not rounded after each step of a formula. So on the host formulas get float32 for 16-bit
floats; on a device they get them as they are, since its kernels round once themselves.
"""

from . import graph
from .arrays import is_half, is_inexact
from .graph import MultiOutputNode, Node
from .recording import recorded
from .registry import late
from .tensor import Tensor, wrap


class TypedNode(Node):
    """A call whose gradients are cast to `dtypes`, those of its inputs."""

    __slots__ = ("dtypes",)

    def pull(self, g, create_graph):
        if self.saved is None:
            late.raise_freed(self)
        if self.time != graph.version_counter:
            self.check_unwritten()
        return self.computed(g, self.as_tensors() if create_graph else self.saved, create_graph)

    def computed(self, g, values, create_graph):
        """The gradients, from what was saved: arrays, or tensors for a recorded pass."""
        F, op = self.backend, self.op
        if create_graph:
            pulled = op.pull(op.recorded, g, self.agreeing(values), self.parents)
        elif F is F.backend or not F.on_host:
            pull = op.pull if graph.pull_of is None else graph.pull_of(self)
            pulled = pull(F, g, values, self.parents)
        else:
            pulled = op.pull(F.backend, widened(g, F.ndarray), widened(values, F.ndarray),
                             self.parents)
        return [gp if gp is None or d is None else fitted(gp, d)
                for gp, d in zip(pulled, self.dtypes)]

    def agreeing(self, values):
        """Saved tensors, those that an input is restored from in the type that the input had."""
        if not self.op.restores:
            return values
        return tuple([wrap(fitted(x.array, self.dtypes[0]), x.backend) if name in self.op.keeps
                      else x for name, x in zip(self.op.saved_fields, values)])


class TypedMultiOutputNode(TypedNode, MultiOutputNode):
    """A `TypedNode` of a call with several outputs."""

    __slots__ = ()


def fitted(gradient, dtype):
    """A gradient, raw or a tensor, in the type of its input: of a complex one for a real input the
    real part."""
    is_raw = not isinstance(gradient, Tensor)
    found = gradient.dtype if is_raw else gradient.array.dtype
    if found is dtype or found == dtype or not is_inexact(found) or not is_inexact(dtype):
        return gradient
    return gradient.astype(dtype) if is_raw else recorded.to(gradient, dtype=dtype)


def widened(value, ndarray):
    """16-bit floats as float32, in tuples and lists too; anything else as it is."""
    if isinstance(value, ndarray):
        return value.astype("float32") if is_half(value.dtype) else value
    return (tuple([widened(v, ndarray) for v in value]) if value.__class__ in (tuple, list)
            else value)
