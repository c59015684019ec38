"""Norms whose parts exchange statistics: batch norm over samples that are cut, the norm of many
tensors."""

import math

from ...extend import is_half
from .placement_types import Partial, Replicate, Shard, whole_sums
from .rules import SUM, by_hand
from .sharded import Sharded, redistributed, sharded

__all__: list = []


@by_hand("batch_norm", "affine_norm_backward")
def over_samples(call):
    """The definition, op by op: sums of each part are added over ranks, and no sample is sent. By
    hand, because which way is right depends on where the samples lie."""
    if not samples_are_cut(call):
        return NotImplemented
    result = call.op.forward(call.F, *call.arrays, **call.attrs)
    return result[0] if call.op.keeps and not call.full else result


def samples_are_cut(call):
    """True if statistics of channels go over several ranks. 16-bit ones are computed whole."""
    arrays, n = [x for x in call.arrays if x.__class__ is Sharded], len(call.shapes[0])
    of_channels = n > 1 and call.attrs["dims"] == (0, *range(2, n))
    return of_channels and not any([is_half(x.dtype) for x in arrays]) and any(
        [isinstance(p, Shard) and p.dim != 1 for x in arrays if x.ndim == n for p in x.placements])


@by_hand("total_norm")
def total_norm(call):
    """The norm of each rank's parts, then that of the ranks' norms. By hand, because what several
    ranks have counts once: on the first of them."""
    F, p = call.F, float(call.attrs["norm_type"])
    inner, xp, parts = F.inner.fp32, F.inner.xp, []
    for x in call.arrays:
        x = redistributed(x, whole_sums(x.placements))
        norm = inner.vector_norm(x.value, ord=p) if x.value.size else xp.zeros((), x.dtype)
        counts = all([q != Replicate() or i == 0 for q, i in zip(x.placements, F.coordinate)])
        parts.append(norm if counts else norm * 0)
    total = xp.asarray(inner.vector_norm(xp.stack(parts), ord=p))
    if math.isinf(p):
        total = sharded(F, total, (), (Partial("max" if p > 0 else "min"),) * F.mesh.ndim)
        return redistributed(total, F.everywhere)
    total = redistributed(sharded(F, total ** p, (), (SUM,) * F.mesh.ndim), F.everywhere)
    return total.like(xp.asarray(total.value ** (1 / p)))
