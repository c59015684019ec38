"""The categorical distribution over one-hot vectors."""

from .. import Size, eye
from ..nn.functional import one_hot
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OfCategorical(Distribution):
    """Base of distributions over vectors with an element for each event of a categorical one, `_categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def _take(self, probs, logits, validate_args):
        self._categorical = Categorical(probs, logits)
        Distribution.__init__(self, self._categorical.batch_shape, self._categorical.param_shape[-1:],
                              validate_args=validate_args)

    @property
    def probs(self):
        """Probabilities, divided by their sum."""
        return self._categorical.probs

    @property
    def logits(self):
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape

    @property
    def _param(self):
        return self._categorical._param

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(OfCategorical):
    """A one-hot vector, its 1 at an index of the categorical distribution with `probs` or `logits`."""

    support = constraints.one_hot
    has_enumerate_support = True
    _expands = ("_categorical",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits, validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._of_indices(self.probs.argmax(-1))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _of_indices(self, indices):
        return one_hot(indices, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape=Size()):
        return self._of_indices(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n, = self.event_shape
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with samples to which gradients pass as if they were `probs`.

    Source: Y. Bengio et al., "Estimating or propagating gradients through stochastic neurons", 2013.
    """

    has_rsample = True

    def rsample(self, sample_shape=Size()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
