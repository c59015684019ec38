"""The multinomial distribution."""

import math

from .. import Size, ones_like, where
from . import constraints
from .binomial import Binomial
from .one_hot_categorical import OfCategorical
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """How often each of K events comes up in `total_count` draws, a number, with `probs` or `logits`."""

    _expands = ("_categorical", "_binomial")
    _keeps = ("total_count",)

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported: expected a number, got "
                                      f"{type(total_count).__name__}")
        self.total_count = total_count
        self._take(probs, logits, validate_args)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, ones_like(drawn)).type_as(self.probs)

    def entropy(self):
        """That of the draws in order, less the logarithm of how many orders there are, on average."""
        n = self.total_count
        counts = self._binomial.enumerate_support(expand=False)[1:]
        orders = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + orders

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = where((value == 0) & (logits == -math.inf), 0.0, logits)      # 0^0 is 1
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
