"""``torchvision.transforms.v2.functional``: the functions of v1, and those that v2 adds, for tensors and PIL images.

An image is a plain tensor (there is no class of its own for it).
"""

import math

from ...core.dtypes import float32
from ...core.tensor import Tensor
from ...nn import functional as F
from ...ops.creation.create import linspace
from .. import functional as v1
from ..functional import (InterpolationMode, center_crop, convert_image_dtype, crop, get_dimensions, get_image_size, hflip,
                          normalize, pil_to_tensor, resize, rgb_to_grayscale, to_pil_image, to_tensor, vflip)

__all__ = ["InterpolationMode", "center_crop", "convert_image_dtype", "crop", "gaussian_blur", "get_dimensions",
           "get_image_size", "get_size", "grayscale_to_rgb", "hflip", "horizontal_flip", "normalize", "pad",
           "pil_to_tensor", "resize", "resized_crop", "rgb_to_grayscale", "to_dtype", "to_dtype_image", "to_grayscale",
           "to_image", "to_pil_image", "to_tensor", "vertical_flip", "vflip"]

horizontal_flip, vertical_flip, to_grayscale = hflip, vflip, rgb_to_grayscale


def pad(inpt, padding, fill=None, padding_mode="constant"):
    """The image with borders, filled with 0 where `fill` is None."""
    return v1.pad(inpt, padding, 0 if fill is None else fill, padding_mode)


def get_size(inpt):
    """[height, width]."""
    return get_dimensions(inpt)[1:]


def to_image(inpt):
    """A PIL image or an array as a tensor (channels, height, width) of the same type; a tensor as it is."""
    return inpt if isinstance(inpt, Tensor) else pil_to_tensor(inpt) if hasattr(inpt, "getbands") else (
        convert_image_dtype(to_tensor(inpt), None) if inpt.dtype.kind == "f" else pil_to_tensor(to_pil_image(inpt)))


def to_dtype(inpt, dtype=float32, scale=False):
    """The image in another type, its range mapped to that of the type with `scale`: 0 to 255, or 0 to 1."""
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)


to_dtype_image = to_dtype


def grayscale_to_rgb(inpt):
    """Three equal channels for an image with one; others as they are."""
    if isinstance(inpt, Tensor):
        return inpt.expand(*inpt.shape[:-3], 3, *inpt.shape[-2:]) if inpt.shape[-3] == 1 else inpt
    return inpt.convert("RGB")


def resized_crop(inpt, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True):
    """A window of the image, resized."""
    return resize(crop(inpt, top, left, height, width), size, interpolation=interpolation, antialias=antialias)


def gaussian_blur(inpt, kernel_size, sigma=None):
    """The image convolved with a bell curve, its border mirrored.

    kernel_size: odd, a number or [width, height]. sigma: the width of the curve in each direction, by default
    ``0.3 ((size - 1) / 2 - 1) + 0.8``.
    """
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else [*kernel_size] * (3 - len(kernel_size))
    if any(n % 2 == 0 or n < 0 for n in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    sigma = [0.3 * ((n - 1) * 0.5 - 1) + 0.8 for n in sizes] if sigma is None else (
        [float(sigma)] * 2 if isinstance(sigma, (int, float)) else [*sigma] * (3 - len(sigma)))
    if any(s <= 0 for s in sigma):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    if not isinstance(inpt, Tensor):
        return to_pil_image(gaussian_blur(pil_to_tensor(inpt), kernel_size, sigma), inpt.mode)
    exact = inpt if inpt.is_floating_point() else inpt.to(float32)
    across, down = [bell(n, s).to(exact) for n, s in zip(sizes, sigma)]
    channels = exact.reshape(-1, 1, *exact.shape[-2:])
    channels = F.pad(channels, [sizes[0] // 2] * 2 + [sizes[1] // 2] * 2, mode="reflect")
    found = F.conv2d(channels, down[:, None] * across)[:, 0].reshape(inpt.shape)
    return found if exact is inpt else found.round().to(inpt.dtype)


def bell(n, sigma):
    """`n` values of a bell curve whose sum is 1."""
    end = (n - 1) / (2 * math.sqrt(2) * sigma)
    return (-linspace(-end, end, n) ** 2).softmax(0)
