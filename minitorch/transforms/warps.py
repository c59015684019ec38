"""Transforms of the geometry: rotation, affine and perspective transforms, elastic deformation."""

from collections.abc import Sequence
from typing import Any

from .. import Tensor, cat, rand
from . import functional as F
from .base import ImageTransform, WithProbability, angles, below, check_fill, check_sequence, uniform
from .functional.kinds import InterpolationMode, both, interpolation_of


class RandomRotation(ImageTransform):
    """Rotation by an angle in ``degrees``: (low, high), or one number for -x to x, counter-clockwise.

    expand: whether the result is as large as the rotated image. center: (x, y), the middle by default. fill: the value
    beyond the image, one per channel or for all.
    """

    _shown = ("degrees", "interpolation", "expand", "fill")

    def __init__(self, degrees: float | Sequence[float], interpolation: InterpolationMode = InterpolationMode.NEAREST,
                 expand: bool = False, center: Sequence[float] | None = None, fill: Any = 0) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        if center is not None:
            check_sequence(center, "center")
        self.center, self.expand = center, expand
        self.interpolation, self.fill = interpolation_of(interpolation), check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """An angle."""
        return uniform(degrees[0], degrees[1])

    def draw(self, img: Any) -> dict[str, Any]:
        return {"angle": self.get_params(self.degrees)}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.rotate(img, params["angle"], self.interpolation, self.expand, self.center, self.fill)


class RandomAffine(ImageTransform):
    """Rotation, translation, scaling and shearing by random amounts, in the size of the image.

    degrees: the range of angles. translate: the largest parts of the width and the height. scale: the range of the
    factor. shear: the range of degrees along x, of (x, y) as four numbers, or one number for -x to x.
    """

    def __init__(self, degrees: float | Sequence[float], translate: Sequence[float] | None = None,
                 scale: Sequence[float] | None = None, shear: float | Sequence[float] | None = None,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: Any = 0,
                 center: Sequence[float] | None = None) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        if translate is not None:
            check_sequence(translate, "translate")
            if not all(0.0 <= t <= 1.0 for t in translate):
                raise ValueError("translation values should be between 0 and 1")
        if scale is not None:
            check_sequence(scale, "scale")
            if not all(s > 0 for s in scale):
                raise ValueError("scale values should be positive")
        if center is not None:
            check_sequence(center, "center")
        self.translate, self.scale, self.center = translate, scale, center
        self.shear = None if shear is None else angles(shear, "shear", (2, 4))
        self.interpolation, self.fill = interpolation_of(interpolation), check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float], translate: Sequence[float] | None, scale_ranges: Sequence[float] | None,
                   shears: Sequence[float] | None, img_size: Sequence[int]) -> tuple:
        """Angle, translation (x, y) in pixels, scale and shear (x, y) for an image of (width, height) `img_size`."""
        angle = uniform(degrees[0], degrees[1])
        moved = (0, 0)
        if translate is not None:
            reach = [float(part * size) for part, size in zip(translate, img_size, strict=True)]
            moved = round(uniform(-reach[0], reach[0])), round(uniform(-reach[1], reach[1]))
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        across = down = 0.0
        if shears is not None:
            across = uniform(shears[0], shears[1])
            down = uniform(shears[2], shears[3]) if len(shears) == 4 else 0.0
        return angle, moved, scale, (across, down)

    def draw(self, img: Any) -> dict[str, Any]:
        found = self.get_params(self.degrees, self.translate, self.scale, self.shear, F.get_image_size(img))
        return dict(zip(("angle", "translate", "scale", "shear"), found, strict=True))

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.affine(img, **params, interpolation=self.interpolation, fill=self.fill, center=self.center)

    def __repr__(self) -> str:
        given = {"translate": self.translate, "scale": self.scale, "shear": self.shear}
        shown = [f"degrees={self.degrees}", *(f"{name}={value}" for name, value in given.items() if value is not None)]
        if self.interpolation is not InterpolationMode.NEAREST:
            shown.append(f"interpolation={self.interpolation.value}")
        shown += [f"fill={self.fill}"] if self.fill != 0 else []
        shown += [f"center={self.center}"] if self.center is not None else []
        return f"{type(self).__name__}({', '.join(shown)})"


class RandomPerspective(WithProbability):
    """The image seen from elsewhere, with probability ``p``: each corner moves inwards by up to half of
    ``distortion_scale`` of the width and the height."""

    def __init__(self, distortion_scale: float = 0.5, p: float = 0.5,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR, fill: Any = 0) -> None:
        super().__init__(p)
        self.distortion_scale = distortion_scale
        self.interpolation, self.fill = interpolation_of(interpolation), check_fill(fill)

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """The corners (x, y), from the upper left one clockwise, before and after."""
        across, down = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return corners, [[below(across + 1) + (width - across - 1 if x else 0),
                          below(down + 1) + (height - down - 1 if y else 0)] for x, y in corners]

    def arguments(self, img: Any) -> dict[str, Any]:
        width, height = F.get_image_size(img)
        start, end = self.get_params(width, height, self.distortion_scale)
        return {"startpoints": start, "endpoints": end}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.perspective(img, **params, interpolation=self.interpolation, fill=self.fill)


class ElasticTransform(ImageTransform):
    """Each pixel taken from a random place nearby: ``alpha`` is the strength, ``sigma`` the smoothness, in pixels.

    Both are a float or two, for x and y (Simard et al., Best Practices for Convolutional Neural Networks, 2003).
    """

    _shown = ("alpha", "sigma", "interpolation", "fill")

    def __init__(self, alpha: float | Sequence[float] = 50.0, sigma: float | Sequence[float] = 5.0,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR, fill: Any = 0) -> None:
        super().__init__()
        self.alpha = [float(x) for x in both(alpha, "alpha", float)]
        self.sigma = [float(x) for x in both(sigma, "sigma", float)]
        self.interpolation = interpolation_of(interpolation)
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")
        self.fill = [float(x) for x in (fill if isinstance(fill, (list, tuple)) else [fill])]

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """A displacement field (1, H, W, 2) for an image of (height, width) `size`."""
        fields = []
        for strength, smooth, extent in zip(alpha, sigma, reversed(size), strict=True):
            field = rand((1, 1, *size)) * 2 - 1
            if smooth > 0.0:
                field = F.gaussian_blur(field, int(8 * smooth + 1) | 1, list(sigma))
            fields.append(field * strength / extent)
        return cat(fields, 1).permute(0, 2, 3, 1)

    def draw(self, img: Any) -> dict[str, Any]:
        _, height, width = F.get_dimensions(img)
        return {"displacement": self.get_params(self.alpha, self.sigma, [height, width])}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        return F.elastic_transform(img, params["displacement"], self.interpolation, self.fill)
