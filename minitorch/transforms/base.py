"""The base of transform classes, and their random draws: from the default generator, as torchvision draws them."""

from collections.abc import Sequence
from typing import Any

from .. import empty, rand, randint
from ..nn import Module
from .functional.kinds import InterpolationMode


class ImageTransform(Module):
    """A transform: `draw` gives its random arguments for an image, `transform` applies it with them to one or several.

    It is a Module, so that ``nn.Sequential`` takes it. It prints the attributes in ``_shown``.
    """

    _shown: tuple[str, ...] = ()

    def draw(self, img: Any) -> dict[str, Any] | None:
        """The random arguments; None where the image is to be left alone."""
        return {}

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        """The image, transformed with the arguments that were drawn."""
        raise NotImplementedError(f"{type(self).__name__}.apply")

    def forward(self, img: Any) -> Any:
        params = self.draw(img)
        return img if params is None else self.transform(img, params)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={shown_value(getattr(self, name))}" for name in self._shown)
        return f"{type(self).__name__}({shown})"


class WithProbability(ImageTransform):
    """A transform that is applied with probability ``p``."""

    _shown: tuple[str, ...] = ("p",)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def draw(self, img: Any) -> dict[str, Any] | None:
        return self.arguments(img) if chance(self.p) else None

    def arguments(self, img: Any) -> dict[str, Any]:
        """The random arguments of an image that is to be transformed."""
        return {}


def shown_value(value: Any) -> str:
    """A value in a transform's text."""
    return value.value if isinstance(value, InterpolationMode) else f"{value}"


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width), the same for both if one number is given."""
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for size, got {size}")
    return size[0], size[1]


def angles(value: float | Sequence[float], name: str, sizes: Sequence[int] = (2,)) -> list[float]:
    """A range: one number stands for minus it to it. ValueError for negative ones and wrong lengths."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    check_sequence(value, name, sizes)
    return [float(v) for v in value]


def check_sequence(value: Any, name: str, sizes: Sequence[int] = (2,)) -> None:
    """TypeError for no sequence, ValueError for one of another length."""
    words = f"{name} should be a sequence of length {' or '.join(map(str, sizes))}."
    if not isinstance(value, Sequence):
        raise TypeError(words)
    if len(value) not in sizes:
        raise ValueError(words)


def check_fill(fill: Any) -> Any:
    """A fill; zero for None, TypeError for anything but numbers and sequences."""
    if fill is None:
        return 0
    if not isinstance(fill, (Sequence, int, float)):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


def uniform(low: float, high: float) -> float:
    """A number between two."""
    return empty(1).uniform_(low, high).item()


def below(n: int) -> int:
    """An integer from 0 to n - 1."""
    return int(randint(0, n, (1,)).item())


def chance(p: float) -> bool:
    """True with probability `p`."""
    return rand(1).item() < p
