"""Tensors that become DTensors, and back, and from one placement to another: with gradients.

All three are linear, so that they go through what stands on a backend: the value and the tangent of
a dual tensor, the values and the mask of a masked one. Within a `vmap` the parts are batches.
"""

from ...autograd import Function
from ...extend import worded, wrap
from .backend import ShardedBackend, backend_of
from .placement_types import Partial, whole_sums
from .sharded import Sharded, redistributed, sharded

__all__ = ["array_of", "from_local", "redistribute", "to_local"]

MAPPED = ("vmap: {}() of a DTensor that is mapped over: its parts are batches, which differ in "
          "size between ranks. Call it outside of vmap, or make the DTensor within")
NOT_LINEAR = ("a tensor that is masked or has a tangent of forward AD cannot be the part of a "
              "DTensor with {!r}: redistribute() it before")


def of_parts(function):
    """A function of a tensor, also of one of several parts, such as a dual one: of these."""
    def call(x, *args):
        F = x.backend
        if not F.marks or isinstance(F, ShardedBackend):
            return function(x, *args)
        return F.through(lambda t: call(t, *args), x)
    return call


def array_of(x):
    """The sharded array that a DTensor consists of, below what stands on its backend."""
    array = x.array
    while array.__class__ is not Sharded:
        array = array.value if hasattr(array, "value") else array.values
    return array


def require_linear(x, placements):
    """NotImplementedError for a tensor of several parts and a reduction that is not one of each."""
    if x.backend.marks and not isinstance(x.backend, ShardedBackend):
        sums = ("sum", "avg") if x.backend.level is not None else ()
        for p in placements:
            if isinstance(p, Partial) and p.reduce_op not in sums:
                raise worded(NotImplementedError(NOT_LINEAR.format(p)))


def from_local(x, mesh, placements, shape, grads=None):
    """The DTensor of this rank's part; `grads`: the placements of its gradient."""
    require_linear(x, placements)
    return joined(x, mesh, placements, tuple(shape), grads)


def to_local(x, placements):
    """This rank's part of a DTensor; `placements`: those of its gradient."""
    return part(x, placements)


def redistribute(x, target, forward_dtype=None, backward_dtype=None):
    """A DTensor at other placements; the dtypes are those of what is sent, forward and backward."""
    require_linear(x, array_of(x).placements)
    return moved(x, target, forward_dtype, backward_dtype)


@of_parts
def joined(x, mesh, placements, shape, grads):
    return FromLocal.apply(x, mesh, placements, shape, grads)


@of_parts
def part(x, placements):
    return ToLocal.apply(x, placements)


@of_parts
def moved(x, target, forward_dtype, backward_dtype):
    return Redistribute.apply(x, target, forward_dtype, backward_dtype)


def through(function, x):
    """A linear function of tensors for the parts of a DTensor, such as one that hides a dimension:
    then each rank computes all of the result. One that leaves the shape leaves the placements."""
    lies = array_of(x)
    mesh, placements = lies.backend.mesh, lies.placements
    local = part(x, whole_sums(placements))
    y = function(local)
    if tuple(y.shape) == tuple(local.shape):
        return from_local(y, mesh, placements, x.shape)
    everywhere = lies.backend.everywhere
    if placements != everywhere:
        y = function(part(moved(x, everywhere, None, None), everywhere))
    return from_local(y, mesh, everywhere, y.shape)


def require_parts(x, name):
    """RuntimeError for a DTensor that is mapped over."""
    if not isinstance(x.backend, ShardedBackend):
        raise worded(RuntimeError(MAPPED.format(name)))


class FromLocal(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, local, mesh, placements, shape, grads):
        ctx.grads = whole_sums(placements) if grads is None else grads
        ctx.scale = [mesh.size(m) for m, p in enumerate(placements) if p.is_partial("avg")]
        F = backend_of(mesh, local.backend)
        return wrap(sharded(F, local.array, shape, placements), F)

    @staticmethod
    def backward(ctx, g):
        g = to_local(moved(g, ctx.grads, None, None), ctx.grads)
        for n in ctx.scale:
            g = g / n
        return g, None, None, None, None


class ToLocal(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, placements):
        require_parts(x, "to_local")
        ctx.mesh, ctx.placements, ctx.shape = x.backend.mesh, placements, tuple(x.shape)
        return wrap(x.array.value, x.backend.inner)

    @staticmethod
    def backward(ctx, g):
        return joined(g, ctx.mesh, ctx.placements, ctx.shape, None), None


class Redistribute(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, target, forward_dtype, backward_dtype):
        require_parts(x, "redistribute")
        array = x.array
        ctx.placements, ctx.dtype, ctx.back = whole_sums(array.placements), x.dtype, backward_dtype
        if forward_dtype is not None:
            array = array.astype(forward_dtype.np)
        out = redistributed(array, target)
        if out is not array and out.value.base is not None:
            out = out.copy()                               # a part with memory of its own
        return wrap(out if out is not x.array else x.array.like(x.array.value), x.backend)

    @staticmethod
    def backward(ctx, g):
        if ctx.back is not None:
            g = g.to(ctx.back)
        now = array_of(g).placements
        target = tuple([a if isinstance(a, Partial) and isinstance(b, Partial) else b
                        for a, b in zip(now, ctx.placements)])
        return moved(g, target, None, None).to(ctx.dtype), None, None, None


ShardedBackend.through = staticmethod(through)
