"""Transforms of numbers: each element of a tensor by itself."""

import math

from .. import broadcast_shapes, finfo, full_like
from ..nn.functional import softplus
from . import constraints
from .composed import Alike, Transform, of_dimension
from .utils import _sum_rightmost, broadcast_all, is_number, lazy_property

__all__ = ["AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
           "SigmoidTransform", "SoftplusTransform", "TanhTransform", "unit"]


class Increasing(Alike):
    """Base of transforms of all real numbers that grow with them."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(Increasing):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """``x^exponent``."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _fields = ("exponent",)

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and self.exponent.eq(other.exponent).all().item()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def unit(y):
    """Numbers of the unit interval kept away from its ends."""
    limits = finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x):
    """``1 / (1 + exp(-x))``, kept away from 0 and 1."""
    return unit(x.sigmoid())


class SigmoidTransform(Increasing):
    """``1 / (1 + exp(-x))``, kept away from 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Increasing):
    """``log(1 + exp(x))``; linear above 20."""

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(Increasing):
    """``tanh(x)``. It is better composed of affine and sigmoid transforms where y comes near -1 or 1."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        """``log(1 - tanh(x)^2)``, without cancellation."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Alike):
    """``|x|``, whose inverse takes the positive number."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """``loc + scale * x``, numbers or tensors, on events of `event_dim` dimensions (0: numbers, 1: vectors ...)."""

    bijective = True
    _fields = ("loc", "scale", "event_dim")

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return of_dimension(constraints.real, self.event_dim)

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    @property
    def sign(self):
        if is_number(self.scale):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if is_number(self.scale):
            found = full_like(x, math.log(abs(self.scale)))
        else:
            found = self.scale.abs().log()
            if self.event_dim:                             # a scale of fewer dimensions holds for the whole event
                found = found.expand(broadcast_shapes(found.shape, x.shape[x.dim() - self.event_dim:]))
        return _sum_rightmost(found, self.event_dim).expand(x.shape[:x.dim() - self.event_dim])

    def forward_shape(self, shape):
        return broadcast_shapes(shape, *[getattr(p, "shape", ()) for p in (self.loc, self.scale)])

    inverse_shape = forward_shape


def same(a, b):
    """True if two parameters, numbers or tensors, are equal."""
    if is_number(a) and is_number(b):
        return a == b
    return (a == b).all().item()


class CumulativeDistributionTransform(Transform):
    """The `cdf` of a distribution of numbers, whose inverse is its `icdf`."""

    codomain = constraints.unit_interval
    bijective = True
    sign = +1
    _fields = ("distribution",)

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
