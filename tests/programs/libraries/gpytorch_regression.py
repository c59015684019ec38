"""gpytorch: exact regression, and classification by a variational distribution over inducing points."""
# needs: gpytorch linear_operator jaxtyping wadler_lindig mpmath sklearn

import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from shown import show

torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 6) + torch.randn(20) * 0.1


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        chosen = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, chosen))
        self.mean = gpytorch.means.ZeroMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


def train(label, model, objective, y):
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        optimiser.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimiser.step()
        show(label, loss)


noise = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, noise)
train("exact", model, gpytorch.mlls.ExactMarginalLogLikelihood(noise, model), y)
model.eval(), noise.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    found = noise(model(torch.linspace(0, 1, 7)))
    show("prediction", found.mean, found.variance, found.confidence_region()[0])
model, coin = Variational(x[::5].clone()), gpytorch.likelihoods.BernoulliLikelihood()
train("variational", model, gpytorch.mlls.VariationalELBO(coin, model, 20), (y > 0).float())
