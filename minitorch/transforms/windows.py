"""Transforms that cut, pad, flip, resize and erase."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .. import Tensor, empty, float32, tensor
from . import functional as F
from .base import ImageTransform, WithProbability, below, pair, shown_value, uniform
from .functional.kinds import InterpolationMode
from .functional.windows import left_top_right_bottom


class Resize(ImageTransform):
    """To ``size``: (height, width), or the length of the shorter edge, the longer following, up to ``max_size``.

    interpolation: an `InterpolationMode`. antialias: for tensors and arrays, whether to average over what falls
    together when the image shrinks; PIL images always are.
    """

    _shown = ("size", "interpolation", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(ImageTransform):
    """The middle ``size`` (height, width) of the image, with zeros around it where it is smaller."""

    _shown = ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.center_crop(img, self.size)


class Pad(ImageTransform):
    """A border of ``padding`` pixels: one number, (left and right, top and bottom) or (left, top, right, bottom).

    padding_mode: "constant" (with ``fill``), "edge", "reflect" or "symmetric".
    """

    _shown = ("padding", "fill", "padding_mode")

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        F.check_padding(padding, padding_mode)
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomCrop(ImageTransform):
    """A window of ``size`` somewhere in the image, after `Pad` by ``padding``.

    pad_if_needed: pad an image that is smaller than ``size``; otherwise it is a ValueError.
    """

    _shown = ("size", "padding")

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @classmethod
    def get_params(cls, img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the window."""
        return cls.window(F.get_dimensions(img)[1:], output_size)

    @staticmethod
    def window(size: Sequence[int], output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of a window in an image of (height, width) `size`."""
        (h, w), (th, tw) = size, output_size
        if h < th or w < tw:
            raise ValueError(
                f"Required crop size {(th, tw)} is larger than input image size {(h, w)}; pad_if_needed=True pads it"
            )
        if (h, w) == (th, tw):
            return 0, 0, h, w
        return below(h - th + 1), below(w - tw + 1), th, tw

    def padding_of(self, img: Any) -> list[list[int]]:
        """The paddings before the window is cut: the given one, and those that the image needs, width first."""
        _, height, width = F.get_dimensions(img)
        found = []
        if self.padding is not None:
            found.append(left_top_right_bottom(self.padding))
            width += found[0][0] + found[0][2]
            height += found[0][1] + found[0][3]
        lacking = self.size[1] - width, self.size[0] - height
        if self.pad_if_needed:
            found += [[n, 0, n, 0] if axis == 0 else [0, n, 0, n] for axis, n in enumerate(lacking) if n > 0]
        return found

    def draw(self, img: Any) -> dict[str, Any]:
        paddings = self.padding_of(img)
        _, height, width = F.get_dimensions(img)
        size = [height + sum(p[1] + p[3] for p in paddings), width + sum(p[0] + p[2] for p in paddings)]
        return {"paddings": paddings, "window": self.window(size, self.size)}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        for padding in params["paddings"]:
            img = F.pad(img, padding, self.fill, self.padding_mode)
        return F.crop(img, *params["window"])


class RandomHorizontalFlip(WithProbability):
    """Left and right exchanged, with probability ``p``."""

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(WithProbability):
    """Top and bottom exchanged, with probability ``p``."""

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.vflip(img)


class RandomResizedCrop(ImageTransform):
    """A window of random area and shape, resized to ``size``: the usual augmentation of large photographs.

    scale: the range of its share of the image's area. ratio: the range of its width over its height.
    """

    _shown = ("size", "scale", "ratio", "interpolation", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair(size)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the window; the middle of the image where ten tries gave none that fits."""
        _, height, width = F.get_dimensions(img)
        low, high = math.log(ratio[0]), math.log(ratio[1])
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            aspect = math.exp(uniform(low, high))
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                return below(height - h + 1), below(width - w + 1), h, w
        w = min(width, round(height * max(ratio)))
        h = min(height, round(width / min(ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    def draw(self, img: Any) -> dict[str, Any]:
        return {"window": self.get_params(img, self.scale, self.ratio)}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        top, left, height, width = params["window"]
        return F.resized_crop(img, top, left, height, width, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(value, 4) for value in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={shown_value(self.interpolation)}, antialias={self.antialias})"
        )


class FiveCrop(ImageTransform):
    """The windows of ``size`` in the four corners and the middle, as a tuple."""

    _shown = ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = pair(size)

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.five_crop(img, self.size)


class TenCrop(ImageTransform):
    """`FiveCrop` of the image and of the image flipped, left and right or (``vertical_flip``) top and bottom."""

    _shown = ("size", "vertical_flip")

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = pair(size)
        self.vertical_flip = vertical_flip

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.ten_crop(img, self.size, self.vertical_flip)


class RandomErasing(WithProbability):
    """A window of random area and shape erased, with probability ``p`` (Zhong et al., arXiv:1708.04896).

    scale: the range of its share of the image's area. ratio: the range of its height over its width. value: a number,
    one per channel, or "random" for normal noise. inplace: whether the image itself is written to. Tensors only.
    """

    _shown = ("p", "scale", "ratio", "value", "inplace")

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
                 value: Any = 0, inplace: bool = False) -> None:
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        for name, given in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(given, Sequence):
                raise TypeError(f"{name} should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if not 0 <= p <= 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        super().__init__(p)
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    @staticmethod
    def get_params(img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Sequence[float] | None = None):
        """Top, left, height, width and values of the window; the whole image, as it is, where ten tries gave none."""
        channels, height, width = F.get_dimensions(img)
        logs = tensor([math.log(r) for r in ratio], dtype=float32).tolist()
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            aspect = empty(1).uniform_(*logs).exp().item()
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if h < height and w < width:
                values = empty((channels, h, w)).normal_() if value is None else tensor(value)[:, None, None]
                return below(height - h + 1), below(width - w + 1), h, w, values
        return 0, 0, height, width, img

    def arguments(self, img: Any) -> dict[str, Any]:
        value = self.value
        values = None if value == "random" else [float(value)] if isinstance(value, (int, float)) else list(value)
        channels = F.get_dimensions(img)[0]
        if values is not None and len(values) not in (1, channels):
            raise ValueError(f"If value is a sequence, it should have either a single value or {channels} (number of "
                             f"input channels)")
        return {"window": self.get_params(img, self.scale, self.ratio, values)}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        top, left, height, width, values = params["window"]
        return F.erase(img, top, left, height, width, values, self.inplace)
