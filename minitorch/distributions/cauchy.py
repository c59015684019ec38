"""Cauchy's distribution."""

import math

from .. import Size, full_like
from .location_scale import LocationScale
from .utils import drawn

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy's distribution: density ``1 / (pi scale (1 + ((x - loc) / scale)^2))``. It has no mean."""

    @property
    def mean(self):
        return full_like(self.loc, math.nan)

    @property
    def variance(self):
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape=Size()):
        return self.loc + drawn(self.loc, self._extended_shape(sample_shape), lambda x: x.cauchy_()) * self.scale

    def log_prob(self, value):
        value = self._checked(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value):
        value = self._checked(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
