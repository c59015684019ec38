"""The categorical distribution."""

import math

from .. import Size, broadcast_tensors, finfo, full, int64, multinomial
from . import constraints
from .bernoulli import numbers_below
from .distribution import Distribution
from .utils import ByProbabilities, check_one

__all__ = ["Categorical"]


class Categorical(ByProbabilities, Distribution):
    """An index below K, with the probabilities `probs` along the last dimension, which are divided by their sum.

    Or with `logits`, logarithms of probabilities up to a constant. Samples are int64.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _expands = ("probs", "logits", "_param")
    _keeps = ("_num_events",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = self._param = logits - logits.logsumexp(-1, keepdim=True)
        else:
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        """NaN: indices have no mean."""
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def variance(self):
        """NaN, as the mean."""
        return self.mean

    def sample(self, sample_shape=Size()):
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        found = multinomial(rows, sample_shape.numel(), True).T
        return found.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        index = self._checked(value).long().unsqueeze(-1)
        index, log_probs = broadcast_tensors(index, self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return numbers_below(self._num_events, self, expand, int64)
