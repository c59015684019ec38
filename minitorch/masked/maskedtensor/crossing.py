"""From a tensor to a masked one, and back: two functions with gradients."""

from ...autograd import Function
from ...extend import wrap
from .array import masked_array

__all__ = ["FromValues", "ToValues"]


class FromValues(Function):
    """The masked tensor on `F` of a tensor. Its gradient is 0 where that of the masked one does not
    count."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, F, mask, gradient):
        ctx.F, ctx.mask, ctx.gradient = F, mask, gradient
        return wrap(masked_array(F, x.array, F.mask_of(mask), gradient=gradient), F)

    @staticmethod
    def backward(ctx, g):
        return ToValues.apply(g, 0), None, None, None

    @staticmethod
    def jvp(ctx, tangent, *others):
        return FromValues.apply(tangent, ctx.F, ctx.mask, ctx.gradient)


class ToValues(Function):
    """The elements of a masked tensor, with `number` in the place of those that do not count; None:
    as they are. With `every`, all elements of its gradient count."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, number, every=False):
        array, ctx.number = x.array, number
        ctx.F, ctx.mask, ctx.every = x.backend, array.mask, every
        return wrap(array.values if number is None else array.filled(number), ctx.F.inner)

    @staticmethod
    def backward(ctx, g):
        if ctx.number is not None and ctx.mask is not None:
            g = g.masked_fill(wrap(~ctx.mask, g.backend), 0)
        mask = ctx.mask | True if ctx.every and ctx.mask is not None else ctx.mask
        return FromValues.apply(g, ctx.F.beside(g.backend), mask, True), None, None

    @staticmethod
    def jvp(ctx, tangent, *others):
        return ToValues.apply(tangent, None if ctx.number is None else 0)
