"""Distributions: SciPy's densities and quantiles, gradients of samples, transforms, vmap.

What PyTorch gives for the same seeds is in `recorded_cases.py`.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t
from minitorch import distributions as d
from minitorch.ops.elementwise import levels
from tests.distributions.distribution_cases import DISTRIBUTIONS, TRANSFORMS, made
from tests.helpers.pages import run_examples

f64 = t.float64
few = settings(max_examples=6, deadline=None, database=None, derandomize=True)


def x(values):
    return t.tensor(values, dtype=f64)


def case(name):
    return made(DISTRIBUTIONS[name], d, x)


def built(name, parameters):
    it = iter(parameters)
    return eval(DISTRIBUTIONS[name], {"d": d, "x": lambda _: next(it)})


# ---- beside SciPy ------------------------------------------------------------------------------------------
positive = st.floats(0.15, 8.0)
reals = st.floats(-3.0, 3.0)
unit = st.floats(0.03, 0.97)
FAMILIES = {                                               # ours, SciPy's, strategies of the parameters
    "Bernoulli": (d.Bernoulli, lambda s, p: s.bernoulli(p), [unit]),
    "Beta": (d.Beta, lambda s, a, b: s.beta(a, b), [positive, positive]),
    "Binomial": (lambda p: d.Binomial(13, p), lambda s, p: s.binom(13, p), [unit]),
    "Cauchy": (d.Cauchy, lambda s, m, c: s.cauchy(m, c), [reals, positive]),
    "Chi2": (d.Chi2, lambda s, n: s.chi2(n), [positive]),
    "Exponential": (d.Exponential, lambda s, r: s.expon(scale=1 / r), [positive]),
    "FisherSnedecor": (d.FisherSnedecor, lambda s, m, n: s.f(m, n), [positive, st.floats(4.5, 20.0)]),
    "Gamma": (d.Gamma, lambda s, a, r: s.gamma(a, scale=1 / r), [positive, positive]),
    "GeneralizedPareto": (d.GeneralizedPareto, lambda s, m, c, k: s.genpareto(k, m, c),
                          [reals, positive, st.sampled_from([-0.6, -0.1, 0.0, 0.2, 0.4])]),
    "Geometric": (d.Geometric, lambda s, p: s.geom(p, loc=-1), [unit]),
    "Gumbel": (d.Gumbel, lambda s, m, c: s.gumbel_r(m, c), [reals, positive]),
    "HalfCauchy": (d.HalfCauchy, lambda s, c: s.halfcauchy(scale=c), [positive]),
    "HalfNormal": (d.HalfNormal, lambda s, c: s.halfnorm(scale=c), [positive]),
    "InverseGamma": (d.InverseGamma, lambda s, a, r: s.invgamma(a, scale=r), [st.floats(2.2, 9.0), positive]),
    "Laplace": (d.Laplace, lambda s, m, c: s.laplace(m, c), [reals, positive]),
    "LogNormal": (d.LogNormal, lambda s, m, c: s.lognorm(c, scale=np.exp(m)), [reals, st.floats(0.1, 1.5)]),
    "NegativeBinomial": (d.NegativeBinomial, lambda s, n, p: s.nbinom(n, 1 - p), [positive, unit]),
    "Normal": (d.Normal, lambda s, m, c: s.norm(m, c), [reals, positive]),
    "Pareto": (d.Pareto, lambda s, c, a: s.pareto(a, scale=c), [positive, st.floats(2.2, 9.0)]),
    "Poisson": (d.Poisson, lambda s, r: s.poisson(r), [positive]),
    "StudentT": (d.StudentT, lambda s, n, m, c: s.t(n, m, c), [st.floats(2.2, 9.0), reals, positive]),
    "Uniform": (lambda m, c: d.Uniform(m, m + c), lambda s, m, c: s.uniform(m, c), [reals, positive]),
    "VonMises": (d.VonMises, lambda s, m, k: s.vonmises(k, m), [reals, positive]),
    "Weibull": (d.Weibull, lambda s, c, k: s.weibull_min(k, scale=c), [positive, st.floats(0.7, 8.0)]),
}
NO_MOMENTS = ("Cauchy", "HalfCauchy", "VonMises")          # VonMises: of angles, otherwise defined


@pytest.mark.parametrize("name", FAMILIES)
@given(data=st.data())
@few
def test_densities_quantiles_and_moments_are_scipys(name, data):
    stats = pytest.importorskip("scipy.stats")
    make, theirs, strategies = FAMILIES[name]
    parameters = [data.draw(s) for s in strategies]
    p, q = make(*[x(v) for v in parameters]), theirs(stats, *parameters)
    t.manual_seed(1)
    value = p.sample((5,))
    wanted = q.logpmf(value) if p.support.is_discrete else q.logpdf(value)
    np.testing.assert_allclose(p.log_prob(value), wanted, rtol=1e-7, atol=1e-7)
    for ours, other in ((p.cdf, q.cdf), (p.icdf, q.ppf)):
        at = value if ours == p.cdf else x([0.01, 0.3, 0.5, 0.9])
        try:
            found = ours(at)
        except NotImplementedError:
            continue
        np.testing.assert_allclose(found, other(np.array(at)), rtol=1e-7, atol=1e-9)
    if name not in NO_MOMENTS:
        np.testing.assert_allclose([p.mean, p.variance, p.stddev], [q.mean(), q.var(), q.std()], rtol=1e-6)
    try:
        np.testing.assert_allclose(p.entropy(), q.entropy(), rtol=1e-6, atol=1e-7)
    except NotImplementedError:
        pass
    except AssertionError:
        assert name in ("Geometric", "Poisson", "NegativeBinomial")    # SciPy adds up terms until they are small
        np.testing.assert_allclose(p.entropy(), q.entropy(), rtol=1e-3)


@pytest.mark.parametrize("name", ["Beta", "Gamma", "Gumbel", "Laplace", "StudentT", "VonMises", "Weibull", "Binomial"])
def test_samples_are_distributed_so(name):
    stats = pytest.importorskip("scipy.stats")
    make, theirs, strategies = FAMILIES[name]
    parameters = [{positive: 2.5, reals: 0.5, unit: 0.3}.get(s, 3.0) for s in strategies]
    t.manual_seed(0)
    found, q = make(*[x(v) for v in parameters]).sample((3000,)).numpy(), theirs(stats, *parameters)
    if name == "Binomial":
        assert abs(found.mean() - q.mean()) < 4 * q.std() / 3000**0.5
    else:
        assert stats.kstest(found, q.cdf).pvalue > 1e-3


def test_vectors_and_matrices_beside_scipy():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    factor, mean = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3), rng.normal(size=3)
    cov = factor @ factor.T
    at = rng.normal(size=(4, 3))
    q = stats.multivariate_normal(mean, cov)
    for p in (d.MultivariateNormal(x(mean), x(cov)), d.MultivariateNormal(x(mean), scale_tril=x(factor)),
              d.MultivariateNormal(x(mean), precision_matrix=x(np.linalg.inv(cov)))):
        np.testing.assert_allclose(p.log_prob(x(at)), q.logpdf(at), rtol=1e-9)
        np.testing.assert_allclose(p.entropy(), q.entropy())
        np.testing.assert_allclose(p.covariance_matrix, cov)
        np.testing.assert_allclose(p.precision_matrix @ x(cov), np.eye(3), atol=1e-9)
        np.testing.assert_allclose(p.scale_tril, factor, atol=1e-9)
    low, diagonal = rng.normal(size=(3, 2)), rng.uniform(0.5, 1, 3)
    p, q = d.LowRankMultivariateNormal(x(mean), x(low), x(diagonal)), stats.multivariate_normal(
        mean, low @ low.T + np.diag(diagonal))
    np.testing.assert_allclose(p.log_prob(x(at)), q.logpdf(at))
    np.testing.assert_allclose(p.scale_tril @ p.scale_tril.mT, p.covariance_matrix)
    np.testing.assert_allclose(p.precision_matrix @ p.covariance_matrix, np.eye(3), atol=1e-9)
    p, q = d.Wishart(x(5.5), x(cov)), stats.wishart(5.5, cov)
    value = p.sample()
    np.testing.assert_allclose(p.log_prob(value), q.logpdf(value.numpy()))
    np.testing.assert_allclose([*p.mean.flatten(), *p.variance.flatten()], [*q.mean().ravel(), *q.var().ravel()])
    np.testing.assert_allclose(p.entropy(), q.entropy())
    simplex = rng.dirichlet([1, 2, 3])
    p, q = d.Dirichlet(x([1, 2, 3])), stats.dirichlet([1, 2, 3])
    np.testing.assert_allclose(p.log_prob(x(simplex)), q.logpdf(simplex))
    counts, q = x([1, 2, 4]), stats.multinomial(7, [0.2, 0.3, 0.5])
    p = d.Multinomial(7, x([0.2, 0.3, 0.5]))
    np.testing.assert_allclose([p.log_prob(counts), p.entropy()], [q.logpmf([1, 2, 4]), q.entropy()])


# ---- gradients of samples ----------------------------------------------------------------------------------
@given(a=st.floats(-3, 4), u=st.floats(0.001, 0.999))
@settings(max_examples=40, deadline=None, database=None, derandomize=True)
def test_gamma_numbers_move_as_the_quantile_does(a, u):
    special = pytest.importorskip("scipy.special")
    a = 10.0**a if a < 3 else 3000.0
    at = special.gammaincinv(a, u)
    if at < 1e-250:
        return
    step = 1e-4 * a
    ends = [special.gammaincinv(a + k * step, u) for k in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
    found = t._standard_gamma_grad(x(a), x(at)).item()
    assert found == pytest.approx(wanted, rel=1e-5)


@given(a=st.floats(-1.5, 2.5), b=st.floats(-1.5, 2.5), u=st.floats(0.001, 0.999))
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
def test_beta_numbers_move_as_the_quantile_does(a, b, u):
    special = pytest.importorskip("scipy.special")
    a, b = 10.0**a, 10.0**b
    at = special.betaincinv(a, b, u)
    if not 1e-200 < at < 1 - 1e-9:
        return
    step = 1e-4 * a
    ends = [special.betaincinv(a + k * step, b, u) for k in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step) / (1 - at)
    found = t._dirichlet_grad(x(at), x(a), x(a + b)).item()
    assert found == pytest.approx(wanted, rel=1e-5)


def test_slopes_at_the_ends():
    nan = np.nan
    found = levels.gamma_slope(np, np.array([0.5, 2.0, -1.0, nan, 1e-3]), np.array([0.0, 1e-300, 1.0, 1.0, 700.0]))
    assert found[0] == 0 and 0 < found[1] < 1e-290 and np.isnan(found[2:4]).all() and found[4] > 0
    found = levels.beta_slope(np, np.array([0.0, 1.0, 1 - 2**-53, 0.5]), np.array([2.0, 2.0, 2.0, -1.0]),
                              np.array([5.0, 5.0, 5.0, 4.0]))
    assert found[0] == 0 and found[1] == pytest.approx(found[2]) and np.isnan(found[3])


@pytest.mark.parametrize("dtype", [t.float32, f64, t.float16, t.bfloat16])
def test_gamma_gradients_come_in_the_dtype_of_the_shapes(dtype):
    a = t.tensor([0.3, 2.0, 30.0], dtype=dtype, requires_grad=True)
    for draw in (t._standard_gamma, t._sample_dirichlet):
        out = draw(a)
        assert out.dtype is dtype
        g, = t.autograd.grad(out.sum() + out[0], a)
        assert g.dtype is dtype and g.isfinite().all()


def test_gamma_numbers_have_no_second_derivative():
    a = x([0.3, 2.0]).requires_grad_()
    g, = t.autograd.grad(t._standard_gamma(a).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        g.sum().backward()


@pytest.mark.parametrize("draw", [t._standard_gamma, t._sample_dirichlet], ids=["gamma", "dirichlet"])
def test_gamma_numbers_forwards_and_backwards(draw):
    a, direction, weights = x([[0.3, 2.0], [9.0, 0.8]]), x([[1.0, -0.5], [0.2, 2.0]]), x([[0.3, 1.0], [-1.0, 0.4]])
    t.manual_seed(6)
    _, forwards = t.func.jvp(draw, (a,), (direction,))
    t.manual_seed(6)
    backwards = t.func.grad(lambda a: (draw(a) * weights).sum())(a)
    t.testing.assert_close((forwards * weights).sum(), (backwards * direction).sum())


def test_generators_of_gamma_numbers():
    a = x([0.3, 2.0, 5.0])
    first, again = [draw(a, generator=t.Generator().manual_seed(3)) for draw in (t._standard_gamma, t._standard_gamma)]
    assert t.equal(first, again) and not t.equal(first, t._standard_gamma(a))
    with pytest.raises(NotImplementedError, match="floating-point"):
        t._standard_gamma(t.arange(3))


# Distributions whose samples move with shapes, as tested above, or which have none that are differentiable.
BY_LEVEL = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart",
            "OneHotCategoricalStraightThrough", "Normal of numbers")


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if case(name)[0].has_rsample
                                  and not name.startswith(BY_LEVEL)])
def test_gradients_of_samples_are_those_of_the_formula(name):
    """With the same random numbers, by finite differences."""
    p, given = case(name)
    t.manual_seed(2)
    sample = p.rsample((2,))
    weights = t.linspace(1, 2, sample.numel(), dtype=f64).reshape(sample.shape)
    found = t.autograd.grad((sample * weights).sum(), given, allow_unused=True)
    for i, g in enumerate(found):
        if g is None:
            continue
        direction = t.linspace(1, 2, g.numel(), dtype=f64).reshape(g.shape)
        if g.dim() > 1 and g.shape[-1] == g.shape[-2]:
            direction = direction.tril() if "factors" in name else direction + direction.mT
        ends = []
        for step in (1e-6, -1e-6):
            made_of = [v.detach() + step * direction if j == i else v.detach() for j, v in enumerate(given)]
            t.manual_seed(2)
            ends.append((built(name, made_of).rsample((2,)) * weights).sum().item())
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx((g * direction).sum().item(), rel=2e-5, abs=2e-5)


def test_an_exponential_tail_has_gradients_for_its_concentration():
    """At 0, between heavy and bounded tails, where formulas are 0/0."""
    def at(c, value):
        p = d.GeneralizedPareto(x([0.5]), x([2.0]), c)
        return p.icdf(value / 3), p.log_prob(value), p.cdf(value)
    value = x([0.6, 1.5, 2.9])
    for level in (0.0, 1e-9, -1e-6, 3e-5, 0.1):
        c = x([level]).requires_grad_()
        for i, found in enumerate(at(c, value)):
            g, = t.autograd.grad(found.sum(), c, retain_graph=True)
            ends = [at(x([level + step]), value)[i].sum().item() for step in (2e-5, -2e-5)]
            assert g.item() == pytest.approx((ends[0] - ends[1]) / 4e-5, rel=1e-5)
    assert d.GeneralizedPareto(0.0, 1.0, x([0.0, 0.5, -0.5])).icdf(x(1.0)).tolist() == [np.inf, np.inf, 2.0]


# ---- transforms --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", TRANSFORMS)
def test_volumes_are_determinants_of_the_jacobian(name):
    text, shape = TRANSFORMS[name]
    transform, _ = made(text, d, x)
    t.manual_seed(3)
    value = t.rand(shape, dtype=f64) if name == "PowerTransform" else t.randn(shape, dtype=f64)
    y = transform(value)
    assert tuple(transform.forward_shape(shape)) == tuple(y.shape)
    assert tuple(transform.inverse_shape(tuple(y.shape))) == shape
    if not (name.startswith(("Cat", "Stack")) or name == "PositiveDefiniteTransform"):
        assert transform.codomain.check(y).all()
    back = transform.inv(y)
    if transform.bijective or name in ("LowerCholeskyTransform",):
        t.testing.assert_close(transform(back), y)
    if not transform.bijective:
        return
    t.testing.assert_close(back, value)
    found = transform.log_abs_det_jacobian(value, y)
    n = transform.domain.event_dim
    if "CorrCholeskyTransform" in text:
        def flat(v):
            return d.utils.tril_matrix_to_vec(transform(v), diag=-1)
    elif transform.codomain.event_dim and "ReshapeTransform" not in text and y.shape != value.shape:
        def flat(v):
            return transform(v)[..., :-1]
    else:
        flat = transform
    rows = value.reshape(-1, *shape[len(shape) - n:]) if n else None
    if n:
        wanted = t.stack([t.linalg.slogdet(t.autograd.functional.jacobian(flat, r).reshape(r.numel(), -1)).logabsdet
                          for r in rows])
        t.testing.assert_close(found.reshape(-1), wanted)
    else:
        inner = value.clone().requires_grad_()
        slope, = t.autograd.grad(transform(inner).sum(), inner)
        t.testing.assert_close(found.expand(shape), slope.abs().log())
        if not name.startswith(("Cat", "Stack")):
            assert (slope * transform.sign > 0).all()


def test_caches_equality_and_copies_of_transforms():
    for text, shape in TRANSFORMS.values():
        transform, _ = made(text, d, x)
        cached = transform.with_cache()
        assert cached.with_cache() is cached and transform.with_cache(0) is transform
        assert transform.inv.inv is transform and transform.inv == transform.inv
        value = t.rand(shape, dtype=f64)
        y = cached(value)
        if transform is not d.identity_transform:
            assert cached.inv(y) is value and cached(value) is y
        again = pickle.loads(pickle.dumps(transform)) if "CumulativeD" not in text else copy.deepcopy(transform)
        t.testing.assert_close(again(value), transform(value))
    assert d.ExpTransform() == d.ExpTransform() != d.TanhTransform()
    assert d.AffineTransform(0.0, 2.0) == d.AffineTransform(0, 2) != d.AffineTransform(0, x(3.0))
    assert d.ExpTransform().inv != d.ExpTransform()

    class Half(d.Transform):
        bijective, domain, codomain = True, d.constraints.real, d.constraints.real

        def __init__(self, by):
            super().__init__()
            self.by = by
    with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
        Half(2).with_cache()


@pytest.mark.parametrize("name", [
    "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "real_vector", "positive_definite",
    "corr_cholesky", "less_than(-2.0)", "interval(-1.0, 3.0)", "greater_than(x(2.0))", "independent(c.positive, 1)",
    "cat([c.positive, c.real], -1, [2, 1])", "stack([c.positive, c.real, c.unit_interval], -1)"])
def test_registries_lead_to_their_constraint(name):
    constraint = eval("c." + name, {"c": d.constraints, "x": x})
    for registry in (d.biject_to, d.transform_to):
        try:
            transform = registry(constraint)
        except NotImplementedError:
            assert registry is d.biject_to and name in ("lower_cholesky", "positive_definite")
            continue
        assert constraint.check(transform(t.randn(2, 3, 3, dtype=f64))).all()


# ---- how they combine --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != "Normal of numbers"])
def test_expand_vmap_and_forward_mode(name):
    given = [g.detach() for g in case(name)[1]]
    p = built(name, given)
    t.manual_seed(0)
    value = p.sample()
    wide = p.expand((2, *p.batch_shape))
    assert wide.sample((3,)).shape == (3, 2, *p.batch_shape, *p.event_shape)
    t.testing.assert_close(wide.log_prob(value), p.log_prob(value).expand(wide.batch_shape))
    if not name.startswith(("LKJ", "Logistic", "Relaxed", "Transformed")):
        assert t.allclose(wide.mean, p.mean, equal_nan=True)
    assert type(pickle.loads(pickle.dumps(copy.deepcopy(wide)))) is type(p)

    def density(*parameters):
        return built(name, parameters).log_prob(value)
    batch = [t.stack([g, g]) for g in given]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)        # of elements that are computed one by one
        found = t.vmap(density)(*batch)
        drawn = t.vmap(lambda *v: built(name, v).sample(), randomness="different")(*batch)
    t.testing.assert_close(found[1], p.log_prob(value))
    assert drawn.shape == (2, *value.shape)
    tangents = [t.full_like(g, 1e-3) if g.dim() < 2 else g * 1e-3 for g in given]
    try:
        _, slope = t.func.jvp(density, tuple(given), tuple(tangents))
    except NotImplementedError:
        return
    live = [g.clone().requires_grad_() for g in given]
    by_backward = t.autograd.grad(density(*live).sum(), live, allow_unused=True)
    wanted = sum((g * v).sum() for g, v in zip(by_backward, tangents) if g is not None)
    t.testing.assert_close(slope.sum(), wanted)


def test_validation_looks_at_all_elements_of_a_vmap():
    with pytest.raises(ValueError, match="Expected parameter scale"):
        t.vmap(lambda s: d.Normal(0.0, s).log_prob(t.zeros(())))(t.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"within the support \(GreaterThanEq\(lower_bound=0.0\)\)"):
        t.vmap(lambda v: d.Exponential(1.0).log_prob(v))(t.tensor([1.0, -1.0]))


def test_validation():
    with pytest.raises(ValueError, match=r"parameter scale .* distribution Normal\(loc: 0.0, scale: -1.0\) to satisfy"):
        d.Normal(0.0, -1.0)
    d.Normal(0.0, -1.0, validate_args=False)
    p = d.Normal(t.zeros(2, 3), 1.0)
    with pytest.raises(ValueError, match="not broadcastable"):
        p.log_prob(t.zeros(4))
    with pytest.raises(ValueError, match="must be a Tensor, got float"):
        p.log_prob(1.0)
    with pytest.raises(ValueError, match="must match event_shape"):
        d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2)
    try:
        d.Distribution.set_default_validate_args(False)
        assert d.Exponential(-1.0).log_prob(t.tensor(-1.0)).isnan()
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        d.Distribution.set_default_validate_args("no")

    class Bare(d.Distribution):
        pass
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare._validate_sample(t.zeros(()))
    for what in (bare.sample, bare.entropy, lambda: bare.mean, lambda: bare.mode, lambda: bare.expand((2,)),
                 lambda: bare.cdf(t.zeros(())), lambda: bare.enumerate_support()):
        with pytest.raises(NotImplementedError):
            what()


def test_subclasses_that_make_their_own():
    class Shifted(d.Normal):
        def __init__(self, loc, scale, by):
            super().__init__(loc + by, scale)
            self.by = by

    p = Shifted(t.zeros(2), 1.0, 3.0)
    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        p.expand((4, 2))

    class Expanding(Shifted):
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Expanding, _instance)
            new.by = self.by
            return super().expand(batch_shape, _instance=new)
    q = Expanding(t.zeros(2), 1.0, 3.0).expand((4, 2))
    assert type(q) is Expanding and q.by == 3.0 and q.loc.shape == (4, 2)


def test_samples_have_no_gradient_and_rsamples_do():
    for name in DISTRIBUTIONS:
        p, given = case(name)
        if not given:
            continue
        assert not p.sample().requires_grad, name
        if p.has_rsample:
            assert p.rsample().requires_grad, name
            with t.no_grad():
                assert not p.rsample().requires_grad


def test_a_mixture_whose_weights_are_shared_by_the_batch():
    p = d.MixtureSameFamily(d.Categorical(x([0.2, 0.8])), d.Normal(x([[0.0, 100.0], [5.0, 200.0]]), x(1.0)))
    found = p.sample((500,))
    assert found.shape == (500, 2)
    share = (found > 50).double().mean(0)
    assert ((share - 0.8).abs() < 0.08).all()
    t.testing.assert_close(p.mean, x([80.0, 161.0]))
    t.testing.assert_close(p.cdf(x([50.0, 50.0])), x([0.2, 0.2]))


def test_an_affine_transform_of_vectors_with_one_scale():
    """The scale holds for each coordinate: the volume grows with its power."""
    stretch = d.AffineTransform(0.0, t.tensor(2.0), event_dim=1)
    p = d.TransformedDistribution(d.Independent(d.Normal(t.zeros(3), 1.0), 1), stretch)
    t.testing.assert_close(p.log_prob(t.ones(3)), d.Normal(t.zeros(3), 2.0).log_prob(t.ones(3)).sum())


def test_a_logistic_normal_of_numbers_has_two_coordinates():
    assert d.LogisticNormal(0.0, 1.0).sample((4,)).shape == (4, 2)
    assert d.LogisticNormal(0.0, 1.0).loc.shape == (1,)


def test_singular_samples_are_drawn_again(monkeypatch):
    p = d.Wishart(x([3.0, 4.0]), t.eye(2, dtype=f64))
    whole, broken = t.eye(2, dtype=f64).expand(3, 2, 2, 2), t.zeros(3, 2, 2, 2, dtype=f64)
    half = t.where(t.arange(3)[:, None, None, None] == 1, 2 * whole, broken)
    draws = [broken, broken, half, 3 * whole, 4 * whole]
    monkeypatch.setattr(p, "_bartlett_sampling", lambda sample_shape: draws.pop(0), raising=False)
    with pytest.warns(UserWarning, match="Singular"):
        found = p.rsample((3,))
    assert found[:, 0, 0, 0].tolist() == [3, 2, 3] and len(draws) == 1


def test_integers_below_a_bound():
    assert d.constraints._IntegerLessThan(3).check(x([3.0, 2.5, -4.0, 4.0])).tolist() == [True, False, True, False]


def test_triangles_and_vectors():
    for n, diag in ((1, 0), (3, 0), (4, -1), (5, -2)):
        k = (n + diag) * (n + diag + 1) // 2
        vec = t.arange(1.0, 2 * k + 1).reshape(2, k).requires_grad_()
        mat = d.utils.vec_to_tril_matrix(vec, diag)
        assert mat.shape == (2, n, n) and t.equal(mat.tril(diag), mat)
        assert t.equal(d.utils.tril_matrix_to_vec(mat, diag), vec)
        assert t.equal(t.autograd.grad(mat.sum(), vec)[0], t.ones(2, k))
    with pytest.raises(ValueError, match="cannot be expressed"):
        d.utils.vec_to_tril_matrix(t.ones(4))
    with pytest.raises(ValueError, match="outside"):
        d.utils.tril_matrix_to_vec(t.ones(2, 2), 2)


def test_the_page_of_distributions():
    assert run_examples("distributions.md") == 16


@pytest.mark.parametrize("alpha", [0.5, 1.5, 4.0])
def test_gamma_has_its_distribution(alpha):
    t.manual_seed(3)
    x = t.distributions.Gamma(t.tensor(alpha), t.tensor(1.0)).sample((20000,)).double().sort().values
    below = t.special.gammainc(t.tensor(alpha, dtype=t.float64), x)
    distance = (below - t.linspace(0, 1, 20000, dtype=t.float64)).abs().max()
    assert distance < 1.63 / 20000 ** 0.5                  # Kolmogorov's, at 1 %
