"""Images in other sizes."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import float32, from_numpy, iinfo
from .kinds import (
    InterpolationMode,
    accepts_arrays,
    as_index,
    get_dimensions,
    interpolation_of,
    is_pil,
    pil_module,
)


@accepts_arrays
def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """`Resize`. Integers are interpolated in float32 and rounded."""
    interpolation = interpolation_of(interpolation)
    _, h, w = get_dimensions(img)
    height, width = new_size(h, w, size, max_size)
    if (height, width) == (h, w):
        return img
    if is_pil(img):
        name = "NEAREST" if interpolation is InterpolationMode.NEAREST_EXACT else interpolation.name
        return img.resize((width, height), pil_module().Resampling[name])
    mode = interpolation.value
    if mode.startswith("nearest"):
        rows, columns = _nearest(h, height, mode), _nearest(w, width, mode)
        return img.index_select(-2, as_index(rows, img)).index_select(-1, as_index(columns, img))
    if mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolation {mode} is for PIL images only; tensors have nearest, bilinear and bicubic")
    exact = img if img.is_floating_point() else img.to(float32)
    down, across = (
        from_numpy(_weights(*ends, mode, bool(antialias))).to(exact) for ends in ((h, height), (w, width))
    )
    result = down @ exact @ across.t()
    if exact is img:
        return result
    if mode == "bicubic":  # overshoots
        info = iinfo(img.dtype)
        result = result.clamp(info.min, info.max)
    return result.round().to(img.dtype)


def new_size(h: int, w: int, size: int | Sequence[int], max_size: int | None) -> tuple[int, int]:
    """(height, width) of an image (h, w) resized to `size`, as `Resize` takes it."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) == 2:
        if max_size is not None:
            raise ValueError("max_size should only be passed if size is an int or a sequence of one int")
        return sizes[0], sizes[1]
    short, long = sizes[0], int(sizes[0] * max(h, w) / min(h, w))
    if max_size is not None:
        if max_size <= short:
            raise ValueError(f"max_size = {max_size} must be strictly greater than the requested size = {size}")
        if long > max_size:
            short, long = int(max_size * short / long), max_size
    return (long, short) if w <= h else (short, long)


def _nearest(n: int, m: int, mode: str) -> np.ndarray:
    shift = 0.5 if mode == "nearest-exact" else 0.0
    return np.floor((np.arange(m) + shift) * (n / m)).astype(np.int64).clip(0, n - 1)


@functools.lru_cache(maxsize=64)
def _weights(n: int, m: int, mode: str, antialias: bool) -> np.ndarray:
    """The (m, n) matrix that resizes a row of ``n`` pixels to ``m``: ``out[i] = sum_j weights[i, j] * row[j]``.

    Pixel ``i`` of the result lies at ``(i + 1/2) n/m - 1/2`` in the row, and every pixel of the row counts for it by a
    kernel of the distance: a triangle, or Keys' cubic with a = -1/2 (antialias) or -3/4. With antialias the kernel is
    as wide as ``n/m`` pixels and weights are scaled to sum to one, at the border too; without, a position beyond the
    border is taken to be the last pixel.
    """
    stretch = max(1.0, n / m) if antialias else 1.0
    reach = math.ceil((1 if mode == "bilinear" else 2) * stretch) + 1
    centers = (np.arange(m) + 0.5) * (n / m) - 0.5
    if not antialias and mode == "bilinear":
        centers = centers.clip(0, n - 1)
    weights = np.zeros((m, n))
    places = np.floor(centers).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    values = _kernel((places - centers[:, None]) / stretch, mode, -0.5 if antialias else -0.75)
    if antialias:
        values = np.where((places >= 0) & (places < n), values, 0.0)
        values /= values.sum(axis=1, keepdims=True)
    np.add.at(weights, (np.arange(m)[:, None], places.clip(0, n - 1)), values)
    return weights


def _kernel(x: np.ndarray, mode: str, a: float) -> np.ndarray:
    x = abs(x)
    if mode == "bilinear":
        return (1 - x).clip(0)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
