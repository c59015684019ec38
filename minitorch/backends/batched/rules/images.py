"""Rules of convolutions, pooling and the like: the batch is folded into that of the images, or into the channels."""

from ....utils._pytree import tree_map
from ..array import batched, is_shared, lifted, over, shared, values
from ..backend import rule


def folding_rule(name):
    """Enter a rule that folds the hidden axis into another dimension, for which it needs an element."""
    def enter(function):
        function.folds = True                              # `backends/meta.py` has no element
        return rule(name)(function)
    return enter


# ---- ops that treat all images alike -----------------------------------------------------------------------
def folding(name):
    """The rule of an op whose inputs all have images along their first dimension."""
    def call(F, *arrays, **attrs):
        found = values(F, [x for x in arrays if x is not None])
        size = found[0].shape[0]
        rest = iter(found)
        folded = [None if x is None else fold(next(rest)) for x in arrays]
        return unfolded(F, getattr(F.inner, name)(*folded, **attrs), size)
    folding_rule(name)(call)


def fold(v):
    return v.reshape((v.shape[0] * v.shape[1], *v.shape[2:]))


def unfolded(F, result, size):
    def unfold(y):
        return batched(F, y.reshape((size, y.shape[0] // size if size else 0, *y.shape[1:])))
    return tree_map(unfold, result)


folding("avg_pool")
folding("avg_pool_backward")
folding("col2im")
folding("im2col")
folding("interpolate")
folding("interpolate_backward")
folding("max_pool")
folding("max_pool_backward")
folding("max_pool_indices")
folding("max_unpool")


# ---- convolutions ------------------------------------------------------------------------------------------
def channels(v):
    """(h, N, C, ...) as (N, h C, ...)."""
    v = v.swapaxes(0, 1)
    return v.reshape((v.shape[0], v.shape[1] * v.shape[2], *v.shape[3:]))


def from_channels(F, y, size):
    """(N, h C, ...) as batched (N, C, ...)."""
    y = y.reshape((y.shape[0], size, y.shape[1] // size, *y.shape[2:]))
    return batched(F, y.swapaxes(0, 1))


def grouped(geometry, size):
    """The geometry with `size` times as many groups."""
    return geometry._replace(groups=geometry.groups * size)


@folding_rule("convolution")
def convolution(F, input, weight, bias=None, *, geometry=None):
    x, w = lifted(F, input), lifted(F, weight)
    if is_shared(w):
        one = shared(bias) if is_shared(bias) else None
        out = unfolded(F, F.inner.convolution(fold(x.value), w.value[0], one, geometry=geometry), x.value.shape[0])
        if is_shared(bias):
            return out
    elif is_shared(x) and geometry.groups == 1:            # more outputs of the same images
        out = from_channels(F, F.inner.convolution(x.value[0], fold(w.value), None, geometry=geometry), F.size)
    else:
        out = from_channels(F, F.inner.convolution(channels(over(F, x)), fold(w.value), None,
                                                   geometry=grouped(geometry, F.size)), F.size)
    return out if bias is None else out + bias.reshape((-1, *(1,) * (x.ndim - 2)))


@folding_rule("convolution_backward_input")
def convolution_backward_input(F, grad, weight, *, geometry, size):
    g, w = lifted(F, grad), lifted(F, weight)
    if is_shared(w):
        found = F.inner.convolution_backward_input(fold(g.value), w.value[0], geometry=geometry, size=size)
        return unfolded(F, found, g.value.shape[0])
    found = F.inner.convolution_backward_input(channels(over(F, g)), fold(w.value), size=size,
                                               geometry=grouped(geometry, F.size))
    return from_channels(F, found, F.size)


@folding_rule("convolution_backward_weight")
def convolution_backward_weight(F, input, grad, *, geometry, size):
    x, g = lifted(F, input), lifted(F, grad)
    inner = F.inner.convolution_backward_weight
    if is_shared(x) and geometry.groups == 1:
        found = inner(x.value[0], channels(g.value), geometry=geometry, size=size)
        n = g.value.shape[0]
    else:
        x, g = values(F, (x, g))
        n = x.shape[0]
        found = inner(channels(x), channels(g), geometry=grouped(geometry, n), size=size)
    return batched(F, found.reshape((n, found.shape[0] // n, *found.shape[1:])))
