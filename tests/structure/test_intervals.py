"""The interpretation that CONTRIBUTING.md adds: results lie between the bounds that it computes."""

import functools
import random
import types

import numpy as np
import pytest

import minitorch
from minitorch.extend import OPS
from minitorch.testing.strategies import Draw
from tests.structure.test_contributing import example

hypothesis = pytest.importorskip("hypothesis")


@pytest.fixture(scope="module")
def intervals():
    """The module, as the page has it."""
    module = types.ModuleType("intervals")
    exec(compile(example("interpretation")[1], "intervals.py", "exec"), module.__dict__)
    return module


def test_it_is_short():
    """Lines that are not blank."""
    assert sum([bool(line.strip()) for line in example("interpretation")[1].splitlines()]) <= 80


def assert_encloses(found, value):
    low, high = found.array.low, found.array.high
    assert low.shape == high.shape == value.shape and low.dtype == value.array.dtype
    slack = 1e-9 * (1 + np.maximum(abs(low), abs(high)))   # bounds do not count rounding
    assert (low <= value.array + slack).all() and (value.array <= high + slack).all()


def drawn(intervals, rng, x):
    """An interval around an array, and a tensor in it that often lies at an end."""
    x, radius = np.asarray(x), np.asarray(rng.random(np.shape(x)) / 10)
    place = rng.choice([-1, 0, 0.5, 1], np.shape(x))
    ends = [minitorch.from_numpy(np.asarray(y)) for y in (x - radius, x + radius)]
    return intervals.between(*ends), minitorch.from_numpy(np.asarray(x + radius * place))


SIZES = [hypothesis.strategies.integers(1, 4)] * 3
SEEDS = hypothesis.strategies.integers(0, 2**32 - 1)


@hypothesis.given(SEEDS, *SIZES)
@hypothesis.settings(max_examples=60, deadline=None)
def test_a_layer_is_enclosed(intervals, seed, n, k, m):
    rng = np.random.default_rng(seed)
    pairs = [drawn(intervals, rng, rng.normal(size=shape)) for shape in ((n, k), (k, m), (m,))]

    def layer(a, b, c):
        return minitorch.relu(a @ b + c)
    assert_encloses(layer(*[around for around, _ in pairs]), layer(*[x for _, x in pairs]))
    (a, x), (_, w), (_, c) = pairs                         # and among ordinary tensors
    assert_encloses(layer(a, w, c), layer(x, w, c))


def test_gradients_are_enclosed(intervals):
    """``sum(exp(x * x))`` has the gradient ``2 x exp(x * x)``, which grows with x."""
    low, high = minitorch.tensor([[1.0, -2.0]]), minitorch.tensor([[2.0, -1.0]])
    x = intervals.between(low, high).requires_grad_()
    (x * x).exp().sum().backward()
    for end, own in (x.grad.array.low, low), (x.grad.array.high, high):
        np.testing.assert_allclose(end, (2 * own * (own * own).exp()).array, rtol=1e-6)
    low, high = low.double(), high.double()                # in which rounding is below the slack
    layer = minitorch.nn.Linear(2, 3, dtype=minitorch.float64).requires_grad_(False)
    x = intervals.between(low, high).requires_grad_()
    layer(x).relu().sum().backward()
    value = ((low + high) / 2).requires_grad_()
    layer(value).relu().sum().backward()
    assert_encloses(x.grad, value.grad)
    with pytest.raises(RuntimeError, match="bounds have no gradients"):
        x + minitorch.ones(2, requires_grad=True)


def test_gradients_with_a_minus(intervals):
    """``1 - x * y`` has the gradient ``-y``: formulas negate arrays."""
    x = intervals.between(minitorch.zeros(2), minitorch.ones(2)).requires_grad_()
    y = intervals.between(minitorch.tensor([1.0, -2.0]), minitorch.tensor([3.0, 2.0]))
    (1 - x * y).sum().backward()
    assert x.grad.array.low.tolist() == [-3, -2] and x.grad.array.high.tolist() == [-1, 2]


def is_enclosed(intervals, op, seed):
    """Draw a call of an op and compare; False if the interpretation refuses it."""
    inputs, attrs = Draw(random.Random(seed)).op_sample(op)
    rng = np.random.default_rng(seed)
    pairs = []
    for x, kind in zip(inputs, op.inputs * len(inputs) if op.variadic else op.inputs):
        if kind.kind != "other" and getattr(x, "dtype", None) == np.float64:
            pairs.append(drawn(intervals, rng, x))
        else:
            pairs.append([minitorch.from_numpy(x) if isinstance(x, np.ndarray) else x] * 2)
    around, points = [[tuple(side)] if op.variadic else side for side in zip(*pairs)]
    try:
        found = op.call(*around, **attrs)
    except NotImplementedError as error:
        assert "() is not supported for intervals" in str(error)
        return False
    assert_encloses(found, op.call(*points, **attrs))
    return True


FLOATS = [op for op in OPS.values() if op.outputs == 1 and not op.by_values and any(
    [x.kind != "other" for x in op.inputs])]


def test_what_it_takes_of_all_ops_is_enclosed(intervals):
    taken = {op.name for op in FLOATS for seed in range(4) if takes_intervals(op, seed)
             and is_enclosed(intervals, op, seed)}
    assert len(taken) >= 60 and {"einsum", "linear", "sum", "where", "cat", "relu"} <= taken


@functools.cache
def takes_intervals(op, seed):
    """True if one of the inputs drawn is an array of float64."""
    inputs, _ = Draw(random.Random(seed)).op_sample(op)
    return any([kind.kind != "other" and getattr(x, "dtype", None) == np.float64
                for x, kind in zip(inputs, op.inputs * len(inputs) if op.variadic else op.inputs)])


def test_wrong_rules_are_noticed(intervals, monkeypatch):
    rng = np.random.default_rng(0)
    a, x = drawn(intervals, rng, rng.normal(size=(8, 8)))
    monkeypatch.setattr(intervals, "GROWING", {"abs"})
    monkeypatch.setattr(intervals, "spread", intervals.ends)
    for wrong, value in (a.abs(), x.abs()), (a @ a.T, x @ x.T):
        with pytest.raises(AssertionError):
            assert_encloses(wrong, value)
