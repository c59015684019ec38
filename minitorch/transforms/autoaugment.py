"""Policies of augmentation: AutoAugment, RandAugment, TrivialAugment and AugMix.

A policy picks operations on images by name. Each has a range of magnitudes in equal steps, and some a random sign.
"""

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import Tensor, _sample_dirichlet, arange, full, linspace, rand, randint
from . import functional as F
from .base import ImageTransform, below
from .functional.kinds import InterpolationMode, is_pil


def sheared(img: Any, shear: Sequence[float], interpolation: InterpolationMode, fill: Any) -> Any:
    """An image sheared by tangents, with the upper left corner fixed."""
    degrees = [math.degrees(math.atan(tangent)) for tangent in shear]
    return F.affine(img, 0.0, [0, 0], 1.0, degrees, interpolation, fill, center=[0, 0])


def moved(img: Any, pixels: Sequence[int], interpolation: InterpolationMode, fill: Any) -> Any:
    """An image moved by whole pixels."""
    return F.affine(img, 0.0, pixels, 1.0, [0.0, 0.0], interpolation, fill)


OPERATIONS: dict[str, Callable] = {                        # image, magnitude, interpolation, fill
    "Identity": lambda img, m, i, fill: img,
    "ShearX": lambda img, m, i, fill: sheared(img, [m, 0.0], i, fill),
    "ShearY": lambda img, m, i, fill: sheared(img, [0.0, m], i, fill),
    "TranslateX": lambda img, m, i, fill: moved(img, [int(m), 0], i, fill),
    "TranslateY": lambda img, m, i, fill: moved(img, [0, int(m)], i, fill),
    "Rotate": lambda img, m, i, fill: F.rotate(img, m, i, fill=fill),
    "Brightness": lambda img, m, i, fill: F.adjust_brightness(img, 1.0 + m),
    "Color": lambda img, m, i, fill: F.adjust_saturation(img, 1.0 + m),
    "Contrast": lambda img, m, i, fill: F.adjust_contrast(img, 1.0 + m),
    "Sharpness": lambda img, m, i, fill: F.adjust_sharpness(img, 1.0 + m),
    "Posterize": lambda img, m, i, fill: F.posterize(img, int(m)),
    "Solarize": lambda img, m, i, fill: F.solarize(img, m if is_pil(img) or not img.is_floating_point() else m / 255),
    "AutoContrast": lambda img, m, i, fill: F.autocontrast(img),
    "Equalize": lambda img, m, i, fill: F.equalize(img),
    "Invert": lambda img, m, i, fill: F.invert(img),
}
GEOMETRIC = "ShearX ShearY TranslateX TranslateY Rotate".split()
TONES = "Brightness Color Contrast Sharpness".split()
FLAT = "AutoContrast Equalize Invert".split()              # without a magnitude


def magnitudes(name: str, bins: int, shear: float = 0.3, move: Sequence[float] = (0.0, 0.0), turn: float = 30.0,
               tone: float = 0.9, bits: int = 4, most: int = 8) -> tuple[Tensor | None, bool]:
    """The magnitudes of an operation in `bins` steps, None where it has none, and whether a sign is drawn.

    `shear`: largest tangent. `move`: largest shifts (x, y) in pixels. `turn`: largest angle in degrees. `tone`: largest
    change of a factor. `bits`: how many of `most` bits `Posterize` takes away at most.
    """
    if name in FLAT or name == "Identity":
        return None, False
    if name == "Posterize":
        return most - (arange(bins) / ((bins - 1) / bits)).round().int(), False
    if name == "Solarize":
        return linspace(255.0, 0.0, bins), False
    largest = {"ShearX": shear, "ShearY": shear, "TranslateX": move[0], "TranslateY": move[1], "Rotate": turn}
    return linspace(0.0, largest.get(name, tone), bins), True


class AutoAugmentPolicy(enum.Enum):
    """The data set on which a policy of `AutoAugment` was found."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# 25 pairs each: operation, probability in tenths, step of the magnitude (Cubuk et al., arXiv:1805.09501, appendix A).
POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 4 8, Rotate 6 9; Solarize 6 5, AutoContrast 6; Equalize 8, Equalize 6; Posterize 6 7, Posterize 6 6;
        Equalize 4, Solarize 2 4; Equalize 4, Rotate 8 8; Solarize 6 3, Equalize 6; Posterize 8 5, Equalize 10;
        Rotate 2 3, Solarize 6 8; Equalize 6, Posterize 4 6; Rotate 8 8, Color 4 0; Rotate 4 9, Equalize 6;
        Equalize 0, Equalize 8; Invert 6, Equalize 10; Color 6 4, Contrast 10 8; Rotate 8 8, Color 10 2;
        Color 8 8, Solarize 8 7; Sharpness 4 7, Invert 6; ShearX 6 5, Equalize 10; Color 4 0, Equalize 6;
        Equalize 4, Solarize 2 4; Solarize 6 5, AutoContrast 6; Invert 6, Equalize 10; Color 6 4, Contrast 10 8;
        Equalize 8, Equalize 6""",
    AutoAugmentPolicy.CIFAR10: """
        Invert 1, Contrast 2 6; Rotate 7 2, TranslateX 3 9; Sharpness 8 1, Sharpness 9 3; ShearY 5 8, TranslateY 7 9;
        AutoContrast 5, Equalize 9; ShearY 2 7, Posterize 3 7; Color 4 3, Brightness 6 7; Sharpness 3 9, Brightness 7 9;
        Equalize 6, Equalize 5; Contrast 6 7, Sharpness 6 5; Color 7 7, TranslateX 5 8; Equalize 3, AutoContrast 4;
        TranslateY 4 3, Sharpness 2 6; Brightness 9 6, Color 2 8; Solarize 5 2, Invert 0; Equalize 2, AutoContrast 6;
        Equalize 2, Equalize 6; Color 9 9, Equalize 6; AutoContrast 8, Solarize 2 8; Brightness 1 3, Color 7 0;
        Solarize 4 5, AutoContrast 9; TranslateY 9 9, TranslateY 7 9; AutoContrast 9, Solarize 8 3;
        Equalize 8, Invert 1; TranslateY 7 9, AutoContrast 9""",
    AutoAugmentPolicy.SVHN: """
        ShearX 9 4, Invert 2; ShearY 9 8, Invert 7; Equalize 6, Solarize 6 6; Invert 9, Equalize 6;
        Equalize 6, Rotate 9 3; ShearX 9 4, AutoContrast 8; ShearY 9 8, Invert 4; ShearY 9 5, Solarize 2 6;
        Invert 9, AutoContrast 8; Equalize 6, Rotate 9 3; ShearX 9 4, Solarize 3 3; ShearY 8 8, Invert 7;
        Equalize 9, TranslateY 6 6; Invert 9, Equalize 6; Contrast 3 3, Rotate 8 4; Invert 8, TranslateY 0 2;
        ShearY 7 6, Solarize 4 8; Invert 6, Rotate 8 4; ShearY 3 7, TranslateX 9 3; ShearX 1 6, Invert 6;
        Solarize 7 2, TranslateY 6 7; ShearY 8 4, Invert 8; ShearX 7 9, TranslateY 8 3; ShearY 8 5, AutoContrast 7;
        ShearX 7 2, Invert 1""",
}


def policy_of(text: str) -> list[tuple]:
    """A policy's pairs of (operation, probability, step of the magnitude)."""
    found = []
    for words in text.split(";"):
        steps = [step.split() for step in words.split(",")]
        found.append(tuple((name, int(tenths) / 10, int(more[0]) if more else None) for name, tenths, *more in steps))
    return found


def magnitude_at(values: Tensor | None, step: int | None) -> float:
    """The magnitude of a step; 0 for an operation without magnitudes, or a policy that names no step."""
    return 0.0 if values is None or step is None else float(values[step].item())


def signed(magnitude: float, has_sign: bool) -> float:
    """A magnitude, half of the times negative where it has a sign."""
    return -magnitude if has_sign and below(2) else magnitude


class Policy(ImageTransform):
    """The base of policies: `draw` gives the operations with their magnitudes, `transform` applies them one by one."""

    _shown: tuple[str, ...] = ("interpolation", "fill")
    interpolation = InterpolationMode.NEAREST
    fill: Any = None
    sign = staticmethod(signed)

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        for name, magnitude in params["operations"]:
            img = OPERATIONS[name](img, magnitude, self.interpolation, self.fill)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"

    def move(self, img: Any, part: float = 150.0 / 331.0) -> list[float]:
        """The largest shifts (x, y): a part of the image."""
        return [part * size for size in F.get_image_size(img)]


class AutoAugment(Policy):
    """One of 25 pairs of operations that were found to help on a data set (arXiv:1805.09501)."""

    _shown = ("policy", "fill")

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: Any = None) -> None:
        super().__init__()
        if policy not in POLICIES:
            raise ValueError(f"The provided policy {policy} is not recognized.")
        self.policy, self.interpolation, self.fill = policy, interpolation, fill
        self.policies = policy_of(POLICIES[policy])

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """The pair's number, and for both of its operations a probability and a sign."""
        return below(transform_num), rand((2,)), randint(2, (2,))

    def draw(self, img: Any) -> dict[str, Any]:
        number, chances, signs = self.get_params(len(self.policies))
        found = []
        for (name, p, step), drawn, sign in zip(self.policies[number], chances.tolist(), signs.tolist(), strict=True):
            if drawn <= p:
                values, has_sign = magnitudes(name, 10, move=self.move(img))
                magnitude = magnitude_at(values, step)
                found.append((name, -magnitude if has_sign and sign == 0 else magnitude))
        return {"operations": found}


class RandAugment(Policy):
    """``num_ops`` operations of equal strength ``magnitude`` in ``num_magnitude_bins`` (arXiv:1909.13719)."""

    _shown = ("num_ops", "magnitude", "num_magnitude_bins", *Policy._shown)
    names = ["Identity", *GEOMETRIC, *TONES, "Posterize", "Solarize", "AutoContrast", "Equalize"]

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: Any = None) -> None:
        super().__init__()
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins
        self.interpolation, self.fill = interpolation, fill

    def draw(self, img: Any) -> dict[str, Any]:
        found = []
        for _ in range(self.num_ops):
            name = self.names[below(len(self.names))]
            values, has_sign = magnitudes(name, self.num_magnitude_bins, move=self.move(img))
            found.append((name, self.sign(magnitude_at(values, self.magnitude), has_sign)))
        return {"operations": found}


class TrivialAugmentWide(Policy):
    """One operation of any strength (arXiv:2103.10158)."""

    _shown = ("num_magnitude_bins", *Policy._shown)
    names = RandAugment.names

    def __init__(self, num_magnitude_bins: int = 31, interpolation: InterpolationMode = InterpolationMode.NEAREST,
                 fill: Any = None) -> None:
        super().__init__()
        self.num_magnitude_bins, self.interpolation, self.fill = num_magnitude_bins, interpolation, fill

    def draw(self, img: Any) -> dict[str, Any]:
        name = self.names[below(len(self.names))]
        values, has_sign = magnitudes(name, self.num_magnitude_bins, 0.99, (32.0, 32.0), 135.0, 0.99, 6)
        magnitude = magnitude_at(values, None if values is None else below(len(values)))
        return {"operations": [(name, self.sign(magnitude, has_sign))]}


class AugMix(Policy):
    """A mixture of the image and ``mixture_width`` chains of operations on it (arXiv:1912.02781).

    severity: how many steps of the magnitudes are used, 1 to 10. chain_depth: operations in a chain, 1 to 3 by default.
    alpha: of the Dirichlet distribution of the mixture's weights. all_ops: with changes of tones.
    """

    _shown = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", *Policy._shown)

    def __init__(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1, alpha: float = 1.0,
                 all_ops: bool = True, interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 fill: Any = None) -> None:
        super().__init__()
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops, self.interpolation, self.fill = alpha, all_ops, interpolation, fill
        self.names = [*GEOMETRIC, "Posterize", "Solarize", "AutoContrast", "Equalize", *(TONES if all_ops else ())]

    def draw(self, img: Any) -> dict[str, Any]:
        images = 1 if is_pil(img) or img.ndim < 4 else len(img)
        shares = _sample_dirichlet(full((images, 2), self.alpha))
        weights = _sample_dirichlet(full((images, self.mixture_width), self.alpha)) * shares[:, 1:]
        return {"share": shares[:, :1], "weights": weights,
                "chains": [self.chain(img) for _ in range(self.mixture_width)]}

    def chain(self, img: Any) -> list[tuple[str, float]]:
        """The operations of a chain."""
        found = []
        for _ in range(self.chain_depth if self.chain_depth > 0 else 1 + below(3)):
            name = self.names[below(len(self.names))]
            values, has_sign = magnitudes(name, 10, move=self.move(img, 1 / 3), most=4)
            magnitude = magnitude_at(values, None if values is None else below(self.severity))
            found.append((name, self.sign(magnitude, has_sign)))
        return found

    def transform(self, img: Any, params: dict[str, Any]) -> Any:
        if is_pil(img):
            return F.to_pil_image(self.transform(F.pil_to_tensor(img), params), img.mode)
        places = (-1, *[1] * (img.ndim - 1)) if img.ndim >= 4 else [1] * img.ndim
        mixed = params["share"].reshape(places) * img
        for weight, chain in zip(params["weights"].unbind(1), params["chains"], strict=True):
            mixed = mixed + weight.reshape(places) * super().transform(img, {"operations": chain})
        return mixed.to(img.dtype)
