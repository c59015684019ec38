"""The transform classes: their arguments and random draws. The operations on images are in `functional`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..nn.modules.module import Module
from ..ops.creation.create import empty
from ..ops.creation.random import rand, randint
from . import functional as F
from .functional import InterpolationMode


class Compose:
    """One transform after another.

    >>> Compose([CenterCrop(10), ToTensor()])
    Compose(
        CenterCrop(size=(10, 10))
        ToTensor()
    )
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n    ".join([f"{type(self).__name__}(", *map(repr, self.transforms)]) + "\n)"


class ToTensor:
    """A PIL image or a NumPy array (H, W) or (H, W, C) as a tensor (C, H, W); uint8 becomes float, divided by 255."""

    def __call__(self, pic: Any) -> Any:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) of its own integers, without scaling."""

    def __call__(self, pic: Any) -> Any:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor (C, H, W) or a NumPy array (H, W, C) as a PIL image; a float tensor is multiplied by 255.

    mode: the PIL mode, by default the one that the number of channels and the dtype suggest.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda:
    """A function of one's own as a transform."""

    def __init__(self, lambd: Callable) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Transform(Module):
    """A transform that is also a Module, so that ``nn.Sequential`` takes it; prints the attributes in ``_shown``."""

    _shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_show(getattr(self, name))}" for name in self._shown)
        return f"{type(self).__name__}({shown})"


def _show(value: Any) -> str:
    return value.value if isinstance(value, InterpolationMode) else f"{value}"


class ConvertImageDtype(_Transform):
    """Another dtype, with the values scaled: integers span their dtype's range, floats 0 to 1."""

    def __init__(self, dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Any) -> Any:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(_Transform):
    """``(image[c] - mean[c]) / std[c]`` for each channel ``c`` of a float tensor (..., C, H, W)."""

    _shown = ("mean", "std")

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Any) -> Any:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class Resize(_Transform):
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

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(_Transform):
    """The middle ``size`` (height, width) of the image, with zeros around it where it is smaller."""

    _shown = ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _pair(size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(_Transform):
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

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(_Transform):
    """The luminance of an RGB image, in 1 channel or repeated in 3."""

    _shown = ("num_output_channels",)

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RandomCrop(_Transform):
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
        self.size = _pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the window."""
        _, h, w = F.get_dimensions(img)
        th, tw = output_size
        if h < th or w < tw:
            raise ValueError(
                f"Required crop size {(th, tw)} is larger than input image size {(h, w)}; pad_if_needed=True pads it"
            )
        if (h, w) == (th, tw):
            return 0, 0, h, w
        return _below(h - th + 1), _below(w - tw + 1), th, tw

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            for axis in (1, 0):  # first the width, on both sides, then the height
                lacking = self.size[axis] - F.get_dimensions(img)[1 + axis]
                if lacking > 0:
                    both = [lacking, 0] if axis == 1 else [0, lacking]
                    img = F.pad(img, both, self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


class RandomHorizontalFlip(_Transform):
    """Left and right exchanged, with probability ``p``."""

    _shown = ("p",)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.hflip(img) if _chance(self.p) else img


class RandomVerticalFlip(_Transform):
    """Top and bottom exchanged, with probability ``p``."""

    _shown = ("p",)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.vflip(img) if _chance(self.p) else img


class RandomApply(_Transform):
    """All of ``transforms``, with probability ``p``, or none."""

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < rand(1).item():
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n    ".join([f"{type(self).__name__}(", f"p={self.p}", *map(repr, self.transforms)]) + "\n)"


class RandomResizedCrop(_Transform):
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
        self.size = _pair(size)
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
            area = height * width * empty(1).uniform_(scale[0], scale[1]).item()
            aspect = math.exp(empty(1).uniform_(low, high).item())
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                return _below(height - h + 1), _below(width - w + 1), h, w
        w = min(width, round(height * max(ratio)))
        h = min(height, round(width / min(ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Any) -> Any:
        top, left, height, width = self.get_params(img, self.scale, self.ratio)
        return F.resize(F.crop(img, top, left, height, width), self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(value, 4) for value in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={_show(self.interpolation)}, antialias={self.antialias})"
        )


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width), the same for both if one number is given."""
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for size, got {size}")
    return size[0], size[1]


def _below(n: int) -> int:
    return int(randint(0, n, (1,)).item())


def _chance(p: float) -> bool:
    return rand(1).item() < p
