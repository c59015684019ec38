"""Kinds of image: tensors, NumPy arrays and PIL images, told apart and turned into one another."""

import enum
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import Tensor, from_numpy, get_default_dtype, uint8


class InterpolationMode(enum.Enum):
    """Interpolation between pixels in `resize`. The last three are for PIL images only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def is_pil(img: Any) -> bool:
    module = sys.modules.get("PIL.Image")  # nobody has a PIL image unless this is there
    return module is not None and isinstance(img, module.Image)


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width]"""
    if is_pil(img):
        width, height = img.size
        return [len(img.getbands()), height, width]
    if isinstance(img, np.ndarray):
        check_array(img)
        return [1 if img.ndim == 2 else img.shape[2], *img.shape[:2]]
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be a tensor, a NumPy array or a PIL image. Got {type(img)}")
    if img.ndim < 2:
        raise TypeError(f"Tensor is not a torch image: it should have 2 or more dimensions, got {img.ndim}")
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """[width, height]"""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """The number of channels."""
    return get_dimensions(img)[0]


def check_array(pic: np.ndarray) -> None:
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")


def interpolation_of(value: Any) -> InterpolationMode:
    """The mode of an `InterpolationMode`, of its text or of Pillow's number for it; TypeError for anything else."""
    if isinstance(value, int):
        return InterpolationMode[pil_module().Resampling(value).name]
    if isinstance(value, str):
        return InterpolationMode(value)
    if not isinstance(value, InterpolationMode):
        raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding Pillow integer "
                        "constant")
    return value


def pil_module():
    from PIL import Image

    return Image


def accepts_arrays(function: Callable) -> Callable:
    """Let a function of tensors and PIL images take arrays: (H, W, C) is seen as (C, H, W), and so is the result."""

    @functools.wraps(function)
    def wrapper(img: Any, *args: Any, **kwargs: Any) -> Any:
        get_dimensions(img)  # checks the kind
        if not isinstance(img, np.ndarray):
            return function(img, *args, **kwargs)
        axes = (2, 0, 1) if img.ndim == 3 else (0, 1)
        result = function(from_numpy(np.ascontiguousarray(img.transpose(axes))), *args, **kwargs).numpy()
        return np.ascontiguousarray(result.transpose(np.argsort(axes)))

    return wrapper


def to_tensor(pic: Any) -> Tensor:
    """`ToTensor`."""
    if not (is_pil(pic) or isinstance(pic, np.ndarray)):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    pixels = _channels_first(_pil_array(pic) if is_pil(pic) else pic)
    if pixels.dtype != np.uint8:
        return from_numpy(np.array(pixels, order="C"))
    scaled = np.empty(pixels.shape, get_default_dtype().np)
    np.divide(pixels, 255, out=scaled, dtype=scaled.dtype)
    return from_numpy(scaled)


def pil_to_tensor(pic: Any) -> Tensor:
    """`PILToTensor`."""
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return from_numpy(np.array(_channels_first(_pil_array(pic)), order="C"))


def _pil_array(pic: Any) -> np.ndarray:
    """The pixels of a PIL image; in one of 1 bit a set pixel is 255."""
    if pic.mode == "1":
        return np.array(pic, np.uint8) * np.uint8(255)
    return np.array(pic, {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}.get(pic.mode, np.uint8))


def _channels_first(pic: np.ndarray) -> np.ndarray:
    check_array(pic)
    return pic[None] if pic.ndim == 2 else pic.transpose(2, 0, 1)


_PIL_MODES = {
    (1, "uint8"): ("L",),
    (1, "int16"): ("I;16",),
    (1, "uint16"): ("I;16",),
    (1, "int32"): ("I",),
    (1, "float32"): ("F",),
    (2, "uint8"): ("LA",),
    (3, "uint8"): ("RGB", "YCbCr", "HSV"),
    (4, "uint8"): ("RGBA", "CMYK", "RGBX"),
}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """`ToPILImage`. TypeError for a dtype, ValueError for a shape or a mode that PIL does not have."""
    from PIL import Image

    if isinstance(pic, Tensor):
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).to(uint8)
        pixels = pic.detach().cpu().numpy()
        if pixels.ndim == 3:
            pixels = pixels.transpose(1, 2, 0)
    elif isinstance(pic, np.ndarray):
        pixels = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    check_array(pixels)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    modes = _PIL_MODES.get((channels, pixels.dtype.name))
    if modes is None:
        raise TypeError(f"Input type {pixels.dtype} is not supported for {channels} channels")
    if mode is not None and mode not in modes:
        raise ValueError(f"Incorrect mode ({mode}) for {channels} channels of {pixels.dtype}. Should be one of {modes}")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    if mode in (None, image.mode):
        return image
    return Image.frombytes(mode, image.size, image.tobytes())  # the same bytes, read as other channels


def as_index(indices: np.ndarray, img: Tensor) -> Tensor:
    return from_numpy(indices.astype(np.int64)).to(img.device)


def both(value: Any, name: str, kind: type) -> list:
    """The values for width and height: one number stands for both."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    values = values * 2 if len(values) == 1 else values
    if not all(isinstance(v, (int, kind)) for v in values):
        raise TypeError(f"{name} should be {kind.__name__} or a sequence of them. Got {type(value)}")
    if len(values) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(values)}")
    return values
