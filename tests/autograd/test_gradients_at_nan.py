"""Gradients where a value is NaN: PyTorch's, as far as PyTorch's do not depend on where in memory an element lies."""

import math

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F

NAN, INF = math.nan, math.inf
X = [[1.0, NAN, 2.0], [NAN, NAN, INF], [3.0, -INF, -2.0]]


def gradient(function, x=X):
    x = torch.tensor(x, requires_grad=True)
    out = function(x)
    out = out if isinstance(out, torch.Tensor) else out[0]
    return torch.autograd.grad(out, x, torch.ones_like(out))[0].numpy()


THIRDS = [[0, 1 / 3, 0], [1 / 3, 1 / 3, 0], [0, 0, 0]]
PASSED = [[1, 1, 1], [1, 1, 1], [1, 0, 0]]
CASES = [
    ("max", lambda x: x.max(), THIRDS), ("min", lambda x: x.min(), THIRDS), ("amax", lambda x: x.amax(), NAN),
    ("amin along", lambda x: x.amin(1), [[NAN] * 3, [NAN] * 3, [0, 1, 0]]),
    ("max along", lambda x: x.max(1), [[0, 1, 0], [1, 0, 0], [1, 0, 0]]),
    ("norm", lambda x: torch.linalg.vector_norm(x, INF), 0.0), ("relu", F.relu, PASSED),
    ("relu, few numbers", lambda x: F.relu(x[:, :1]), [[1, 0, 0], [1, 0, 0], [1, 0, 0]]),
    ("threshold", lambda x: F.threshold(x, 0, 5), PASSED), ("relu6", F.relu6, [[1, 0, 1], [0, 0, 0], [1, 0, 0]]),
    ("hardshrink", F.hardshrink, [[1, 0, 1], [0, 0, 1], [1, 1, 1]]),
    ("elu", lambda x: F.elu(x)[:2], [[1] * 3] * 2 + [[0] * 3]),
    ("hardswish", lambda x: F.hardswish(x[:, :1]), [[5 / 6, 0, 0], [NAN, 0, 0], [1, 0, 0]]),
    ("max_pool, pairs", lambda x: F.max_pool2d(x[None, :2, :2], 2), [[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    ("max_pool, overlapping", lambda x: F.max_pool2d(x[None], 2, 1), [[0, 0, 0], [0, 4, 0], [0, 0, 0]]),
    ("max_pool, padded", lambda x: F.max_pool1d(x, 3, 2, 1), [[0, 2, 0], [0, 2, 0], [1, 0, 1]]),
    ("max_pool, indices", lambda x: F.max_pool1d(x, 3, 2, 1, 1, False, True), [[0, 2, 0], [0, 2, 0], [1, 0, 1]]),
    ("adaptive", lambda x: F.adaptive_max_pool2d(x[None], (2, 1)), [[0, 0, 0], [0, 2, 0], [0, 0, 0]]),
    ("bag", lambda x: F.embedding_bag(torch.tensor([[0, 1, 2]]), x, mode="max"), [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ("multi_margin", lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2])),
     np.array([[-1, 0, 1], [0, 0, 0], [1, 0, -1]]) / 9),
]


@pytest.mark.parametrize("function, expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient(function, expected, dtype):
    found = gradient(lambda x: function(x.to(getattr(torch, dtype))))
    np.testing.assert_allclose(found, np.broadcast_to(np.array(expected, "float32"), found.shape), rtol=1e-6)


def test_many_numbers_in_blocks():
    x = torch.ones(70_000)
    x[::7] = NAN
    x[1::7] = -1
    expected = np.where(np.arange(70_000) % 7 == 1, 0, 1)
    for function in (F.relu, lambda x: F.threshold(x, 0.0, 0.0)):
        np.testing.assert_array_equal(gradient(function, x.tolist()), expected)


def test_prelu_weight():
    x, weight = torch.tensor([[1.0, NAN], [-2.0, -3.0]]), torch.tensor([0.5], requires_grad=True)
    F.prelu(x, weight).sum().backward()
    assert weight.grad.isnan().all()


@pytest.mark.parametrize("rows, expected", [
    ([1.0, NAN, 0.5], 1.0), ([NAN, 7.0, 8.0], NAN), ([NAN, NAN, NAN], NAN), ([-INF, NAN, NAN], -INF)])
def test_bags_pass_over_a_nan_that_does_not_come_first(rows, expected):
    """And never take an element of another bag."""
    table = torch.tensor([[x] for x in rows] + [[50.0]])
    found = F.embedding_bag(torch.tensor([[0, 1, 2], [3, 3, 3]]), table, mode="max")
    np.testing.assert_array_equal(found.numpy(), [[expected], [50.0]])


def test_cholesky_of_nan_is_no_factor():
    bad = torch.tensor([[4.0, 1.0], [1.0, NAN]])
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 2"):
        torch.linalg.cholesky(bad)
    both = torch.stack([torch.eye(2), bad])
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1"):
        torch.linalg.cholesky(both)
    assert torch.linalg.cholesky_ex(both).info.tolist() == [0, 2]


def test_powers_of_minus_a_half_are_reciprocal_roots():
    assert torch.tensor([-INF, INF, 4.0]).pow(-0.5).isnan().tolist() == [True, False, False]


def test_adaptive_max_pool1d_of_the_package_gives_indices():
    values, places = torch.adaptive_max_pool1d(torch.tensor([[1.0, NAN, 2.0, NAN]]), 2)
    assert places.tolist() == [[1, 3]] and values.isnan().all()
    assert F.adaptive_max_pool1d(torch.ones(1, 4), 2).tolist() == [[1, 1]]
