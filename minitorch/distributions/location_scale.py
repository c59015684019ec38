"""The base of distributions whose parameters are a place and a width."""

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Centred", "LocationScale"]


class Centred(Distribution):
    """Base of distributions whose mean and mode are `loc`."""

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc


class LocationScale(Centred):
    """Base of distributions of numbers ``loc + scale * noise``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)
