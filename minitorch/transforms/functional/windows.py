"""Windows of images and borders around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import Tensor
from ...nn.functional import pad as pad_tensor
from .kinds import InterpolationMode, accepts_arrays, as_index, both, get_dimensions, is_pil, pil_module
from .sizes import resize


@accepts_arrays
def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.transpose(pil_module().Transpose.FLIP_LEFT_RIGHT) if is_pil(img) else img.flip(-1)


@accepts_arrays
def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.transpose(pil_module().Transpose.FLIP_TOP_BOTTOM) if is_pil(img) else img.flip(-2)


@accepts_arrays
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The given window; pixels outside the image are zero."""
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    _, h, w = get_dimensions(img)
    inside = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    missing = [max(-left, 0), max(-top, 0), max(left + width - w, 0), max(top + height - h, 0)]
    if not any(missing):
        return inside
    if 0 in inside.shape[-2:]:  # the window does not touch the image
        return img.new_zeros((*img.shape[:-2], height, width))
    return pad(inside, missing)


@accepts_arrays
def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """`CenterCrop`."""
    size = [output_size] if isinstance(output_size, int) else list(output_size)
    _, h, w = get_dimensions(img)
    padding, window = middle_window(h, w, *(size * 2 if len(size) == 1 else size))
    return crop(pad(img, padding) if any(padding) else img, *window)


def middle_window(h: int, w: int, height: int, width: int) -> tuple[list[int], list[int]]:
    """The padding that an image (h, w) needs, and top, left, height and width of the window in its middle."""
    across, down = max(width - w, 0), max(height - h, 0)
    padding = [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2]
    return padding, [round((h + down - height) / 2), round((w + across - width) / 2), height, width]


def check_padding(padding: Any, padding_mode: str) -> None:
    """TypeError or ValueError for an invalid padding or mode."""
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError(f"Got inappropriate padding arg: {padding!r}")
    if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric, got {padding_mode!r}")


def left_top_right_bottom(padding: int | Sequence[int]) -> list[int]:
    """The four widths of a padding of one, two or four numbers."""
    sides = [padding] if isinstance(padding, int) else list(padding)
    return sides * (4 // len(sides))


@accepts_arrays
def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """`Pad`. ``fill`` may be a tuple, one value per channel, for PIL images. Negative padding crops."""
    check_padding(padding, padding_mode)
    left, top, right, bottom = left_top_right_bottom(padding)
    if is_pil(img):
        return _pad_pil(img, (left, top, right, bottom), fill, padding_mode)
    if padding_mode == "constant":
        fill = 0 if fill is None else fill
        if not isinstance(fill, (int, float)):
            raise TypeError(f"Got inappropriate fill arg: {fill!r}; a tensor is filled with one number")
        return pad_tensor(img, [left, right, top, bottom], value=fill)
    _, height, width = get_dimensions(img)
    rows = _border_indices(height, top, bottom, padding_mode)
    columns = _border_indices(width, left, right, padding_mode)
    return img.index_select(-2, as_index(rows, img)).index_select(-1, as_index(columns, img))


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
    result = pil_module().fromarray(np.ascontiguousarray(pixels[rows][:, columns]))
    if img.mode == "P":
        result.putpalette(img.getpalette())
    return result


def resized_crop(img: Any, top: int, left: int, height: int, width: int, size: Sequence[int],
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR, antialias: bool | None = True) -> Any:
    """A window, resized."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple:
    """The windows of a size in the four corners and in the middle; ValueError where the image is smaller."""
    height, width = both(size, "size", int)
    _, h, w = get_dimensions(img)
    if height > h or width > w:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(h, w)}")
    corners = [crop(img, top, left, height, width) for top in (0, h - height) for left in (0, w - width)]
    return (*corners, center_crop(img, [height, width]))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple:
    """`five_crop` of the image, and of the image flipped."""
    return five_crop(img, size) + five_crop((vflip if vertical_flip else hflip)(img), size)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A tensor whose window of `h` rows from `i` and `w` columns from `j` is `v`."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
