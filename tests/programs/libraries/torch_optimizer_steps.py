"""torch-optimizer: steps of its optimisers; some call `add_` and `addcmul_` by PyTorch's first
signatures."""
# needs: torch_optimizer pytorch_ranger

import torch
import torch_optimizer
from shown import show
from torch import nn

NAMES = "AccSGD AdaBelief AdaBound AdaMod Adafactor Adahessian AdamP AggMo Apollo DiffGrad LARS Lamb MADGRAD " \
        "NovoGrad PID QHAdam QHM RAdam Ranger RangerQH RangerVA SGDP SGDW SWATS Shampoo Yogi"
for name in NAMES.split():
    torch.manual_seed(0)
    net, x, y = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)), torch.randn(16, 4), torch.randn(16, 1)
    optimiser, losses = getattr(torch_optimizer, name)(net.parameters(), lr=0.01), []
    for _ in range(5):
        optimiser.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward(create_graph=name == "Adahessian")
        optimiser.step()
        losses.append(loss.item())
    show(name, losses)
