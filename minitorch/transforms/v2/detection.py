"""The transforms with which detectors are trained: random sizes, more space around, distorted colors."""

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from ...ops.creation.random import rand, randint, randperm
from .. import functional as F
from ..base import WithProbability, chance, check_sequence, uniform
from ..functional.kinds import InterpolationMode, get_dimensions, interpolation_of
from ..functional.sizes import new_size
from ..tv_tensors import Places
from .geometry import padded, resized
from .transform import Geometric, OfImages


class Resizing(Geometric):
    """The base of transforms whose random argument is a size."""

    def __init__(self, interpolation: Any, antialias: bool | None) -> None:
        super().__init__()
        self.interpolation, self.antialias = interpolation_of(interpolation), antialias

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return F.resize(img, params["size"], self.interpolation, params.get("max_size"), self.antialias)

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return resized(places, new_size(*places.canvas_size, params["size"], params.get("max_size")))


class RandomResize(Resizing):
    """To a shorter edge drawn from ``min_size`` to ``max_size - 1``."""

    def __init__(self, min_size: int, max_size: int, interpolation: Any = InterpolationMode.BILINEAR,
                 antialias: bool | None = True) -> None:
        super().__init__(interpolation, antialias)
        self.min_size, self.max_size = min_size, max_size

    def draw(self, img: Any) -> dict[str, Any]:
        return {"size": [int(randint(self.min_size, self.max_size, ()))]}


class RandomShortestSize(Resizing):
    """To a shorter edge drawn from the numbers in ``min_size``, the longer one at most ``max_size``."""

    def __init__(self, min_size: int | Sequence[int], max_size: int | None = None,
                 interpolation: Any = InterpolationMode.BILINEAR, antialias: bool | None = True) -> None:
        super().__init__(interpolation, antialias)
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size

    def draw(self, img: Any) -> dict[str, Any]:
        _, height, width = get_dimensions(img)
        ratio = self.min_size[int(randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": [int(height * ratio), int(width * ratio)]}


class ScaleJitter(Resizing):
    """To ``target_size`` (height, width) times a factor in ``scale_range``, in the image's own shape."""

    def __init__(self, target_size: tuple[int, int], scale_range: Sequence[float] = (0.1, 2.0),
                 interpolation: Any = InterpolationMode.BILINEAR, antialias: bool | None = True) -> None:
        super().__init__(interpolation, antialias)
        self.target_size, self.scale_range = target_size, scale_range

    def draw(self, img: Any) -> dict[str, Any]:
        _, height, width = get_dimensions(img)
        low, high = self.scale_range
        scale = low + rand(1) * (high - low)
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": [int(height * ratio), int(width * ratio)]}


class RandomZoomOut(Geometric, WithProbability):
    """The image somewhere on a canvas that is larger by a factor in ``side_range``, with probability ``p``."""

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p)
        check_sequence(side_range, "side_range")
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")
        self.fill, self.side_range = fill, side_range

    def arguments(self, img: Any) -> dict[str, Any]:
        _, height, width = get_dimensions(img)
        factor = self.side_range[0] + rand(1) * (self.side_range[1] - self.side_range[0])
        across, down = int(width * factor) - width, int(height * factor) - height
        part = rand(2)
        left, top = int(across * part[0]), int(down * part[1])
        return {"padding": [left, top, across - left, down - top]}

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return F.pad(img, params["padding"], self.fill)

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return padded(places, params["padding"])


def permute_channels(img: Any, permutation: Any) -> Any:
    """The channels of a tensor in another order."""
    order = permutation.tolist() if isinstance(permutation, Tensor) else list(permutation)
    if sorted(order) != list(range(get_dimensions(img)[0])):
        raise ValueError(f"Length of permutation does not match number of channels: {order}, {get_dimensions(img)[0]}")
    return img[..., order, :, :]


class RandomChannelPermutation(OfImages):
    """The channels in random order."""

    def draw(self, img: Any) -> dict[str, Any]:
        return {"permutation": randperm(get_dimensions(img)[0])}

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return permute_channels(img, params["permutation"])


class RandomPhotometricDistort(OfImages):
    """Brightness, contrast, saturation, hue and the order of channels changed, each with probability ``p`` (SSD)."""

    def __init__(self, brightness: Sequence[float] = (0.875, 1.125), contrast: Sequence[float] = (0.5, 1.5),
                 saturation: Sequence[float] = (0.5, 1.5), hue: Sequence[float] = (-0.05, 0.05),
                 p: float = 0.5) -> None:
        super().__init__()
        self.brightness, self.contrast, self.saturation, self.hue, self.p = brightness, contrast, saturation, hue, p

    def draw(self, img: Any) -> dict[str, Any]:
        ranges = {"brightness": self.brightness, "contrast": self.contrast, "saturation": self.saturation,
                  "hue": self.hue}
        factors = {name: uniform(*given) if chance(self.p) else None for name, given in ranges.items()}
        before = bool(rand(()) < 0.5)
        names = ["brightness", "contrast", "saturation", "hue"] if before else ["brightness", "saturation", "hue",
                                                                                "contrast"]
        order = randperm(get_dimensions(img)[0]) if chance(self.p) else None
        return {"factors": [(name, factors[name]) for name in names if factors[name] is not None], "permutation": order}

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        for name, factor in params["factors"]:
            img = getattr(F, f"adjust_{name}")(img, factor)
        return img if params["permutation"] is None else permute_channels(img, params["permutation"])
