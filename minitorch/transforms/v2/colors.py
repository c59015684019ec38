"""The transforms of colors and tones, on samples: masks, boxes and points are left alone."""

import io
from collections.abc import Sequence
from typing import Any

from ... import randint, stack
from .. import colors
from ..base import check_sequence
from ..functional.color import check_bytes
from ..functional.kinds import accepts_arrays, is_pil, pil_to_tensor, to_pil_image
from .transform import OfImages


class Grayscale(OfImages, colors.Grayscale):
    """The luminance of an RGB image, in 1 channel or repeated in 3."""


class RandomGrayscale(OfImages, colors.RandomGrayscale):
    """The luminance in as many channels as the image has, with probability ``p``."""


class ColorJitter(OfImages, colors.ColorJitter):
    """Brightness, contrast, saturation and hue changed by random factors, in random order."""


class GaussianBlur(OfImages, colors.GaussianBlur):
    """Blurring by the normal density."""


class RandomInvert(OfImages, colors.RandomInvert):
    """The negative, with probability ``p``."""


class RandomAutocontrast(OfImages, colors.RandomAutocontrast):
    """Each channel stretched over the whole range, with probability ``p``."""


class RandomEqualize(OfImages, colors.RandomEqualize):
    """Values of each channel spread evenly, with probability ``p``."""


class RandomPosterize(OfImages, colors.RandomPosterize):
    """The upper ``bits`` bits of each value, with probability ``p``."""


class RandomSolarize(OfImages, colors.RandomSolarize):
    """Values from ``threshold`` on inverted, with probability ``p``."""


class RandomAdjustSharpness(OfImages, colors.RandomAdjustSharpness):
    """Sharpness changed by ``sharpness_factor``, with probability ``p``."""


class JPEG(OfImages):
    """Images compressed as JPEG and decompressed, by Pillow: uint8 with 1 or 3 channels.

    quality: from 1 to 100, or the bounds (both included) from which it is drawn.
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        if not isinstance(quality, int):
            check_sequence(quality, "quality")
        low, high = bounds = [quality, quality] if isinstance(quality, int) else list(quality)
        if not (isinstance(low, int) and isinstance(high, int) and 1 <= low <= high <= 100):
            raise ValueError(f"quality must be an integer from 1 to 100, got {quality =}")
        self.quality = bounds

    def draw(self, img: Any) -> dict[str, Any]:
        return {"quality": int(randint(self.quality[0], self.quality[1] + 1, ()))}

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return compressed(img, params["quality"])


@accepts_arrays
def compressed(img: Any, quality: int) -> Any:
    """An image, or each of a batch, through the losses of JPEG with a `quality` from 1 to 100."""
    if is_pil(img):
        from PIL import Image

        file = io.BytesIO()
        img.save(file, format="JPEG", quality=quality)
        return Image.open(file).copy()
    check_bytes(img)
    if img.shape[-3] not in (1, 3):
        raise ValueError(f"JPEG takes images of 1 or 3 channels, got shape {tuple(img.shape)}")
    images = img.reshape(-1, *img.shape[-3:])
    found = [pil_to_tensor(compressed(to_pil_image(x.cpu()), quality)) for x in images]
    return stack(found).reshape(img.shape).to(img.device) if found else img.clone()
