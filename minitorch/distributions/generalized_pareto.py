"""The generalised Pareto distribution."""

import math

from .. import Size, finfo, rand, where
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]

SMALL = 1e-4                                               # below, four terms of Taylor's series are exact


class GeneralizedPareto(Distribution):
    """The distribution of what exceeds a high threshold: ``1 - cdf = (1 + c z)^(-1 / c)``, ``z = (x - loc) / scale``.

    c is `concentration`, of either sign; where it is 0, the distribution is exponential (also its
    gradients are right there). Source: J. Pickands,
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

    def _depth(self, value):
        """``log(1 + c z) / c``, the number that is exponential: minus the logarithm of ``1 - cdf``."""
        z = (self._checked(value) - self.loc) / self.scale
        c, u = self.concentration, self.concentration * z
        small = u.abs() < SMALL
        series = z * (1 - u / 2 + u.square() / 3 - u.pow(3) / 4)
        return where(small, series, where(small, 1.0, u).log1p() / where(small, 1.0, c))

    def log_prob(self, value):
        factor = 1 + self.concentration
        return -self.scale.log() - where(factor == 0, 0.0, factor * self._depth(value))

    def log_survival_function(self, value):
        """``log(1 - cdf(value))``."""
        return -self._depth(value)

    def log_cdf(self, value):
        """``log(cdf(value))``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        depth, c = -(-value).log1p(), self.concentration
        u = c * depth.clamp(max=finfo(depth.dtype).max)    # finite, so that 0 times it is 0
        small = u.abs() < SMALL
        series = depth * (1 + u / 2 + u.square() / 6 + u.pow(3) / 24)
        z = where(small, series, where(small, 1.0, u).expm1() / where(small, 1.0, c))
        return self.loc + self.scale * z

    def entropy(self):
        return self.scale.log() + self.concentration + 1
