"""Distributions: samples of a seed, and densities, moments, entropies and gradients there; transforms; divergences."""

import functools

from tests.distributions.distribution_cases import (
    BAD,
    CHECKS,
    DISTRIBUTIONS,
    EDGES,
    TRANSFORMS,
    made,
)

LEFT_OUT = ("GeneralizedPareto",)                          # mixes dtypes in PyTorch, and refuses float64
NOISY = ("Beta", "Chi2", "Dirichlet", "Dirichlet of a batch", "FisherSnedecor", "Gamma", "InverseGamma", "LKJCholesky",
         "StudentT", "Wishart", "Wishart of a batch", "Wishart of precisions")
# Gradients of NOISY samples, by the gamma function, are approximate in PyTorch.


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
                 attempt(lambda: p.entropy()), attempt(lambda: p.mode), T.rand(1, dtype=T.float32),
                 attempt(lambda: p.enumerate_support()), attempt(lambda: p.enumerate_support(False))]
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
        return [y, t.inv(y), attempt(lambda: t.log_abs_det_jacobian(x, y)), t.domain.event_dim, t.codomain.event_dim,
                list(t.forward_shape(shape)), list(t.inverse_shape(tuple(y.shape)))]
    return run


def edge(name):
    def run(T):
        text, values = EDGES[name]
        p, _ = made(text, T.distributions, tensor_of(T))
        found = [attempt(lambda: p.mean), attempt(lambda: p.mode), attempt(lambda: p.variance),
                 attempt(lambda: p.entropy()), attempt(lambda: p.icdf(tensor_of(T)(0.5)))]
        for value in values:
            value = T.tensor(value, dtype=T.float64)
            found += [attempt(lambda: p.log_prob(value)), attempt(lambda: p.cdf(value))]        # noqa: B023
        return found
    return run


def check(text, values):
    def run(T):
        C = T.distributions.constraints
        constraint = eval("C." + text, {"C": C})
        return [repr(constraint), attempt(lambda: constraint.is_discrete), attempt(lambda: constraint.event_dim),
                constraint.check(T.tensor(values, dtype=T.float64))]
    return run


def bad(text):
    return lambda T: str(made(text, T.distributions, tensor_of(T))[0])


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


def trained(T, parameters, loss_of, steps=6):
    """The losses of a few steps of Adam."""
    optimizer, losses = T.optim.Adam(parameters, lr=0.05), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *parameters, T.rand(1)]


def policy(T):
    """A squashed normal policy, whose density takes the inverse of what was just drawn; and a categorical one."""
    d = T.distributions
    T.manual_seed(0)
    net, x = T.nn.Linear(4, 7), T.randn(9, 4)

    def loss():
        mean, scale, logits = net(x).split([2, 2, 3], -1)
        squashed = d.TransformedDistribution(d.Independent(d.Normal(mean, scale.exp()), 1),
                                             [d.TanhTransform(cache_size=1)])
        action, choice = squashed.rsample(), d.Categorical(logits=logits)
        chosen = choice.sample()
        reward = (chosen == 1).float()
        return (0.1 * squashed.log_prob(action) + action.square().sum(-1) - choice.log_prob(chosen) * reward
                - 0.01 * choice.entropy()).mean()
    return trained(T, list(net.parameters()), loss)


def fitted(T):
    """Densities fitted to data: an autoencoder's bound, a mixture, a flow, covariances without bounds."""
    d = T.distributions
    T.manual_seed(1)
    net, data = T.nn.Linear(3, 4), T.randn(20, 3)
    weights, means = T.zeros(2, requires_grad=True), T.randn(2, 3).requires_grad_()
    raw, scale = T.zeros(3, 3, requires_grad=True), T.ones(3, requires_grad=True)
    to_factor = d.transform_to(d.MultivariateNormal.arg_constraints["scale_tril"])

    def loss():
        mean, spread = net(data).chunk(2, -1)
        q = d.Normal(mean, T.nn.functional.softplus(spread))
        prior = d.Normal(T.zeros_like(mean), T.ones_like(mean))
        mixture = d.MixtureSameFamily(d.Categorical(logits=weights), d.Independent(d.Normal(means, 1.0), 1))
        flow = d.TransformedDistribution(d.Normal(T.zeros(3), T.ones(3)), [d.AffineTransform(0.0, scale),
                                                                          d.SoftplusTransform()])
        full = d.MultivariateNormal(T.zeros(3), scale_tril=to_factor(raw))
        return (d.kl_divergence(q, prior).sum(-1) + q.rsample().square().sum(-1) - mixture.log_prob(data)
                - flow.log_prob(data.exp()).sum(-1) - full.log_prob(data)).mean()
    return trained(T, [*net.parameters(), weights, means, raw, scale], loss)


CASES = {name: distribution(name) for name in DISTRIBUTIONS if name not in LEFT_OUT}
CASES |= {f"transform: {name}": transform(name) for name in TRANSFORMS}
CASES |= {f"edge: {name}": edge(name) for name in EDGES}
CASES |= {f"check: {text} of {values}": check(text, values) for text, values in CHECKS}
CASES |= {f"bad: {text}": bad(text) for text in BAD}
CASES |= {f.__name__: f for f in (divergences, policy, fitted)}
