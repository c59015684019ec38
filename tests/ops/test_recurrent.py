"""Recurrent layers as one op against the same layers step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch.autograd.api import grad
from minitorch.ops.nn.recurrent import GATES, rnn_layer, step_by_step
from minitorch.testing.strategies import Draw

modes = pytest.mark.parametrize("mode", GATES)
some = settings(max_examples=10, deadline=None, database=None, derandomize=True)


def draw_layer(d, mode, dtype="float64"):
    """Input, state, weights, biases (or None) and cell state (or None) of one layer, as leaves."""
    steps, batch, size, n = d.int(1, 5), d.int(1, 4), d.int(1, 5), d.int(1, 4)
    rows, bias = GATES[mode] * n, d.bool()
    shapes = [(steps, batch, size), (batch, n), (rows, size), (rows, n), (rows,) if bias else None,
              (rows,) if bias else None, (batch, n) if mode == "LSTM" else None]
    return [s if s is None else minitorch.tensor(d.array(s).astype(dtype)).requires_grad_() for s in shapes]


def gradients(outputs, inputs, **options):
    """The gradients of outputs weighted by something, so that each element counts."""
    weights = [minitorch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape) for y in outputs]
    total = sum((y * w).sum() for y, w in zip(outputs, weights))
    return grad(total, [x for x in inputs if x is not None], allow_unused=True, **options)


def agree(found, wanted, tol=1e-10):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tol, atol=tol)


@modes
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "reverse"])
@given(rng=st.randoms(use_true_random=False))
@some
def test_the_layer_is_its_steps_to_second_order(mode, reverse, rng):
    inputs = draw_layer(Draw(rng), mode)
    outputs, wanted = rnn_layer(*inputs, mode, reverse), step_by_step(*inputs, mode, reverse)
    agree(outputs, wanted)
    agree(gradients(outputs, inputs), gradients(wanted, inputs))
    first, want = (gradients(layer(*inputs, mode, reverse), inputs, create_graph=True)
                   for layer in (rnn_layer, step_by_step))
    agree(first, want)
    agree(gradients(first, inputs), gradients(want, inputs))


@modes
def test_only_the_gradients_that_are_asked_for(mode):
    inputs = draw_layer(Draw(), mode)
    wanted = gradients(step_by_step(*inputs, mode, False), inputs)
    live = [x for x in inputs if x is not None]
    for i, x in enumerate(live):
        alone = [None if y is None else y if y is x else y.detach() for y in inputs]
        agree(gradients(rnn_layer(*alone, mode), [x]), [wanted[i]])


def test_the_cell_state_alone_has_a_gradient():
    inputs = draw_layer(Draw(), "LSTM")
    agree(gradients(rnn_layer(*inputs)[1:], inputs), gradients(step_by_step(*inputs, "LSTM", False)[1:], inputs))


@modes
def test_writing_to_the_result_does_not_disturb_the_backward_pass(mode):
    inputs = draw_layer(Draw(), mode)
    wanted = gradients(rnn_layer(*inputs, mode), inputs)
    outputs = rnn_layer(*inputs, mode)
    seeds = [minitorch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape) for y in outputs]
    with minitorch.no_grad():
        for y in outputs:
            y.zero_()
    agree(grad(outputs, [x for x in inputs if x is not None], seeds), wanted)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_saturated_gates_do_not_overflow(make):
    m = make(2, 3)
    with minitorch.no_grad():
        for p in m.parameters():
            p.fill_(50.0)
    for sign in (1.0, -1.0):
        x = minitorch.full((4, 2, 2), sign * 1e3).requires_grad_()
        out = m(x)[0]
        out.sum().backward()
        assert out.isfinite().all().item() and x.grad.isfinite().all().item()


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_batch_packed_and_padded_gives_the_same(make):
    """Equal lengths, once as one op and once (packed) through the loop."""
    m = make(3, 4, 2, bidirectional=True).double()
    x = minitorch.rand(5, 2, 3, dtype=minitorch.float64)
    out, state = m(x)
    packed, same = m(nn.utils.rnn.pack_padded_sequence(x, [5, 5]))
    agree([out], [nn.utils.rnn.pad_packed_sequence(packed)[0]])
    agree(*[s if isinstance(s, tuple) else (s,) for s in (state, same)])


def test_half_floats_and_autocast_take_the_loop():
    m = nn.LSTM(2, 3)
    assert m.half()(minitorch.ones(4, 1, 2, dtype=minitorch.float16))[0].dtype is minitorch.float16
    with minitorch.autocast("cpu", dtype=minitorch.bfloat16):
        out = nn.LSTM(2, 3)(minitorch.ones(4, 1, 2))[0]
    assert out.shape == (4, 1, 3)
