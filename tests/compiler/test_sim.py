"""`minitorch.compile` on a device: the same programs over CUDA kernels, elementwise runs as one kernel each."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from tests.conftest import backend_for_kernels

try:
    backend_for_kernels("sim")
except (ImportError, RuntimeError) as error:
    pytest.skip(f"kernels cannot run here: {error}", allow_module_level=True)


def test_a_run_of_elementwise_calls_is_one_kernel():
    def f(x, y):
        return torch.tanh(torch.sigmoid(x * 2.0 + 1) * y - torch.exp(-x * x)) * scale + torch.relu(y), x > y
    rng = np.random.default_rng(0)
    x, y = [torch.tensor(rng.standard_normal((7, 33), np.float32)) for _ in range(2)]
    scale = torch.tensor(0.5)
    expected = f(x, y)
    scale, compiled = scale.to("sim"), torch.compile(f)
    for _ in range(3):
        found = compiled(x.to("sim"), y.to("sim"))
        np.testing.assert_allclose(found[0].cpu().numpy(), expected[0].numpy(), rtol=1e-5, atol=1e-6)
        assert found[1].tolist() == expected[1].tolist() and found[0].device.type == "sim"
    assert compiled.source.count("Fused(F") == 1 and "np.exp" not in compiled.source


def test_ops_with_a_functor_join_it():
    def f(x):
        return F.softplus(x, 2.0, 5.0) * F.logsigmoid(x) + torch.erf(x) - F.leaky_relu(x, 0.2) * torch.rsqrt(x * x + 1)
    x = torch.linspace(-4, 4, 65).reshape(5, 13)
    compiled = torch.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x.to("sim")).cpu().numpy(), f(x).numpy(), rtol=1e-5, atol=1e-6)
    assert compiled.source.count("Fused(F") == 1 and "F.softplus" not in compiled.source


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_training_step(mode):
    def run(device, wrap):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)).to(device)
        opt = torch.optim.Adam(net.parameters(), 0.01)
        x, y = torch.randn(5, 6).to(device), torch.randint(0, 3, (5,)).to(device)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y) + (net(x).tanh() * 0.1).square().mean()
            loss.backward()
            opt.step()
            return loss
        step = wrap(step)
        return [step(x * (1 + i % 2), y).item() for i in range(6)], step
    expected, _ = run("cpu", lambda f: f)
    found, step = run("sim", torch.compile(mode=mode))
    assert not any("eagerly" in note or "no captured" in note for note in step.notes), step.notes
    assert (step._last.graph is not None and step._last.graph.arrays is not None) is (mode is not None)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_result_that_is_differentiated_outside():
    f = torch.compile(lambda x: (x.exp() * x).sum())
    x = torch.tensor([0.5, -1.0]).to("sim").requires_grad_()
    for _ in range(2):
        x.grad = None
        f(x).backward()
        np.testing.assert_allclose(x.grad.cpu().numpy(), np.exp([0.5, -1.0]) * [1.5, 0.0], rtol=1e-6)
