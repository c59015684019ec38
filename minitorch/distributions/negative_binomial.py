"""The negative binomial distribution."""

from .. import Size, no_grad, poisson
from ..nn.functional import logsigmoid
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import ByProbabilities, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByProbabilities, Distribution):
    """How many trials succeed, each with `probs` or log-odds `logits`, before `total_count` have failed.

    `total_count` need not be whole. It is a Poisson distribution whose rate is gamma distributed.
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expands = ("total_count", "probs", "logits", "_param")

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        count, = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=Size()):
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        value = self._checked(value)
        n = self.total_count
        choices = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        choices = choices.masked_fill(n + value == 0.0, 0.0)                   # of nothing, one
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + choices
