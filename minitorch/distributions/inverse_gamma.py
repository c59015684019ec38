"""The inverse gamma distribution."""

import math

from .. import where
from . import constraints
from .gamma import Gamma
from .scalar_transforms import PowerTransform
from .transformed_distribution import TransformedDistribution

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """``1 / x``, x being gamma distributed with `concentration` and `rate`."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expands = ()

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self):
        """The concentration of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self):
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self):
        """Infinite for concentrations up to 1."""
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """Infinite for concentrations up to 2."""
        c = self.concentration
        return where(c > 2, self.rate.square() / ((c - 1).square() * (c - 2)), math.inf)

    def entropy(self):
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()
