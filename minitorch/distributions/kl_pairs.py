"""Divergences of distributions of two families: cross entropies less the entropy of the first.

A class `Moments` for each family on the left has the means that the logarithms of densities on the right are made of.
Where a mean does not exist, as for Pareto's distribution with a small `alpha`, it is infinite.
"""

import math

from .. import full_like, where
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

__all__: list = []


# ---- means of a function of x, for x of p ------------------------------------------------------------------
def mean_log(p):
    """The mean of ``log x``."""
    return MEAN_LOG[type_of(p, MEAN_LOG)](p)


def mean_exp(p, t):
    """The mean of ``exp(t x)``, for negative t: the moment generating function."""
    return MEAN_EXP[type_of(p, MEAN_EXP)](p, t)


def type_of(p, table):
    """The class of the table that p is of."""
    return next(cls for cls in table if isinstance(p, cls))


def x_log_x(x):
    return x.xlogy(x)


def uniform_mean_log(low, high):
    """The mean of ``log x`` for uniform x: ``(high log high - low log low) / (high - low) - 1``."""
    return (x_log_x(high) - x_log_x(low)) / (high - low) - 1


MEAN_LOG = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: uniform_mean_log(p.low, p.high),
}
MEAN_EXP = {
    Exponential: lambda p, t: p.rate / (p.rate - t),
    Gamma: lambda p, t: (1 - t / p.rate).pow(-p.concentration),
    Normal: lambda p, t: (p.loc * t + 0.5 * (p.scale * t).square()).exp(),
    Uniform: lambda p, t: ((p.high * t).exp() - (p.low * t).exp()) / (t * (p.high - p.low)),
}


# ---- cross entropies: the mean of -log q(x) for x of p ------------------------------------------------------
def with_normal(p, q):
    """``log(scale sqrt(2 pi)) + (variance + (mean - loc)^2) / (2 scale^2)``."""
    spread = p.variance + (p.mean - q.loc).square()
    return q.scale.log() + 0.5 * math.log(2 * math.pi) + spread / (2 * q.scale.square())


def with_exponential(p, q):
    return q.rate * p.mean - q.rate.log()


def with_gamma(p, q):
    return (q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log(p)
            + q.rate * p.mean)


def with_gumbel(p, q):
    """``log scale + z + exp(-z)`` on average, z being ``(x - loc) / scale``."""
    exponential = (q.loc / q.scale).exp() * mean_exp(p, -q.scale.reciprocal())
    return q.scale.log() + (p.mean - q.loc) / q.scale + exponential


def with_uniform(p, q):
    return (q.high - q.low).log()


def with_pareto(p, q):
    return (q.alpha + 1) * mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def with_continuous_bernoulli(p, q):
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def with_laplace(p, q):
    """The mean of ``|x - loc|`` for normal x, a folded normal number (F. Leone et al., 1961)."""
    off = p.loc - q.loc
    z = off / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * (-0.5 * z.square()).exp() + off * (z * math.sqrt(0.5)).erf()
    return (2 * q.scale).log() + distance / q.scale


def with_beta(p, q):
    """The mean for uniform x; ``1 - x`` is uniform too."""
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return log_beta - (a - 1) * mean_log(p) - (b - 1) * uniform_mean_log(1 - p.high, 1 - p.low)


# ---- where q lacks support ---------------------------------------------------------------------------------
def within_unit(p, q):
    """A uniform distribution p that reaches beyond [0, 1]."""
    return (p.low < 0) | (p.high > 1)


def covers_unit(p, q):
    """A uniform distribution q that does not cover [0, 1]."""
    return (q.low > 0) | (q.high < 1)


def below_zero(p, q):
    return p.low < 0


def below_scale(p, q):
    return p.low < q.scale


def heavier(n):
    """Where the n-th moment of Pareto's distribution is infinite."""
    return lambda p, q: p.alpha <= n


# ---- the pairs ---------------------------------------------------------------------------------------------
def enter(cls_p, cls_q, cross_entropy, lacks=None):
    @register_kl(cls_p, cls_q)
    def divergence(p, q):
        found = cross_entropy(p, q) - p.entropy()
        return found if lacks is None else where(lacks(p, q), math.inf, found)


PAIRS: list = [                                            # families on the left, on the right, cross entropy, lacks
    ((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform), Normal, with_normal, None),
    ((Beta, ContinuousBernoulli, Gamma), Exponential, with_exponential, None),
    ((Beta, Exponential), Gamma, with_gamma, None),
    ((Exponential, Gamma, Normal, Uniform), Gumbel, with_gumbel, None),
    ((Beta, ContinuousBernoulli), Uniform, with_uniform, covers_unit),
    ((Beta,), ContinuousBernoulli, with_continuous_bernoulli, None),
    ((Normal,), Laplace, with_laplace, None),
    ((Pareto,), Exponential, with_exponential, heavier(1)),
    ((Pareto,), Gamma, with_gamma, heavier(1)),
    ((Pareto,), Normal, with_normal, heavier(2)),
    ((Uniform,), Beta, with_beta, within_unit),
    ((Uniform,), ContinuousBernoulli, with_continuous_bernoulli, within_unit),
    ((Uniform,), Exponential, with_exponential, below_zero),
    ((Uniform,), Gamma, with_gamma, below_zero),
    ((Uniform,), Pareto, with_pareto, below_scale),
]
for _firsts, _second, _cross_entropy, _lacks in PAIRS:
    for _first in _firsts:
        enter(_first, _second, _cross_entropy, _lacks)


@register_kl(Bernoulli, Poisson)
def bernoulli_poisson(p, q):
    """The factorials of 0 and 1 are 1."""
    return q.rate - p.probs * q.rate.log() - p.entropy()


def infinite(p, q):
    """Infinity: p has values, with a probability above 0, that q has not."""
    return full_like(p.mean, math.inf)


BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
INFINITE: dict = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: BOUNDED, Gamma: BOUNDED,
    Gumbel: (*BOUNDED, Exponential, Gamma), Laplace: (*BOUNDED, Exponential, Gamma),
    Normal: (*BOUNDED, Exponential, Gamma), Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _first, _seconds in INFINITE.items():
    for _second in _seconds:
        register_kl(_first, _second)(infinite)
