"""Pictures of tensors: `make_grid`, `save_image`; PyTorch has them as ``torchvision.utils``."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import Tensor, cat, stack, uint8
from ..datasets import vision
from ..utils.png import COLOURS, encode_png

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images side by side in one, (3, H', W') or (C, H', W').

    tensor: a batch (B, C, H, W), an image (C, H, W) or (H, W), or a list of images of one size. One channel becomes
        three.
    nrow: images in a row. padding: pixels around each, of ``pad_value``.
    normalize: scale the values to 0..1, from ``value_range`` or from the smallest and largest value, of all images or,
        with ``scale_each``, of each.
    """
    images = _as_batch(tensor).detach()
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        groups = images.unbind(0) if scale_each else [images]
        scaled = [_scale(group, value_range) for group in groups]
        images = stack(scaled) if scale_each else scaled[0]
    if images.size(0) == 1:
        return images.squeeze(0)
    count, channels, height, width = images.shape
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = height + padding, width + padding
    grid = images.new_full((channels, rows * height + padding, columns * width + padding), pad_value)
    for i in range(count):
        top, left = i // columns * height + padding, i % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = images[i]
    return grid


def _as_batch(tensor: Any) -> Tensor:
    if isinstance(tensor, (list, tuple)) and all(isinstance(image, Tensor) for image in tensor):
        tensor = stack(list(tensor))
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if tensor.dim() not in (2, 3, 4):
        raise ValueError(f"expected images (B, C, H, W), (C, H, W) or (H, W), got shape {tuple(tensor.shape)}")
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0)
    return cat([tensor] * 3, 1) if tensor.size(1) == 1 else tensor


def _scale(image: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    low, high = value_range or (float(image.min()), float(image.max()))
    return (image.clamp(low, high) - low) / max(high - low, 1e-5)


def save_image(tensor: Tensor | Sequence[Tensor], fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Save images with values 0 to 1 as one picture, arranged by `make_grid`, which gets ``kwargs``.

    fp: a file name, whose ending tells the format, or a file opened for writing bytes. Pillow writes every format it
    knows; without Pillow there is PNG, and RuntimeError for others.
    """
    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add(0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", uint8).numpy()
    image = vision.pillow()
    if image is not None:
        image.fromarray(pixels).save(fp, format=format)
        return
    kind = format or Path(fp).suffix.lstrip(".")
    if kind.lower() != "png" or pixels.shape[2] not in COLOURS:
        raise RuntimeError(f"without Pillow only PNG files can be written, not {kind!r}; pip install pillow")
    if hasattr(fp, "write"):
        fp.write(encode_png(pixels))
    else:
        Path(fp).write_bytes(encode_png(pixels))
