"""Distributions, transforms and divergences beside PyTorch's: the same seeds, samples, densities and gradients."""

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import minitorch  # noqa: E402
from tests.distributions.distribution_cases import BAD, CHECKS, DISTRIBUTIONS, TRANSFORMS, made  # noqa: E402

OURS, THEIRS = minitorch.distributions, torch.distributions
LOOSE = 1e-4                                               # PyTorch's gradients of gamma numbers are approximations


def both(text):
    mine = made(text, OURS, lambda v: minitorch.tensor(v, dtype=minitorch.float64))
    theirs = made(text, THEIRS, lambda v: torch.tensor(v, dtype=torch.float64))
    return mine, theirs


def numbers(x):
    return np.asarray(x.detach().tolist(), dtype=np.float64 if x.dtype not in (torch.bool, minitorch.bool) else bool)


def close(mine, theirs, rtol=1e-9, what=""):
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert str(mine.dtype) == str(theirs.dtype), what
    np.testing.assert_allclose(numbers(mine), numbers(theirs), rtol=rtol, atol=rtol, err_msg=what)


def outcome(function):
    """A result, or the class of the error."""
    try:
        return function()
    except (NotImplementedError, ValueError, AttributeError, AssertionError, RuntimeError, TypeError) as error:
        return type(error)


def compare(mine, theirs, function, rtol=1e-9, what=""):
    a, b = outcome(lambda: function(mine)), outcome(lambda: function(theirs))
    if isinstance(a, type) or isinstance(b, type):
        assert a is b, (what, a, b)
    elif isinstance(a, (bool, int, str, tuple)):
        assert a == b, what
    else:
        close(a, b, rtol, what)
    return a, b


def compare_gradients(a, b, given, rtol, what):
    assert a.requires_grad == b.requires_grad, what
    if not a.requires_grad:
        return
    weights = np.cos(np.arange(numbers(a).size)).reshape(a.shape)
    mine = minitorch.autograd.grad(a, given[0], minitorch.tensor(weights), allow_unused=True, retain_graph=True)
    try:
        theirs = torch.autograd.grad(b, given[1], torch.tensor(weights), allow_unused=True, retain_graph=True)
    except RuntimeError as error:                          # PyTorch's Wishart writes to a mask that it has saved
        assert "inplace operation" in str(error) and "Wishart" in what
        return
    for g, h in zip(mine, theirs):
        assert (g is None) == (h is None), what
        if g is not None:
            close(g, h, rtol, "gradient of " + what)


@pytest.fixture(autouse=True)
def default_dtype(request):
    """Float64 for the one distribution that mixes its parameters with a number of the default dtype in PyTorch."""
    if "GeneralizedPareto" in request.node.name:
        torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name, recwarn):
    (mine, given), (theirs, others) = both(DISTRIBUTIONS[name])
    given = given, others
    assert repr(mine) == repr(theirs).replace("torch.float64", "torch.float64")
    for attribute in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support"):
        assert getattr(mine, attribute) == getattr(theirs, attribute), attribute
    assert repr(mine.support).split("(")[0] == repr(theirs.support).split("(")[0]
    for attribute in ("mean", "mode", "variance", "stddev"):
        a, b = compare(mine, theirs, lambda p, attribute=attribute: getattr(p, attribute), 1e-6, attribute)
        if not isinstance(a, type) and np.isfinite(numbers(b)).all() and attribute != "mode":
            compare_gradients(a, b, given, 1e-6, attribute)
    for what in ("entropy", "perplexity"):
        compare(mine, theirs, lambda p, what=what: getattr(p, what)(), 1e-6, what)
    for expand in (True, False):
        compare(mine, theirs, lambda p, expand=expand: p.enumerate_support(expand), what="enumerate_support")
    loose = LOOSE if mine.has_rsample else 1e-9
    for shape in ((), (3,), (2, 2)):
        for draw in ("sample", "rsample"):
            minitorch.manual_seed(3)
            torch.manual_seed(3)
            a, b = compare(mine, theirs, lambda p, draw=draw, shape=shape: getattr(p, draw)(shape), 1e-6, draw)
            one = [lib.rand(1, dtype=lib.float32).item() for lib in (minitorch, torch)]
            assert one[0] == one[1], "the generators have come apart"
            if not isinstance(a, type):
                compare_gradients(a, b, given, loose, f"{draw} of {name}")
    minitorch.manual_seed(4)
    value = mine.sample((2,))
    other = torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).split(".")[1]))
    a, b = outcome(lambda: mine.log_prob(value)), outcome(lambda: theirs.log_prob(other))
    close(a, b, 1e-6, "log_prob")
    compare_gradients(a, b, given, 1e-5, "log_prob")
    pair = {id(mine): value, id(theirs): other}
    a, b = compare(mine, theirs, lambda p: p.cdf(pair[id(p)]), 1e-7, "cdf")
    levels = {id(mine): minitorch.full(mine.batch_shape, 0.3, dtype=minitorch.float64),
              id(theirs): torch.full(mine.batch_shape, 0.3, dtype=torch.float64)}
    compare(mine, theirs, lambda p: p.icdf(levels[id(p)]), 1e-7, "icdf")


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_expand(name, recwarn):
    (mine, _), (theirs, _) = both(DISTRIBUTIONS[name])
    shape = (2, *mine.batch_shape)
    if name == "VonMises":
        theirs = THEIRS.VonMises(theirs.loc.expand(shape), theirs.concentration.expand(shape))
    else:
        theirs = theirs.expand(shape)
    mine = mine.expand(shape)
    assert mine.batch_shape == theirs.batch_shape and mine.event_shape == theirs.event_shape
    minitorch.manual_seed(3)
    torch.manual_seed(3)
    a, b = compare(mine, theirs, lambda p: p.sample((2,)), 1e-6, "sample")
    close(mine.log_prob(a), theirs.log_prob(torch.tensor(a.tolist(), dtype=b.dtype)), 1e-6, "log_prob")
    compare(mine, theirs, lambda p: p.mean, 1e-6, "mean")
    compare(mine, theirs, lambda p: p.variance, 1e-6, "variance")
    if name != "Multinomial" and name != "Multinomial logits":               # lacks an attribute in PyTorch
        compare(mine, theirs, lambda p: p.entropy(), 1e-6, "entropy")


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    text, shape = TRANSFORMS[name]
    (mine, given), (theirs, others) = both(text)
    array = np.random.default_rng(0).normal(size=shape)
    if name == "PowerTransform":
        array = np.abs(array)
    x, z = minitorch.tensor(array).requires_grad_(), torch.tensor(array).requires_grad_()
    given = [x, *given], [z, *others]
    y, w = mine(x), theirs(z)
    close(y, w, 1e-12, "value")
    compare_gradients(y, w, given, 1e-10, "value")
    compare({"t": mine, "x": x, "y": y}, {"t": theirs, "x": z, "y": w},
            lambda c: c["t"].log_abs_det_jacobian(c["x"], c["y"]), 1e-9, "volume")
    compare({"t": mine, "y": y}, {"t": theirs, "y": w}, lambda c: c["t"].inv(c["y"]), 1e-9, "inverse")
    for function in (lambda t: repr(t), lambda t: t.bijective, lambda t: t.event_dim, lambda t: t.domain.event_dim,
                     lambda t: t.codomain.event_dim, lambda t: repr(t.domain), lambda t: repr(t.codomain),
                     lambda t: tuple(t.forward_shape(shape)), lambda t: tuple(t.inverse_shape(tuple(w.shape))),
                     lambda t: t.domain.is_discrete):
        compare(mine, theirs, function)
    assert mine == mine.with_cache(0) and (mine == mine.with_cache(1)) == (theirs == theirs.with_cache(1))
    cached = mine.with_cache()
    assert cached.inv(cached(x)) is x or name == "identity_transform"


def test_divergences_are_registered_for_the_same_pairs():
    from minitorch.distributions.kl import _KL_REGISTRY
    ours = {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}
    assert ours == {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}


PAIRS = {
    "Bernoulli": "d.Bernoulli(x([[0.2, 0.5], [0.0, 1.0]]))", "Beta": "d.Beta(x([0.5, 2.0]), x([0.7, 3.0]))",
    "Binomial": "d.Binomial(6, x([0.2, 0.9]))", "Categorical": "d.Categorical(x([[0.2, 0.5, 0.3], [1.0, 2.0, 0.0]]))",
    "Cauchy": "d.Cauchy(x([0.0, 1.0]), x([1.0, 0.3]))", "ContinuousBernoulli": "d.ContinuousBernoulli(x([0.2, 0.9]))",
    "Dirichlet": "d.Dirichlet(x([[0.5, 2.0, 7.0], [3.0, 1.5, 1.2]]))", "Exponential": "d.Exponential(x([0.5, 3.0]))",
    "Gamma": "d.Gamma(x([0.5, 2.0]), x([0.7, 3.0]))", "Geometric": "d.Geometric(x([0.2, 0.5]))",
    "Gumbel": "d.Gumbel(x([0.0, 1.0]), x([1.0, 0.3]))", "HalfNormal": "d.HalfNormal(x([1.0, 0.3]))",
    "Independent": "d.Independent(d.Normal(x([[0.0, 1.0], [2.0, 3.0]]), x([1.0, 0.5])), 1)",
    "Laplace": "d.Laplace(x([0.0, 1.0]), x([1.0, 0.3]))",
    "LowRankMultivariateNormal": DISTRIBUTIONS["LowRankMultivariateNormal"],
    "MultivariateNormal": DISTRIBUTIONS["MultivariateNormal"], "Normal": "d.Normal(x([0.5, 1.0]), x([1.0, 0.3]))",
    "OneHotCategorical": "d.OneHotCategorical(x([0.2, 0.5, 0.3]))", "Pareto": "d.Pareto(x([1.0, 0.3]), x([1.5, 3.0]))",
    "Poisson": "d.Poisson(x([0.3, 4.0]))", "Uniform": "d.Uniform(x([0.1, 0.4]), x([0.9, 0.7]))",
    "TransformedDistribution": "d.LogNormal(x([0.0, 1.0]), x([1.0, 0.3]))", "ExponentialFamily": "d.Wishart(x(5.0), "
                               "x([[2.0, 0.3], [0.3, 1.0]]))",
}
OTHER = {"Bernoulli": "d.Bernoulli(x([[0.3, 0.0], [0.3, 0.0]]))",
         ("ContinuousBernoulli", "Uniform"): "d.Uniform(x([-0.1, 0.2]), x([1.1, 1.2]))",
         ("ExponentialFamily", "ExponentialFamily"): "d.Wishart(x(6.0), x([[1.0, 0.1], [0.1, 1.0]]))",
         "Categorical": "d.Categorical(x([0.2, 0.0, 0.8]))",
         "Uniform": "d.Uniform(x([0.0, -0.4]), x([0.9, 0.95]))", "Pareto": "d.Pareto(x([0.2, 0.3]), x([2.5, 3.0]))"}


@pytest.mark.parametrize("pair", sorted({(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}),
                         ids="-".join)
def test_divergence(pair):
    first = {"Pareto": "d.Pareto(x([1.0, 0.3]), x([2.5, 3.0]))"}.get(pair[0], PAIRS[pair[0]])
    (p, given), (r, others) = both(first)
    (q, more), (s, rest) = both(OTHER.get(pair, OTHER.get(pair[1], PAIRS[pair[1]])))
    a, b = OURS.kl_divergence(p, q), THEIRS.kl_divergence(r, s)
    close(a, b, 1e-8)
    if np.isfinite(numbers(b)).all() and pair != ("ExponentialFamily",) * 2:
        compare_gradients(a, b, ([*given, *more], [*others, *rest]), 1e-6, "divergence")


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(registry):
    for name in ("real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "positive_definite",
                 "corr_cholesky", "real_vector"):
        compare(OURS, THEIRS, lambda d, name=name: repr(getattr(d, registry)(getattr(d.constraints, name))), what=name)
    for text in ("c.greater_than(2.0)", "c.less_than(2.0)", "c.interval(-1.0, 3.0)", "c.half_open_interval(0.0, 1.0)",
                 "c.cat([c.real, c.positive], 0, [2, 1])", "c.stack([c.real, c.unit_interval], 0)",
                 "c.independent(c.positive, 1)", "c.boolean", "c.integer_interval(0, 3)", "c.greater_than_eq(1)"):
        def transform(d, text=text):
            return getattr(d, registry)(eval(text, {"c": d.constraints})).codomain.event_dim
        compare(OURS, THEIRS, transform, what=text)


@pytest.mark.parametrize("text, values", CHECKS)
def test_constraints(text, values):
    def found(lib):
        C = lib.distributions.constraints
        constraint = eval("C." + text, {"C": C})
        return [outcome(lambda: constraint.check(lib.tensor(values, dtype=lib.float64)).tolist()), repr(constraint),
                outcome(lambda: constraint.is_discrete), outcome(lambda: constraint.event_dim)]
    assert found(minitorch) == found(torch)


@pytest.mark.parametrize("text", BAD)
def test_errors_are_of_the_same_class(text):
    def make(lib):
        return made(text, lib.distributions, lambda v: lib.tensor(v, dtype=lib.float64))
    a, b = outcome(lambda: make(minitorch)), outcome(lambda: make(torch))
    assert isinstance(a, type) and a is b, (a, b)


def test_names():
    for module in ("", ".utils", ".constraints", ".transforms", ".kl", ".constraint_registry"):
        ours = __import__("minitorch.distributions" + module, fromlist=["x"])
        theirs = __import__("torch.distributions" + module, fromlist=["x"])
        assert not [name for name in theirs.__all__ if not hasattr(ours, name)]
    import pkgutil
    for found in pkgutil.iter_modules(torch.distributions.__path__):
        module = __import__(f"minitorch.distributions.{found.name}", fromlist=["x"])
        other = __import__(f"torch.distributions.{found.name}", fromlist=["x"])
        assert not [n for n in getattr(other, "__all__", ()) if not hasattr(module, n)]
