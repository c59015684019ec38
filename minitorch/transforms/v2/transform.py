"""The base of transforms of whole samples: images, masks, boxes and points, with the same random draws."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import Tensor
from ...nn import Module
from ...utils._pytree import tree_flatten, tree_unflatten
from ..base import ImageTransform
from ..functional.kinds import InterpolationMode, get_dimensions, is_pil
from ..tv_tensors import Image, Mask, Places, TVTensor, Video, wrap


def is_pure_tensor(x: Any) -> bool:
    """True for a tensor that does not say what it is."""
    return isinstance(x, Tensor) and not isinstance(x, TVTensor)


def is_image(x: Any) -> bool:
    """True for images of all kinds; a plain tensor counts as one."""
    return is_pil(x) or isinstance(x, (Image, Video, np.ndarray)) or is_pure_tensor(x)


def size_of(flat_inputs: Sequence[Any]) -> tuple[int, int]:
    """(height, width) of the images of a sample; ValueError where there is none, or where they differ."""
    sizes = {x.canvas_size if isinstance(x, Places) else tuple(get_dimensions(x)[1:]) for x in flat_inputs
             if is_image(x) or isinstance(x, (Mask, Places))}
    if not sizes:
        raise TypeError("No image, video, mask, bounding box or point was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple (H, W) in the sample: {sorted(sizes)}")
    height, width = sizes.pop()
    return height, width


class Transform(Module):
    """Transforms of samples, to derive from: `make_params` draws, `transform` transforms one input.

    A sample is any nesting of lists, tuples and dicts, or several arguments. Images, videos, masks, boxes and points in
    it are transformed with the same arguments, everything else is passed on. A plain tensor is an image where it is the
    first one and the sample has no other image.
    """

    _transformed_types: tuple = (Tensor, is_pil, np.ndarray)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error for a sample that cannot be transformed."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any] | None:
        """The random arguments for the inputs that are to be transformed."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One input, transformed."""
        raise NotImplementedError(f"{type(self).__name__}.transform: derive from Transform and override it")

    def forward(self, *inputs: Any) -> Any:
        leaves, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(leaves)
        chosen = self._needs_transform_list(leaves)
        params = self.make_params([x for x, wanted in zip(leaves, chosen, strict=True) if wanted])
        if params is not None:
            leaves = [self.transform(x, params) if wanted else x for x, wanted in zip(leaves, chosen, strict=True)]
        return tree_unflatten(leaves, spec)

    def _needs_transform_list(self, leaves: list[Any]) -> list[bool]:
        takes = [any(isinstance(x, kind) if isinstance(kind, type) else kind(x) for kind in self._transformed_types)
                 for x in leaves]
        plain = not any(is_pil(x) or isinstance(x, (Image, Video)) for x in leaves)
        found = []
        for x, wanted in zip(leaves, takes, strict=True):
            if wanted and is_pure_tensor(x):
                wanted, plain = plain, False
            found.append(wanted)
        return found

    def extra_repr(self) -> str:
        kinds = bool, int, float, str, tuple, list, InterpolationMode
        return ", ".join(f"{name}={value}" for name, value in vars(self).items()
                         if not name.startswith("_") and name != "training" and isinstance(value, kinds))

    __repr__ = Module.__repr__


class OfImages(Transform, ImageTransform):
    """A transform of `minitorch.transforms` on samples. Masks and places are left alone, as colors leave them."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any] | None:
        return self.draw(representative(flat_inputs))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(inpt, Places):
            return self.of_places(inpt, params)
        if isinstance(inpt, Mask):
            return self.of_mask(inpt, params)
        return again(self.transformed(inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt, params), inpt)

    def transformed(self, img: Any, params: dict[str, Any]) -> Any:
        """A plain image, transformed: as the class of `minitorch.transforms` does that this one derives from."""
        return super(Transform, self).transform(img, params)

    def of_mask(self, mask: Mask, params: dict[str, Any]) -> Any:
        """A mask, transformed."""
        return mask

    def of_places(self, places: Places, params: dict[str, Any]) -> Any:
        """Boxes or points, transformed."""
        return places


def again(result: Any, inpt: Any) -> Any:
    """A result in the kind of the input; of a tuple each element."""
    if not isinstance(inpt, TVTensor):
        return result
    return tuple(wrap(x, like=inpt) for x in result) if isinstance(result, tuple) else wrap(result, like=inpt)


def representative(flat_inputs: list[Any]) -> Any:
    """The image from which arguments are drawn: an image, else something of the size of a mask or of places."""
    for x in flat_inputs:
        if is_image(x):
            return x
    height, width = size_of(flat_inputs)
    return np.empty((height, width), np.uint8)


class Geometric(OfImages):
    """A transform that moves pixels: those of masks, too, without interpolation; `of_places` moves places."""

    def of_mask(self, mask: Mask, params: dict[str, Any]) -> Any:
        values = mask.as_subclass(Tensor)
        exact = copy.copy(self)                            # of a Module, shallow
        if "interpolation" in vars(self):
            exact.interpolation = InterpolationMode.NEAREST
        result = exact.transformed(values.unsqueeze(0) if mask.ndim == 2 else values, params)
        return again(result.squeeze(0) if mask.ndim == 2 else result, mask)
