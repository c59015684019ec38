"""Captured graphs: what runs again gives what the same calls would have given."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from tests.backends.cuda.kernel_checks import DEVICE

BATCHES = [(torch.randn(16, 8), torch.randint(0, 4, (16,))) for _ in range(6)]


def make(optimizer=lambda p: torch.optim.AdamW(p, 0.01)):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.3), nn.Linear(16, 4)).to(DEVICE)
    return net, optimizer(net.parameters())


def train(graphed, optimizer):
    net, opt = make(optimizer)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    x, y = [t.to(DEVICE) for t in BATCHES[0]]
    torch.manual_seed(3)

    def step():
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss
    losses, g, loss = [], None, None
    for i, batch in enumerate(BATCHES):
        x.copy_(batch[0])
        y.copy_(batch[1])
        if graphed and i == 2:
            g = torch.cuda.CUDAGraph(DEVICE)
            with torch.cuda.graph(g):
                assert torch.cuda.is_current_stream_capturing()
                loss = step()
        if g is None:
            loss = step()
        else:
            g.replay()
        losses.append(loss.item())
        schedule.step()
    return losses, [p.detach().cpu().numpy() for p in net.parameters()], opt.state_dict()["state"][0]


@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
                                       lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
                                       lambda p: torch.optim.NAdam(p, 0.01, weight_decay=0.1)])
def test_training_steps_with_dropout_schedules_and_decay(optimizer):
    plain, graphed = train(False, optimizer), train(True, optimizer)
    np.testing.assert_allclose(graphed[0], plain[0], rtol=1e-6)
    for a, b in zip(graphed[1], plain[1]):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    if "step" in plain[2]:
        assert graphed[2]["step"] == plain[2]["step"]


def test_random_numbers_go_on():
    x = torch.zeros(5, device=DEVICE)
    mine = torch.Generator(DEVICE).manual_seed(7)

    def draw():
        return torch.rand(5, device=DEVICE), torch.randn(5, device=DEVICE, generator=mine), F.dropout(x + 1, 0.5)
    torch.manual_seed(1)
    expected = [[t.tolist() for t in draw()] for _ in range(3)]
    torch.manual_seed(1)
    mine.manual_seed(7)
    g = torch.cuda.CUDAGraph(DEVICE)
    with torch.cuda.graph(g):
        made = draw()
    for row in expected:
        g.replay()
        assert [t.tolist() for t in made] == row


def test_the_host_cannot_read_inside():
    x = torch.ones(3, device=DEVICE)
    g = torch.cuda.CUDAGraph(DEVICE)
    with pytest.raises(RuntimeError, match="capturing"), torch.cuda.graph(g):
        (x + 1).sum().item()
    assert not torch.cuda.is_current_stream_capturing() and (x + 1).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="without a preceding"):
        g.replay()
    with torch.cuda.graph(g):
        with pytest.raises(RuntimeError, match="already being captured"):
            torch.cuda.CUDAGraph(DEVICE).capture_begin()
        y = x * 2
    g.replay()
    assert y.tolist() == [2, 2, 2]


def test_optimisers_that_cannot_be_captured_say_so():
    class Own(torch.optim.RMSprop):
        rule = staticmethod(lambda xp, p, g, states, scratch, c: xp.subtract(p, g, p))

    net, opt = make(lambda p: Own(p, 0.01))
    x = BATCHES[0][0].to(DEVICE)

    def step():
        net(x).sum().backward()
        opt.step()
    step()
    g = torch.cuda.CUDAGraph(DEVICE)
    with pytest.raises(RuntimeError, match="Own cannot be captured"), torch.cuda.graph(g):
        step()
    net, opt = make()
    with pytest.raises(RuntimeError, match="no state yet"), torch.cuda.graph(g):
        step()


def test_graphed_callables():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).to(DEVICE)
    twin = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).to(DEVICE)
    twin.load_state_dict(net.state_dict())
    sample = torch.randn(3, 4).to(DEVICE).requires_grad_()
    fast = torch.cuda.make_graphed_callables(net, (sample,))
    for _ in range(2):
        a = torch.randn(3, 4).to(DEVICE).requires_grad_()
        b = a.detach().clone().requires_grad_()
        fast(a).square().sum().backward()
        twin(b).square().sum().backward()
        for p, q in ((a, b), *zip(net.parameters(), twin.parameters())):
            np.testing.assert_allclose(p.grad.cpu().numpy(), q.grad.cpu().numpy(), rtol=1e-5, atol=1e-6)
    f = torch.cuda.make_graphed_callables(lambda x, y: (x * y, x + y), (sample.detach(), sample.detach()))
    product, total = f(sample * 2, sample * 3)
    np.testing.assert_allclose(product.detach().cpu().numpy(), 6 * sample.detach().cpu().numpy() ** 2, rtol=1e-6)
    np.testing.assert_allclose(total.detach().cpu().numpy(), 5 * sample.detach().cpu().numpy(), rtol=1e-6)


def test_graphs_are_of_devices():
    with pytest.raises(ValueError, match="GPU or on device 'sim'"):
        torch.cuda.CUDAGraph("cpu")
