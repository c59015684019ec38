"""The transforms with which detectors are trained: random sizes, more space around, distorted colors."""

from collections.abc import Sequence
from typing import Any

from ... import Tensor, float32, rand, randint, randperm
from .. import functional as F
from ..base import WithProbability, chance, check_sequence, uniform
from ..functional.kinds import InterpolationMode, get_dimensions, interpolation_of
from ..functional.sizes import new_size
from ..tv_tensors import BoundingBoxes, BoundingBoxFormat, Places
from .geometry import cut, padded, resized
from .places import convert
from .transform import Geometric, OfImages, is_image, size_of


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


class RandomIoUCrop(Geometric):
    """A window that overlaps some box by an intersection over union drawn from ``sampler_options`` (SSD).

    Height and width are drawn from ``min_scale`` to ``max_scale`` of the image's, again up to ``trials`` times until
    the shape lies between the aspect ratios and a box has its middle in the window. An option of 1 or more leaves the
    sample alone. Boxes with their middle outside become zeros, which `SanitizeBoundingBoxes` removes.
    """

    def __init__(self, min_scale: float = 0.3, max_scale: float = 1.0, min_aspect_ratio: float = 0.5,
                 max_aspect_ratio: float = 2.0, sampler_options: Sequence[float] | None = None,
                 trials: int = 40) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else list(sampler_options)
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if not (any(isinstance(x, BoundingBoxes) for x in flat_inputs) and any(map(is_image, flat_inputs))):
            raise TypeError(f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                            "and bounding boxes. Sample can also contain masks.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any] | None:
        size = size_of(flat_inputs)
        boxes = next(x for x in flat_inputs if isinstance(x, BoundingBoxes))
        corners = convert(boxes.as_subclass(Tensor), boxes.format, BoundingBoxFormat.XYXY)
        while True:
            overlap = self.options[int(randint(len(self.options), (1,)))]
            if overlap >= 1.0:
                return None
            for _ in range(self.trials):
                found = self.trial(size, corners, overlap)
                if found is not None:
                    return found

    def trial(self, size: tuple[int, int], corners: Tensor, overlap: float) -> dict[str, Any] | None:
        """A window and which boxes have their middle in it; None where it does not do."""
        full_height, full_width = size
        scale = self.min_scale + (self.max_scale - self.min_scale) * rand(2)
        width, height = int(full_width * scale[0]), int(full_height * scale[1])
        if not self.min_aspect_ratio <= width / height <= self.max_aspect_ratio:
            return None
        part = rand(2)
        left, top = int((full_width - width) * part[0]), int((full_height - height) * part[1])
        if not width or not height:
            return None
        x0, y0, x1, y1 = corners.unbind(-1)
        x, y = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
        within = (left < x) & (x < left + width) & (top < y) & (y < top + height)
        if not within.any() or overlaps(corners[within], left, top, width, height).max() < overlap:
            return None
        return {"window": (top, left, height, width), "within": within}

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        return F.crop(img, *params["window"])

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        found = cut(places, params["window"])
        if isinstance(found, BoundingBoxes):
            found[~params["within"]] = 0
        return found


def overlaps(corners: Tensor, left: int, top: int, width: int, height: int) -> Tensor:
    """Intersection over union of each of N boxes with a window."""
    x0, y0, x1, y1 = corners.to(float32).unbind(-1)
    across = x1.clamp(max=left + width) - x0.clamp(min=left)
    down = y1.clamp(max=top + height) - y0.clamp(min=top)
    shared = across.clamp(min=0) * down.clamp(min=0)
    return shared / ((x1 - x0) * (y1 - y0) + width * height - shared)


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
