"""Colors, contrast and tones: on tensors (..., C, H, W) with the library's ops, on PIL images by Pillow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import Tensor, float32, ones_like, stack, tensor, uint8, where
from .kinds import accepts_arrays, get_dimensions, is_pil, pil_module
from .values import convert_image_dtype, largest, rgb_to_grayscale


def check_channels(img: Tensor, allowed=(1, 3)) -> None:
    """TypeError where a tensor's number of channels is none of `allowed`."""
    channels = get_dimensions(img)[0]
    if channels not in allowed:
        raise TypeError(f"Input image tensor permitted channel values are {list(allowed)}, but found {channels}")


def brightest(img: Tensor) -> float:
    """The largest value of an image: 1 for floats."""
    return 1.0 if img.is_floating_point() else largest(img.dtype)


def blend(img: Tensor, other: Any, ratio: float) -> Tensor:
    """``ratio * img + (1 - ratio) * other``, within the range of values, in the dtype of `img`."""
    return (ratio * img + (1.0 - ratio) * other).clamp(0, brightest(img)).to(img.dtype)


def adjusted(img: Any, name: str, factor: float, kind: str, other: Callable) -> Any:
    """`blend` of a tensor with ``other(tensor)``, and what Pillow calls an enhancement of that `kind` for a PIL image.

    ValueError for a negative factor.
    """
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    if is_pil(img):
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(img).enhance(factor)
    check_channels(img)
    return blend(img, other(img), factor)


@accepts_arrays
def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Brightness times a factor: 0 is black, 1 the image itself, 2 twice as bright. ValueError if it is negative."""
    return adjusted(img, "brightness_factor", brightness_factor, "Brightness", lambda img: 0)


@accepts_arrays
def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """The distance from the mean gray times a factor: 0 is gray, 1 the image itself. ValueError if it is negative."""
    return adjusted(img, "contrast_factor", contrast_factor, "Contrast", mean_gray)


def mean_gray(img: Tensor) -> Tensor:
    """The mean of an image's gray values (..., 1, 1, 1)."""
    gray = rgb_to_grayscale(img) if get_dimensions(img)[0] == 3 else img
    return (gray if gray.is_floating_point() else gray.to(float32)).mean((-3, -2, -1), keepdim=True)


@accepts_arrays
def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """The distance from the gray image times a factor: 0 is gray, 1 the image itself. ValueError if it is negative."""
    if not is_pil(img) and get_dimensions(img)[0] == 1:
        return img
    return adjusted(img, "saturation_factor", saturation_factor, "Color", rgb_to_grayscale)


@accepts_arrays
def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Hues turned by a part of the circle, from -0.5 to 0.5; ValueError beyond."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if is_pil(img):
        if img.mode in ("L", "1", "I", "F"):
            return img
        hue, saturation, value = img.convert("HSV").split()
        turned = np.asarray(hue) + np.array(int(hue_factor * 255)).astype(np.uint8)   # around the circle of 256
        merged = pil_module().merge("HSV", (pil_module().fromarray(turned), saturation, value))
        return merged.convert(img.mode)
    check_channels(img)
    if get_dimensions(img)[0] == 1:
        return img
    hue, saturation, value = hsv_of(convert_image_dtype(img, img.dtype if img.is_floating_point() else float32))
    return convert_image_dtype(rgb_of((hue + hue_factor) % 1.0, saturation, value), img.dtype)


def hsv_of(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value, all from 0 to 1, of an RGB image (Smith, Color Gamut Transform Pairs, 1978)."""
    r, g, b = img.unbind(-3)
    value, spread = img.amax(-3), img.amax(-3) - img.amin(-3)
    gray, one = spread == 0, ones_like(value)
    saturation = spread / where(gray, one, value)
    from_r, from_g, from_b = ((value - channel) / where(gray, one, spread) for channel in (r, g, b))
    sector = where(value == r, from_b - from_g, where(value == g, 2.0 + from_r - from_b, 4.0 + from_g - from_r))
    return (sector / 6.0 + 1.0).fmod(1.0), saturation, value


def rgb_of(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """The RGB image of hue, saturation and value: the inverse of `hsv_of`."""
    sector = (hue * 6.0).floor()
    within = hue * 6.0 - sector
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * within)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - within))).clamp(0.0, 1.0)
    sectors = sector % 6.0

    def channel(*of_sector):
        result = of_sector[5]
        for i in range(5):
            result = where(sectors == i, of_sector[i], result)
        return result
    return stack([channel(value, falling, low, low, rising, value), channel(rising, value, value, falling, low, low),
                  channel(low, low, rising, value, value, falling)], -3)


@accepts_arrays
def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """``gain * value ** gamma``, with values from 0 to 1. ValueError for a negative gamma."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    if is_pil(img):
        table = [int((255 + 1 - 1e-3) * gain * (value / 255.0) ** gamma) for value in range(256)] * 3
        return img.convert("RGB").point(table).convert(img.mode)
    check_channels(img)
    exact = convert_image_dtype(img, img.dtype if img.is_floating_point() else float32)
    return convert_image_dtype((gain * exact**gamma).clamp(0, 1), img.dtype)


@accepts_arrays
def invert(img: Any) -> Any:
    """The negative: the brightest value less each value."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.invert(img)
    check_channels(img)
    return (1.0 if img.is_floating_point() else largest(img.dtype)) - img


@accepts_arrays
def posterize(img: Any, bits: int) -> Any:
    """The upper `bits` bits of each value of a uint8 image."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.posterize(img, bits)
    check_bytes(img)
    check_channels(img)
    return img & tensor((256 - 2 ** (8 - bits)) % 256, dtype=uint8, device=img.device)


@accepts_arrays
def solarize(img: Any, threshold: float) -> Any:
    """Values from `threshold` on inverted. TypeError for a threshold above the brightest value."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.solarize(img, threshold)  # type: ignore[arg-type]
    check_channels(img)
    if threshold > brightest(img):
        raise TypeError(f"Threshold should be less than the bound of img: {brightest(img)}, got {threshold}")
    return where(img >= threshold, invert(img), img)


@accepts_arrays
def autocontrast(img: Any) -> Any:
    """Each channel stretched over the whole range of values; a channel of one value is left alone."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.autocontrast(img)
    check_channels(img)
    exact = img if img.is_floating_point() else img.to(float32)
    low, high = exact.amin((-2, -1), keepdim=True), exact.amax((-2, -1), keepdim=True)
    bound, flat = brightest(img), high == low
    scale = where(flat, ones_like(low), where(flat, ones_like(low), high - low).reciprocal() * bound)
    return ((exact - where(flat, 0.0, low)) * scale).clamp(0, bound).to(img.dtype)


@accepts_arrays
def equalize(img: Any) -> Any:
    """Each channel of a uint8 image mapped so that its values are spread evenly."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.equalize(img)
    check_bytes(img)
    check_channels(img)
    channels = img.reshape(-1, img.shape[-2] * img.shape[-1])
    return stack([equalized(channel) for channel in channels]).reshape(img.shape)


def equalized(channel: Tensor) -> Tensor:
    """The values of one channel, mapped by their cumulative histogram as Pillow does."""
    counts = channel.bincount(minlength=256).cpu().numpy()
    filled = counts[counts != 0]
    step = filled[:-1].sum() // 255
    if step == 0:
        return channel
    table = np.minimum((np.concatenate([[0], counts[:-1].cumsum()]) + step // 2) // step, 255).astype(np.uint8)
    table[0] = 0
    return tensor(table, device=channel.device)[channel.long()]


def check_bytes(img: Tensor) -> None:
    """TypeError for an image that is not uint8."""
    if img.dtype != uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
