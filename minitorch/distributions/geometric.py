"""The geometric distribution."""

from .. import Size, finfo, no_grad, where, zeros_like
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .distribution import Distribution
from .utils import ByProbabilities, all_true, broadcast_all, drawn

__all__ = ["Geometric"]


class Geometric(ByProbabilities, Distribution):
    """How many trials fail before the first success, which has probability `probs`, or log-odds `logits`.

    ``Tensor.geometric_`` counts the successful trial too.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expands = ("probs", "logits", "_param")

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not all_true(self.probs > 0):
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape "
                             f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found invalid "
                             f"values:\n{self.probs}")

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=Size()):
        tiny = finfo(self.probs.dtype).tiny
        with no_grad():
            u = drawn(self.probs, self._extended_shape(sample_shape), lambda x: x.uniform_(tiny, 1))
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        value, probs = broadcast_all(self._checked(value), self.probs)
        failure = where((probs == 1) & (value == 0), 0.0, probs)               # 0^0 is 1
        return value * (-failure).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
