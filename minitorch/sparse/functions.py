"""The functions that all others are made of: each has a derivative that is one of these, so gradients go to any order.

`values_of` and `build` take a sparse tensor apart and put it together; what happens to the values in between is plain
tensors' arithmetic. `scatter` and `pick` are transposes of each other, `multiply` and `products_at` are the derivatives
of each other. A gradient of a sparse tensor stands for the dense one: of the elements that are entries, each place
once. """

from .. import Tensor
from ..autograd import Function
from ..extend import grad_mode, wrap
from . import kernels
from .arrays import SparseArray, coalesced, densified, rows_of
from .patterns import Pattern
from .tensor import SparseTensor, made

__all__ = ["SparseFunction", "ToDense", "added", "build", "coalesce", "dense", "multiply", "pick",
           "picked", "products_at", "scatter", "values_of"]


class SparseFunction(Function):
    """A function of sparse tensors. A compiled function leaves it to Python; `vmap` does not take it."""

    @classmethod
    def _called(cls, args):
        if grad_mode.batches:
            raise NotImplementedError("vmap does not go through functions of sparse tensors: write a loop, or put the "
                                      "batch into the columns of the dense factor")
        for x in args:
            recorder = getattr(x.backend, "recorder", None) if isinstance(x, Tensor) else None
            if recorder is not None:
                recorder.give_up("it calls functions of sparse tensors")
        return super()._called(args)


class Values(SparseFunction):
    """The values of a sparse tensor, in its memory. The gradient is a sparse tensor of its pattern."""

    @staticmethod
    def forward(ctx, input):
        ctx.pattern = input.array.pattern
        return wrap(input.array.values, input.backend)

    @staticmethod
    def jvp(ctx, input):
        return values_of(input)

    @staticmethod
    def backward(ctx, g):
        if ctx.pattern.once:
            return build(g, ctx.pattern)
        pattern, _, first = ctx.pattern.merged             # one gradient for entries at the same place: they are added
        return build(g[wrap(first, g.backend)], pattern)


class Build(SparseFunction):
    """A sparse tensor of values and a pattern, in the memory of the values."""

    @staticmethod
    def forward(ctx, values, pattern):
        ctx.pattern = pattern
        return made(SparseArray(pattern, values.array), values.backend)

    @staticmethod
    def jvp(ctx, values, pattern):
        return build(values, ctx.pattern)

    @staticmethod
    def backward(ctx, g):
        return picked(g, ctx.pattern), None


class Scatter(SparseFunction):
    """A dense tensor with the values at their places, added up where places repeat."""

    @staticmethod
    def forward(ctx, values, pattern):
        ctx.pattern = pattern
        return wrap(densified(SparseArray(pattern, values.array)), values.backend)

    @staticmethod
    def jvp(ctx, values, pattern):
        return scatter(values, ctx.pattern)

    @staticmethod
    def backward(ctx, g):
        return picked(g, ctx.pattern), None


class Pick(SparseFunction):
    """The elements of a dense tensor at the places of a pattern; the gradient is sparse if `sparse`."""

    @staticmethod
    def forward(ctx, input, pattern, sparse):
        ctx.pattern, ctx.sparse = pattern, sparse
        return wrap(rows_of(input.array, len(pattern.sizes))[pattern.keys], input.backend)

    @staticmethod
    def jvp(ctx, input, pattern, sparse):
        return pick(input, ctx.pattern)

    @staticmethod
    def backward(ctx, g):
        return (build if ctx.sparse else scatter)(g, ctx.pattern), None, None


def keep(ctx, pattern, left, right):
    """Keep a pattern and both factors for derivatives."""
    ctx.pattern = pattern
    ctx.save_for_backward(left, right)
    ctx.save_for_forward(left, right)


def by_product_rule(function, ctx, left_tangent, right_tangent):
    """The tangent of a function of two saved tensors that is linear in each; None stands for a tangent of zero."""
    left, right = ctx.saved_tensors
    found = [function(left_tangent, right, ctx.pattern)] if left_tangent is not None else []
    found += [function(left, right_tangent, ctx.pattern)] if right_tangent is not None else []
    return found[0] if len(found) == 1 else found[0] + found[1]


class Multiply(SparseFunction):
    """The product of a sparse matrix, by values and pattern, and a dense one."""

    @staticmethod
    def forward(ctx, values, other, pattern):
        keep(ctx, pattern, values, other)
        return wrap(kernels.product(pattern.F, pattern, values.array, other.array), other.backend)

    @staticmethod
    def jvp(ctx, values_tangent, other_tangent, pattern):
        return by_product_rule(multiply, ctx, values_tangent, other_tangent)

    @staticmethod
    def backward(ctx, g):
        (values, other), g = ctx.saved_tensors, dense(g)
        needs = ctx.needs_input_grad
        return (products_at(g, conjugate(other), ctx.pattern) if needs[0] else None,
                multiply(conjugate(values), g, ctx.pattern.transposed) if needs[1] else None, None)


class ProductsAt(SparseFunction):
    """The products of row i of one matrix and row j of another at the places (i, j) of a pattern."""

    @staticmethod
    def forward(ctx, left, right, pattern):
        keep(ctx, pattern, left, right)
        return wrap(kernels.products_at(pattern.F, pattern, left.array, right.array), left.backend)

    @staticmethod
    def jvp(ctx, left_tangent, right_tangent, pattern):
        return by_product_rule(products_at, ctx, left_tangent, right_tangent)

    @staticmethod
    def backward(ctx, g):
        left, right = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (multiply(g, conjugate(right), ctx.pattern) if needs[0] else None,
                multiply(g, conjugate(left), ctx.pattern.transposed) if needs[1] else None, None)


class Add(SparseFunction):
    """``input + alpha * other`` of two sparse tensors of one layout, or of a dense and a sparse
    one, which is dense. Gradients are passed on as they come."""

    @staticmethod
    def forward(ctx, input, other, alpha):
        ctx.alpha, b = alpha, other.array
        if alpha != 1:
            b = SparseArray(b.pattern, (b.values * alpha).astype(b.dtype))
        return wrap(input.array + b, input.backend)

    @staticmethod
    def backward(ctx, g):
        return g, g if ctx.alpha == 1 else g * ctx.alpha, None


class ToDense(SparseFunction):
    """All elements of a sparse tensor, whose gradient has all of them too, in its layout."""

    @staticmethod
    def forward(ctx, input):
        ctx.pattern = input.array.pattern
        return wrap(densified(input.array), input.backend)

    @staticmethod
    def backward(ctx, g):
        everywhere = ctx.pattern.everywhere()
        return build(picked(g, everywhere), everywhere)


class Coalesce(SparseFunction):
    """The same tensor with each place once. The gradient is passed on."""

    @staticmethod
    def forward(ctx, input):
        return made(coalesced(input.array), input.backend)

    @staticmethod
    def backward(ctx, g):
        return g


values_of, build, scatter = Values.apply, Build.apply, Scatter.apply
multiply, products_at, added = Multiply.apply, ProductsAt.apply, Add.apply


def pick(input, pattern, sparse=False):
    """The elements of the dense tensor `input` at the places of `pattern`; its gradient is sparse if `sparse`."""
    return Pick.apply(input, pattern, sparse)


def picked(g, pattern):
    """The elements of a dense or sparse tensor at the places of `pattern`, 0 where a sparse one has no entry."""
    if not isinstance(g, SparseTensor):
        return pick(g, pattern)
    own = g.array.pattern
    if own is pattern or pattern.as_coo is own:
        return values_of(g)
    if len(own.sizes) != len(pattern.sizes):
        return pick(dense(g), pattern)
    g = coalesce(g)
    at, found = g.array.pattern.find(pattern.keys)
    if not g.array.pattern.nnz:
        xp = pattern.F.xp
        return wrap(xp.zeros((pattern.nnz, *g.array.values.shape[1:]), g.array.dtype), g.backend)
    values = values_of(g)[wrap(at, g.backend)]
    return values if found.all() else values * wrap(found.reshape(-1, *[1] * (values.ndim - 1)), g.backend)


def dense(x):
    """A sparse tensor as a dense one; a dense one as it is."""
    return scatter(values_of(x), x.array.pattern) if isinstance(x, SparseTensor) else x


def coalesce(x):
    """A sparse tensor as COO with each place once, in order; itself if it is known to be so already."""
    if x.array.pattern.layout != "sparse_coo":
        x = build(values_of(x), x.array.pattern.as_coo)
    return x if x.array.pattern.coalesced else Coalesce.apply(x)


def conjugate(x: Tensor):
    return x.conj() if x.is_complex() else x


def reordered(x, layout):
    """A sparse matrix with its entries in a compressed layout."""
    x = x if x.array.pattern.once else coalesce(x)
    pattern, order = x.array.pattern.compressed_as(layout)
    values = values_of(x)
    return build(values if order is None else values[wrap(order, x.backend)], pattern)


def of_indices(F, indices, values, sizes, is_coalesced=False):
    """A COO tensor of raw indices (dimensions, entries) and a tensor of values."""
    return build(values, Pattern(F, sizes, indices=indices, coalesced=is_coalesced))
