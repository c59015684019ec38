"""Pixels' values: other dtypes, normalisation, gray."""

import functools
from collections.abc import Sequence
from typing import Any

from ... import Tensor, as_tensor, float32, iinfo, int32, int64
from ... import bool as bool_dtype
from .kinds import accepts_arrays, get_dimensions, is_pil


def normalize(tensor: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """`Normalize`."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}. ToTensor() comes before Normalize().")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). "
            f"Got tensor.size() = {tuple(tensor.shape)}"
        )
    middle = _per_channel(tuple(mean), tensor.dtype, tensor.device)
    spread = _per_channel(tuple(std), tensor.dtype, tensor.device, divisor=True)
    return tensor.sub_(middle).div_(spread) if inplace else (tensor - middle) / spread  # type: ignore[operator]


@functools.lru_cache(maxsize=32)
def _per_channel(values: tuple, dtype, device, divisor: bool = False) -> Tensor:
    """Shape (C, 1, 1). Cached, for a data set asks for the same ones with every image."""
    result = as_tensor([float(value) for value in values], dtype=dtype, device=device).reshape(-1, 1, 1)
    if divisor and (result == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {dtype}, leading to division by zero.")
    return result


def convert_image_dtype(image: Any, dtype=None) -> Tensor:
    """`ConvertImageDtype`, to float32 by default.

    Integers of a smaller dtype are not mapped onto the whole range of a larger one: there and back changes nothing.
    RuntimeError for float32 to int32 or int64 and for float64 to int64, which would overflow.
    """
    dtype = float32 if dtype is None else dtype
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if dtype == int64 or (dtype == int32 and image.dtype == float32):
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        # One more than the largest value, less a little: each integer gets an equal part of 0..1, the largest 1.0 too.
        return image.mul(largest(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / float(largest(image.dtype))
    before, after = largest(image.dtype) + 1, largest(dtype) + 1
    if before > after:
        return (image // (before // after)).to(dtype)
    return image.to(dtype) * (after // before)


def largest(dtype) -> int:
    return 1 if dtype == bool_dtype else iinfo(dtype).max


@accepts_arrays
def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`Grayscale`: 0.2989 R + 0.587 G + 0.114 B (ITU-R BT.601)."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    if is_pil(img):
        gray = img.convert("L")
        return gray if num_output_channels == 1 else gray.convert("RGB")
    channels = get_dimensions(img)[0]
    if img.ndim < 3 or channels not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found shape {tuple(img.shape)}")
    if channels == 3:
        r, g, b = img.unbind(-3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    return img.repeat_interleave(3, dim=-3) if num_output_channels == 3 else img.clone()


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`rgb_to_grayscale` of a PIL image; TypeError for anything else."""
    if not is_pil(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)
