"""Distributions: samples of a seed, and densities, moments, entropies and gradients there; transforms; divergences."""

import functools

from distribution_cases import DISTRIBUTIONS, TRANSFORMS, made

LEFT_OUT = ("GeneralizedPareto",)                          # mixes dtypes in PyTorch, and refuses float64
NOISY = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "LKJCholesky", "StudentT", "Wishart",
         "Wishart of precisions")                          # gradients by the gamma function are approximate in PyTorch


def tensor_of(T):
    return lambda values: T.tensor(values, dtype=T.float64)


def attempt(function):
    try:
        return function()
    except (NotImplementedError, AttributeError):
        return None


def distribution(name):
    def run(T):
        p, given = made(DISTRIBUTIONS[name], T.distributions, tensor_of(T))
        T.manual_seed(5)
        value = p.rsample((2,)) if p.has_rsample and name not in NOISY else p.sample((2,))
        found = [value, p.log_prob(value.detach()), attempt(lambda: p.mean), attempt(lambda: p.variance),
                 attempt(lambda: p.entropy()), attempt(lambda: p.mode), T.rand(1, dtype=T.float32)]
        total = p.log_prob(value).sum() + (value.sum() if value.requires_grad else 0)
        if total.requires_grad:
            found += [g for g in T.autograd.grad(total, given, allow_unused=True) if g is not None]
        return found
    return run


def transform(name):
    def run(T):
        text, shape = TRANSFORMS[name]
        t, _ = made(text, T.distributions, tensor_of(T))
        n = functools.reduce(lambda a, b: a * b, shape)
        x = (T.arange(n, dtype=T.float64) * 0.7).cos().reshape(shape)
        x = x.abs() if name == "PowerTransform" else x
        y = t(x)
        return [y, t.inv(y), attempt(lambda: t.log_abs_det_jacobian(x, y))]
    return run


def divergences(T):
    """All pairs of a few families of numbers."""
    d, x = T.distributions, tensor_of(T)
    families = [d.Beta(x([0.5, 2.0]), x([0.7, 3.0])), d.ContinuousBernoulli(x([0.2, 0.9])),
                d.Exponential(x([0.5, 3.0])), d.Gamma(x([0.5, 2.0]), x([0.7, 3.0])),
                d.Gumbel(x([0.0, 1.0]), x([1.0, 0.3])),
                d.Laplace(x([0.0, 1.0]), x([1.0, 0.3])), d.Normal(x([0.5, 1.0]), x([1.0, 0.3])),
                d.Pareto(x([1.0, 0.3]), x([2.5, 3.0])), d.Uniform(x([0.1, 0.4]), x([0.9, 0.7])),
                d.Poisson(x([0.3, 4.0])), d.Bernoulli(x([0.2, 0.7])), d.Cauchy(x([0.5, 1.0]), x([1.0, 0.3]))]
    return [attempt(lambda p=p, q=q: d.kl_divergence(p, q)) for p in families for q in families]


CASES = {name: distribution(name) for name in DISTRIBUTIONS if name not in LEFT_OUT}
CASES |= {f"transform: {name}": transform(name) for name in TRANSFORMS}
CASES |= {"divergences": divergences}
