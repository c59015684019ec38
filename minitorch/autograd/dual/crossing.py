"""Tensors that become dual, and dual tensors that give their parts: recorded like calls.

A part's gradient is that of a dual tensor with the parts exchanged: the gradient g of the tangent
comes back as the dual (g, 0), that of the value as (0, g). The formulas of the calls before, on
dual arrays, then give the derivatives of both parts at once; and where a plain tensor became dual,
its gradient is the second part, None if that is zero.

A pass that begins at a dual tensor itself (`inside` its levels) is another thing, that function
on dual numbers differentiated: its gradients are dual throughout, and have tangents.
"""

import threading
import weakref

from ...core.grad_mode import grad_mode
from ...core.tensor import Tensor, mark_view, wrap
from .. import api, dispatch
from ..crossing import crossed
from ..standing import together
from .array import dual_array, of_backend, tangent_in
from .backend import DualBackend, above
from .levels import Level

__all__ = ["check_size", "detached", "dual", "tangent_of", "without_level", "zeros_like"]


class Pass(threading.local):
    """The backward pass that runs in this thread: `levels` are those of the tensors where it began.
    """

    levels: tuple = ()


running = Pass()


@api.inside.fill
class inside:
    """A block with a backward pass that begins at these tensors."""

    def __init__(self, tensors):
        found = {level for x in tensors if isinstance(x, Tensor) for level in x.backend.levels}
        self.levels = tuple(found)

    def __enter__(self):
        self.outer, running.levels = running.levels, self.levels

    def __exit__(self, *exc):
        running.levels = self.outer


# ---- in and out ----------------------------------------------------------------------------------
def dual(x, tangent, level):
    """A view of `x` with `tangent`, a tensor, at a level; writes to it give `x` no tangent."""
    check_size(x, tangent)
    if x.backend is not tangent.backend:
        x, tangent = together((x, tangent))
        if getattr(x.backend, "kind", None):               # a tangent is masked as its value is
            tangent = zeros_like(x) + tangent
    if x.backend.marks and x.backend.marks[-1].number > level.number:
        if x.backend.level is None:                        # such as a nested one
            return x.backend.through(lambda v, t: dual(v, t, level), x, tangent)
        values, tangents = zip(*[(value_part(t), tangent_part(t)) for t in (x, tangent)])
        return dual(dual(*values, level), dual(*tangents, level), x.backend.level)
    if tangent.array.dtype != x.array.dtype:
        tangent = tangent.to(x.dtype)
    F = above(x.backend, level)
    result = wrap(dual_array(F, x.array, tangent.array), F)
    result.array.given = weakref.ref(tangent)
    if x.needs_grad:
        mark_view(result, x)
    alike(result, x)

    def to_value(g):
        return gradient_below(g, level)

    def to_tangent(g):
        return None if level in running.levels else without_level(g, level)
    return crossed(result, (x, tangent), to_value, to_tangent)


def lift(F, x):
    """A tensor of the backend below as one whose tangent is zero."""
    result = wrap(of_backend(F, x.array), F)

    return crossed(result, (x,), lambda g: gradient_below(g, F.level))


def gradient_below(g, level):
    """The gradient of a tensor that became dual at a level, from that of the dual one."""
    if level not in running.levels:
        return tangent_of(g, level)
    return without_level(g, level) if level.closed else g


def value_part(x):
    """The value of a dual tensor, on the backend below."""
    F = x.backend

    def back(g):
        if F.level in running.levels:
            return g
        g = without_level(g, F.level)
        return dual(zeros_like(g), g, F.level)
    result = crossed(wrap(x.array.value, F.inner), (x,), back)
    return F.inner.settled(result)


def tangent_part(x):
    """The tangent of a dual tensor, on the backend below: the tensor that was given for it, if any.
    """
    F, given = x.backend, x.array.given and x.array.given()
    if given is not None and not given.needs_grad and given.array is x.array.tangent:
        return given

    def back(g):
        g = without_level(g, F.level)
        return lift(above(g.backend, F.level), g)
    return crossed(wrap(tangent_in(F, x.array), F.inner), (x,), back)


def through(function, x):
    """A linear function of tensors, of both parts of a dual one."""
    value, level = function(value_part(x)), x.backend.level
    if x.array.tangent is None:
        return lift(above(value.backend, level), value)
    return dual(value, function(tangent_part(x)), level)


# ---- at any level --------------------------------------------------------------------------------
def without_level(x, level):
    """A tensor without its tangent at a level."""
    F = x.backend
    if level not in F.levels:
        return x
    return value_part(x) if F.level is level else F.through(lambda t: without_level(t, level), x)


def tangent_of(x, level):
    """The tangent of a tensor at a level; None if it has none."""
    F = x.backend
    if level not in F.levels:
        return None
    if F.level is level:
        return None if x.array.tangent is None else tangent_part(x)
    if F.level is None:
        return F.through(lambda t: tangent_of(t, level), x)
    t, u = tangent_of(value_part(x), level), tangent_of(tangent_part(x), level)
    if t is None and u is None:
        return None
    return dual(zeros_like(u) if t is None else t, zeros_like(t) if u is None else u, F.level)


def detached(x):
    """`x` detached from the graph; it keeps the tangents of open levels, detached too."""
    for level in x.backend.levels:
        if level not in grad_mode.levels:
            x = without_level(x, level)
    return alike(wrap(x.array, x.backend), x)


def zeros_like(x):
    """Zeros of the shape and dtype of `x`, on its backend."""
    return alike(wrap(x.backend.xp.zeros(x.array.shape, x.array.dtype), x.backend), x)


def alike(result, x):
    """`result`, of the class of `x` if that answers calls on it."""
    if dispatch.is_overloaded(type(x)) or type(x) in dispatch.layouts:
        result.__class__ = type(x)
    return result


def check_size(tensor, tangent):
    """RuntimeError unless a tangent has the shape of its tensor."""
    if tangent.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}.")


DualBackend.lift, DualBackend.through = lift, staticmethod(through)
Level.above = lambda level, inner: above(inner, level)
DualBackend.tangent = staticmethod(tangent_part)
