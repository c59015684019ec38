"""Transforms of transforms, and from one kind of image to another."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from .. import Tensor, rand
from ..nn import Module
from . import functional as F
from .base import ImageTransform


class Compose:
    """One transform after another.

    >>> from minitorch import transforms
    >>> transforms.Compose([transforms.CenterCrop(10), transforms.ToTensor()])
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
    """A function of your own as a transform."""

    def __init__(self, lambd: Callable) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ConvertImageDtype(ImageTransform):
    """Another dtype, with the values scaled: integers span their dtype's range, floats 0 to 1."""

    def __init__(self, dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, image: Any, params: dict[str, Any]) -> Any:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(ImageTransform):
    """``(image[c] - mean[c]) / std[c]`` for each channel ``c`` of a float tensor (..., C, H, W)."""

    _shown = ("mean", "std")

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def transform(self, tensor: Any, params: dict[str, Any]) -> Any:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class RandomApply(Module):
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


class RandomTransforms:
    """A list of transforms, the base of `RandomChoice` and `RandomOrder`. They draw from Python's `random`."""

    def __init__(self, transforms: Sequence[Callable]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __repr__(self) -> str:
        return "\n    ".join([f"{type(self).__name__}(", *map(repr, self.transforms)]) + "\n)"


class RandomOrder(RandomTransforms):
    """All of ``transforms`` in random order."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


class RandomChoice(RandomTransforms):
    """One of ``transforms``, chosen with the weights ``p``, equal ones by default."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class LinearTransformation(ImageTransform):
    """The pixels of a tensor as one row: ``(row - mean_vector) @ transformation_matrix``, as in whitening.

    transformation_matrix: (D, D) with D = C * H * W. mean_vector: (D,).
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {(rows, columns)} rectangular matrix.")
        if len(mean_vector) != rows:
            raise ValueError(f"mean_vector should have the same length {len(mean_vector)} as any one of the dimensions "
                             f"of the transformation_matrix [{(rows, columns)}]")
        for name in ("device", "dtype"):
            kinds = getattr(transformation_matrix, name), getattr(mean_vector, name)
            if kinds[0] != kinds[1]:
                raise ValueError(f"Input tensors should have the same {name}. Got {kinds[0]} and {kinds[1]}")
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        size = math.prod(img.shape[-3:])
        if size != len(self.transformation_matrix):
            raise ValueError(f"Input tensor and transformation matrix have incompatible shape: "
                             f"{tuple(img.shape[-3:])} has {size} pixels, not {len(self.transformation_matrix)}")
        rows = img.reshape(-1, size) - self.mean_vector
        return (rows @ self.transformation_matrix.to(rows.dtype)).reshape(img.shape)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(transformation_matrix={self.transformation_matrix.tolist()}, "
                f"mean_vector={self.mean_vector.tolist()})")
