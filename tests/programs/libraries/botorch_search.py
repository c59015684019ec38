"""botorch: a Gaussian process fitted, samples of Sobol', an acquisition function and its optimum."""
# needs: botorch

import torch
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from shown import show

torch.manual_seed(0)
x = torch.rand(10, 2, dtype=torch.float64)
y = 1 - (x - 0.4).norm(dim=-1, keepdim=True)
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
show("fitted", model.covar_module.lengthscale, model.likelihood.noise)
acquisition = LogExpectedImprovement(model, best_f=y.max())
show("acquisition", acquisition(x[:, None]))
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
show("optimum", *optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=4, raw_samples=16))
sampler = SobolQMCNormalSampler(sample_shape=torch.Size([64]), seed=1)
show("by samples", qExpectedImprovement(model, y.mean(), sampler)(x[:4].unsqueeze(0) + 0.05))
