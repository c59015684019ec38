"""Gumbel's distribution."""

import math

from .. import finfo, full_like, ones_like
from . import constraints
from .scalar_transforms import AffineTransform, ExpTransform
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel's distribution: ``loc - scale log(-log(u))`` of a uniform number u, with cdf ``exp(-exp(-z))``.

    z is ``(x - loc) / scale``.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _expands = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps),
                       validate_args=validate_args)
        log = ExpTransform().inv
        super().__init__(base, [log, AffineTransform(0, -ones_like(self.scale)), log,
                                AffineTransform(loc, -self.scale)], validate_args=validate_args)

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev.square()

    def log_prob(self, value):
        value = self._checked(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
