"""`TransformedDistribution`: what becomes of a distribution when its samples are transformed."""

from .. import Size, no_grad
from . import constraints
from .composed import ComposeTransform, Transform, of_dimension
from .distribution import Distribution
from .independent import Independent
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)``, x being of `base_distribution` and t the `transforms`, one or a list.

    Density ``p(x) / |dt/dx|`` at the x with ``t(x) = y``: invertible transforms only. The batch of the base is expanded
    where transforms have parameters of more dimensions; where they take events of more, it becomes part of the event.
    """

    arg_constraints: dict = {}
    _expands: tuple = ()

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all([isinstance(t, Transform) for t in self.transforms]):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        shape, own = base_distribution.batch_shape + base_distribution.event_shape, len(base_distribution.event_shape)
        taken, given = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < taken:
            raise ValueError(f"base_distribution needs to have shape with size at least {taken}, but got {shape}.")
        after = Size(whole.forward_shape(shape))
        before = Size(whole.inverse_shape(after))
        if before != shape:
            base_distribution = base_distribution.expand(before[:len(before) - own])
        self.base_dist = Independent(base_distribution, taken - own) if taken > own else base_distribution
        cut = len(after) - max(given, own + given - taken)
        super().__init__(after[:cut], after[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        shape = Size(batch_shape) + self.event_shape
        for t in reversed(self.transforms):
            shape = Size(t.inverse_shape(shape))
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        return of_dimension(last, max(len(self.event_shape), last.event_dim))

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _transformed(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape=Size()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=Size()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        y, total, ndim = self._checked(value), 0.0, len(self.event_shape)
        for t in reversed(self.transforms):
            x = t.inv(y)
            ndim += t.domain.event_dim - t.codomain.event_dim
            total = total - _sum_rightmost(t.log_abs_det_jacobian(x, y), ndim - t.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), ndim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """``1 - value`` where the transforms together fall."""
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
