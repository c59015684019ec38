"""From a tensor to a masked one, and back: two functions with gradients."""

from ...autograd import Function
from ...extend import together, wrap
from .array import masked_array

__all__ = ["from_values", "mask_in", "to_values"]


def from_values(x, F, mask, gradient=False):
    """The masked tensor of a tensor with a mask, another one; `F` is any backend of masked arrays.
    """
    if x.backend.level is not None:
        return x.backend.through(lambda t: from_values(t, F, mask, gradient), x)
    if mask is not None:
        x, mask = together((x, mask))
    return FromValues.apply(x, F.beside(x.backend), getattr(mask, "array", None), gradient)


def mask_in(x):
    """The mask of a masked tensor, as a tensor without tangents; None: all elements count."""
    array, F = x.backend.detached(x.array)
    return None if array.mask is None else wrap(array.mask, F.inner)


def to_values(x, number=None, every=False):
    """The elements of a masked tensor, with `number` in the place of those that do not count; None:
    as they are. With `every`, all elements of its gradient count."""
    if x.backend.level is not None:
        found = x.backend.through(lambda t: to_values(t, None if number is None else 0, every), x)
        mask = mask_in(x)
        return found.masked_fill(~mask, number) if number and mask is not None else found
    return ToValues.apply(x, number, every)


class FromValues(Function):
    """The masked tensor on `F` of a tensor. Its gradient is 0 where that of the masked one does not
    count."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, F, mask, gradient):
        return wrap(masked_array(F, x.array, mask, gradient=gradient), F)

    @staticmethod
    def backward(ctx, g):
        return to_values(g, 0), None, None, None


class ToValues(Function):
    """The elements of a masked tensor: see `to_values`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, number, every):
        array, ctx.number = x.array, number
        ctx.F, ctx.mask, ctx.every = x.backend, array.mask, every
        return wrap(array.values if number is None else array.filled(number), ctx.F.inner)

    @staticmethod
    def backward(ctx, g):
        if ctx.mask is None:
            return from_values(g, ctx.F, None, True), None, None
        mask = wrap(ctx.mask, ctx.F.inner)
        g = g if ctx.number is None else g.masked_fill(~mask, 0)
        return from_values(g, ctx.F, mask | True if ctx.every else mask, True), None, None
