"""Entropies and divergences of distributions, by differentiation, by integration and by enumeration."""

import numpy as np
import pytest

import minitorch as t
from minitorch import distributions as d
from minitorch.distributions.kl import _KL_REGISTRY
from tests.distributions.distribution_cases import DISTRIBUTIONS, made

f64 = t.float64


def x(values):
    return t.tensor(values, dtype=f64)


def case(name):
    return made(DISTRIBUTIONS[name], d, x)


# ---- entropies and divergences -----------------------------------------------------------------------------
def test_entropies_of_exponential_families():
    """By differentiation of the log normaliser, the same as by the formulas; with gradients."""
    for name in ("Bernoulli", "ContinuousBernoulli", "Exponential", "Gamma", "Normal"):
        p, given = case(name)
        by_normalizer = d.ExponentialFamily.entropy(p)
        t.testing.assert_close(by_normalizer, p.entropy())
        t.testing.assert_close(t.autograd.grad(by_normalizer.sum(), given[-1], retain_graph=True)[0],
                               t.autograd.grad(p.entropy().sum(), given[-1])[0])
    for logits in (-0.0004, 0.0, 0.0004, 0.3):             # about 0 the normaliser is a series
        p = d.ContinuousBernoulli(logits=x(logits))
        t.testing.assert_close(d.ExponentialFamily.entropy(p), p.entropy(), rtol=1e-6, atol=1e-8)
        assert p._log_normalizer(x(logits)).item() == pytest.approx(np.log(np.expm1(logits) / logits) if logits else 0)


NUMBERS = {"Beta": (2.0, 3.0), "ContinuousBernoulli": (0.3,), "Exponential": (2.0,), "Gamma": (2.5, 3.0),
           "Gumbel": (0.5, 0.7), "Laplace": (0.2, 0.6), "Normal": (0.3, 0.8), "Pareto": (0.5, 4.5),
           "Uniform": (0.1, 0.8), "Cauchy": (0.3, 0.8), "HalfNormal": (0.6,), "LogNormal": (0.2, 0.4)}
SECOND = {"Pareto": (0.05, 1.5), "Uniform": (-0.5, 1.5), "Cauchy": (0.0, 1.5), "HalfNormal": (1.1,),
          "Normal": (-0.2, 1.1), "LogNormal": (0.5, 0.7), "Laplace": (0.5, 1.2), "Gumbel": (0.0, 1.1),
          "Beta": (1.5, 1.2), "Gamma": (1.4, 2.0), "Exponential": (1.3,), "ContinuousBernoulli": (0.6,)}
PAIRS = sorted({(p.__name__, q.__name__) for p, q in _KL_REGISTRY if p.__name__ in NUMBERS and q.__name__ in NUMBERS})


@pytest.mark.parametrize("pair", [*PAIRS, ("LogNormal", "LogNormal")], ids="-".join)
def test_divergences_are_means_of_log_ratios(pair):
    """At the midpoints of 4,000 quantiles; infinite where p has quantiles that q has not."""
    special = pytest.importorskip("scipy.special")
    p = getattr(d, pair[0])(*[x(v) for v in NUMBERS[pair[0]]])
    q = getattr(d, pair[1])(*[x(v) for v in SECOND[pair[1]]], validate_args=False)
    u = (np.arange(4000) + 0.5) / 4000
    if pair[0] == "Beta":
        at = x(special.betaincinv(*NUMBERS["Beta"], u))
    elif pair[0] == "Gamma":
        at = x(special.gammaincinv(2.5, u) / 3.0)
    else:
        at = p.icdf(x(u))
    found = d.kl_divergence(p, q).item()
    inside = q.support.check(at).all()
    if not inside:
        assert found == np.inf
    else:
        wanted = (p.log_prob(at) - q.log_prob(at)).mean().item()
        assert found == pytest.approx(wanted, rel=0.03, abs=4e-3)


def test_divergences_of_discrete_distributions():
    for p, q in ((d.Bernoulli(x([0.2, 0.9])), d.Bernoulli(x([0.4, 0.6]))),
                 (d.Binomial(6, x(0.3)), d.Binomial(6, x(0.7))),
                 (d.Categorical(x([0.2, 0.5, 0.3])), d.Categorical(x([0.1, 0.2, 0.7]))),
                 (d.OneHotCategorical(x([0.2, 0.5, 0.3])), d.OneHotCategorical(x([0.1, 0.2, 0.7]))),
                 (d.Bernoulli(x(0.4)), d.Poisson(x(0.7)))):
        values = p.enumerate_support()
        t.testing.assert_close(p.log_prob(values).exp().sum(0), t.ones(p.batch_shape, dtype=f64))
        wanted = (p.log_prob(values).exp() * (p.log_prob(values) - q.log_prob(values))).sum(0)
        t.testing.assert_close(d.kl_divergence(p, q), wanted)
    for p, q in ((d.Geometric(x(0.4)), d.Geometric(x(0.3))), (d.Poisson(x(3.0)), d.Poisson(x(4.0)))):
        values = t.arange(120, dtype=f64)
        wanted = (p.log_prob(values).exp() * (p.log_prob(values) - q.log_prob(values))).sum()
        t.testing.assert_close(d.kl_divergence(p, q), wanted)
    found = d.kl_divergence(d.Bernoulli(x([0.0, 0.5, 1.0, 0.5])), d.Bernoulli(x([0.0, 0.0, 1.0, 1.0])))
    assert found.tolist() == [0, np.inf, 0, np.inf]


def test_divergences_of_normal_vectors():
    low, _ = case("LowRankMultivariateNormal")
    full, _ = case("MultivariateNormal")
    dense = d.MultivariateNormal(low.loc, low.covariance_matrix)
    for p, q in ((low, full), (full, low), (low, low.expand((3, 2)))):
        as_dense = [dense if v is low else d.MultivariateNormal(v.loc, v.covariance_matrix) for v in (p, q)]
        t.testing.assert_close(d.kl_divergence(p, q), d.kl_divergence(*as_dense))
    t.testing.assert_close(d.kl_divergence(low, dense), t.zeros(2, dtype=f64))
    scales = x([1.0, 2.0, 0.5])
    independent = d.Independent(d.Normal(x([0.0, 1.0, 2.0]), scales), 1)
    t.testing.assert_close(d.kl_divergence(independent, d.Independent(d.Normal(x([1.0, 1.0, 1.0]), x(1.0)), 1)),
                           d.kl_divergence(d.MultivariateNormal(x([0.0, 1.0, 2.0]), scales.square().diag()),
                                           d.MultivariateNormal(x([1.0, 1.0, 1.0]), t.eye(3, dtype=f64))))
    with pytest.raises(ValueError, match="different event shapes"):
        d.kl_divergence(full, d.MultivariateNormal(x([0.0]), x([[1.0]])))


def test_supports_that_do_not_cover():
    a, c = d.Beta(x(2.0), x(3.0)), d.ContinuousBernoulli(x(0.3))
    for p, q in ((d.Uniform(x(0.5), x(1.5)), a), (d.Uniform(x(-0.5), x(0.5)), a), (d.Uniform(x(0.5), x(1.5)), c),
                 (d.Uniform(x(-0.1), x(1.0)), d.Exponential(x(1.0))),
                 (d.Uniform(x(-0.1), x(1.0)), d.Gamma(x(1.0), x(1.0))),
                 (d.Uniform(x(0.9), x(2.0)), d.Pareto(x(1.0), x(1.0))), (a, d.Uniform(x(0.1), x(2.0))),
                 (a, d.Uniform(x(-1.0), x(0.9))), (d.Pareto(x(1.0), x(1.0)), d.Exponential(x(1.0))),
                 (d.Pareto(x(1.0), x(2.0)), d.Normal(x(1.0), x(1.0))),
                 (d.Pareto(x(0.5), x(1.0)), d.Pareto(x(1.0), x(1.0)))):
        assert d.kl_divergence(p, q).item() == np.inf
    for p, q in ((d.Uniform(x(0.0), x(1.0)), a), (d.Uniform(x(0.0), x(1.0)), c), (a, d.Uniform(x(0.0), x(1.0))),
                 (d.Uniform(x(0.0), x(1.0)), d.Exponential(x(1.0))),
                 (d.Uniform(x(1.0), x(2.0)), d.Pareto(x(1.0), x(1.0)))):
        assert 0 < d.kl_divergence(p, q).item() < np.inf


def test_a_closed_support_that_covers_is_no_reason_for_infinity():
    p = d.ContinuousBernoulli(x(0.3))
    t.testing.assert_close(d.kl_divergence(p, d.Uniform(x(0.0), x(1.0))), -p.entropy())


def test_registered_divergences_and_their_order():
    class Mine(d.Normal):
        pass

    class Other(d.Normal):
        pass

    try:
        d.register_kl(Mine, d.Normal)(lambda p, q: "left")
        d.register_kl(d.Normal, Other)(lambda p, q: "right")
        mine, other = Mine(0.0, 1.0), Other(0.0, 1.0)
        assert d.kl_divergence(mine, d.Normal(0.0, 1.0)) == "left"
        assert d.kl_divergence(d.Normal(0.0, 1.0), mine).item() == 0
        with pytest.warns(RuntimeWarning, match=r"Please register_kl\(Mine, Other\)"):
            assert d.kl_divergence(mine, other) == "left"
        d.register_kl(Mine, Other)(lambda p, q: "both")
        assert d.kl_divergence(mine, other) == "both"
    finally:
        for pair in list(_KL_REGISTRY):
            if {Mine, Other} & set(pair):
                del _KL_REGISTRY[pair]
    with pytest.raises(TypeError, match="type_q to be a Distribution subclass"):
        d.register_kl(d.Normal, 3)
    with pytest.raises(NotImplementedError, match="p type Normal and q type Categorical"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Categorical(x([0.5, 0.5])))


def test_formulas_of_divergences_for_other_bases():
    from minitorch.distributions import kl

    class Own:
        pass
    try:
        t.distributions.register_kl(Own, Own)(lambda p, q: t.tensor(0.25))
        assert t.distributions.kl_divergence(Own(), Own()).item() == 0.25
    finally:
        kl._KL_REGISTRY.pop((Own, Own))
    with pytest.raises(TypeError, match="type_p"):
        t.distributions.register_kl(1, Own)
