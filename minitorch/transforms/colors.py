"""Transforms of colors and tones, and blurring."""

from collections.abc import Sequence
from typing import Any

from .. import randperm
from . import functional as F
from .base import ImageTransform, WithProbability, pair, uniform


class Grayscale(ImageTransform):
    """The luminance of an RGB image, in 1 channel or repeated in 3."""

    _shown = ("num_output_channels",)

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RandomGrayscale(WithProbability):
    """The luminance in as many channels as the image has, with probability ``p``."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0])


class ColorJitter(ImageTransform):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    Each argument is (low, high), or a number: factors are drawn from max(0, 1 - x) to 1 + x, those of the hue from -x
    to x. ValueError for negative factors and for hues beyond -0.5 to 0.5.
    """

    _shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness = factors(brightness, "brightness")
        self.contrast = factors(contrast, "contrast")
        self.saturation = factors(saturation, "saturation")
        self.hue = factors(hue, "hue", 0.0, (-0.5, 0.5))

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple:
        """The order of the four, and a factor of each; None for those that are not changed."""
        order = randperm(4)
        return order, *(None if given is None else uniform(*given) for given in (brightness, contrast, saturation, hue))

    def draw(self, img: Any) -> dict[str, Any]:
        order, *found = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": found}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        adjust = F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue
        for i in params["order"]:
            if params["factors"][i] is not None:
                img = adjust[i](img, params["factors"][i])
        return img


def factors(value: Any, name: str, center: float = 1.0, bound: Sequence[float] = (0.0, float("inf"))) -> Any:
    """The range of a factor; None where it would change nothing."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - value, center + value
        low = max(low, 0.0) if center else low
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= low <= high <= bound[1]:
        raise ValueError(f"{name} values should be between {tuple(bound)}, but got {[low, high]}.")
    return None if low == high == center else (low, high)


class GaussianBlur(ImageTransform):
    """Blurring by the normal density: ``kernel_size`` pixels, odd, and ``sigma``, a number or the range of one."""

    _shown = ("kernel_size", "sigma")

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if isinstance(sigma, (int, float)):
            if sigma <= 0:
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        if not isinstance(sigma, Sequence) or len(sigma) != 2:
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        if not 0.0 < sigma[0] <= sigma[1]:
            raise ValueError("sigma values should be positive and of the form (min, max).")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A standard deviation, in pixels."""
        return uniform(sigma_min, sigma_max)

    def draw(self, img: Any) -> dict[str, Any]:
        return {"sigma": [self.get_params(self.sigma[0], self.sigma[1])] * 2}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.gaussian_blur(img, self.kernel_size, params["sigma"])


class RandomInvert(WithProbability):
    """The negative, with probability ``p``."""

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.invert(img)


class RandomAutocontrast(WithProbability):
    """`functional.autocontrast`, with probability ``p``."""

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.autocontrast(img)


class RandomEqualize(WithProbability):
    """`functional.equalize`, with probability ``p``."""

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.equalize(img)


class RandomPosterize(WithProbability):
    """The upper ``bits`` bits of each value, with probability ``p``."""

    _shown = ("bits", "p")

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.posterize(img, self.bits)


class RandomSolarize(WithProbability):
    """Values from ``threshold`` on inverted, with probability ``p``."""

    _shown = ("threshold", "p")

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(WithProbability):
    """`functional.adjust_sharpness` by ``sharpness_factor``, with probability ``p``."""

    _shown = ("sharpness_factor", "p")

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)
