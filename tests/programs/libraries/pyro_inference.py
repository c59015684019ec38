"""pyro: variational inference, Hamiltonian Monte Carlo, enumerated discrete variables."""
# needs: pyro pyroapi opt_einsum tqdm

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO, TraceEnum_ELBO
from pyro.infer.autoguide import AutoMultivariateNormal, AutoNormal
from shown import show

pyro.set_rng_seed(1)
data = torch.randn(20) + 2


def model(data):
    mean = pyro.sample("mean", dist.Normal(0.0, 10.0))
    width = pyro.sample("width", dist.Gamma(2.0, 2.0))
    with pyro.plate("data", len(data)):
        pyro.sample("seen", dist.Normal(mean, width), obs=data)


def mixture(data):
    weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=dist.constraints.simplex)
    with pyro.plate("data", len(data)):
        which = pyro.sample("which", dist.Categorical(weights), infer={"enumerate": "parallel"})
        pyro.sample("seen", dist.Normal(torch.tensor([0.0, 2.0])[which], 1.0), obs=data)


for guide in (AutoNormal, AutoMultivariateNormal):
    pyro.clear_param_store()
    inference = SVI(model, guide(model), pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    show(guide.__name__, [inference.step(data) for _ in range(5)])
    show("parameters", {name: value.reshape(-1) for name, value in pyro.get_param_store().items()})
chain = MCMC(NUTS(model), num_samples=4, warmup_steps=4, disable_progbar=True)
chain.run(data)
show("samples", chain.get_samples())
pyro.clear_param_store()
show("enumerated", TraceEnum_ELBO(max_plate_nesting=1).loss(mixture, lambda data: None, data))
