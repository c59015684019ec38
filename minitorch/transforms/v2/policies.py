"""Policies of augmentation, on samples: with the random draws of torchvision's second version, which are others."""

from typing import Any

from ... import rand, randint
from .. import autoaugment
from ..autoaugment import magnitude_at, magnitudes
from ..tv_tensors import Mask, Places
from .transform import OfImages


class OfPolicies(OfImages):
    """The base of policies; TypeError for samples with masks, boxes or points, whose place would be lost."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        for x in flat_inputs:
            if isinstance(x, (Mask, Places)):
                raise TypeError(f"Inputs of type {type(x).__name__} are not supported by {type(self).__name__}()")


def signed(magnitude: float, has_sign: bool) -> float:
    """A magnitude, half of the times negative where it has a sign."""
    return -magnitude if has_sign and rand(()).item() <= 0.5 else magnitude


class AutoAugment(OfPolicies, autoaugment.AutoAugment):
    """One of 25 pairs of operations that were found to help on a data set (arXiv:1805.09501)."""

    def draw(self, img: Any) -> dict[str, Any]:
        found = []
        for name, p, step in self.policies[int(randint(len(self.policies), ()))]:
            if rand(()).item() <= p:
                values, has_sign = magnitudes(name, 10, move=self.move(img))
                found.append((name, signed(magnitude_at(values, step), has_sign)))
        return {"operations": found}


class RandAugment(OfPolicies, autoaugment.RandAugment):
    """``num_ops`` operations of equal strength ``magnitude`` (arXiv:1909.13719)."""

    sign = staticmethod(signed)


class TrivialAugmentWide(OfPolicies, autoaugment.TrivialAugmentWide):
    """One operation of any strength (arXiv:2103.10158)."""

    sign = staticmethod(signed)


class AugMix(OfPolicies, autoaugment.AugMix):
    """A mixture of the image and chains of operations on it (arXiv:1912.02781)."""

    sign = staticmethod(signed)
