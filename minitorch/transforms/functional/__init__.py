"""The transforms as functions of an image: a tensor, a NumPy array or a PIL image.

Tensors are worked on with the library's own ops, so they may be on any device and be differentiated through. An array
is viewed as a tensor; a PIL image is left to Pillow where Pillow does the same thing.
"""

from .color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    autocontrast,
    equalize,
    invert,
    posterize,
    solarize,
)
from .filters import adjust_sharpness, gaussian_blur, gaussian_noise
from .kinds import (
    InterpolationMode,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from .sizes import resize
from .values import convert_image_dtype, normalize, rgb_to_grayscale, to_grayscale
from .warps import affine, elastic, elastic_transform, perspective, rotate
from .windows import (
    center_crop,
    check_padding,
    crop,
    erase,
    five_crop,
    hflip,
    pad,
    resized_crop,
    ten_crop,
    vflip,
)

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "check_padding",
    "convert_image_dtype",
    "crop",
    "elastic",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "gaussian_noise",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]
