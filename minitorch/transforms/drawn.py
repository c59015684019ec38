"""Random transforms of colours and geometry, and those that choose among others."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from ..explain.callers import warn
from ..ops.creation.create import empty, tensor
from ..ops.creation.random import rand, randperm
from . import colours, geometry
from . import functional as F
from .functional import InterpolationMode
from .geometry import NEAREST, mode_of
from .transforms import _below, _chance, _pair, _show, _Transform

__all__ = [
    "ColorJitter", "FiveCrop", "GaussianBlur", "LinearTransformation", "RandomAffine", "RandomAutocontrast",
    "RandomChoice", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomInvert", "RandomOrder",
    "RandomPosterize", "RandomRotation", "RandomSolarize", "TenCrop",
]


def _between(low: float, high: float) -> float:
    return empty(1).uniform_(float(low), float(high)).item()


def _range(value: Any, name: str, sizes: tuple[int, ...] = (2,)) -> list[float]:
    """``[-value, value]`` for a number, or the numbers given."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    if len(value) not in sizes:
        raise ValueError(f"{name} should be a sequence of length {' or '.join(map(str, sizes))}.")
    return [float(v) for v in value]


def _check_fill(fill: Any) -> Any:
    if not isinstance(fill, (Sequence, int, float, type(None))):
        raise TypeError("Fill should be either a sequence or a number.")
    return 0 if fill is None else fill


class RandomRotation(_Transform):
    """`rotate` by an angle from ``(-degrees, degrees)``, or from the two that are given."""

    def __init__(
        self,
        degrees: Any,
        interpolation: InterpolationMode = NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees, self.interpolation = _range(degrees, "degrees"), mode_of(interpolation)
        self.expand, self.center, self.fill = expand, center, _check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """An angle between two."""
        return _between(*degrees)

    def forward(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        return geometry.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={_show(self.interpolation)}, "
            f"expand={self.expand}{center}, fill={self.fill})"
        )


class RandomAffine(_Transform):
    """`affine` with an angle, a shift up to shares of width and height, a scale and shears drawn from ranges."""

    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: InterpolationMode = NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        if translate is not None and not all(0.0 <= t <= 1.0 for t in translate):
            raise ValueError("translation values should be between 0 and 1")
        if scale is not None and min(scale) <= 0:
            raise ValueError("scale values should be positive")
        self.degrees, self.translate, self.scale = _range(degrees, "degrees"), translate, scale
        self.shear = None if shear is None else _range(shear, "shear", (2, 4))
        self.interpolation, self.fill, self.center = mode_of(interpolation), _check_fill(fill), center

    @staticmethod
    def get_params(degrees, translate, scale_ranges, shears, img_size) -> tuple:
        """Angle, shift, scale and shear for an image of (width, height)."""
        angle = _between(*degrees)
        shift: tuple[int, ...] = (0, 0)
        if translate is not None:
            reach = [float(share * n) for share, n in zip(translate, img_size)]
            shift = tuple(round(_between(-r, r)) for r in reach)
        scale = 1.0 if scale_ranges is None else _between(*scale_ranges)
        shear = [0.0, 0.0]
        for i in range(0, len(shears or ()), 2):
            shear[i // 2] = _between(*shears[i : i + 2])
        return angle, shift, scale, tuple(shear)

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return geometry.affine(img, *drawn, interpolation=self.interpolation, fill=self.fill, center=self.center)

    def __repr__(self) -> str:
        shown = [f"degrees={self.degrees}"]
        shown += [f"{n}={getattr(self, n)}" for n in ("translate", "scale", "shear") if getattr(self, n) is not None]
        shown += [] if self.interpolation is NEAREST else [f"interpolation={_show(self.interpolation)}"]
        shown += [f"fill={self.fill}"] if self.fill != 0 else []
        shown += [] if self.center is None else [f"center={self.center}"]
        return f"{type(self).__name__}({', '.join(shown)})"


class ColorJitter(_Transform):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    Each is a number, for factors from ``max(0, 1 - x)`` to ``1 + x`` (of the hue from ``-x`` to ``x``), or a range.
    """

    _shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness = self._check_input(brightness, "brightness")
        self.contrast = self._check_input(contrast, "contrast")
        self.saturation = self._check_input(saturation, "saturation")
        self.hue = self._check_input(hue, "hue", 0.0, (-0.5, 0.5))

    def _check_input(self, value, name, center=1.0, bound=(0.0, math.inf)):
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            low = center - float(value)
            value = [max(low, 0.0) if center else low, center + float(value)]
        elif not isinstance(value, (tuple, list)) or len(value) != 2:
            raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
        low, high = (float(v) for v in value)
        if not bound[0] <= low <= high <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {[low, high]}.")
        return None if low == high == center else (low, high)

    @staticmethod
    def get_params(brightness, contrast, saturation, hue) -> tuple:
        """The order, and the four factors; None for what does not change."""
        order = randperm(4)
        return order, *[None if r is None else _between(*r) for r in (brightness, contrast, saturation, hue)]

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        steps = (colours.adjust_brightness, colours.adjust_contrast, colours.adjust_saturation, colours.adjust_hue)
        for i in order.tolist():
            img = img if factors[i] is None else steps[i](img, factors[i])
        return img


class RandomGrayscale(_Transform):
    """Without its colours, with probability ``p``, in as many channels as before."""

    _shown = ("p",)

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0]) if _chance(self.p) else img


class _Perhaps(_Transform):
    """``change(img)``, with probability ``p``."""

    _shown: tuple[str, ...] = ("p",)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return self.change(img) if _chance(self.p) else img


class RandomInvert(_Perhaps):
    """`invert`, with probability ``p``."""

    def change(self, img):
        return colours.invert(img)


class RandomAutocontrast(_Perhaps):
    """`autocontrast`, with probability ``p``."""

    def change(self, img):
        return colours.autocontrast(img)


class RandomEqualize(_Perhaps):
    """`equalize`, with probability ``p``."""

    def change(self, img):
        return colours.equalize(img)


class RandomPosterize(_Perhaps):
    """`posterize` to ``bits``, with probability ``p``."""

    _shown = ("bits", "p")

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def change(self, img):
        return colours.posterize(img, self.bits)

    def __repr__(self) -> str:
        return super().__repr__().replace(", ", ",")


class RandomSolarize(_Perhaps):
    """`solarize` from ``threshold`` on, with probability ``p``."""

    _shown = ("threshold", "p")

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def change(self, img):
        return colours.solarize(img, self.threshold)

    def __repr__(self) -> str:
        return super().__repr__().replace(", ", ",")


class RandomErasing(_Transform):
    """A window of a tensor overwritten, with probability ``p``: Z. Zhong et al., 2017.

    scale, ratio: the ranges of its share of the area and of its shape. value: one number, one for each channel, or
    "random" for normal numbers.
    """

    _shown = ("p", "scale", "ratio", "value", "inplace")

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value: Any = 0, inplace: bool = False) -> None:
        super().__init__()
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warn("Scale and ratio should be of kind (min, max)")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if not 0 <= p <= 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p, self.scale, self.ratio, self.value, self.inplace = p, scale, ratio, value, inplace

    @staticmethod
    def get_params(img: Tensor, scale, ratio, value=None) -> tuple:
        """Row, column, height, width and values of the window; all of the image as it is where ten tries gave none."""
        channels, height, width = img.shape[-3:]
        low, high = tensor(ratio).log().tolist()
        for _ in range(10):
            area, shape = height * width * _between(*scale), empty(1).uniform_(low, high).exp().item()
            h, w = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if h < height and w < width:
                v = empty(channels, h, w).normal_() if value is None else tensor(value)[:, None, None]
                return _below(height - h + 1), _below(width - w + 1), h, w, v
        return 0, 0, height, width, img

    def forward(self, img: Any) -> Any:
        if not rand(1).item() < self.p:
            return img
        value = None
        if not isinstance(self.value, str):
            value = [float(v) for v in (self.value if isinstance(self.value, (list, tuple)) else [self.value])]
            if len(value) not in (1, img.shape[-3]):
                raise ValueError(
                    f"If value is a sequence, it should have either a single value or {img.shape[-3]} (number of input "
                    f"channels)"
                )
        top, left, height, width, v = self.get_params(img, self.scale, self.ratio, value)
        return colours.erase(img, top, left, height, width, v, self.inplace)


class GaussianBlur(_Transform):
    """`gaussian_blur` with a deviation from the range ``sigma``."""

    _shown = ("kernel_size", "sigma")

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        if any(k <= 0 or k % 2 == 0 for k in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A deviation between two."""
        return _between(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(*self.sigma)
        return geometry.gaussian_blur(img, self.kernel_size, [sigma, sigma])


class FiveCrop(_Transform):
    """A tuple: the four corners of ``size`` and the middle."""

    _shown = ("size",)

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = _pair(size)

    def forward(self, img: Any) -> tuple:
        return geometry.five_crop(img, self.size)


class TenCrop(_Transform):
    """`FiveCrop` of the image and of the image flipped."""

    _shown = ("size", "vertical_flip")

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = _pair(size), vertical_flip

    def forward(self, img: Any) -> tuple:
        return geometry.ten_crop(img, self.size, self.vertical_flip)


class LinearTransformation(_Transform):
    """``(image - mean_vector) @ transformation_matrix`` of the flattened tensor, such as whitening."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {rows} x {columns} rectangular matrix.")
        if mean_vector.shape[0] != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.shape[0]} as any one of the dimensions of the "
                f"transformation_matrix [{rows} x {columns}]"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        if tensor.shape[-3:].numel() != len(self.mean_vector):
            raise ValueError(
                f"Input tensor and transformation matrix have incompatible shape: {list(tensor.shape[-3:])} and "
                f"{list(self.transformation_matrix.shape)}"
            )
        flat = tensor.reshape(-1, len(self.mean_vector)) - self.mean_vector
        return (flat @ self.transformation_matrix).reshape(tensor.shape)


class _Several(_Transform):
    """A list of transforms to choose from."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__()
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms, self.p = transforms, p


class RandomChoice(_Several):
    """One of ``transforms``, drawn by Python's `random` with the weights ``p``."""

    def forward(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.transforms))})(p={self.p})"


class RandomOrder(_Several):
    """All of ``transforms`` in an order drawn by Python's `random`."""

    def forward(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img
