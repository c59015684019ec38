"""Mixtures of distributions of one family."""

from .. import Size, log_softmax, no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A sample of one of K distributions, chosen by chance.

    `mixture_distribution` is a `Categorical` of K events, `component_distribution` has K distributions along the last
    dimension of its batch: density ``sum of p_k p(x | k)``.
    """

    arg_constraints: dict = {}
    has_rsample = False
    _expands = ("_component_distribution", "_mixture_distribution")
    _keeps = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical, got "
                             f"{type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution, "
                             f"got {type(component_distribution).__name__}")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        batch, chosen = component_distribution.batch_shape, mixture_distribution.batch_shape
        if any(m != 1 and n != 1 and m != n for m, n in zip(reversed(chosen), reversed(batch[:-1]))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                             f"`component_distribution.batch_shape`({batch[:-1]})")
        self._num_component = mixture_distribution.logits.shape[-1]
        if not batch or self._num_component != batch[-1]:
            raise ValueError(f"`mixture_distribution component` ({self._num_component}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({batch[-1] if batch else None})")
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution of the choice."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The distributions among which it chooses."""
        return self._component_distribution

    def _pad(self, x):
        """`x` with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _average(self, x):
        """The weighted mean of the components' values `x`, events included."""
        p = self.mixture_distribution.probs
        return (p.reshape(p.shape + (1,) * self._event_ndims) * x).sum(-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self.component_distribution.mean)

    @property
    def variance(self):
        """The mean of the variances and the variance of the means."""
        parts = self.component_distribution
        return self._average(parts.variance) + self._average((parts.mean - self._pad(self.mean)).square())

    def cdf(self, x):
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        each = self.component_distribution.log_prob(self._pad(self._checked(x)))
        return (each + log_softmax(self.mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape=Size()):
        sample_shape = Size(sample_shape)
        with no_grad():
            choice = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            each = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            index = choice.reshape(choice.shape + (1,) * (1 + self._event_ndims))
            return each.gather(dim, index.expand(choice.shape + (1,) + self.event_shape)).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
