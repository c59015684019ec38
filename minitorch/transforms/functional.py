"""The transforms as functions of an image: a tensor, a NumPy array or a PIL image.

Tensors are worked on with the library's own ops, so they may be on any device and be differentiated through. An array
is viewed as a tensor; a PIL image is left to Pillow where Pillow does the same thing.
"""

import enum
import functools
import importlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.device import host
from ..core.dtypes import as_np, float32, get_default_dtype, int32, int64, uint8
from ..core.tensor import Tensor, wrap
from ..host.type_info import iinfo
from ..ops.creation.create import as_tensor, from_numpy
from ..ops.nn.pad import pad as pad_tensor


class InterpolationMode(enum.Enum):
    """Interpolation between pixels in `resize`. The last three are for PIL images only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Kinds of image.


def _is_pil(img: Any) -> bool:
    module = sys.modules.get("PIL.Image")  # nobody has a PIL image unless this is there
    return module is not None and isinstance(img, module.Image)


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width]"""
    if _is_pil(img):
        width, height = img.size
        return [len(img.getbands()), height, width]
    if isinstance(img, np.ndarray):
        _check_array(img)
        return [1 if img.ndim == 2 else img.shape[2], *img.shape[:2]]
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be a tensor, a NumPy array or a PIL image. Got {type(img)}")
    if img.ndim < 2:
        raise TypeError(f"Tensor is not a torch image: it should have 2 or more dimensions, got {img.ndim}")
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """[width, height]"""
    return get_dimensions(img)[:0:-1]


def _check_array(pic: np.ndarray) -> None:
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")


def _accepts_arrays(function: Callable) -> Callable:
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


# From one kind to another.


def to_tensor(pic: Any) -> Tensor:
    """`ToTensor`."""
    if not (_is_pil(pic) or isinstance(pic, np.ndarray)):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    pixels = _channels_first(_pil_array(pic) if _is_pil(pic) else pic)
    if pixels.dtype != np.uint8:
        return from_numpy(np.array(pixels, order="C"))
    scaled = np.empty(pixels.shape, as_np(get_default_dtype()))
    np.divide(pixels, 255, out=scaled, dtype=scaled.dtype)
    return wrap(scaled, host())


def pil_to_tensor(pic: Any) -> Tensor:
    """`PILToTensor`."""
    if not _is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return from_numpy(np.array(_channels_first(_pil_array(pic)), order="C"))


def _pil_array(pic: Any) -> np.ndarray:
    """The pixels of a PIL image; in one of 1 bit a set pixel is 255."""
    if pic.mode == "1":
        return np.array(pic, np.uint8) * np.uint8(255)
    return np.array(pic, {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}.get(pic.mode, np.uint8))


def _channels_first(pic: np.ndarray) -> np.ndarray:
    _check_array(pic)
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
    _check_array(pixels)
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


# Values.


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
        return image.mul(_largest(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / float(_largest(image.dtype))
    before, after = _largest(image.dtype) + 1, _largest(dtype) + 1
    if before > after:
        return (image // (before // after)).to(dtype)
    return image.to(dtype) * (after // before)


def _largest(dtype) -> int:
    return 1 if dtype == dtypes.bool else iinfo(dtype).max


@_accepts_arrays
def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`Grayscale`: 0.2989 R + 0.587 G + 0.114 B (ITU-R BT.601)."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    if _is_pil(img):
        gray = img.convert("L")
        return gray if num_output_channels == 1 else gray.convert("RGB")
    channels = get_dimensions(img)[0]
    if img.ndim < 3 or channels not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found shape {tuple(img.shape)}")
    if channels == 3:
        r, g, b = img.unbind(-3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    return img.repeat_interleave(3, dim=-3) if num_output_channels == 3 else img.clone()


# Windows and borders.


@_accepts_arrays
def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.transpose(_pil_module().Transpose.FLIP_LEFT_RIGHT) if _is_pil(img) else img.flip(-1)


@_accepts_arrays
def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.transpose(_pil_module().Transpose.FLIP_TOP_BOTTOM) if _is_pil(img) else img.flip(-2)


@_accepts_arrays
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The given window; pixels outside the image are zero."""
    if _is_pil(img):
        return img.crop((left, top, left + width, top + height))
    _, h, w = get_dimensions(img)
    inside = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    missing = [max(-left, 0), max(-top, 0), max(left + width - w, 0), max(top + height - h, 0)]
    if not any(missing):
        return inside
    if 0 in inside.shape[-2:]:  # the window does not touch the image
        return img.new_zeros((*img.shape[:-2], height, width))
    return pad(inside, missing)


@_accepts_arrays
def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """`CenterCrop`."""
    size = [output_size] if isinstance(output_size, int) else list(output_size)
    height, width = size * 2 if len(size) == 1 else size
    _, h, w = get_dimensions(img)
    across, down = max(width - w, 0), max(height - h, 0)
    if across or down:
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        _, h, w = get_dimensions(img)
    return crop(img, round((h - height) / 2), round((w - width) / 2), height, width)


def check_padding(padding: Any, padding_mode: str) -> None:
    """TypeError or ValueError for an invalid padding or mode."""
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError(f"Got inappropriate padding arg: {padding!r}")
    if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric, got {padding_mode!r}")


@_accepts_arrays
def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """`Pad`. ``fill`` may be a tuple, one value per channel, for PIL images. Negative padding crops."""
    check_padding(padding, padding_mode)
    sides = [padding] if isinstance(padding, int) else list(padding)
    left, top, right, bottom = sides * (4 // len(sides))
    if _is_pil(img):
        return _pad_pil(img, (left, top, right, bottom), fill, padding_mode)
    if padding_mode == "constant":
        if not isinstance(fill, (int, float)):
            raise TypeError(f"Got inappropriate fill arg: {fill!r}; a tensor is filled with one number")
        return pad_tensor(img, [left, right, top, bottom], value=fill)
    _, height, width = get_dimensions(img)
    rows = _border_indices(height, top, bottom, padding_mode)
    columns = _border_indices(width, left, right, padding_mode)
    return img.index_select(-2, _as_index(rows, img)).index_select(-1, _as_index(columns, img))


def _border_indices(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which of ``n`` pixels stands in each place of a row that goes on for ``before`` and ``after`` more."""
    places = np.arange(-before, n + after)
    if mode == "edge":
        return places.clip(0, n - 1)
    if mode == "reflect":
        if max(before, after) >= n:
            raise RuntimeError(f"reflect padding should be less than the image's size {n}, got {before} and {after}")
        return n - 1 - abs(n - 1 - abs(places))
    around = places % (2 * n)
    return np.minimum(around, 2 * n - 1 - around)


def _as_index(indices: np.ndarray, img: Tensor) -> Tensor:
    return from_numpy(indices.astype(np.int64)).to(img.device)


def _pad_pil(img: Any, sides: tuple[int, ...], fill: Any, mode: str) -> Any:
    from PIL import ImageOps

    if mode == "constant":
        if img.mode == "P":
            palette = img.getpalette()
            img = ImageOps.expand(img, border=sides, fill=fill)
            img.putpalette(palette)
            return img
        if isinstance(fill, (int, float)) and len(img.getbands()) > 1:
            fill = (fill,) * len(img.getbands())
        return ImageOps.expand(img, border=sides, fill=fill if isinstance(fill, (tuple, str)) else int(fill))
    pixels = np.asarray(img)
    left, top, right, bottom = sides
    rows = _border_indices(pixels.shape[0], top, bottom, mode)
    columns = _border_indices(pixels.shape[1], left, right, mode)
    result = _pil_module().fromarray(np.ascontiguousarray(pixels[rows][:, columns]))
    if img.mode == "P":
        result.putpalette(img.getpalette())
    return result


def _pil_module():
    from PIL import Image

    return Image


# Sizes.


@_accepts_arrays
def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """`Resize`. Integers are interpolated in float32 and rounded."""
    if isinstance(interpolation, int):  # Pillow's own number for it, as in old programs
        interpolation = InterpolationMode[_pil_module().Resampling(interpolation).name]
    _, h, w = get_dimensions(img)
    height, width = _new_size(h, w, size, max_size)
    if (height, width) == (h, w):
        return img
    if _is_pil(img):
        name = "NEAREST" if interpolation is InterpolationMode.NEAREST_EXACT else interpolation.name
        return img.resize((width, height), _pil_module().Resampling[name])
    mode = interpolation.value
    if mode.startswith("nearest"):
        rows, columns = _nearest(h, height, mode), _nearest(w, width, mode)
        return img.index_select(-2, _as_index(rows, img)).index_select(-1, _as_index(columns, img))
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


def _new_size(h: int, w: int, size: int | Sequence[int], max_size: int | None) -> tuple[int, int]:
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


def __getattr__(name: str) -> Any:
    """Functions that stand on those above: `colours` and `geometry`."""
    for module in ("colours", "geometry"):
        found = importlib.import_module(f".{module}", __package__)
        if name in found.__all__:
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
