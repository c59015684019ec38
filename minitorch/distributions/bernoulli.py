"""Bernoulli's distribution."""

import math

from .. import Size, arange, bernoulli, no_grad, where
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ByProbabilities, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ByProbabilities, ExponentialFamily):
    """1 with probability `probs`, or with log-odds `logits`, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expands = ("probs", "logits", "_param")

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        """NaN where both values are equally probable."""
        return where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return numbers_below(2, self, expand, self._param.dtype)

    @property
    def _natural_params(self):
        return (self.probs.logit(),)

    def _log_normalizer(self, x):
        return x.exp().log1p()


def numbers_below(n, distribution, expand, dtype):
    """The integers below `n` as the support that a distribution enumerates."""
    values = arange(n, dtype=dtype, device=distribution._param.device)
    values = values.view((-1,) + (1,) * len(distribution.batch_shape))
    return values.expand((-1,) + distribution.batch_shape) if expand else values
