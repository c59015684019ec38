"""Compiled functions with checkpoints, mixed precision and writes."""

import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.amp import GradScaler
from minitorch.utils.checkpoint import checkpoint


def test_it_can_be_compiled():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    x = torch.randn(5, 4)
    want = torch.autograd.grad(model(x).square().sum(), model.parameters())
    compiled = torch.compile(lambda v: checkpoint(model, v, use_reentrant=False))
    for _ in range(3):
        found = torch.autograd.grad(compiled(x).square().sum(), model.parameters())
        for a, b in zip(found, want):
            torch.testing.assert_close(a, b)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_with_scaler_checkpoint_views_and_writes(layer, reentrant, compiled):
    """All at once give the step of float32, up to rounding."""
    def model(x):
        return F.relu(layer(x) * 1, inplace=True)

    def loss_of(run, x):
        y = run(x).view(-1, 4)[:, ::2].clone()
        y[0] = 1.0
        return y.unbind(0)[1].float().square().sum() + y.expand(3, *y.shape).float().mean()
    x = torch.randn(8, 3)
    loss_of(model, x).backward()
    exact = layer.weight.grad.clone()
    layer.zero_grad()
    run = torch.compile(model) if compiled else model
    scaler, optimizer = GradScaler("cpu", init_scale=64.0), torch.optim.SGD(layer.parameters(), lr=1.0)
    before = layer.weight.detach().clone()
    with torch.autocast("cpu"):
        loss = loss_of(lambda x: checkpoint(run, x, use_reentrant=reentrant), x.clone().requires_grad_())
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    assert layer.weight.grad.dtype is torch.float32
    torch.testing.assert_close(before - layer.weight.detach(), exact, rtol=0.05, atol=0.02)
