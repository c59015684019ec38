"""What makes the CPU fast changes no result: with each lever off, the same values and gradients up to rounding."""

import numpy as np
import pytest

import minitorch
from minitorch.testing.levers import LEVERS, without

F = minitorch.nn.functional


def draw(*shape):
    return minitorch.from_numpy(np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32))


def train():
    """Two steps of a small network through most of what the levers are about: its loss and parameters."""
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


@pytest.mark.parametrize("lever", LEVERS)
def test_without_a_lever_the_results_are_the_same(lever, expected):
    with without(lever):
        found = train(), large()
    for a, b in zip([x for part in found for x in part], [x for part in expected for x in part]):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)


def test_levers_are_put_back():
    before = {name: [getattr(x, a) for x, a, _ in changes] for name, changes in LEVERS.items()}
    for name, changes in LEVERS.items():
        with without(name):
            assert all(getattr(x, a) is value or getattr(x, a) == value for x, a, value in changes)
    assert before == {name: [getattr(x, a) for x, a, _ in changes] for name, changes in LEVERS.items()}
