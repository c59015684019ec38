"""The half-normal distribution, and what is common to it and the half-Cauchy distribution."""

import math

from .. import as_tensor, where, zeros_like
from . import constraints
from .normal import Normal
from .scalar_transforms import AbsTransform
from .transformed_distribution import TransformedDistribution

__all__ = ["HalfNormal"]


class Half(TransformedDistribution):
    """The absolute values of a distribution that is symmetric about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def _take(self, base, validate_args):
        TransformedDistribution.__init__(self, base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The scale of the whole distribution."""
        return self.base_dist.scale

    @property
    def mode(self):
        return zeros_like(self.scale)

    def log_prob(self, value):
        value = self._checked(as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        value = self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """The absolute values of normal numbers of mean 0 and standard deviation `scale`."""

    _expands = ()

    def __init__(self, scale, validate_args=None):
        self._take(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.square() * (1 - 2 / math.pi)
