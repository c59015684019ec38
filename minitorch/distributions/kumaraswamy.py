"""Kumaraswamy's distribution."""

import math

from .. import ones_like, where, zeros_like
from . import constraints
from .scalar_transforms import AffineTransform, PowerTransform
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution on [0, 1]: cdf ``1 - (1 - x^a)^b``, a being `concentration1`, b `concentration0`.

    Much like the beta distribution, and easy to invert. Source: P. Kumaraswamy, "A generalized probability density
    function for double-bounded random processes", 1980.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _expands = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        a, b = self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(zeros_like(b), ones_like(b), validate_args=validate_args)
        super().__init__(base, [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0),
                                PowerTransform(a.reciprocal())], validate_args=validate_args)

    def _moment(self, n):
        """The mean of ``x^n``: ``b B(1 + n / a, b)``."""
        b, c = self.concentration0, 1 + n / self.concentration1
        return b * (c.lgamma() + b.lgamma() - (c + b).lgamma()).exp()

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        """NaN where a concentration is below 1: the density has its pole or minimum there."""
        a, b = self.concentration1, self.concentration0
        found = (b.reciprocal() * (-b).log1p() - (-b * a).log1p()).exp()
        return where((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self):
        return self._moment(2) - self.mean.square()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
