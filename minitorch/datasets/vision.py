"""The base class of image data sets: their folder, their transforms, their repr."""

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import Tensor
from ..utils.data import Dataset


class VisionDataset(Dataset):
    """A data set under the folder ``root``.

    transform, target_transform: functions applied to the image and to the label of each item. ``transforms``, one
    function of both, may be given instead.
    """

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        if transform is not None or target_transform is not None:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError("Subclasses of VisionDataset should implement __getitem__.")

    def __len__(self) -> int:
        raise NotImplementedError("Subclasses of VisionDataset should implement __len__.")

    def extra_repr(self) -> str:
        """Further lines for the repr."""
        return ""

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n    ".join([f"Dataset {type(self).__name__}", *lines])

    def _item(self, pixels: np.ndarray, label: int) -> tuple[Any, Any]:
        """The item made of an image and a label."""
        return self._transformed(as_image(pixels), int(label))

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        # Not by ``self.transforms``: programs set these two attributes afterwards.
        return StandardTransform(self.transform, self.target_transform)(image, target)


class ImagesInMemory(VisionDataset):
    """The base of data sets whose images are in ``data``, uint8 (N, H, W), and labels in ``targets``, int64 (N,)."""

    data: Tensor
    targets: Tensor
    classes: list[str]

    def __getitem__(self, index: int):
        return self._item(self.data.array[index], self.targets.array[index])

    def __len__(self) -> int:
        return len(self.data)

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}


class StandardTransform:
    """A transform of the image and one of the label, as one function of both."""

    def __init__(self, transform: Callable | None = None, target_transform: Callable | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, image: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, function in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if function is not None:
                lines.append(head + repr(function).replace("\n", "\n" + " " * len(head)))
        return "\n".join(lines)


@functools.cache
def pillow():
    """The module ``PIL.Image``, or None where Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image


def as_image(pixels: np.ndarray) -> Any:
    """A uint8 array, (H, W) or (H, W, 3), as a PIL image, or as a copy of itself where there is no Pillow."""
    image = pillow()
    return pixels.copy() if image is None else image.fromarray(pixels)
