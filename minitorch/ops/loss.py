"""The op table, losses: how far predictions are from targets.

`reduction` is "mean" (the default), "sum" or "none". `size_average` and `reduce` are PyTorch's old spelling of it,
deprecated there and here. Rows have the reduction built in, so that the most common losses are one node.
"""

import warnings

from ..op import Other, composite, op
from .shape import count

REDUCTIONS = ("none", "mean", "sum")


# ---- reductions --------------------------------------------------------------------------------------------
def reduction_of(size_average, reduce, reduction):
    """The reduction that the arguments mean, checked."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                      stacklevel=3)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'mean', 'sum' or 'none'")
    return reduction


def reduced(F, values, reduction):
    """All values, their sum or their mean, on raw arrays."""
    if reduction == "none":
        return values
    out = F.xp.add.reduce(values, None)
    return out if reduction == "sum" else out / values.size if values.size else out * F.xp.nan


def spread(g, reduction, shape):
    """The gradient of each value, given that of the reduced result."""
    return g * (1 / max(count(shape), 1)) if reduction == "mean" else g


def check_sizes(name, input, target):
    """Refuse a broadcast that is hardly ever meant: the same number of elements in another shape.

    ``(N, 1)`` against ``(N,)`` would give N x N differences. PyTorch warns; here it is an error. Other broadcasts,
    such as (N, C) against (C,), are as in PyTorch: with a warning.
    """
    a, b = input.array.shape, target.array.shape
    if a == b:
        return
    if count(a) == count(b) != 1 and a != b:
        raise ValueError(f"{name}: input of shape {list(a)} and target of shape {list(b)} have the same number of "
                         f"elements, but would broadcast to every pair of them. Give both one shape, as in "
                         f"target.reshape(input.shape), or input.squeeze(-1)")
    warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This "
                  f"will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                  stacklevel=3)


# ---- differences -------------------------------------------------------------------------------------------
@op(promotion="common", namespace=None, node_name="MseLossBackward0",
    input=lambda F, g, input, target, reduction: squared_slope(g, input, target, reduction),
    target=lambda F, g, input, target, reduction: -squared_slope(g, input, target, reduction),
    sample=lambda d: ([d.array(s) for s in d.broadcastable(2)], dict(reduction=d.choice(REDUCTIONS))))
def squared_error(F, input, target, *, reduction):
    """``(input - target) ** 2``."""
    difference = input - target
    if reduction == "none":
        return difference * difference
    flat = difference.reshape(-1)
    out = F.xp.dot(flat, flat)
    return out if reduction == "sum" else out / flat.size if flat.size else out * F.xp.nan


def squared_slope(g, input, target, reduction):
    difference = input - target
    return spread(g * 2, reduction, difference.shape) * difference


@op(promotion="common", namespace=None, node_name="AbsBackward0", kinks="ties",
    input=lambda F, g, input, target, reduction: absolute_slope(F, g, input, target, reduction),
    target=lambda F, g, input, target, reduction: -absolute_slope(F, g, input, target, reduction),
    sample=lambda d: ([d.distinct((2, 3)), d.distinct((2, 3)) + 0.05], dict(reduction=d.choice(REDUCTIONS))))
def absolute_error(F, input, target, *, reduction):
    """``|input - target|``."""
    return reduced(F, F.xp.abs(input - target), reduction)


def absolute_slope(F, g, input, target, reduction):
    difference = input - target
    return spread(g, reduction, difference.shape) * F.sign(difference)


@composite(namespace="nn.functional")
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``weight * (input - target) ** 2``, reduced; a weighted mean divides by the sum of the weights.

    `input` and `target` have one shape. A target that merely broadcasts gives a warning, as in PyTorch, and one of
    as many elements in another shape, such as (N, 1) against (N,), ValueError: deliberately stricter than PyTorch.
    """
    return difference_loss("mse_loss", squared_error, input, target, size_average, reduce, reduction, weight)


@composite(namespace="nn.functional")
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``weight * |input - target|``, reduced; shapes as in `mse_loss`."""
    return difference_loss("l1_loss", absolute_error, input, target, size_average, reduce, reduction, weight)


def difference_loss(name, error, input, target, size_average, reduce, reduction, weight, **attrs):
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(size_average, reduce, reduction)
    if input.array.shape != target.array.shape:
        check_sizes(name, input, target)
    if weight is None:
        return error(input, target, reduction=reduction, **attrs)
    if weight.array.shape != input.array.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(input.shape)}")
    values = error(input, target, reduction="none", **attrs) * weight
    if reduction == "none":
        return values
    return values.sum() if reduction == "sum" else values.sum() / weight.sum()


# ---- binary classification ---------------------------------------------------------------------------------
@op(promotion="common", namespace=None, node_name="BinaryCrossEntropyWithLogitsBackward0",
    input=lambda F, g, input, target, weight, pos_weight, reduction: logits_slope(
        F, g, input, target, weight, pos_weight, reduction),
    target=lambda F, g, input, target, weight, pos_weight, reduction: target_slope(
        F, g, input, target, weight, pos_weight, reduction),
    sample=lambda d: ([d.array((2, 3)), d.array((2, 3), 0, 1), d.choice([None, d.array((3,), 0.5, 2)]),
                       d.choice([None, d.array((3,), 0.5, 2)])], dict(reduction=d.choice(REDUCTIONS))))
def logits_loss(F, input, target, weight: Other = None, pos_weight: Other = None, *, reduction="mean"):
    """``-weight * (pos_weight * target * log(p) + (1 - target) * log(1 - p))``, p the sigmoid of `input`.

    Computed as ``(1 - target) input + softplus(-input)``, the latter times ``1 + (pos_weight - 1) target``.
    """
    xp = F.xp
    softplus = xp.log1p(xp.exp(-xp.abs(input))) - xp.minimum(input, 0)
    if pos_weight is not None:
        softplus *= 1 + (pos_weight - 1) * target
    values = (1 - target) * input + softplus
    return reduced(F, values if weight is None else values * weight, reduction)


def logits_slope(F, g, input, target, weight, pos_weight, reduction):
    """``sigmoid(input) - target``, with a `pos_weight` the same with the positive term weighted."""
    p = F.sigmoid(input)
    slope = p - target if pos_weight is None else (1 - target) * p - pos_weight * target * (1 - p)
    return spread(g, reduction, slope.shape) * (slope if weight is None else slope * weight)


def target_slope(F, g, input, target, weight, pos_weight, reduction):
    slope = -input
    if pos_weight is not None:
        slope = slope - (pos_weight - 1) * F.log(F.sigmoid(input))
    slope = slope + target * 0.0
    return spread(g, reduction, slope.shape) * (slope if weight is None else slope * weight)


@composite(namespace="nn.functional")
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """The binary cross entropy of ``sigmoid(input)`` and `target`, without overflow.

    `weight` multiplies each element's loss, `pos_weight` the term of the positive class; both broadcast.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.array.shape != target.array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape}): "
                         f"for example target.reshape(input.shape)")
    return logits_loss(input, target, weight, pos_weight, reduction)
