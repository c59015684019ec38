"""Images turned, sheared, moved and cut apart: functions of a tensor, a NumPy array or a PIL image."""

import math
from collections.abc import Sequence
from typing import Any

from ..core.dtypes import float32
from ..core.tensor import Tensor
from ..nn.functional import conv2d
from ..ops.creation.create import linspace, ones, tensor
from ..ops.elementwise.compare import where
from ..ops.nn.grid import grid_sample
from ..ops.shapes.join import cat, stack
from . import functional as F
from .functional import InterpolationMode, _accepts_arrays, _is_pil, _pil_module, get_dimensions

__all__ = ["affine", "five_crop", "gaussian_blur", "resized_crop", "rotate", "ten_crop"]

NEAREST = InterpolationMode.NEAREST


def mode_of(interpolation: Any) -> InterpolationMode:
    """An `InterpolationMode`, or Pillow's own number for it, as in old programs."""
    if isinstance(interpolation, int):
        return InterpolationMode[_pil_module().Resampling(interpolation).name]
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding Pillow integer "
                        "constant")
    return interpolation


@_accepts_arrays
def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """`angle` degrees against the clock about `center` (x, y), by default the middle.

    expand: whether the result is so large that nothing is cut off, for a turn about the middle. fill: the colour, one
    number or one for each channel, of what lies outside.
    """
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    mode = mode_of(interpolation)
    if _is_pil(img):
        return img.rotate(angle, _pil_module().Resampling[mode.name], expand, center, fillcolor=_pil_fill(img, fill))
    matrix = inverse_affine_matrix(_from_middle(img, center), -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    height, width = img.shape[-2:]
    size = _reach(matrix, height, width) if expand else (height, width)
    return _sampled(img, matrix, size, mode, fill)


@_accepts_arrays
def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: InterpolationMode = NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Turned clockwise by `angle`, sheared by `shear` (both in degrees), scaled, then moved by `translate` pixels."""
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(translate, (list, tuple)) or len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    shear = (float(shear), 0.0) if isinstance(shear, (int, float)) else tuple(shear)
    shear = shear * 2 if len(shear) == 1 else shear
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    mode = mode_of(interpolation)
    if _is_pil(img):
        width, height = img.size
        center = [width * 0.5, height * 0.5] if center is None else center
        matrix = inverse_affine_matrix(center, angle, translate, scale, shear)
        pil = _pil_module()
        return img.transform(
            img.size, pil.Transform.AFFINE, matrix, pil.Resampling[mode.name], fillcolor=_pil_fill(img, fill)
        )
    matrix = inverse_affine_matrix(_from_middle(img, center), angle, translate, scale, shear)
    return _sampled(img, matrix, tuple(img.shape[-2:]), mode, fill)


def _from_middle(img: Tensor, center: Sequence[float] | None) -> tuple[float, float]:
    if center is None:
        return 0.0, 0.0
    height, width = img.shape[-2:]
    return center[0] - width * 0.5, center[1] - height * 0.5


def _pil_fill(img: Any, fill: Any) -> Any:
    """A colour as Pillow takes it: a number, or one for each channel."""
    bands = len(img.getbands())
    fill = 0 if fill is None else fill
    if isinstance(fill, (int, float)):
        fill = fill if bands == 1 else (fill,) * bands
    elif len(fill) == 1:
        fill = tuple(fill) * bands
    elif len(fill) != bands:
        raise ValueError(
            f"The number of elements in 'fill' does not match the number of channels of the image ({len(fill)} != "
            f"{bands})"
        )
    if img.mode == "F":
        return fill
    return tuple(int(x) for x in fill) if isinstance(fill, (tuple, list)) else int(fill)


def inverse_affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Rows of the 2x3 matrix that leads from a place in the result to the one in the image that it shows."""
    turn, across, down = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    (cx, cy), (tx, ty) = center, translate
    a = math.cos(turn - down) / math.cos(down)
    b = -math.cos(turn - down) * math.tan(across) / math.cos(down) - math.sin(turn)
    c = math.sin(turn - down) / math.cos(down)
    d = -math.sin(turn - down) * math.tan(across) / math.cos(down) + math.cos(turn)
    a, b, c, d = d / scale, -b / scale, -c / scale, a / scale
    x, y = -cx - tx, -cy - ty
    return [a, b, a * x + b * y + cx, c, d, c * x + d * y + cy]


def _reach(matrix: Sequence[float], height: int, width: int) -> tuple[int, int]:
    """Height and width of what the corners, turned, span."""
    a, b, e, c, d, f = matrix
    corners = [(x * width * 0.5, y * height * 0.5) for x in (-1, 1) for y in (-1, 1)]
    xs = [round(a * x + b * y + e + width * 0.5, 6) for x, y in corners]
    ys = [round(c * x + d * y + f + height * 0.5, 6) for x, y in corners]
    tolerance = 1e-4                                       # what rounding alone adds is no pixel
    high, wide = (
        math.ceil(math.trunc(max(z) / tolerance) * tolerance) - math.floor(math.trunc(min(z) / tolerance) * tolerance)
        for z in (ys, xs)
    )
    return high, wide


def _sampled(img: Tensor, matrix: Sequence[float], size: tuple[int, ...], mode: InterpolationMode, fill: Any) -> Tensor:
    """A tensor (..., C, H, W) where the matrix leads from each place of `size`, counted from the middle."""
    if mode not in (NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"Interpolation mode '{mode.value}' is unsupported with Tensor input")
    exact = (img if img.is_floating_point() else img.to(float32)).reshape(-1, *img.shape[-3:])
    (height, width), (high, wide) = img.shape[-2:], size
    x = linspace(-wide * 0.5 + 0.5, wide * 0.5 - 0.5, wide, dtype=exact.dtype, device=img.device)
    y = linspace(-high * 0.5 + 0.5, high * 0.5 - 0.5, high, dtype=exact.dtype, device=img.device).unsqueeze(-1)
    a, b, e, c, d, f = matrix
    places = stack([(a * x + b * y + e) / (0.5 * width), (c * x + d * y + f) / (0.5 * height)], dim=-1)
    grid = places.expand(len(exact), high, wide, 2)
    if fill is not None:                                   # sampled along: how much of a pixel is the image's
        exact = cat([exact, ones((len(exact), 1, height, width), dtype=exact.dtype, device=img.device)], dim=1)
    found = grid_sample(exact, grid, mode=mode.value, padding_mode="zeros", align_corners=False)
    if fill is not None:
        colours = [float(v) for v in (fill if isinstance(fill, (tuple, list)) else [fill])]
        colour = tensor(colours, dtype=exact.dtype, device=img.device).reshape(1, -1, 1, 1)
        part, found = found[:, -1:], found[:, :-1]
        found = where(part < 0.5, colour, found) if mode is NEAREST else found * part + (1.0 - part) * colour
    found = found.reshape(*img.shape[:-2], high, wide)
    return found if img.is_floating_point() else found.round().to(img.dtype)


def five_crop(img: Any, size: Any) -> tuple:
    """The four corners, each of `size` (height, width), and the middle."""
    high, wide = (size, size) if isinstance(size, int) else tuple(size) * (2 // len(size))
    _, height, width = get_dimensions(img)
    if wide > width or high > height:
        raise ValueError(f"Requested crop size {(high, wide)} is bigger than input size {(height, width)}")
    corners = [(top, left) for top in (0, height - high) for left in (0, width - wide)]
    return (*[F.crop(img, top, left, high, wide) for top, left in corners], F.center_crop(img, [high, wide]))


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple:
    """`five_crop` of the image and of the image flipped."""
    return five_crop(img, size) + five_crop(F.vflip(img) if vertical_flip else F.hflip(img), size)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """`crop`, then `resize`."""
    return F.resize(F.crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Each pixel an average of those around it, weighted by a Gaussian of deviation `sigma` (x, y) over odd sizes."""
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if any(k % 2 == 0 or k <= 0 for k in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is None:
        sigma = [k * 0.15 + 0.35 for k in sizes]
    sigmas = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else [float(s) for s in sigma] * (2 // len(sigma))
    if any(s <= 0 for s in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    if _is_pil(img):
        return F.to_pil_image(_blurred(F.pil_to_tensor(img), sizes, sigmas), mode=img.mode)
    return _accepts_arrays(_blurred)(img, sizes, sigmas)


def _blurred(img: Tensor, sizes: Sequence[int], sigmas: Sequence[float]) -> Tensor:
    exact = (img if img.is_floating_point() else img.to(float32)).reshape(-1, 1, *img.shape[-2:])
    across, down = (_bell(k, s, exact) for k, s in zip(sizes, sigmas))
    x, y = (k // 2 for k in sizes)
    found = conv2d(F.pad(exact, [x, y, x, y], padding_mode="reflect"), (down.unsqueeze(-1) * across)[None, None])
    found = found.reshape(img.shape)
    return found if img.is_floating_point() else found.round().to(img.dtype)


def _bell(size: int, sigma: float, like: Tensor) -> Tensor:
    x = linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size, dtype=like.dtype, device=like.device)
    weights = (-0.5 * (x / sigma) ** 2).exp()
    return weights / weights.sum()
