"""The half-Cauchy distribution."""

import math

from .. import full_like
from .cauchy import Cauchy
from .half_normal import Half

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute values of Cauchy numbers about 0, of the given `scale`. Its mean is infinite."""

    _expands = ()

    def __init__(self, scale, validate_args=None):
        self._take(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return full_like(self.scale, math.inf)

    @property
    def variance(self):
        return self.base_dist.variance
