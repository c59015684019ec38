"""Laplace's distribution."""

from .. import Size, finfo
from .location_scale import LocationScale
from .utils import drawn

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Laplace's distribution: density ``exp(-|x - loc| / scale) / (2 scale)``."""

    @property
    def variance(self):
        return 2 * self.scale.square()

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=Size()):
        low = finfo(self.loc.dtype).eps - 1
        u = drawn(self.loc, self._extended_shape(sample_shape), lambda x: x.uniform_(low, 1))
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value):
        value = self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        far = self._checked(value) - self.loc
        return 0.5 - 0.5 * far.sign() * (-far.abs() / self.scale).expm1()

    def icdf(self, value):
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()
