"""Geometry: affine and perspective transforms, rotation, elastic deformation.

A transform is given from the result back to the image. Tensors are sampled at these places by `grid_sample`, with the
origin in the middle of the image; PIL images are left to Pillow, with the origin in the upper left corner.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import Tensor, cat, float32, from_numpy, ones, tensor, where
from ...nn.functional import grid_sample
from .filters import on_pixels, on_planes
from .kinds import InterpolationMode, accepts_arrays, get_dimensions, interpolation_of, is_pil, pil_module

Fill = int | float | Sequence[float] | None


def sampled(img: Tensor, grid: np.ndarray | Tensor, interpolation: InterpolationMode, fill: Fill) -> Tensor:
    """An image (..., C, H, W) at the places (h, w, 2) of a grid, from -1 to 1 between its edges; `fill` beyond."""
    if interpolation not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"Interpolation mode '{interpolation.value}' is unsupported with Tensor "
                         f"input: use nearest or bilinear")
    channels = get_dimensions(img)[0]
    if isinstance(fill, (tuple, list)) and len(fill) not in (1, channels):
        raise ValueError(f"The number of elements in 'fill' cannot broadcast to match the number of channels of the "
                         f"image ({len(fill)} != {channels})")
    places = from_numpy(grid) if isinstance(grid, np.ndarray) else grid

    def sample(planes):
        at = places.to(planes).expand(len(planes), *places.shape[-3:])
        if fill is None:
            return grid_sample(planes, at, interpolation.value, "zeros", align_corners=False)
        inside = ones((len(planes), 1, *planes.shape[-2:]), dtype=planes.dtype, device=planes.device)
        found = grid_sample(cat([planes, inside], 1), at, interpolation.value, "zeros", align_corners=False)
        found, inside = found[:, :-1], found[:, -1:]
        color = tensor(fill if isinstance(fill, (tuple, list)) else [fill], dtype=planes.dtype,
                       device=planes.device).reshape(1, -1, 1, 1)
        if interpolation is InterpolationMode.NEAREST:
            return where(inside < 0.5, color, found)
        return found * inside + (1.0 - inside) * color
    return on_planes(img if img.ndim > 2 else img.unsqueeze(0), sample).reshape(*img.shape[:-2], *places.shape[-3:-1])


def filled(img: Any, fill: Fill) -> dict:
    """Pillow's arguments for a fill of a PIL image."""
    bands = len(img.getbands())
    fill = 0 if fill is None else fill
    if isinstance(fill, (int, float)) and bands > 1:
        fill = (fill,) * bands
    if isinstance(fill, (tuple, list)):
        if len(fill) == 1 and bands > 1:
            fill = (fill[0],) * bands
        if len(fill) != bands:
            raise ValueError(f"The number of elements in 'fill' does not match the number of channels of the image "
                             f"({len(fill)} != {bands})")
        fill = tuple(fill) if bands > 1 else fill[0]
    if img.mode != "F":
        fill = tuple(int(x) for x in fill) if isinstance(fill, tuple) else int(fill)   # type: ignore[arg-type]
    return {"fillcolor": fill}


def inverse_affine(center: Sequence[float], angle: float, translate: Sequence[float], scale: float,
                   shear: Sequence[float]) -> list[float]:
    """The 2 x 3 matrix, row by row, from a point of the result to its origin.

    The transform itself shears, scales and rotates (degrees, clockwise) around `center`, then translates:
    ``T C R(angle) S(scale) Shy Shx C^-1``.
    """
    turn, x, y = (math.radians(value) for value in (angle, *shear))
    a = math.cos(turn - y) / math.cos(y)
    b = -math.cos(turn - y) * math.tan(x) / math.cos(y) - math.sin(turn)
    c = math.sin(turn - y) / math.cos(y)
    d = -math.sin(turn - y) * math.tan(x) / math.cos(y) + math.cos(turn)
    across, down = center[0] + translate[0], center[1] + translate[1]
    rows = [(d / scale, -b / scale), (-c / scale, a / scale)]      # rotation and shear have the determinant 1
    return [value for (p, q), c in zip(rows, center, strict=True) for value in (p, q, c - p * across - q * down)]


def affine_grid(matrix: Sequence[float], size: tuple[int, int], result: tuple[int, int]) -> np.ndarray:
    """The grid (h, w, 2) of a result of (height, width) `result` in an image of (height, width) `size`."""
    (height, width), (h, w) = size, result
    rows = np.asarray(matrix, np.float32).reshape(2, 3) / np.array([[0.5 * width], [0.5 * height]], np.float32)
    y, x = np.meshgrid(centered(h), centered(w), indexing="ij")
    return np.stack([x, y, np.ones_like(x)], -1) @ rows.T


def centered(n: int) -> np.ndarray:
    """The middles of `n` pixels, with the origin in the middle of all."""
    return np.arange(n, dtype=np.float32) - np.float32((n - 1) * 0.5)


def from_middle(center: Sequence[float] | None, size: Sequence[int]) -> list[float]:
    """A center (x, y) in pixels, seen from the middle of an image of (height, width) `size`."""
    return [0.0, 0.0] if center is None else [center[0] - size[1] * 0.5, center[1] - size[0] * 0.5]


def check_center(center: Any) -> None:
    """TypeError for a center that is not a sequence."""
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")


@accepts_arrays
def affine(img: Any, angle: float, translate: Sequence[int], scale: float, shear: float | Sequence[float],
           interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: Fill = None,
           center: Sequence[int] | None = None) -> Any:
    """Rotation, translation, scaling and shearing, in the size of the image.

    angle: degrees, clockwise. translate: pixels (right, down), after the rotation. scale: positive. shear: degrees,
    along x or (along x, along y). fill: values beyond the image, zero by default. center: (x, y) in pixels, the middle
    by default. TypeError or ValueError for other arguments.
    """
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, (int, float, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear) * (2 if len(shear) == 1 else 1)
    if len(shears) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shears}")
    check_center(center)
    interpolation = interpolation_of(interpolation)
    _, height, width = get_dimensions(img)
    if is_pil(img):
        matrix = inverse_affine(center or [width * 0.5, height * 0.5], angle, translate, scale, shears)
        pil = pil_module()
        return img.transform(img.size, pil.Transform.AFFINE, matrix, pil.Resampling[interpolation.name],
                             **filled(img, fill))
    matrix = inverse_affine(from_middle(center, (height, width)), angle, translate, scale, shears)
    return sampled(img, affine_grid(matrix, (height, width), (height, width)), interpolation, fill)


@accepts_arrays
def rotate(img: Any, angle: float, interpolation: InterpolationMode = InterpolationMode.NEAREST, expand: bool = False,
           center: Sequence[int] | None = None, fill: Fill = None) -> Any:
    """Rotation by degrees, counter-clockwise, around the middle or `center` (x, y).

    expand: whether the result is as large as the rotated image, rather than as the image itself. fill: values beyond
    the image, zero by default.
    """
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    check_center(center)
    interpolation = interpolation_of(interpolation)
    if is_pil(img):
        return img.rotate(angle, pil_module().Resampling[interpolation.name], expand, center, **filled(img, fill))
    _, height, width = get_dimensions(img)
    matrix = inverse_affine(from_middle(center, (height, width)), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    result = expanded(matrix, height, width) if expand else (height, width)
    return sampled(img, affine_grid(matrix, (height, width), result), interpolation, fill)


def expanded(matrix: Sequence[float], height: int, width: int) -> tuple[int, int]:
    """(height, width) of a rotated image with all its corners, counted in whole pixels as Pillow does."""
    corners = np.array([[x * width, y * height, 1.0] for x in (-0.5, 0.5) for y in (-0.5, 0.5)], np.float32)
    middle = np.array([width * 0.5, height * 0.5], np.float32)
    points = corners @ np.asarray(matrix, np.float32).reshape(2, 3).T + middle
    low, high = (np.trunc(f(points, 0) / np.float32(1e-4)) * np.float32(1e-4) for f in (np.min, np.max))
    across, down = np.ceil(high) - np.floor(low)           # 1e-15 beyond a pixel is none
    return int(down), int(across)


def perspective_coefficients(startpoints: Sequence, endpoints: Sequence) -> list[float]:
    """The eight coefficients with which a point (x, y) of the result comes from

    ``((a x + b y + c) / (g x + h y + 1), (d x + e y + f) / (g x + h y + 1))``, given four corners before and after.
    """
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(f"Please provide exactly four corners, got {len(startpoints)} startpoints and "
                         f"{len(endpoints)} endpoints.")
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    found = np.linalg.lstsq(np.array(rows, np.float64), np.array(startpoints, np.float64).reshape(8), rcond=None)[0]
    return found.astype(np.float32).tolist()


@accepts_arrays
def perspective(img: Any, startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]],
                interpolation: InterpolationMode = InterpolationMode.BILINEAR, fill: Fill = None) -> Any:
    """The image seen from elsewhere: four corners (x, y), from the upper left one clockwise, moved to others."""
    coefficients = perspective_coefficients(startpoints, endpoints)
    interpolation = interpolation_of(interpolation)
    if is_pil(img):
        pil = pil_module()
        return img.transform(img.size, pil.Transform.PERSPECTIVE, coefficients, pil.Resampling[interpolation.name],
                             **filled(img, fill))
    _, height, width = get_dimensions(img)
    above = np.array(coefficients[:6], np.float32).reshape(2, 3) / np.array([[0.5 * width], [0.5 * height]], np.float32)
    below = np.array([*coefficients[6:], 1.0], np.float32)
    y, x = np.meshgrid(*(np.arange(n, dtype=np.float32) + np.float32(0.5) for n in (height, width)), indexing="ij")
    points = np.stack([x, y, np.ones_like(x)], -1)
    return sampled(img, points @ above.T / (points @ below)[..., None] - np.float32(1), interpolation, fill)


@accepts_arrays
def elastic_transform(img: Any, displacement: Tensor, interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                      fill: Fill = None) -> Any:
    """Each pixel taken from a place nearby: `displacement` (1, H, W, 2), in halves of the width and the height."""
    interpolation = interpolation_of(interpolation)
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    _, height, width = get_dimensions(img)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(f"Argument displacement shape should be {(1, height, width, 2)}, but given "
                         f"{tuple(displacement.shape)}")
    y, x = np.meshgrid(*(centered(n) / np.float32(n * 0.5) for n in (height, width)), indexing="ij")
    grid = from_numpy(np.stack([x, y], -1)).to(displacement) + displacement.to(float32)
    return on_pixels(lambda pixels: sampled(pixels, grid, interpolation, fill))(img)


elastic = elastic_transform
