"""Student's distribution."""

import math

from .. import Size, where
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's distribution of `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    Density proportional to ``(1 + z^2 / df)^(-(df + 1) / 2)``, z being ``(x - loc) / scale``.
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("df", "loc", "scale", "_chi2")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self):
        """NaN for `df` up to 1."""
        return where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """Infinite for `df` up to 2, NaN up to 1."""
        found = self.scale.square() * self.df / (self.df - 2)
        return where(self.df > 2, found, where(self.df > 1, math.inf, math.nan * self.df))

    def rsample(self, sample_shape=Size()):
        """A normal number over the root of a mean square of others."""
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (noise * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def log_prob(self, value):
        z = (self._checked(value) - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma()
                - half.lgamma())
        return -half * (z.square() / self.df).log1p() - norm

    def entropy(self):
        half, least = 0.5 * (self.df + 1), 0.5 * self.df
        log_beta = least.lgamma() + math.lgamma(0.5) - half.lgamma()
        return self.scale.log() + half * (half.digamma() - least.digamma()) + 0.5 * self.df.log() + log_beta
