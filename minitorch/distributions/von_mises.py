"""Von Mises' distribution of angles."""

import math

from .. import Size, no_grad, rand, where, zeros
from ..special import i0e, i1e
from . import constraints
from .location_scale import Centred
from .utils import all_true, broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Centred):
    """Angles in [-pi, pi): density ``exp(concentration cos(x - loc)) / (2 pi I0(concentration))``.

    `loc` is the mean direction.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expands = ("loc", "concentration")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @lazy_property
    def variance(self):
        """The circular variance, from 0 to 1: 1 less the length of the mean of the points on the circle."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    @lazy_property
    def _proposal_r(self):
        """The parameter r of the wrapped Cauchy distribution from which is drawn, in float64."""
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k.square()).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho))

    def sample(self, sample_shape=Size()):
        """By rejection, in float64: D. Best and N. Fisher, "Efficient simulation of the von Mises distribution", 1979.
        """
        shape = self._extended_shape(sample_shape)
        loc, k, r = self.loc.double(), self.concentration.double(), self._proposal_r
        with no_grad():
            angle = zeros(shape, dtype=loc.dtype, device=loc.device)
            left = angle == 0
            while not all_true(~left):                    # all are drawn again, and those that are left are taken
                u1, u2, u3 = rand((3,) + shape, dtype=loc.dtype, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                left = left & ~accept
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value):
        off, k = self._checked(value) - self.loc, self.concentration
        return k * (off.cos() - 1) - math.log(2 * math.pi) - i0e(k).log()
