"""entmax, pytorch-msssim, opt_einsum, geotorch, pytorch-warmup, torch-ema, ema-pytorch, torch-lr-finder, higher."""
# needs: entmax pytorch_msssim opt_einsum geotorch pytorch_warmup torch_ema ema_pytorch torch_lr_finder higher

import ema_pytorch
import entmax
import geotorch
import higher
import opt_einsum
import pytorch_msssim
import pytorch_warmup
import torch
import torch_ema
import torch_lr_finder
from shown import show
from torch import nn

torch.manual_seed(0)
x = torch.randn(3, 6, requires_grad=True)
for f in (entmax.sparsemax, entmax.entmax15, lambda x, dim: entmax.entmax_bisect(x, alpha=1.3, dim=dim)):
    y = f(x, dim=-1)
    show("entmax", y, torch.autograd.grad((y * torch.arange(6.0)).sum(), x)[0])
for loss in (entmax.SparsemaxLoss(), entmax.Entmax15Loss(), entmax.EntmaxBisectLoss(1.3)):
    show("loss", torch.autograd.grad(loss(x, torch.tensor([1, 2, 3])), x)[0])

a, b = torch.rand(1, 3, 180, 180), torch.rand(1, 3, 180, 180, requires_grad=True)
value = pytorch_msssim.ssim(a, b, data_range=1.0)
show("ssim", value, torch.autograd.grad(value, b)[0].abs().sum(), pytorch_msssim.ms_ssim(a, b, data_range=1.0))

a, b, c = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5, 3)
y = opt_einsum.contract("ij,jk,kl->il", a, b, c)
show("contract", y, torch.autograd.grad(y.sum(), a)[0])
show("expression", opt_einsum.contract_expression("ij,jk,kl->", (3, 4), (4, 5), (5, 3))(a, b, c))

cell = nn.RNNCell(4, 6)
geotorch.orthogonal(cell, "weight_hh")
optimiser = torch.optim.SGD(cell.parameters(), lr=0.1)
for _ in range(3):
    optimiser.zero_grad()
    cell(torch.ones(2, 4)).pow(2).sum().backward()
    optimiser.step()
    show("orthogonal", (cell.weight_hh @ cell.weight_hh.T - torch.eye(6)).abs().max() < 1e-4, cell.bias_hh)

for make in (pytorch_warmup.UntunedLinearWarmup, pytorch_warmup.RAdamWarmup):
    optimiser, rates = torch.optim.AdamW([nn.Parameter(torch.ones(2))], lr=0.1), []
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 10)
    warmup = make(optimiser)
    for _ in range(5):
        optimiser.step()
        rates.append(optimiser.param_groups[0]["lr"])
        with warmup.dampening():
            schedule.step()
    show("warmup", rates)

net = nn.Linear(3, 2)
averages = (ema_pytorch.EMA(net, beta=0.9, update_after_step=0, update_every=1),
            torch_ema.ExponentialMovingAverage(net.parameters(), decay=0.9))
for _ in range(4):
    with torch.no_grad():
        net.weight.add_(torch.randn(2, 3))
    for average in averages:
        average.update()
show("average", averages[0](torch.ones(1, 3)))
with averages[1].average_parameters():
    show("average", net.weight)

rows = torch.utils.data.TensorDataset(torch.randn(32, 3), torch.randint(0, 2, (32,)))
finder = torch_lr_finder.LRFinder(net, torch.optim.SGD(net.parameters(), lr=1e-3), nn.CrossEntropyLoss(), device="cpu")
finder.range_test(torch.utils.data.DataLoader(rows, batch_size=8), end_lr=1, num_iter=6)
show("finder", finder.history["lr"], finder.history["loss"])

net, x, y = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.randn(8, 3), torch.randn(8, 1)
inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (unrolled, steps):
    for _ in range(3):
        steps.step((unrolled(x) - y).pow(2).mean())
    outer = (unrolled(x) - y).pow(2).mean()
    outer.backward()
show("higher", outer, [p.grad.norm() for p in net.parameters()])
