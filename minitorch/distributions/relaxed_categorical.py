"""Relaxed categorical distributions: points of the simplex, differentiable, near its corners as temperature falls."""

import math

from .. import Size, rand
from . import constraints
from .one_hot_categorical import OfCategorical
from .relaxed_bernoulli import Relaxed
from .scalar_transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of a `RelaxedOneHotCategorical` point: ``log_softmax((logits + gumbels) / temperature)``."""

    support = constraints.real_vector            # as they are normalised, they lie in a part of it
    has_rsample = True
    _expands = ("_categorical",)
    _keeps = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits, validate_args)

    def rsample(self, sample_shape=Size()):
        shape, logits = self._extended_shape(sample_shape), self.logits
        u = clamp_probs(rand(shape, dtype=logits.dtype, device=logits.device))
        scores = (logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        """C. Maddison et al., "The concrete distribution", 2017, equation 22."""
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        score = logits - value * self.temperature
        return ((score - score.logsumexp(-1, keepdim=True)).sum(-1) + math.lgamma(k)
                + (k - 1) * self.temperature.log())


class RelaxedOneHotCategorical(Relaxed):
    """The concrete or Gumbel-softmax distribution: a differentiable relaxation of `OneHotCategorical`.

    Of `probs` or `logits`, with a tensor `temperature`. Sources: as of `RelaxedBernoulli`.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    _expands = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
                         ExpTransform(), validate_args=validate_args)
