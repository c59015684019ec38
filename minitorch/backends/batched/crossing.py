"""Tensors going into a batch and out of it, recorded: a dimension is hidden, shown again, or there was none.

The derivative of hiding a dimension is showing it, and the other way round; that of taking a tensor for all elements of
a batch is the sum over them. A node stands for each, whose `saved` is what the way back needs.
"""

from ...core import graph
from ...core.arrays import is_half
from ...core.grad_mode import grad_mode
from ...core.graph import Node
from ...core.registry import OPS
from ...core.tensor import Tensor, mark_view, wrap
from .array import Batched, batched, lifted, over

__all__ = ["chain", "hide", "join", "lift", "of_one_batch", "show"]


class Crossing(Node):
    """A node of hiding or showing a dimension: `saved` is a function of the gradient, a tensor, that goes back."""

    __slots__ = ()

    def name(self):
        return "VmapBackward0"

    def pull(self, g, create_graph):
        if create_graph:
            return (self.saved[0](g),)
        return (self.saved[0](wrap(g, backend_of(g, self.backend))).array,)

    def release(self):
        pass


def backend_of(array, fallback):
    return array.backend if array.__class__ is Batched else fallback


def record(result, source, back):
    """Leave a node behind `result`, made of `source`, if that requires gradients."""
    if source.needs_grad and grad_mode.enabled:
        node = Crossing()
        node.op, node.parents, node.saved = OPS["alias"], (source.node or source,), (back,)
        node.shape, node.backend, node.hooks, node.time = (result.array.shape, result.backend, None,
                                                           graph.version_counter)
        result.node, result.needs_grad = node, True
        if graph.node_hooks is not None:
            graph.tell_recorded(node, result)
    return result


def hide(F, x, dim):
    """Dimension `dim` of a tensor, of any backend below `F`, as the hidden one."""
    x = below(F, x)
    value = x.array
    if dim:
        value = F.inner.xp.moveaxis(value, dim, 0)
    if x.needs_grad and grad_mode.enabled:
        value = read_only(value)
    result = wrap(batched(F, value), F)
    mark_view(result, x)
    return record(result, x, lambda g: show(F, g, dim))


def show(F, x, dim):
    """The tensor of the backend below whose dimension `dim` was the hidden one."""
    x = join(F, x)
    value = over(F, x.array)
    if dim:
        value = F.inner.xp.moveaxis(value, 0, dim)
    result = wrap(value, F.inner)
    if x.array.value.shape[0] == F.size:
        mark_view(result, x)
    return record(result, x, lambda g: hide(F, g, dim))


def lift(F, x):
    """A tensor of the backend below as one that is the same for all elements of the batch."""
    result = wrap(lifted(F, x.array), F)
    mark_view(result, x)
    return record(result, x, lambda g: total(F, g))


def total(F, x):
    """The sum of a tensor over the batch, on the backend below."""
    x = join(F, x)
    value = x.array.value
    if value.shape[0] == F.size:
        inner = F.inner.fp32 if is_half(value.dtype) else F.inner
        value = inner.sum(value, dim=0, keepdim=False, dtype=None) if F.size != 1 else value[0]
    else:
        value = value[0] * F.size if value.dtype.kind != "V" else (value[0].astype("float32") * F.size).astype(
            value.dtype)
    return record(wrap(value, F.inner), x, lambda g: lift(F, below(F, g)))


def chain(F):
    """The batched backends from the outermost to `F`."""
    return [*chain(F.inner), F] if F.depth else []


def join(F, x):
    """A tensor of `F` or of a backend below it, as one of `F`."""
    for level in chain(F):
        if x.backend.backend is level.inner:
            x = lift(level, x)
    if x.backend.backend is not F:
        if not x.backend.depth and not x.array.ndim:       # a number on another device
            return join(F, x.to(F.device))
        raise RuntimeError("vmap: a tensor is used outside of the vmap in which it was made: it may have escaped from "
                           "a function being vmapped, which must return what is to be used afterwards"
                           if x.backend.depth else
                           f"Expected all tensors to be on the same device, but found at least two devices, "
                           f"{F.device} and {x.device}!")
    return x


def below(F, x):
    """A tensor of a backend below `F`, as one of the backend on which `F` stands."""
    return join(F.inner, x) if F.inner.depth else x


def of_one_batch(inputs):
    """The inputs of a call, of which some are batched, with all tensors on the innermost backend among theirs."""
    F = max([x.backend for x in inputs if isinstance(x, Tensor)], key=lambda backend: backend.depth)
    return [join(F, x) if isinstance(x, Tensor) and x.backend is not F else x for x in inputs]


def read_only(value):
    """A view of an array that refuses to be written to."""
    if value.__class__ is Batched:
        return batched(value.backend, read_only(value.value))
    view = value[...]
    if hasattr(view, "setflags"):
        view.setflags(write=False)
    return view
