"""Transforms of batches: CutMix and MixUp."""

import math
from typing import Any

from ... import Tensor, _sample_dirichlet, randint, tensor
from ...nn.functional import one_hot
from ...utils._pytree import tree_flatten, tree_unflatten
from ..functional.kinds import is_pil
from ..tv_tensors import Mask, Places, Video
from .boxes import labels_of
from .transform import Transform, again, size_of


class Mixing(Transform):
    """The base of `CutMix` and `MixUp`: each image of a batch is mixed with the one before, their labels alike."""

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default") -> None:
        super().__init__()
        self.alpha, self.num_classes, self.labels_getter = float(alpha), num_classes, labels_getter

    def share(self) -> float:
        """The share of an image itself: from a beta distribution with both parameters `alpha`."""
        return float(_sample_dirichlet(tensor([[self.alpha, self.alpha]]))[0, 0])

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        leaves, spec = tree_flatten(sample)
        if any(is_pil(x) or isinstance(x, (Mask, Places)) for x in leaves):
            raise ValueError(f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and "
                             f"masks.")
        labels = labels_of(sample, self.labels_getter)
        self.check_labels(labels)
        chosen = self._needs_transform_list(leaves)
        params = self.make_params([x for x, wanted in zip(leaves, chosen, strict=True) if wanted])

        def mixed(x, wanted):
            if x is labels:
                return self.mixed_labels(x, params["share"])
            return again(self.mixed(self.checked(x, len(labels)), params), x) if wanted else x
        return tree_unflatten([mixed(x, wanted) for x, wanted in zip(leaves, chosen, strict=True)], spec)

    def check_labels(self, labels: Any) -> None:
        """ValueError for labels that cannot be mixed."""
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(f"labels should be index based with shape (batch_size,) or probability based with shape "
                             f"(batch_size, num_classes), but got a tensor of shape {tuple(labels.shape)} instead.")
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[-1]):
            raise ValueError(f"When passing 2D labels, the number of elements in last dimension must match "
                             f"num_classes: {labels.shape[-1]} != {self.num_classes}; leave num_classes to None.")
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def checked(self, x: Any, n: int) -> Tensor:
        """A batch of `n` images as a plain tensor; ValueError for another shape."""
        dims = 5 if isinstance(x, Video) else 4
        if x.ndim != dims:
            raise ValueError(f"Expected a batched input with {dims} dims, but got {x.ndim} dimensions instead.")
        if len(x) != n:
            raise ValueError(f"The batch size of the image or video does not match the batch size of the labels: "
                             f"{len(x)} != {n}.")
        return x.as_subclass(Tensor)

    def mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        """The probabilities of classes (N, C) after mixing."""
        exact = one_hot(labels, self.num_classes or -1) if labels.ndim == 1 else labels
        exact = exact if exact.is_floating_point() else exact.float()
        return exact.roll(1, 0) * (1.0 - share) + exact * share

    def mixed(self, images: Tensor, params: dict[str, Any]) -> Tensor:
        """The images after mixing."""
        raise NotImplementedError


class MixUp(Mixing):
    """Sums of each image and the one before, and of their labels (arXiv:1710.09412). Labels: (N,) or (N, classes)."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"share": self.share()}

    def mixed(self, images: Tensor, params: dict[str, Any]) -> Tensor:
        return images.roll(1, 0) * (1.0 - params["share"]) + images * params["share"]


class CutMix(Mixing):
    """A window of each image from the one before, and labels by the areas (arXiv:1905.04899)."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = size_of(flat_inputs)
        part = 0.5 * math.sqrt(1.0 - self.share())
        x, y = int(randint(width, (1,))), int(randint(height, (1,)))
        across, down = int(part * width), int(part * height)
        x0, x1, y0, y1 = max(x - across, 0), min(x + across, width), max(y - down, 0), min(y + down, height)
        return {"window": (slice(y0, y1), slice(x0, x1)), "share": 1.0 - (x1 - x0) * (y1 - y0) / (width * height)}

    def mixed(self, images: Tensor, params: dict[str, Any]) -> Tensor:
        window = (..., *params["window"])
        result = images.clone()
        result[window] = images.roll(1, 0)[window]
        return result
