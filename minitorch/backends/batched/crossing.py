"""Tensors going into a batch and out of it, recorded: a dimension is hidden, shown again, or there was none.

The derivative of hiding a dimension is showing it, and the other way round; that of taking a tensor for all elements of
a batch is the sum over them. Each of these leaves a node, whose `saved` is a function for the way back.
"""

from ...core import graph
from ...core.arrays import is_half
from ...core.grad_mode import grad_mode
from ...core.graph import Node, made_node
from ...core.registry import OPS
from ...core.tensor import Tensor, mark_view, wrap
from .array import Batched, batched, escaped, is_shared, lifted, over, shared

__all__ = ["chain", "entered", "hide", "join", "lift", "of_one_batch", "running", "show"]


class Crossing(Node):
    """A node of hiding or showing a dimension: `saved` is a function of the gradient, a tensor, that goes back."""

    __slots__ = ()

    def name(self):
        return "VmapBackward0"

    def pull(self, g, create_graph):
        if create_graph:
            return (self.saved[0](g),)
        g = wrap(g, getattr(g, "backend", self.backend))   # of another batch, or with a tangent
        return (self.saved[0](g).array,)

    def release(self):
        pass


def record(result, source, back):
    """Leave a node behind `result`, made of `source`, if that requires gradients."""
    if source.needs_grad and grad_mode.enabled:
        parents = (source.node or source,)
        graph.record(made_node(OPS["alias"], parents, (back,), result.array.shape, result.backend, Crossing), result)
    return result


def of_parts(function):
    """A linear function of a backend and a tensor, also for one of several parts, such as a dual one: of these."""
    def call(F, x, *args):
        if not x.backend.marks:
            return function(F, x, *args)
        return x.backend.through(lambda t: call(F, t, *args), x)
    return call


@of_parts
def hide(F, x, dim):
    """Dimension `dim` of a tensor, of any backend below `F`, as the hidden one."""
    x = join(F.inner, x)
    value = x.array
    if dim:
        value = F.inner.xp.moveaxis(value, dim, 0)
    if x.needs_grad and grad_mode.enabled:
        value = read_only(value)
    result = wrap(batched(F, value), F)
    mark_view(result, x)
    return record(result, x, lambda g: show(onto(F, g.backend), g, dim))


@of_parts
def show(F, x, dim):
    """The tensor of the backend below whose dimension `dim` was the hidden one."""
    x = join(F, x)
    value = over(F, x.array)
    if dim:
        value = F.inner.xp.moveaxis(value, 0, dim)
    result = wrap(value, F.inner)
    if x.array.value.shape[0] == F.size:
        mark_view(result, x)
    return record(result, x, lambda g: hide(onto(F, g.backend), g, dim))


@of_parts
def lift(F, x):
    """A tensor of the backend below as one that is the same for all elements of the batch."""
    result = wrap(lifted(F, x.array), F)
    mark_view(result, x)
    return record(result, x, lambda g: g if grad_mode.each and F.origin in grad_mode.batches else total(
        onto(F, g.backend), g))


@of_parts
def total(F, x):
    """The sum of a tensor over the batch, on the backend below."""
    x = join(F, x)
    value = x.array.value
    inner = F.inner.fp32 if is_half(value.dtype) else F.inner
    if value.shape[0] == F.size:
        value = inner.sum(value, dim=0, keepdim=False, dtype=None) if F.size != 1 else value[0]
    else:
        value = inner.mul(value[0], F.size)
    return record(wrap(value, F.inner), x, lambda g: spread_over(F, g))


def spread_over(F, g):
    """The gradient of a tensor of `F` from that of its sum."""
    G = onto(F, g.backend)
    return lift(G, join(G.inner, g))


def settled(F, x):
    """`x`, a tensor of `F`, as one of the backend below if all elements of the batch are the same."""
    value = x.array.value
    if value.shape[0] != 1 or F.size == 1:
        return x
    result = wrap(value[0], F.inner)
    mark_view(result, x)

    def back(g):
        return g if onto(F, g.backend) in chain(g.backend) else spread_over(F, g / F.size)
    record(result, x, back)
    return settled(F.inner, result) if F.inner.depth else result


# ---- from one backend to another ---------------------------------------------------------------------------
def chain(F):
    """The batched backends from the outermost to `F`."""
    F = F.below
    return [*chain(F.inner), F] if F.depth else []


def entered(x):
    """`x`, a tensor, in the batch that runs here, if there is one: a differentiated tensor has a gradient for each
    element of it."""
    return join(running(x.backend.below), x)


def running(backend):
    """The batched backend of the innermost vmap that runs here on the device of `backend`; `backend` if none does."""
    return next((F for F in grad_mode.batches[::-1] if F.device == backend.device), backend)


def onto(F, backend):
    """The backend of the vmap of `F` that can stand on `backend`: itself, or a copy above batches that `F` knows not.

    Those are the batches of gradients, when they reach what was computed in a vmap before.
    """
    backend = backend.below
    levels = chain(backend)
    for level in levels:
        if level.origin is F.origin:
            return level
    known = {level.origin for level in chain(F)}
    if all([level.origin in known for level in levels]):
        return F
    have = {level.origin for level in levels}
    inner = backend if all([level.origin in have for level in chain(F.inner)]) else onto(F.inner, backend)
    copy = inner.copies.get(F.origin)
    if copy is None:
        copy = inner.copies[F.origin] = type(F)(inner, F.size, F.randomness, F.origin)
    return copy


def join(F, x):
    """A tensor of `F` or of a backend below it, as one of `F`; its levels stay."""
    return x if x.backend is F or x.backend.below is F else joined(F, x)


@of_parts
def joined(F, x):
    backend = x.backend
    if F.depth:
        if backend.depth and backend.origin is F.origin:   # above other batches
            if is_shared(x.array) and not x.needs_grad:
                return lift(F, join(F.inner, wrap(shared(x.array), backend.inner)))
            return hide(F, show(backend, x, 0), 0)
        return lift(F, join(F.inner, x))
    if backend.depth:
        raise escaped()
    return F.join(x)


def of_one_batch(inputs):
    """The inputs of a call with every tensor taken into the innermost batch that one of them is in."""
    F = None
    for x in inputs:
        if isinstance(x, Tensor):
            if x.backend.marks:
                return x.backend.together(inputs)
            if F is None or x.backend.depth > F.depth:
                F = x.backend
    return [join(F, x) if isinstance(x, Tensor) and x.backend is not F else x for x in inputs]


def read_only(value):
    """A view of an array that refuses to be written to."""
    if value.__class__ is Batched:
        return batched(value.backend, read_only(value.value))
    view = value[...]
    if hasattr(view, "setflags"):
        view.setflags(write=False)
    return view
