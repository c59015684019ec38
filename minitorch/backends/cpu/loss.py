"""Losses: the squared error as a product, and the cross entropy.

The cross entropy keeps the exponentials and their sums, as `softmax` finds them, for the backward pass.
"""

from ...ops.nn.cross_entropy import (
    add_at_targets,
    check_classes,
    class_dim,
    pick,
    reduce_classes,
    select_targets,
    target_scale,
)
from ...ops.nn.loss import float_difference
from .backend import kernel
from .softmax import exponentials
from .sums import DOTS, row_dots


@kernel("mse_loss", sample=lambda d: ([d.array((300, 200)), d.array((200,))], dict(reduction="mean")))
def mse_loss(F, input, target, *, reduction):
    difference = float_difference("mse_loss", input, target)
    if reduction == "none":
        return difference * difference
    flat = difference.reshape(-1)
    out = F.xp.dot(flat, flat) if flat.size <= DOTS else row_dots(F.xp, flat, flat)
    return out if reduction == "sum" else out / flat.size if flat.size else out * F.xp.nan


@kernel("cross_entropy")
def cross_entropy(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("cross_entropy", input, target, weight)
    safe, valid = select_targets(F, target, ignore_index)
    powers, totals, shift = exponentials(F, input, class_dim(input.shape))
    values = F.xp.log(totals).reshape(target.shape) - (pick(F, input, safe) - shift.reshape(target.shape))
    return reduce_classes(F, values, weight, safe, valid, reduction), powers, totals


@kernel("cross_entropy_backward")
def cross_entropy_backward(F, grad, input, target, weight=None, powers=None, totals=None, *, ignore_index=-100,
                           reduction="mean"):
    dim = class_dim((powers if input is None else input).shape)
    if powers is None:
        powers, totals, _ = exponentials(F, input, dim)
    scale, safe = target_scale(F, grad, target, weight, ignore_index, reduction)
    out = powers * ((F.xp.expand_dims(scale, dim) if scale.ndim else scale) / totals)
    add_at_targets(F, out, scale, safe)
    return out
