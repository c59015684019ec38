"""Transforms of kinds, dtypes and values."""

from typing import Any

import numpy as np

from ... import Tensor, empty, float32, from_numpy, tensor
from .. import functional as F
from .. import transforms
from ..functional.kinds import is_pil, pil_to_tensor
from ..tv_tensors import Image, Mask, Places, TVTensor, Video
from .transform import OfImages, Transform, again, is_pure_tensor


def to_image(inpt: Any) -> Image:
    """A PIL image, an array (H, W) or (H, W, C) or a tensor as an `Image`."""
    if isinstance(inpt, Tensor):
        return Image(inpt)
    if is_pil(inpt):
        return Image(pil_to_tensor(inpt))
    array = inpt[None] if inpt.ndim == 2 else inpt.transpose(2, 0, 1)
    return Image(from_numpy(array.copy()))


class ToImage(Transform):
    """PIL images, arrays and plain tensors as `tv_tensors.Image`, values as they are."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if isinstance(inpt, TVTensor) and not isinstance(inpt, Image) else to_image(inpt)


class ToPureTensor(Transform):
    """Tensors that say what they are as plain ones."""

    _transformed_types = (TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt.as_subclass(Tensor)


class PILToTensor(Transform):
    """PIL images as tensors (C, H, W) of their own integers."""

    _transformed_types = (is_pil,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return pil_to_tensor(inpt)


class ToPILImage(Transform):
    """Images as PIL images."""

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if is_pil(inpt) or isinstance(inpt, (Mask, Places)):
            return inpt
        return F.to_pil_image(inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt, self.mode)


class ToTensor(Transform):
    """PIL images and arrays as float tensors from 0 to 1: `ToImage` and ``ToDtype(float32, scale=True)`` say more."""

    _transformed_types = (is_pil, np.ndarray)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_tensor(inpt)


def to_dtype(inpt: Any, dtype: Any = float32, scale: bool = False) -> Any:
    """An image in another dtype, its values scaled to that one's range where `scale` says so; others only cast."""
    as_image = scale and (is_pure_tensor(inpt) or isinstance(inpt, (Image, Video)))
    values = inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt
    return again(F.convert_image_dtype(values, dtype) if as_image else values.to(dtype), inpt)


class ToDtype(Transform):
    """Another dtype; ``scale`` says whether images are scaled to its range.

    dtype: for images and videos, or a dict from kinds (``tv_tensors.Mask``, ...) and "others" to dtypes, None for none.
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, dict):
            empty(0, dtype=dtype)                          # raises for what is not a dtype
        self.dtype, self.scale = dtype, scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not isinstance(self.dtype, dict):
            images = is_pure_tensor(inpt) or isinstance(inpt, (Image, Video))
            return to_dtype(inpt, self.dtype, self.scale) if images else inpt
        if type(inpt) not in self.dtype and "others" not in self.dtype:
            raise ValueError(f"No dtype was specified for type {type(inpt)}: the key \"others\" stands for all that "
                             f"are not named")
        dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
        return inpt if dtype is None else to_dtype(inpt, dtype, self.scale)


class ConvertImageDtype(Transform):
    """Images in another dtype, scaled to its range."""

    _transformed_types = (is_pure_tensor, Image)

    def __init__(self, dtype: Any = float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return to_dtype(inpt, self.dtype, True)


class Normalize(OfImages, transforms.Normalize):
    """``(image[c] - mean[c]) / std[c]`` for each channel; ValueError for PIL images."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if any(map(is_pil, flat_inputs)):
            raise ValueError("Normalize() does not support PIL images.")


class LinearTransformation(OfImages, transforms.LinearTransformation):
    """The pixels of a tensor as one row: ``(row - mean_vector) @ transformation_matrix``."""


class GaussianNoise(OfImages):
    """Normal noise added to float images."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return F.gaussian_noise(img, self.mean, self.sigma, self.clip)


def grayscale_to_rgb(img: Any) -> Any:
    """An image of one channel with three equal ones; others as they are."""
    if is_pil(img):
        return img.convert("RGB")
    return img if img.shape[-3] != 1 else img.expand(*img.shape[:-3], 3, *img.shape[-2:])


class RGB(OfImages):
    """Gray images with three channels."""

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return grayscale_to_rgb(img)


class UniformTemporalSubsample(Transform):
    """``num_samples`` frames of a video at equal distances."""

    _transformed_types = (is_pure_tensor, Video)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        last = inpt.shape[-4] - 1
        places = [int(i * last / max(self.num_samples - 1, 1)) for i in range(self.num_samples)]
        return again(inpt.as_subclass(Tensor).index_select(-4, tensor(places)), inpt)
