"""The transforms that move pixels, on samples."""

from collections.abc import Sequence
from typing import Any

from .. import warps, windows
from ..functional.sizes import new_size
from ..functional.windows import left_top_right_bottom, middle_window
from ..tv_tensors import KeyPoints, Places
from .places import mapped, mirrored, moved_by, of_affine, of_perspective, of_rotation, scaled_by
from .transform import Geometric, OfImages


def cut(places: Places, window: Sequence[int]) -> Any:
    """Places in a window: top, left, height and width."""
    top, left, height, width = window
    return mapped(places, moved_by(-left, -top), (height, width))


def padded(places: Places, padding: Any) -> Any:
    """Places in an image with a border."""
    left, top, right, bottom = left_top_right_bottom(padding)
    height, width = places.canvas_size
    return mapped(places, moved_by(left, top), (height + top + bottom, width + left + right))


def resized(places: Places, size: Sequence[int]) -> Any:
    """Places in a resized image."""
    height, width = places.canvas_size
    return mapped(places, scaled_by(size[1] / width, size[0] / height), size, clamp=False)


def flipped(places: Places, axis: int) -> Any:
    """Places in an image flipped along the axis of x (0) or y (1); points stand in the middle of pixels."""
    extent = places.canvas_size[1 - axis] - isinstance(places, KeyPoints)
    return mapped(places, mirrored(axis, extent), places.canvas_size, clamp=False)


class RandomHorizontalFlip(Geometric, windows.RandomHorizontalFlip):
    """Left and right exchanged, with probability ``p``."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return flipped(places, 0)


class RandomVerticalFlip(Geometric, windows.RandomVerticalFlip):
    """Top and bottom exchanged, with probability ``p``."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return flipped(places, 1)


class Resize(Geometric, windows.Resize):
    """To ``size``, as `minitorch.transforms.Resize`."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        height, width = places.canvas_size
        return resized(places, new_size(height, width, self.size, self.max_size))


class CenterCrop(Geometric, windows.CenterCrop):
    """The middle ``size`` (height, width)."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        height, width = places.canvas_size
        (left, top, _, _), (down, across, *size) = middle_window(height, width, *self.size)
        return cut(places, (down - top, across - left, *size))


class Pad(Geometric, windows.Pad):
    """A border of ``padding`` pixels."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        if self.padding_mode not in ("constant", "edge"):
            raise ValueError(f"Padding mode '{self.padding_mode}' is not supported with bounding boxes: it "
                             f"mirrors them")
        return padded(places, self.padding)


class RandomCrop(Geometric, windows.RandomCrop):
    """A window of ``size`` somewhere in the image."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        for padding in params["paddings"]:
            places = padded(places, padding)
        return cut(places, params["window"])


class RandomResizedCrop(Geometric, windows.RandomResizedCrop):
    """A window of random area and shape, resized to ``size``."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return resized(cut(places, params["window"]), self.size)


class FiveCrop(OfImages, windows.FiveCrop):
    """The windows in the four corners and the middle, as a tuple; of images only."""


class TenCrop(OfImages, windows.TenCrop):
    """`FiveCrop` of the image and of the image flipped; of images only."""


class RandomErasing(OfImages, windows.RandomErasing):
    """A window erased, with probability ``p``; masks and boxes are left alone."""


class RandomRotation(Geometric, warps.RandomRotation):
    """Rotation by an angle in ``degrees``."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        move, size = of_rotation(places.canvas_size, params["angle"], self.expand, self.center)
        return mapped(places, move, size)


class RandomAffine(Geometric, warps.RandomAffine):
    """Rotation, translation, scaling and shearing by random amounts."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        size = places.canvas_size
        return mapped(places, of_affine(size, **params, center=self.center), size)


class RandomPerspective(Geometric, warps.RandomPerspective):
    """The image seen from elsewhere, with probability ``p``."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        return mapped(places, of_perspective(**params), places.canvas_size)


class ElasticTransform(Geometric, warps.ElasticTransform):
    """Each pixel taken from a random place nearby; of images and masks."""

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        raise TypeError("ElasticTransform is for images and masks: where it moves a box or a point is not computed")
