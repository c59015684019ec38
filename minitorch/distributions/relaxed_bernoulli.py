"""Relaxed Bernoulli distributions: numbers in (0, 1), differentiable, which come to 0 or 1 as temperature falls."""

from .. import Size, rand
from . import constraints
from .distribution import Distribution
from .scalar_transforms import SigmoidTransform
from .transformed_distribution import TransformedDistribution
from .utils import ByProbabilities, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByProbabilities, Distribution):
    """The log-odds of a `RelaxedBernoulli` number: ``(logit(u) + logits) / temperature`` of a uniform number u."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _expands = ("probs", "logits", "_param")
    _keeps = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        off = logits - value * self.temperature
        return self.temperature.log() + off - 2 * off.exp().log1p()


class Relaxed(TransformedDistribution):
    """Base of transformed relaxed distributions, which show the parameters of the base."""

    has_rsample = True

    @property
    def temperature(self):
        """The nearer to 0, the nearer are samples to 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """Log-odds; of several events, logarithms of their probabilities."""
        return self.base_dist.logits

    @property
    def probs(self):
        """Probabilities."""
        return self.base_dist.probs


class RelaxedBernoulli(Relaxed):
    """The concrete distribution: a differentiable relaxation of `Bernoulli` with `probs` or `logits`.

    `temperature` is a tensor. Sources: C. Maddison et al., "The concrete distribution", 2017; E. Jang et al.,
    "Categorical reparameterization with Gumbel-softmax", 2017.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _expands = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(),
                         validate_args=validate_args)
