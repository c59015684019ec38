"""Gradients of calls on masked arrays: the formulas of an op run on the backend below.

They get what the op has computed with, and a gradient of 0 where a result does not count. A
gradient counts where its input does; element by element also only where the gradient of the result
does, which a `where` narrows to what it has chosen.
"""

from ...extend import wrap
from .array import MaskedArray, masked_array
from .crossing import from_values, mask_in, to_values
from .interpretation import each, stretched

__all__ = ["pulled"]


def pulled(node, create_graph, over, g, values, parents):
    """The gradients for the parents of a node: arrays, or tensors if the pass is recorded."""
    step = (Recorded if create_graph else Step)(node, over, g)
    call, op, saved = step.call, node.op, []
    for value, place in zip(values, op.saved_places, strict=True):
        fills = call is not None and call.how in ("reduce", "fill") and value is not None
        value = each(step.lower_result if fills and place == -1 else step.lower, value)
        if fills and place == 0:
            value = call.filled(step.ns, value)
        if place == -1:
            value = step.rescaled(value, -1)
        saved.append(value)
    g = each(lambda x: step.rescaled(step.lower(x, 0)), g)
    found = op.pull(step.ns, g, saved, parents)
    return [None if p is None or x is None else step.raised(i, x, p)
            for i, (x, p) in enumerate(zip(found, parents, strict=True))]


def call_of(node):
    """The call that made a node's result; None for nodes of views and copies that have none."""
    shape = node.shape
    if shape and shape[0].__class__ is not int:
        shape = shape[0]
    call = getattr(shape, "call", None)
    return call if call is not None and call.op is node.op else None


class Step:
    """One node of a pass on arrays: how values are brought to the backend below, and back."""

    def __init__(self, node, over, g):
        self.F, self.call = node.backend.backend, call_of(node)
        while self.F.level is not None:
            self.F = self.F.inner
        self.ns = self.below(node, over)
        several = g.__class__ in (tuple, list)
        self.passed, self.shape = (None, None) if several else (self.mask_of(g), tuple(g.shape))

    def below(self, node, over):
        """The namespace of ops that formulas get, below that of the node."""
        return self.F.inner if node.backend is self.F else self.F.inner.fp32

    @staticmethod
    def mask_of(g):
        return g.mask

    def lower(self, x, number=None):
        """A value on the backend below, with `number` in place of what does not count."""
        if x.__class__ is not MaskedArray:
            return x
        return x.values if number is None else x.filled(number)

    lower_result = lower

    def upper(self, x, mask):
        return masked_array(self.F, self.F.array_of(x), mask, gradient=True)

    def constant(self, array):
        """An array of the backend below, as formulas take it."""
        return array

    def rescaled(self, x, power=1):
        """`x` times the scale of the call, or divided by it."""
        scale = None if self.call is None else self.call.scale
        if scale is None or x is None:
            return x
        scale = self.constant(scale.astype(getattr(x, "array", x).dtype))
        return x * scale if power > 0 else x / scale

    def raised(self, i, x, parent):
        """A gradient of the backend below as that of input `i`, the `parent`."""
        want = parent.shape if parent.parents else parent.array.shape
        mask = getattr(want, "mask", None) if self.call is None else self.call.masks[i]
        passed = self.through(i)
        if tuple(x.shape) != tuple(want):
            if passed is not None and passed.shape == tuple(x.shape):
                x = self.ns.where(self.constant(passed), x, 0.0)
            return self.upper(self.ns.sum_to(x, shape=tuple(want)), mask)
        if passed is not None and passed.shape == tuple(want):
            mask = passed if mask is None else mask & passed
        return self.upper(x, mask)

    def through(self, i):
        """The mask of what passes to input `i` of an op that works element by element; or None."""
        if self.call is None or self.call.how == "combine":
            return self.passed
        if self.call.how != "where":
            return None
        condition = stretched(self.F, self.call.condition, self.shape)
        passed = condition if i == 1 else ~condition
        return passed if self.passed is None else passed & self.passed


def is_masked(x):
    """True if `x` is a masked tensor."""
    return hasattr(x, "needs_grad") and getattr(x.backend, "kind", None) is not None


class Recorded(Step):
    """One node of a pass that is recorded: on tensors."""

    def below(self, node, over):
        return over

    @staticmethod
    def mask_of(g):
        return getattr(mask_in(g), "array", None) if is_masked(g) else None

    def lower(self, x, number=None):
        if is_masked(x):
            return to_values(x, number)
        return wrap(x, self.F.inner) if isinstance(x, self.F.inner.ndarray) else x

    def lower_result(self, x):
        """All elements matter of a result that formulas read, such as a running product."""
        return to_values(x, every=True)

    def upper(self, x, mask):
        return from_values(x, self.F, None if mask is None else self.constant(mask), True)

    def constant(self, array):
        return wrap(array, getattr(array, "backend", self.F.inner))
