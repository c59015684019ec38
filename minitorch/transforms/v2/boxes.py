"""Transforms of boxes and points alone."""

from collections.abc import Mapping
from typing import Any

from ...core.tensor import Tensor
from ...utils._pytree import tree_flatten, tree_unflatten
from ..tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask, wrap
from .places import clamped, convert
from .transform import Transform, again, is_pure_tensor


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format: "XYXY", "XYWH" or "CXCYWH"."""

    _transformed_types = (BoundingBoxes,)

    def __init__(self, format: str | BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format if isinstance(format, BoundingBoxFormat) else BoundingBoxFormat[format.upper()]

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return wrap(convert(inpt.as_subclass(Tensor), inpt.format, self.format), like=inpt, format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes cut off at the border of the image."""

    _transformed_types: tuple = (BoundingBoxes,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return clamped(inpt)


class ClampKeyPoints(ClampBoundingBoxes):
    """Points beyond the image moved to its border."""

    _transformed_types = (KeyPoints,)


class SanitizeBoundingBoxes(Transform):
    """Boxes smaller than ``min_size`` pixels or ``min_area``, or beyond the image, removed with their labels and masks.

    labels_getter: "default" (the value of a key "labels", or of one with "label" in it), a function of the sample, or
    None for a sample without labels.
    """

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Any = "default") -> None:
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size, self.min_area, self.labels_getter = min_size, min_area, labels_getter

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = labels_of(sample, self.labels_getter)
        labels = labels if isinstance(labels, (tuple, list)) else () if labels is None else (labels,)
        leaves, spec = tree_flatten(sample)
        boxes = [x for x in leaves if isinstance(x, BoundingBoxes)]
        if len(boxes) != 1:
            raise ValueError(f"The sample must have one BoundingBoxes, got {len(boxes)}")
        keep = self.fine(boxes[0])

        def kept(x):
            is_label = any(x is label for label in labels)
            if is_label and len(x) != len(keep):
                raise ValueError(f"{len(keep)} boxes have {len(x)} labels")
            if is_label or isinstance(x, (BoundingBoxes, Mask)) and len(x) == len(keep):
                return again(x.as_subclass(Tensor)[keep], x)
            return x
        return tree_unflatten([kept(x) for x in leaves], spec)

    def fine(self, boxes: BoundingBoxes) -> Tensor:
        """Which boxes are large enough and within the image (N bools)."""
        corners = convert(boxes.as_subclass(Tensor), boxes.format, BoundingBoxFormat.XYXY)
        height, width = boxes.canvas_size
        x0, y0, x1, y1 = corners.unbind(-1)
        large = (x1 - x0 >= self.min_size) & (y1 - y0 >= self.min_size) & ((x1 - x0) * (y1 - y0) >= self.min_area)
        return large & (corners >= 0).all(-1) & (x1 <= width) & (y1 <= height)


def labels_of(sample: Any, getter: Any) -> Any:
    """The labels in a sample."""
    if getter != "default":
        return None if getter is None else getter(sample)
    found = sample[1] if isinstance(sample, (tuple, list)) else sample
    if is_pure_tensor(found):
        return found
    if not isinstance(found, Mapping):
        raise ValueError(f"When using the default labels_getter, the input passed to forward must be a dictionary or a "
                         f"two-tuple whose second item is a dictionary or a tensor, but got {type(found)} instead.")
    names = [key for key in found if key.lower() == "labels"] or [key for key in found if "label" in key.lower()]
    if not names:
        raise ValueError("Could not infer where the labels are in the sample. Try passing a callable as the "
                         "labels_getter parameter? If there are no labels in the sample by design, pass "
                         "labels_getter=None.")
    return found[names[0]]
