"""Weibull's distribution."""

from .. import ones_like
from . import constraints
from .exponential import Exponential
from .scalar_transforms import AffineTransform, PowerTransform
from .transformed_distribution import TransformedDistribution
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Weibull's distribution: ``scale x^(1 / concentration)``, x being exponential of rate 1.

    The probability of numbers above y is ``exp(-(y / scale)^concentration)``.
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _expands = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(ones_like(self.scale), validate_args=validate_args),
                         [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)],
                         validate_args=validate_args)

    def _moment(self, n):
        """The mean of the n-th power, at scale 1."""
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self):
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self):
        k = self.concentration_reciprocal
        return euler_constant * (1 - k) + (self.scale * k).log() + 1
