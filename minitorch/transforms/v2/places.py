"""Boxes and points under transforms: each transform of an image is a map of the points in it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import Tensor, cat, float32, stack, tensor
from ..functional.warps import expanded, from_middle, inverse_affine, perspective_coefficients
from ..tv_tensors import BoundingBoxes, BoundingBoxFormat, Places, wrap

Map = Callable[[Tensor], Tensor]                           # points (..., 2) to points


def convert(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat) -> Tensor:
    """Boxes (..., 4) in another format."""
    if old is new:
        return boxes
    first, second = boxes[..., :2], boxes[..., 2:]
    if old is BoundingBoxFormat.CXCYWH:
        half = second / 2 if second.is_floating_point() else second.div(2, rounding_mode="floor")
        first, second = first - half, first - half + second
    elif old is BoundingBoxFormat.XYWH:
        second = first + second
    if new is BoundingBoxFormat.XYXY:
        return cat([first, second], -1)
    size = second - first
    if new is BoundingBoxFormat.XYWH:
        return cat([first, size], -1)
    middle = (first + second) / 2 if size.is_floating_point() else (first + second).div(2, rounding_mode="floor")
    return cat([middle, size], -1)


def clamped(places: Places) -> Any:
    """Boxes or points, moved to the border of the image where they lie beyond."""
    height, width = places.canvas_size
    values = places.as_subclass(Tensor)
    if not isinstance(places, BoundingBoxes):
        low, high = tensor([0, 0]), tensor([width - 1, height - 1])
        return wrap(values.clamp(low.to(values), high.to(values)), like=places)
    corners = convert(values, places.format, BoundingBoxFormat.XYXY)
    corners = corners.clamp(tensor([0]).to(values), tensor([width, height] * 2).to(values))
    return wrap(convert(corners, BoundingBoxFormat.XYXY, places.format), like=places)


def mapped(places: Places, move: Map, size: Sequence[int], clamp: bool = True) -> Any:
    """Boxes or points of an image whose points a transform moves, and which has then a (height, width) `size`.

    A box becomes the smallest one around its moved corners. Boxes are then clamped unless their mode is None, points
    where it is "hard".
    """
    values = places.as_subclass(Tensor)
    exact = values if values.is_floating_point() else values.to(float32)
    if isinstance(places, BoundingBoxes):
        x0, y0, x1, y1 = convert(exact, places.format, BoundingBoxFormat.XYXY).unbind(-1)
        corners = move(stack([stack([x0, y0], -1), stack([x1, y0], -1), stack([x1, y1], -1), stack([x0, y1], -1)], 1))
        exact = convert(cat([corners.amin(1), corners.amax(1)], -1), BoundingBoxFormat.XYXY, places.format)
    else:
        exact = move(exact)
    found = wrap(exact.to(values.dtype), like=places, canvas_size=tuple(size))
    wanted = (None, "soft") if not isinstance(places, BoundingBoxes) else (None,)
    return found if not clamp or places.clamping_mode in wanted else clamped(found)


def scaled_by(across: float, down: float) -> Map:
    """The map of a resized image."""
    return lambda points: points * tensor([across, down]).to(points)


def moved_by(across: float, down: float) -> Map:
    """The map of an image moved to the right and down."""
    return lambda points: points + tensor([across, down]).to(points)


def mirrored(axis: int, extent: int) -> Map:
    """The map of an image flipped along the axis of x (0) or y (1)."""
    sign, shift = ([-1, 1], [extent, 0]) if axis == 0 else ([1, -1], [0, extent])
    return lambda points: points * tensor(sign).to(points) + tensor(shift).to(points)


def warped(matrix: Sequence[float], size: Sequence[int], result: Sequence[int]) -> Map:
    """The map of an affine transform, given the matrix that leads back from the result, both seen from the middle."""
    rows = np.linalg.inv(np.vstack([np.asarray(matrix, np.float64).reshape(2, 3), [0, 0, 1]]))[:2]
    before, after = (tensor([extent[1] / 2, extent[0] / 2]) for extent in (size, result))
    linear, shift = tensor(rows[:, :2].T.tolist()), tensor(rows[:, 2].tolist())
    return lambda points: (points - before.to(points)) @ linear.to(points) + (shift + after).to(points)


def of_rotation(size: Sequence[int], angle: float, expand: bool, center: Any) -> tuple[Map, Sequence[int]]:
    """The map of `rotate`, and the (height, width) of its result."""
    matrix = inverse_affine(from_middle(center, size), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    result = expanded(matrix, size[0], size[1]) if expand else size
    return warped(matrix, size, result), result


def of_affine(size: Sequence[int], angle: float, translate: Any, scale: float, shear: Any, center: Any) -> Map:
    """The map of `affine`."""
    return warped(inverse_affine(from_middle(center, size), angle, translate, scale, shear), size, size)


def of_perspective(startpoints: Any, endpoints: Any) -> Map:
    """The map of `perspective`."""
    a, b, c, d, e, f, g, h = perspective_coefficients(endpoints, startpoints)
    above, below = tensor([[a, d], [b, e]]), tensor([g, h])

    def move(points):
        return (points @ above.to(points) + tensor([c, f]).to(points)) / ((points @ below.to(points)) + 1).unsqueeze(-1)
    return move
