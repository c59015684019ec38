"""Divergences of two distributions of the same family."""

import math

from .. import broadcast_shapes, where
from ..linalg import solve_triangular
from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, all_true, euler_constant

__all__: list = []


# ---- distributions made of others --------------------------------------------------------------------------
@register_kl(Independent, Independent)
def independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(f"KL of Independent distributions with {p.reinterpreted_batch_ndims} and "
                                  f"{q.reinterpreted_batch_ndims} reinterpreted dimensions")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def transformed(p, q):
    """An invertible transform that both share changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of transformed distributions is implemented for equal transforms and event "
                                  f"shapes, got {p.transforms} and {q.transforms}, {p.event_shape} and {q.event_shape}")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def half_normal(p, q):
    """Both are folded at the same place, where both are symmetric."""
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def one_hot(p, q):
    return kl_divergence(p._categorical, q._categorical)


# ---- exponential families ----------------------------------------------------------------------------------
@register_kl(ExponentialFamily, ExponentialFamily)
def exponential_family(p, q):
    """``F(q) - F(p) - <q - p, gradient of F at p>`` in natural parameters: a Bregman divergence."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
                                  "using Bregman divergences")
    params, normalizer, means = p._expectations()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for ours, theirs, mean in zip(params, others, means):
        term = (theirs - ours) * mean
        result = result - _sum_rightmost(term, term.dim() - max(len(p.batch_shape), len(q.batch_shape)))
    return result


@register_kl(Normal, Normal)
def normal(p, q):
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Exponential, Exponential)
def exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Dirichlet, Dirichlet)
def dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    means = a.digamma() - total.digamma().unsqueeze(-1)    # of the logarithms of the coordinates
    return total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + ((a - b) * means).sum(-1)


@register_kl(Beta, Beta)
def beta(p, q):
    return dirichlet(p._dirichlet, q._dirichlet)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def continuous_bernoulli(p, q):
    def norm(x):
        return x._cont_bern_log_norm() + (-x.probs).log1p()
    return p.mean * (p.logits - q.logits) + norm(p) - norm(q)


# ---- discrete ----------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def bernoulli(p, q):
    one = outcome(p.probs, q.probs, softplus(-q.logits) - softplus(-p.logits))
    return one + outcome(1 - p.probs, 1 - q.probs, softplus(q.logits) - softplus(p.logits))


def outcome(p, q, log_ratio):
    """The term of one outcome with the probabilities `p` and `q`: none where p is 0, infinite where only q is."""
    return where(p == 0, 0.0, where(q == 0, math.inf, p * log_ratio))


@register_kl(Categorical, Categorical)
def categorical(p, q):
    return outcome(p.probs, q.probs, p.logits - q.logits).sum(-1)


@register_kl(Binomial, Binomial)
def binomial(p, q):
    """Infinite where p has more trials."""
    if not all_true(p.total_count >= q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return where(p.total_count > q.total_count, math.inf, found)


@register_kl(Geometric, Geometric)
def geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---- of location and scale ---------------------------------------------------------------------------------
@register_kl(Cauchy, Cauchy)
def cauchy(p, q):
    """F. Chyzak and F. Nielsen, "A closed-form formula for the divergence between Cauchy distributions", 2019."""
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


@register_kl(Laplace, Laplace)
def laplace(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-off / p.scale).exp() + off / q.scale - ratio.log() - 1


@register_kl(Gumbel, Gumbel)
def gumbel(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return ((1 + ratio).lgamma() - off).exp() + off + ratio * euler_constant - ratio.log() - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def pareto(p, q):
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, found)


@register_kl(Uniform, Uniform)
def uniform(p, q):
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, found)


# ---- normal vectors ----------------------------------------------------------------------------------------
class Covariances:
    """A normal distribution of vectors by what its divergences need: log determinants, distances, traces."""

    def __init__(self, distribution):
        self.low = isinstance(distribution, LowRankMultivariateNormal)
        self.d = distribution

    def log_det(self):
        d = self.d
        if self.low:
            return _batch_lowrank_logdet(*d._low_rank, d._capacitance_tril)
        return 2 * half_log_det(d._unbroadcasted_scale_tril)

    def distance(self, x):
        """``x^T C^-1 x``."""
        d = self.d
        if self.low:
            return _batch_lowrank_mahalanobis(*d._low_rank, x, d._capacitance_tril)
        return _batch_mahalanobis(d._unbroadcasted_scale_tril, x)

    def factors(self):
        """Matrices A with ``C = sum of A A^T``."""
        if self.low:
            W, D = self.d._low_rank
            return [W, D.sqrt().diag_embed()]
        return [self.d._unbroadcasted_scale_tril]

    def trace_of_inverse_times(self, A):
        """``trace(C^-1 A A^T)``, which is the sum of `distance` over the columns of A."""
        if not self.low:
            L = self.d._unbroadcasted_scale_tril
            batch = broadcast_shapes(L.shape[:-2], A.shape[:-2])
            whitened = solve_triangular(L.expand(batch + L.shape[-2:]), A.expand(batch + A.shape[-2:]), upper=False)
            return whitened.square().sum((-2, -1))
        W, D = self.d._low_rank
        inner = W.mT @ (A / D.unsqueeze(-1))
        batch = broadcast_shapes(self.d._capacitance_tril.shape[:-2], inner.shape[:-2])
        factor = self.d._capacitance_tril.expand(batch + inner.shape[-2:-1] * 2)
        off = solve_triangular(factor, inner.expand(batch + inner.shape[-2:]), upper=False)
        return (A.square() / D.unsqueeze(-1)).sum((-2, -1)) - off.square().sum((-2, -1))


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def multivariate_normal(p, q):
    """``(log det Q / det P + trace(Q^-1 P) + distance of the means - n) / 2``."""
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot "
                         f"be computed: {p.event_shape} and {q.event_shape}")
    of_p, of_q = Covariances(p), Covariances(q)
    trace = sum(of_q.trace_of_inverse_times(A) for A in of_p.factors())
    return 0.5 * (of_q.log_det() - of_p.log_det() + trace + of_q.distance(q.loc - p.loc) - p.event_shape[0])
