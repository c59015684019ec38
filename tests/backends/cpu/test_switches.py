"""Tuning of the CPU changes no result: with each switch off, the same values and gradients up to rounding."""

import numpy as np
import pytest

import minitorch
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.cpu.tuning import tuning
from minitorch.core import engine, layers
from minitorch.testing.switches import SWITCHES, without

F = minitorch.nn.functional


def draw(*shape):
    return minitorch.from_numpy(np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32))


def train():
    """Two steps of a small network through most of what the switches are about: its loss and parameters."""
    minitorch.manual_seed(0)
    nn = minitorch.nn
    model = nn.Sequential(nn.Embedding(50, 64), nn.LayerNorm(64), nn.Linear(64, 520), nn.GELU("tanh"),
                          nn.Linear(520, 64), nn.Sigmoid(), nn.Softmax(-1))
    # A large eps, as otherwise Adam makes a full step of a gradient that is nothing but rounding.
    optimizer = minitorch.optim.Adam(model.parameters(), lr=0.01, eps=0.1)
    ids = minitorch.from_numpy(np.random.default_rng(0).integers(0, 50, (40, 30)))
    for _ in range(2):
        optimizer.zero_grad()
        x = model(ids)
        loss = (x * draw(40, 30, 64) + x).sum() + F.cross_entropy(x.reshape(-1, 64), ids.reshape(-1))
        loss.backward()
        optimizer.step()
    return [loss.detach().numpy(), *(p.detach().numpy() for p in model.parameters())]


def large():
    """Values and gradients of rows and chains on arrays of more than half a million elements."""
    found = []
    for f in (lambda x: F.gelu(x, approximate="tanh"), F.gelu, minitorch.sigmoid, lambda x: minitorch.softmax(x, -1),
              lambda x: minitorch.log_softmax(x, -1), lambda x: F.layer_norm(x, x.shape[-1:]),
              lambda x: F.rms_norm(x, x.shape[-1:]), lambda x: x.where(x > 0, -x), lambda x: x - x.mean(-1, True),
              lambda x: x + x.sum(0)):
        x = draw(530, 1000)
        with minitorch.no_grad():
            found.append(f(x).numpy())
        y = f(x.requires_grad_())
        (y * draw(530, 1000)).sum().backward()
        found += [y.detach().numpy(), x.grad.numpy()]
    return found


@pytest.fixture(scope="module")
def expected():
    return train(), large()


@pytest.mark.parametrize("switch", SWITCHES)
def test_without_a_switch_the_results_are_the_same(switch, expected):
    with without(switch):
        found = train(), large()
    for a, b in zip([x for part in found for x in part], [x for part in expected for x in part]):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)


def state():
    return dict(vars(tuning)), layers.stack, engine.ALONE


def test_switches_are_put_back():
    with tuning.changed(threads=2):                        # for the switch that leaves one
        before = state()
        for name in SWITCHES:
            with without(name):
                assert state() != before
            assert state() == before
    before = state()
    with pytest.raises(KeyError), without("blocks"):
        assert cpu.block is None
        raise KeyError
    assert state() == before and cpu.block == 1 << 15
    with pytest.raises(TypeError, match="unknown tuning .'colour'."), tuning.changed(colour=1):
        pass


def test_switches_that_are_layers():
    x, kernels = draw(9, 8), []
    with without("kernels"):
        assert cpu.erf == cpu.find("erf", kernels={}) != cpu.find("erf")
    with layers.observed(lambda name, *_: kernels.append(name), lambda *_: None), without("kernels"):
        minitorch.erf(x)                                   # beneath the layers that were there before
    assert kernels[0] == "erf"
    assert cpu.erf == cpu.find("erf")


def test_switches_of_other_libraries_have_their_names():
    assert minitorch.backends.mkldnn.__name__ == "minitorch.backends.mkldnn" and minitorch.backends.mkldnn.__doc__
