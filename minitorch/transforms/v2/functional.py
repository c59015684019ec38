"""The functions of `minitorch.transforms.functional` on all kinds of image; masks are sampled without interpolation."""

import functools
import inspect
from typing import Any

from ... import Tensor
from .. import functional as F
from ..functional.kinds import InterpolationMode
from ..tv_tensors import BoundingBoxFormat, Mask, Places, TVTensor
from .boxes import clamp_bounding_boxes, clamp_keypoints, sanitize_bounding_boxes, sanitize_keypoints
from .colors import compressed
from .conversion import grayscale_to_rgb, to_dtype, to_image
from .detection import permute_channels
from .places import convert
from .transform import again, is_pure_tensor, size_of


def of_kinds(function: Any) -> Any:
    """Let a function of images take those that say what they are, and return them as they came."""
    interpolates = "interpolation" in inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inpt, TVTensor):
            return function(inpt, *args, **kwargs)
        if isinstance(inpt, Places):
            raise TypeError(f"{function.__name__} takes images and masks; the transform classes take "
                            f"{type(inpt).__name__}, too")
        values = inpt.as_subclass(Tensor)
        if isinstance(inpt, Mask):
            if interpolates:
                kwargs["interpolation"] = InterpolationMode.NEAREST
            if values.ndim == 2:
                return again(function(values.unsqueeze(0), *args, **kwargs).squeeze(0), inpt)
        return again(function(values, *args, **kwargs), inpt)
    return wrapper


NAMES = """adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation adjust_sharpness affine
autocontrast center_crop crop elastic equalize erase five_crop gaussian_blur gaussian_noise hflip invert normalize pad
perspective posterize resize resized_crop rgb_to_grayscale rotate solarize ten_crop vflip""".split()
globals().update({name: of_kinds(getattr(F, name)) for name in NAMES})
horizontal_flip, vertical_flip = of_kinds(F.hflip), of_kinds(F.vflip)
elastic_transform = of_kinds(F.elastic_transform)
pil_to_tensor, to_pil_image, to_tensor = F.pil_to_tensor, F.to_pil_image, F.to_tensor
get_dimensions, get_image_size, get_num_channels = F.get_dimensions, F.get_image_size, F.get_image_num_channels
to_dtype_image = to_dtype
convert_image_dtype, to_grayscale, jpeg = F.convert_image_dtype, of_kinds(F.rgb_to_grayscale), of_kinds(compressed)


def get_size(inpt: Any) -> list[int]:
    """[height, width]"""
    return list(size_of([inpt]))


def convert_bounding_box_format(inpt: Any, old_format: Any = None, new_format: Any = None) -> Any:
    """Boxes in another format; `old_format` is needed for plain tensors only."""
    old, new = (BoundingBoxFormat[x.upper()] if isinstance(x, str) else x for x in (old_format, new_format))
    if is_pure_tensor(inpt):
        if old is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return convert(inpt, old, new)
    return type(inpt).wrap(convert(inpt.as_subclass(Tensor), inpt.format, new), inpt, format=new)


__all__ = ["InterpolationMode", "clamp_bounding_boxes", "clamp_keypoints", "convert_bounding_box_format",
           "convert_image_dtype", "elastic_transform", "get_dimensions", "get_image_size", "get_num_channels",
           "get_size", "grayscale_to_rgb", "horizontal_flip", "jpeg", "permute_channels", "pil_to_tensor",
           "sanitize_bounding_boxes", "sanitize_keypoints", "to_dtype", "to_dtype_image", "to_grayscale", "to_image",
           "to_pil_image", "to_tensor", "vertical_flip", *NAMES]
