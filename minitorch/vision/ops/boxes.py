"""Boxes: conversions, areas, overlaps, and the choice of the best among overlapping ones.

A box is (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2 unless another form is named; several are a tensor (N, 4).
"""

import math

from ... import cat, empty, maximum, minimum, nonzero, stack

__all__ = ["batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image", "complete_box_iou",
           "distance_box_iou", "generalized_box_iou", "masks_to_boxes", "nms", "remove_small_boxes"]

FORMATS = ("xyxy", "xywh", "cxcywh")


def floating(x):
    """Numbers whose products cannot overflow or wrap: floats as they are, half floats as float32."""
    return x if x.is_floating_point() and x.element_size() > 2 else x.float() if x.is_floating_point() else wide(x)


def wide(x):
    return x.int() if x.element_size() < 4 else x.long()


def box_convert(boxes, in_fmt, out_fmt):
    """Boxes in another form: "xyxy", "xywh" (corner and size) or "cxcywh" (centre and size). ValueError for others."""
    if in_fmt not in FORMATS or out_fmt not in FORMATS:
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack((a, b, c, d), -1)


def box_area(boxes):
    """The areas (N,) of boxes (N, 4)."""
    boxes = floating(boxes)
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def intersections(a, b):
    """The areas that each of the boxes (N, 4) shares with each of (M, 4), and of the unions: two (N, M)."""
    low, high = maximum(a[:, None, :2], b[None, :, :2]), minimum(a[:, None, 2:], b[None, :, 2:])
    size = floating(high - low).clamp(min=0)
    shared = size[..., 0] * size[..., 1]
    return shared, box_area(a)[:, None] + box_area(b) - shared


def box_iou(boxes1, boxes2):
    """Intersection over union of each of N boxes with each of M: (N, M)."""
    shared, union = intersections(boxes1, boxes2)
    return shared / union


def generalized_box_iou(boxes1, boxes2):
    """Intersection over union, less the part of the enclosing box that neither covers: (N, M). H. Rezatofighi et al.,
    "Generalized Intersection over Union" (2019)."""
    shared, union = intersections(boxes1, boxes2)
    size = (maximum(boxes1[:, None, 2:], boxes2[:, 2:]) - minimum(boxes1[:, None, :2], boxes2[:, :2]))
    hull = box_area_of_size(floating(size).clamp(min=0))
    return shared / union - (hull - union) / hull


def box_area_of_size(size):
    return size[..., 0] * size[..., 1]


def distance_box_iou(boxes1, boxes2, eps=1e-7):
    """Intersection over union, less the squared distance of the centres in diagonals of the enclosing box: (N, M).
    Z. Zheng et al., "Distance-IoU Loss" (2020)."""
    boxes1, boxes2 = floating(boxes1), floating(boxes2)
    size = (maximum(boxes1[:, None, 2:], boxes2[:, 2:]) - minimum(boxes1[:, None, :2], boxes2[:, :2])).clamp(min=0)
    apart = (boxes1[:, None, :2] + boxes1[:, None, 2:] - boxes2[:, :2] - boxes2[:, 2:]) / 2
    return box_iou(boxes1, boxes2) - (apart ** 2).sum(-1) / ((size ** 2).sum(-1) + eps)


def complete_box_iou(boxes1, boxes2, eps=1e-7):
    """`distance_box_iou`, less a term for other ratios of width and height: (N, M)."""
    boxes1, boxes2 = floating(boxes1), floating(boxes2)
    apart = slant(boxes1)[:, None] - slant(boxes2)[None]
    v = 4 / math.pi**2 * apart ** 2
    alpha = (v / (1 - box_iou(boxes1, boxes2) + v + eps)).detach()
    return distance_box_iou(boxes1, boxes2, eps) - alpha * v


def slant(boxes):
    """The angle whose tangent is width over height."""
    return ((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])).atan()


def clip_boxes_to_image(boxes, size):
    """Boxes cut at the borders of an image of `size` (height, width)."""
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return stack((x, y), -1).reshape(boxes.shape)


def remove_small_boxes(boxes, min_size):
    """The indices of the boxes whose sides are both at least `min_size`."""
    keep = (boxes[:, 2] - boxes[:, 0] >= min_size) & (boxes[:, 3] - boxes[:, 1] >= min_size)
    return nonzero(keep).flatten()


def masks_to_boxes(masks):
    """The smallest boxes (N, 4) around the true places of masks (N, H, W); each mask has one."""
    if not masks.numel():
        return masks.new_zeros((0, 4)).float()
    boxes = []
    for mask in masks:
        y, x = nonzero(mask).unbind(1)
        boxes.append(stack((x.min(), y.min(), x.max(), y.max())))
    return stack(boxes).float()


def nms(boxes, scores, iou_threshold):
    """The indices of the boxes that stay, by falling score: a box goes if its intersection over union with a better one
    that stays exceeds the threshold ("non-maximum suppression"). RuntimeError for wrong shapes."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor with 4 columns, got shape {tuple(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise RuntimeError(f"boxes and scores should have same number of elements in dimension 0, got {len(boxes)} and "
                           f"{tuple(scores.shape)}")
    boxes, scores = boxes.detach(), scores.detach()
    left = scores.argsort(descending=True, stable=True)
    kept = []
    while len(left):
        best, left = left[:1], left[1:]
        kept.append(best)
        left = left[box_iou(boxes[best], boxes[left])[0] <= iou_threshold]
    return cat(kept) if kept else empty(0, dtype=left.dtype, device=boxes.device)


def batched_nms(boxes, scores, idxs, iou_threshold):
    """`nms` among the boxes of each class `idxs` (N,) alone; the indices of all that stay, by falling score."""
    kept = [empty(0, dtype=idxs.dtype, device=boxes.device).long()]
    for index in idxs.unique():
        places = nonzero(idxs == index).flatten()
        kept.append(places[nms(boxes[places], scores[places], iou_threshold)])
    kept = cat(kept)
    return kept[scores[kept].argsort(descending=True, stable=True)]
