"""Cross entropy of logits that are cut anywhere: the ranks exchange what they have of each sample, not the logits.

Where classes are cut, these are the maximum, the sum of the exponentials and the target's logit (Megatron-LM's
vocabulary-parallel cross entropy); where samples are cut, nothing but the sums of a mean.
"""

import math
from dataclasses import replace
from functools import lru_cache

from ...extend import get_backend, is_half, worded
from .placement_types import Partial, Replicate, Shard, local_part, whole_sums
from .rules import SUM, by_hand
from .sharded import Sharded, redistributed, sharded

__all__: list = []


def class_dim(shape):
    """The dimension of the classes: 1, or 0 for a single sample (C,)."""
    return 1 if len(shape) > 1 else 0


@lru_cache(maxsize=64)
def check(*kinds, **attrs):
    """Raise the errors of shapes and dtypes that do not fit, by a call without values. `kinds`: the
    shape and the dtype of each array, or None."""
    F = get_backend("meta")
    F.cross_entropy(*[kind and F.xp.empty(*kind) for kind in kinds], **attrs)


class Targets:
    """The target of each sample, cut as the samples of `logits` (a sharded array, or what has its shape) are."""

    def __init__(self, call, logits):
        named = dict(zip([x.name for x in call.op.inputs], call.arrays))
        target, weight, F = named["target"], named["weight"], call.F
        self.F, self.logits, self.dim = F, logits, class_dim(logits.shape)
        self.placements = tuple([Replicate() if not isinstance(p, Shard) or p.dim == self.dim else
                                 replace(p, dim=p.dim - (p.dim > self.dim)) for p in logits.placements])
        self.shape, xp = target.shape, F.inner.xp
        t = redistributed(target, self.placements).value
        valid, classes = t != call.attrs["ignore_index"], logits.shape[self.dim]
        if bool((valid & ((t < 0) | (t >= classes))).any()):
            raise worded(IndexError(f"Target {int(t[valid & ((t < 0) | (t >= classes))].reshape(-1)[0])} is out of "
                                    f"bounds."))
        n, start = [s[self.dim] for s in local_part(logits.shape, F.mesh, logits.placements)]
        self.here = valid & (t >= start) & (t < start + n)
        self.places = xp.expand_dims(xp.where(self.here, t - start, 0), self.dim)
        kind = F.inner.xp.dtype("float32") if is_half(logits.dtype) else logits.dtype
        given = xp.ones(t.shape, kind) if weight is None else weight.whole().astype(kind)[xp.where(valid, t, 0)]
        self.weights = self.put(given * valid)

    def put(self, value, placements=None):
        """An array of one number for each sample of this rank's part."""
        return sharded(self.F, value, self.shape, placements or self.placements)

    def picked(self, x):
        """The element of `x` of each sample's class; 0 where there is none. A sum over the ranks that share classes."""
        xp, cut = self.F.inner.xp, x.value.shape[self.dim] != 0
        found = xp.squeeze(xp.take_along_axis(x.value, self.places, self.dim), self.dim) if cut else 0
        placements = [SUM if isinstance(p, Shard) and p.dim == self.dim else q
                      for p, q in zip(self.logits.placements, self.placements)]
        return self.put(xp.where(self.here, found, x.dtype.type(0)), tuple(placements))

    def over_classes(self, value, reduce_op):
        """An array that this rank has reduced along its classes, reduced over the ranks that share them."""
        cut = [isinstance(p, Shard) and p.dim == self.dim for p in self.logits.placements]
        shape = [1 if d == self.dim else n for d, n in enumerate(self.logits.shape)]
        found = sharded(self.F, value, shape, tuple([Partial(reduce_op) if c else p
                                                     for c, p in zip(cut, self.logits.placements)]))
        return redistributed(found, whole_sums(found.placements))


def in_float32(x):
    return x.astype("float32") if x.__class__ is Sharded and is_half(x.dtype) else x


@by_hand("cross_entropy")
def cross_entropy(call):
    """By the definition, but for the choice of the targets' logits. By hand, because values say
    which rank has the logit of a target."""
    F, input = call.F, call.arrays[0]
    check(*[x if x is None else (tuple(x.shape), x.dtype) for x in call.arrays], **call.attrs)
    logits = in_float32(redistributed(input, whole_sums(input.placements)))
    targets = Targets(call, logits)
    top = targets.over_classes(logits.value.max(targets.dim, keepdims=True, initial=-math.inf), "max")
    x = logits.like(logits.value - top.value)
    powers = logits.like(F.inner.xp.exp(x.value))
    totals = targets.over_classes(F.inner.sum(powers.value, dim=targets.dim, keepdim=True, dtype=None), "sum")
    picked = targets.picked(x)
    values = F.sub(F.reshape(F.log(totals), shape=targets.shape), redistributed(picked, targets.placements))
    values = F.mul(values, targets.weights)
    if call.attrs["reduction"] != "none":
        total = F.sum(targets.weights, dim=None, keepdim=False, dtype=None)
        values = F.sum(values, dim=None, keepdim=False, dtype=None)
        if call.attrs["reduction"] == "mean":
            values = F.div(values, redistributed(total, F.everywhere))
    values = values.astype(input.dtype) if values.dtype != input.dtype else values
    return (values, powers, totals) if call.full else values


@by_hand("cross_entropy_backward")
def cross_entropy_backward(call):
    """``weight[target] * grad * (softmax - [target])``, by hand for the same reason."""
    F, (grad, input, _, _, powers, totals) = call.F, call.arrays
    dtype = (powers if input is None else input).dtype
    if input is None:
        share = F.div(powers, totals)
    else:
        share = in_float32(redistributed(input, whole_sums(input.placements)))
        share = F.softmax(share, dim=class_dim(share.shape))
    targets, grad = Targets(call, share), in_float32(grad)
    scale = targets.weights
    if call.attrs["reduction"] == "mean":
        total = F.sum(scale, dim=None, keepdim=False, dtype=None)
        total = redistributed(total, F.everywhere)
        scale = F.div(scale, total) if bool(total) else scale
    scale = F.mul(scale, redistributed(grad, whole_sums(grad.placements)))
    scale = redistributed(scale, targets.placements).value
    xp, dim = F.inner.xp, targets.dim
    out = share.value * xp.expand_dims(scale, dim)
    if out.shape[dim]:
        at = xp.take_along_axis(out, targets.places, dim) - xp.expand_dims(scale * targets.here, dim)
        xp.put_along_axis(out, targets.places, at, dim)
    return share.like(out.astype(dtype) if out.dtype != dtype else out)
