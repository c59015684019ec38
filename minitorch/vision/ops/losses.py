"""Losses of detectors: of rare classes, and of boxes that do not overlap. `reduction` is "none", "mean" or "sum"."""

import math

from ... import maximum, minimum
from ...nn.functional import binary_cross_entropy_with_logits
from .boxes import floating, slant

__all__ = ["complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss", "sigmoid_focal_loss"]


def reduced(loss, reduction):
    """The loss, its mean, or its sum; of no elements 0 in place of the mean. ValueError for another `reduction`."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', "
                         f"'mean', 'sum'")
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" and loss.numel() else loss.sum()


def sigmoid_focal_loss(inputs, targets, alpha=0.25, gamma=2, reduction="none"):
    """Binary cross-entropy of logits, with less weight for examples that are right already: the factor is
    ``(1 - p_t) ** gamma``. `alpha` weighs positive targets, none if negative. T.-Y. Lin et al., "Focal Loss for Dense
    Object Detection" (2017). ValueError for an `alpha` above 1."""
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = inputs.sigmoid()
    loss = binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction == "mean":
        return loss.mean()
    return reduced(loss, reduction)


def pairs(boxes1, boxes2, eps):
    """Intersection over union, union and the sides (N, 2) of the enclosing box of boxes (N, 4), pair by pair."""
    low, high = maximum(boxes1[..., :2], boxes2[..., :2]), minimum(boxes1[..., 2:], boxes2[..., 2:])
    size = (high - low) * (high > low).all(-1, keepdim=True)
    shared = size[..., 0] * size[..., 1]
    sides = [b[..., 2:] - b[..., :2] for b in (boxes1, boxes2)]
    union = sides[0].prod(-1) + sides[1].prod(-1) - shared
    hull = maximum(boxes1[..., 2:], boxes2[..., 2:]) - minimum(boxes1[..., :2], boxes2[..., :2])
    return shared / (union + eps), union, hull


def generalized_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 less `generalized_box_iou`, for pairs of boxes (N, 4)."""
    boxes1, boxes2 = floating(boxes1), floating(boxes2)
    iou, union, hull = pairs(boxes1, boxes2, eps)
    area = hull[..., 0] * hull[..., 1]
    return reduced(1 - (iou - (area - union) / (area + eps)), reduction)


def distance_loss(boxes1, boxes2, eps):
    """1 less `distance_box_iou`, and the intersection over union."""
    iou, _, hull = pairs(boxes1, boxes2, eps)
    apart = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    return 1 - iou + (apart ** 2).sum(-1) / ((hull ** 2).sum(-1) + eps), iou


def distance_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 less `distance_box_iou`, for pairs of boxes (N, 4)."""
    return reduced(distance_loss(floating(boxes1), floating(boxes2), eps)[0], reduction)


def complete_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 less `complete_box_iou`, for pairs of boxes (N, 4)."""
    boxes1, boxes2 = floating(boxes1), floating(boxes2)
    loss, iou = distance_loss(boxes1, boxes2, eps)
    v = 4 / math.pi**2 * (slant(boxes2) - slant(boxes1)) ** 2
    return reduced(loss + (v / (1 - iou + v + eps)).detach() * v, reduction)
