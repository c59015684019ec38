"""Indexing beside PyTorch: values, shapes, strides, gradients, and which indices are errors."""

import numpy as np
import pytest
from hypothesis import given

import minitorch
from minitorch.testing import strategies
from tests.ops.test_indexing import (
    SHAPES,
    draw_index,
    draw_value,
    dress,
    has_arrays,
    many,
    positions,
)

torch = pytest.importorskip("torch", reason="parity tests compare with PyTorch")


def both(array, **options):
    return [t.tensor(array, **options) for t in (minitorch, torch)]


def dressed(d, index):
    """The same index for each library."""
    ours = dress(minitorch, d, index)

    def theirs(p):
        return torch.tensor(p.numpy()) if isinstance(p, minitorch.Tensor) else p
    return ours, tuple(map(theirs, ours)) if isinstance(ours, tuple) else theirs(ours)


@given(strategies.draws())
@many
def test_reading(d):
    shape = d.choice(SHAPES)
    x, y = both(d.array(shape))
    index = draw_index(d, shape)
    ours, theirs = dressed(d, index)
    got, want = x[ours], y[theirs]
    assert got.shape == tuple(want.shape) == positions(shape, index).shape
    assert np.array_equal(got.numpy(), want.numpy())
    if not has_arrays(index) and got.numel() > 1:
        assert [s for s, n in zip(got.stride(), got.shape) if n > 1] == [
            s for s, n in zip(want.stride(), want.shape) if n > 1]
        assert got.storage_offset() == want.storage_offset()


@given(strategies.draws())
@many
def test_gradients_of_reading(d):
    shape = d.choice(SHAPES)
    x, y = both(d.array(shape), requires_grad=True)
    ours, theirs = dressed(d, draw_index(d, shape))
    g, h = both(d.array(tuple(x[ours].shape)))
    x[ours].backward(g)
    y[theirs].backward(h)
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


@given(strategies.draws())
@many
def test_writing_and_its_gradients(d):
    shape = d.choice(SHAPES)
    x, y = both(d.array(shape), requires_grad=True)
    index = draw_index(d, shape, repeats=False)
    ours, theirs = dressed(d, index)
    v, w = both(draw_value(d, positions(shape, index).shape), requires_grad=True)
    g, h = both(d.array(shape))
    outs = []
    for base, item, value, seed in ((x, ours, v, g), (y, theirs, w, h)):
        out = base * 1
        out[item] = value
        out.backward(seed)
        outs.append(out)
    assert np.array_equal(outs[0].detach().numpy(), outs[1].detach().numpy())
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())
    np.testing.assert_allclose(v.grad.numpy(), w.grad.numpy())


ERRORS = [2, -3, [2], (0, 0, 0, 0), ([0, 1], [0, 1, 2]), 1.5, slice(None, None, -1), (slice(None), [3]), {}, (0.5,)]


@pytest.mark.parametrize("index", ERRORS, ids=repr)
def test_errors_are_of_the_same_class(index):
    x, y = both(np.arange(24).reshape(2, 3, 4))
    with pytest.raises(Exception) as theirs:
        y[index]
    with pytest.raises(Exception) as ours:
        x[index]
    assert type(ours.value) is type(theirs.value)


def test_where_this_library_differs():
    """Float lists are refused where PyTorch cuts off the fractions."""
    x = minitorch.arange(24).reshape(2, 3, 4)
    with pytest.raises(IndexError):
        x[[0.5]]
