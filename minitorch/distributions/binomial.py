"""The binomial distribution."""

from .. import Size, binomial, no_grad
from . import constraints
from .bernoulli import numbers_below
from .distribution import Distribution
from .utils import ByProbabilities, only_value

__all__ = ["Binomial"]


class Binomial(ByProbabilities, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`, or with log-odds `logits`."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _expands = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        count, = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        value = self._checked(value)
        n, logits = self.total_count, self.logits
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # log(1 + exp(logits)) without overflow; the positive part is written so that its derivative at 0 is 1/2.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        return value * logits + choices - n * (positive + (-logits.abs()).exp().log1p())

    def entropy(self):
        """By summation over the support; NotImplementedError if the counts of trials differ."""
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        n = only_value(self.total_count, "total count")
        return numbers_below(int(n) + 1, self, expand, self._param.dtype)
