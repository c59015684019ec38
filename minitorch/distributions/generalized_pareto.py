"""The generalised Pareto distribution."""

import math

from ..core.tensor import Size
from ..ops.creation.create import zeros_like
from ..ops.creation.random import rand
from ..ops.elementwise.compare import where
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of what exceeds a high threshold: ``1 - cdf = (1 + c z)^(-1 / c)``, ``z = (x - loc) / scale``.

    c is `concentration`, of either sign; where it is 0, the distribution is exponential. Source: J. Pickands,
    "Statistical inference using extreme order statistics", 1975.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _expands = ("loc", "scale", "concentration")

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _shape(self):
        """Where the concentration is 0, and the concentration with 1 there."""
        is_zero = self.concentration.isclose(zeros_like(self.concentration))
        return is_zero, where(is_zero, 1.0, self.concentration)

    @property
    def mean(self):
        """NaN for concentrations from 1 on."""
        valid = self.concentration < 1
        c = where(valid, self.concentration, 0.5)
        return where(valid, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self):
        """NaN for concentrations from 1/2 on."""
        valid = self.concentration < 0.5
        c = where(valid, self.concentration, 0.25)
        return where(valid, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), math.nan)

    @property
    def mode(self):
        return self.loc

    def rsample(self, sample_shape=Size()):
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        z = (self._checked(value) - self.loc) / self.scale
        is_zero, c = self._shape()
        power = 1 / c + 1
        depth = where(power == 0, 0.0, power * (c * z).log1p())
        return -self.scale.log() - where(is_zero, z, depth)

    def log_survival_function(self, value):
        """``log(1 - cdf(value))``."""
        z = (self._checked(value) - self.loc) / self.scale
        is_zero, c = self._shape()
        return where(is_zero, -z, -(c * z).log1p() / c)

    def log_cdf(self, value):
        """``log(cdf(value))``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        is_zero, c = self._shape()
        depth = (-value).log1p()
        return where(is_zero, self.loc - self.scale * depth, self.loc + self.scale / c * (-c * depth).expm1())

    def entropy(self):
        return self.scale.log() + self.concentration + 1
