"""Colours of an image: functions of a tensor, a NumPy array or a PIL image, which Pillow changes itself."""

import importlib
from typing import Any

import numpy as np

from ..core.dtypes import float32, uint8
from ..core.tensor import Tensor
from ..ops.elementwise.compare import where
from ..ops.shapes.join import stack
from .functional import (
    _accepts_arrays,
    _is_pil,
    _largest,
    _pil_module,
    convert_image_dtype,
    get_dimensions,
    rgb_to_grayscale,
)

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "autocontrast",
           "equalize", "erase", "invert", "posterize", "solarize", "to_grayscale"]


def _pillow(name: str) -> Any:
    return importlib.import_module(f"PIL.{name}")


def _bound(img: Tensor) -> float:
    """The value of white."""
    return 1.0 if img.is_floating_point() else _largest(img.dtype)


def _blend(img: Tensor, other: Any, ratio: float) -> Tensor:
    return (ratio * img + (1.0 - ratio) * other).clamp(0, _bound(img)).to(img.dtype)


def _check_colours(img: Tensor) -> int:
    channels = get_dimensions(img)[0]
    if channels not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found {channels}")
    return channels


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


@_accepts_arrays
def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """All values times a factor of 0 (black) or more."""
    _check_factor("brightness_factor", brightness_factor)
    if _is_pil(img):
        return _pillow("ImageEnhance").Brightness(img).enhance(brightness_factor)
    return _blend(img, 0.0, brightness_factor)


@_accepts_arrays
def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Distances from the image's mean luminance times a factor of 0 (grey) or more."""
    _check_factor("contrast_factor", contrast_factor)
    if _is_pil(img):
        return _pillow("ImageEnhance").Contrast(img).enhance(contrast_factor)
    grey = rgb_to_grayscale(img) if _check_colours(img) == 3 else img
    exact = grey if grey.is_floating_point() else grey.to(float32)
    return _blend(img, exact.mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


@_accepts_arrays
def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Distances from each pixel's luminance times a factor of 0 (no colours) or more."""
    _check_factor("saturation_factor", saturation_factor)
    if _is_pil(img):
        return _pillow("ImageEnhance").Color(img).enhance(saturation_factor)
    return img if _check_colours(img) == 1 else _blend(img, rgb_to_grayscale(img), saturation_factor)


@_accepts_arrays
def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Hues turned by a share, from -0.5 to 0.5, of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if _is_pil(img):
        if img.mode in ("L", "1", "I", "F"):
            return img
        h, s, v = img.convert("HSV").split()
        turned = np.array(h, dtype=np.uint8) + np.array(int(hue_factor * 255) % 256, np.uint8)
        return _pil_module().merge("HSV", (_pil_module().fromarray(turned), s, v)).convert(img.mode)
    if _check_colours(img) == 1:
        return img
    h, s, v = _hsv_of(convert_image_dtype(img, float32))
    return convert_image_dtype(_rgb_of((h + hue_factor) % 1.0, s, v), img.dtype)


def _hsv_of(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value of an image (..., 3, H, W) of values from 0 to 1 (A. R. Smith, 1978)."""
    r, g, b = img.unbind(-3)
    top, low = img.amax(-3), img.amin(-3)
    range_ = top - low
    grey = range_ == 0
    divisor = where(grey, 1.0, range_)
    to_r, to_g, to_b = (top - r) / divisor, (top - g) / divisor, (top - b) / divisor
    h = where(top == r, to_b - to_g, where(top == g, 2.0 + to_r - to_b, 4.0 + to_g - to_r))
    return (h / 6.0 + 1.0).fmod(1.0), range_ / where(grey, 1.0, top), top


def _rgb_of(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    """The inverse of `_hsv_of`: each colour is v less what saturation takes at its distance from the hue."""
    out = []
    for shift in (5.0, 3.0, 1.0):                          # red, green, blue
        k = (shift + h * 6.0) % 6.0
        out.append(v - v * s * where(k < 4.0 - k, k, 4.0 - k).clamp(0.0, 1.0))
    return stack(out, dim=-3).clamp(0.0, 1.0)


@_accepts_arrays
def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """``gain * value ** gamma``, values from 0 to 1."""
    _check_factor("gamma", gamma)
    if _is_pil(img):
        mapped = [int((255 + 1 - 1e-3) * gain * pow(level / 255.0, gamma)) for level in range(256)]
        return img.convert("RGB").point(mapped * 3).convert(img.mode)
    exact = img if img.is_floating_point() else convert_image_dtype(img, float32)
    return convert_image_dtype((gain * exact**gamma).clamp(0, 1), img.dtype)


@_accepts_arrays
def invert(img: Any) -> Any:
    """White for black."""
    return _pillow("ImageOps").invert(img) if _is_pil(img) else _bound(img) - img


@_accepts_arrays
def posterize(img: Any, bits: int) -> Any:
    """The first `bits` bits of each value of an image of uint8."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if _is_pil(img):
        return _pillow("ImageOps").posterize(img, bits)
    if img.dtype is not uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


@_accepts_arrays
def solarize(img: Any, threshold: float) -> Any:
    """Values from a threshold on inverted."""
    if _is_pil(img):
        return _pillow("ImageOps").solarize(img, threshold)
    if threshold > _bound(img):
        raise TypeError("Threshold should be less than bound of img.")
    return where(img >= threshold, invert(img), img)


@_accepts_arrays
def autocontrast(img: Any) -> Any:
    """Each channel stretched to the whole range."""
    if _is_pil(img):
        return _pillow("ImageOps").autocontrast(img)
    _check_colours(img)
    bound, exact = _bound(img), img if img.is_floating_point() else img.to(float32)
    low, high = exact.amin(dim=(-2, -1), keepdim=True), exact.amax(dim=(-2, -1), keepdim=True)
    scale = bound / (high - low)
    flat = ~scale.isfinite()
    low, scale = where(flat, 0.0, low), where(flat, 1.0, scale)
    return ((exact - low) * scale).clamp(0, bound).to(img.dtype)


@_accepts_arrays
def equalize(img: Any) -> Any:
    """Levels of each channel of an image of uint8 spread so that all are about as frequent."""
    if _is_pil(img):
        return _pillow("ImageOps").equalize(img)
    if img.dtype is not uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    flat = img.reshape(-1, *img.shape[-2:])
    return stack([_equalized(channel) for channel in flat]).reshape(img.shape) if len(flat) else img


def _equalized(channel: Tensor) -> Tensor:
    counts = channel.reshape(-1).bincount(minlength=256)
    step = int(counts[counts != 0][:-1].sum()) // 255
    if step == 0:
        return channel
    levels = (counts.cumsum(0) + step // 2) // step
    levels = levels.roll(1)                                # those of all levels below
    levels[0] = 0
    return levels.clamp(0, 255)[channel.to(levels.dtype)].to(channel.dtype)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A PIL image in luminance, of 1 channel or 3 alike; tensors go through `rgb_to_grayscale`."""
    if not _is_pil(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    """A tensor with `v`, a tensor that broadcasts, in the window of `h` by `w` from row `i` and column `j` on."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}. ToTensor() comes before RandomErasing().")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
