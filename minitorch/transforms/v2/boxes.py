"""Transforms of boxes and points alone."""

from collections.abc import Mapping
from typing import Any

from ... import Tensor
from ...utils._pytree import tree_flatten, tree_unflatten
from ..tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask, Places, wrap
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


class SetClampingMode(Transform):
    """Boxes that the transforms after it clamp as ``clamping_mode`` says: "soft", "hard" or None."""

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        check_mode(clamping_mode)
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return wrap(inpt.as_subclass(Tensor).clone(), like=inpt, clamping_mode=self.clamping_mode)


class ClampBoundingBoxes(Transform):
    """Boxes cut off at the border of the image. clamping_mode: "soft", "hard", None for none, "auto" for the box's."""

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points beyond the image moved to its border."""

    _transformed_types = (KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return clamped(inpt)


def check_mode(mode: str | None, *more: str) -> None:
    """ValueError for another word than the modes of clamping."""
    if mode not in (None, "soft", "hard", *more):
        raise ValueError(f"clamping_mode must be {', '.join(('soft', 'hard', *more))} or None, got {mode}")


def clamp_bounding_boxes(inpt: Any, format: Any = None, canvas_size: Any = None, clamping_mode: Any = "auto") -> Any:
    """Boxes cut off at the border; a plain tensor (N, 4) needs its `format`, `canvas_size` and `clamping_mode`."""
    check_mode(clamping_mode, "auto")
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
        boxes = BoundingBoxes(inpt, format=format, canvas_size=canvas_size)
        return clamp_bounding_boxes(boxes, clamping_mode=clamping_mode).as_subclass(Tensor)
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    return inpt.clone() if mode is None else clamped(inpt)


def typed(places: Any, kind: type[Places], lacking: str, **known: Any) -> Any:
    """Boxes or points as they are; a plain tensor as a `kind` made with what is `known`, ValueError if that is None."""
    if not is_pure_tensor(places):
        return places
    if any(value is None for value in known.values()):
        raise ValueError(lacking)
    return kind(places, **known)


def clamp_keypoints(inpt: Any, canvas_size: Any = None) -> Any:
    """Points moved to the border; a plain tensor (..., 2) needs its `canvas_size`."""
    if is_pure_tensor(inpt):
        points = typed(inpt, KeyPoints, "For pure tensor inputs, `canvas_size` has to be passed.",
                       canvas_size=canvas_size)
        return clamped(points).as_subclass(Tensor)
    if canvas_size is not None:
        raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
    return clamped(inpt)


class Sanitize(Transform):
    """The base of transforms that remove places of one kind, with their labels."""

    kind: type[Places]
    beside: tuple = ()                 # kinds that may have one item for each place

    def __init__(self, labels_getter: Any) -> None:
        super().__init__()
        self.labels_getter = labels_getter

    def fine(self, places: Any) -> Tensor:
        """Which places are kept (N bools)."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = labels_of(sample, self.labels_getter)
        labels = labels if isinstance(labels, (tuple, list)) else () if labels is None else (labels,)
        leaves, spec = tree_flatten(sample)
        places = [x for x in leaves if isinstance(x, self.kind)]
        if len(places) != 1:
            raise ValueError(f"The sample must have one {self.kind.__name__}, got {len(places)}")
        keep = self.fine(places[0])

        def kept(x):
            is_label = any(x is label for label in labels)
            if is_label and len(x) != len(keep):
                raise ValueError(f"{len(keep)} {self.kind.__name__} have {len(x)} labels")
            if is_label or isinstance(x, (self.kind, *self.beside)) and len(x) == len(keep):
                return again(x.as_subclass(Tensor)[keep], x)
            return x
        return tree_unflatten([kept(x) for x in leaves], spec)


class SanitizeBoundingBoxes(Sanitize):
    """Boxes smaller than ``min_size`` pixels or ``min_area``, or beyond the image, removed with their labels and masks.

    labels_getter: "default" (the value of a key "labels", or of one with "label" in it), a function of the sample, or
    None for a sample without labels.
    """

    kind, beside = BoundingBoxes, (Mask,)

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Any = "default") -> None:
        super().__init__(labels_getter)
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size, self.min_area = min_size, min_area

    def fine(self, places: BoundingBoxes) -> Tensor:
        """Which boxes are large enough and within the image (N bools)."""
        corners = convert(places.as_subclass(Tensor), places.format, BoundingBoxFormat.XYXY)
        height, width = places.canvas_size
        x0, y0, x1, y1 = corners.unbind(-1)
        large = (x1 - x0 >= self.min_size) & (y1 - y0 >= self.min_size) & ((x1 - x0) * (y1 - y0) >= self.min_area)
        return large & (corners >= 0).all(-1) & (x1 <= width) & (y1 <= height)


class SanitizeKeyPoints(Sanitize):
    """Points beyond the image removed with their labels; of groups of points (N, ..., 2), groups with such a point.

    labels_getter: as for `SanitizeBoundingBoxes`, None by default.
    """

    kind = KeyPoints

    def __init__(self, labels_getter: Any = None) -> None:
        super().__init__(labels_getter)

    def fine(self, places: KeyPoints) -> Tensor:
        """Which points or groups lie within the image (N bools)."""
        height, width = places.canvas_size
        x, y = places.as_subclass(Tensor).unbind(-1)
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return inside if inside.ndim < 2 else inside.flatten(1).all(1)


def sanitize_bounding_boxes(bounding_boxes: Any, format: Any = None, canvas_size: Any = None, min_size: float = 1.0,
                            min_area: float = 1.0) -> tuple[Any, Tensor]:
    """The boxes that `SanitizeBoundingBoxes` keeps, and which they are; a plain tensor needs format and size."""
    boxes = typed(bounding_boxes, BoundingBoxes,
                  "format and canvas_size cannot be None if bounding_boxes is a pure tensor. "
                  f"Got format={format} and canvas_size={canvas_size}. Set those to appropriate values or "
                  f"pass bounding_boxes as a tv_tensors.BoundingBoxes object.", format=format, canvas_size=canvas_size)
    keep = SanitizeBoundingBoxes(min_size, min_area).fine(boxes)
    return again(bounding_boxes.as_subclass(Tensor)[keep], bounding_boxes), keep


def sanitize_keypoints(key_points: Any, canvas_size: Any = None) -> tuple[Any, Tensor]:
    """The points that `SanitizeKeyPoints` keeps, and which they are; a plain tensor needs its `canvas_size`."""
    points = typed(key_points, KeyPoints,
                   "canvas_size cannot be None if key_points is a pure tensor. Set it to an appropriate value or pass "
                   "key_points as a tv_tensors.KeyPoints object.", canvas_size=canvas_size)
    keep = SanitizeKeyPoints().fine(points)
    return again(key_points.as_subclass(Tensor)[keep], key_points), keep


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
