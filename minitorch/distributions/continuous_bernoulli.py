"""The continuous Bernoulli distribution."""

import math

from .. import Size, rand, where
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ByProbabilities, all_true, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByProbabilities, ExponentialFamily):
    """Numbers in [0, 1] of density ``C(p) p^x (1-p)^(1-x)``, p being `probs`, or their log-odds `logits`.

    For p between `lims`, about 1/2, where formulas are 0/0, Taylor's series are taken. Source: G. Loaiza-Ganem and
    J. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("probs", "logits", "_param")
    _keeps = ("_lims",)

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not all_true(constraints.unit_interval.check(self.probs)):
                raise ValueError("The parameter probs has invalid values: expected numbers in [0, 1], got "
                                 f"{self.probs}")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self):
        """Probabilities, kept away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    # ---- the region about 1/2 ----------------------------------------------------------------------------
    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """`probs` where the formulas hold, elsewhere a number for which they hold."""
        return where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _chosen(self, formula, series):
        return where(self._outside_unstable_region(), formula, series)

    def _cont_bern_log_norm(self):
        """``log C(p) = log(2 artanh(1 - 2p) / (1 - 2p))``."""
        p = self._cut_probs()
        square = (self.probs - 0.5).square()
        formula = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        return self._chosen(formula, math.log(2.0) + (4 / 3 + 104 / 45 * square) * square)

    @property
    def mean(self):
        p, off = self._cut_probs(), self.probs - 0.5
        formula = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        return self._chosen(formula, 0.5 + (1 / 3 + 16 / 45 * off.square()) * off)

    @property
    def variance(self):
        p, square = self._cut_probs(), (self.probs - 0.5).square()
        formula = p * (p - 1.0) / (1.0 - 2.0 * p).square() + 1.0 / ((-p).log1p() - p.log()).square()
        return self._chosen(formula, 1 / 12 - (1 / 15 - 128 / 945 * square) * square)

    def sample(self, sample_shape=Size()):
        return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape=Size()):
        u = rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        value = self._checked(value)
        p = self._cut_probs()
        formula = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, self._chosen(formula, value)))

    def icdf(self, value):
        p = self._cut_probs()
        formula = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return self._chosen(formula, value)

    def entropy(self):
        failure, success = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failure - success) - self._cont_bern_log_norm() - failure

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """``log((exp(x) - 1) / x)``."""
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(stable, x, self._lims[0] - 0.5)
        formula = cut.expm1().abs().log() - cut.abs().log()
        return where(stable, formula, 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0)
