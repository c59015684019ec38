"""Recurrent layers against their definition, written with numbers; packed against padded."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch.nn.utils import rnn

lengths = st.lists(st.integers(1, 4), min_size=1, max_size=4)
kinds = st.sampled_from([(nn.RNN, {}), (nn.GRU, {}), (nn.LSTM, {}), (nn.LSTM, dict(proj_size=1)),
                         (nn.GRU, dict(num_layers=2, bidirectional=True)),
                         (nn.LSTM, dict(num_layers=2, bidirectional=True, bias=False))])


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_a_step_of_each_kind_by_hand():
    x, h, c = 0.5, -0.25, 0.75
    one = minitorch.tensor
    for cell, gates in ((nn.RNNCell, 1), (nn.GRUCell, 3), (nn.LSTMCell, 4)):
        m = cell(1, 1)
        state = (one([[h]]), one([[c]])) if cell is nn.LSTMCell else one([[h]])
        a = [w * x + b for w, b in zip(m.weight_ih[:, 0].tolist(), m.bias_ih.tolist())]
        r = [w * h + b for w, b in zip(m.weight_hh[:, 0].tolist(), m.bias_hh.tolist())]
        if gates == 1:
            want = math.tanh(a[0] + r[0])
        elif gates == 3:
            z = sigmoid(a[1] + r[1])
            want = (1 - z) * math.tanh(a[2] + sigmoid(a[0] + r[0]) * r[2]) + z * h
        else:
            i, f, g, o = (p + q for p, q in zip(a, r))
            want = sigmoid(o) * math.tanh(sigmoid(f) * c + sigmoid(i) * math.tanh(g))
        got = m(one([[x]]), state)
        assert (got[0] if gates == 4 else got).item() == pytest.approx(want, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(lengths)
def test_packing_and_padding_are_inverse(ns):
    sequences = [minitorch.rand(n, 2) for n in ns]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.shape == (sum(ns), 2) and packed.batch_sizes.sum().item() == sum(ns)
    for got, want in zip(rnn.unpack_sequence(packed), sequences):
        assert got.tolist() == want.tolist()
    padded, found = rnn.pad_packed_sequence(packed, batch_first=True)
    assert found.tolist() == ns and padded.shape == (len(ns), max(ns), 2)


@settings(max_examples=15, deadline=None)
@given(kinds, lengths)
def test_packed_sequences_run_as_each_would_alone(kind, ns):
    make, options = kind
    m = make(2, 3, **options).double()
    sequences = [minitorch.rand(n, 2, dtype=minitorch.float64) for n in ns]
    out, last = m(rnn.pack_sequence(sequences, enforce_sorted=False))
    for b, (mine, alone) in enumerate(zip(rnn.unpack_sequence(out), sequences)):
        want, state = m(alone)
        assert (mine - want).abs().max().item() < 1e-12
        states = zip(last, state) if isinstance(last, tuple) else [(last, state)]
        for got, s in states:
            assert (got[:, b] - s).abs().max().item() < 1e-12


def test_batch_first_only_swaps_dimensions():
    m = nn.LSTM(2, 3, 2)
    x = minitorch.rand(5, 4, 2)
    out, (h, c) = m(x)
    m.batch_first = True
    swapped, (h2, c2) = m(x.transpose(0, 1))
    assert swapped.transpose(0, 1).tolist() == out.tolist() and h2.tolist() == h.tolist() and c2.tolist() == c.tolist()


def test_a_long_sequence_runs_backward():
    m = nn.RNN(1, 2)
    x = minitorch.rand(300, 1, 1, requires_grad=True)
    m(x)[0].sum().backward()
    assert x.grad.isfinite().all().item() and x.grad[0].abs().sum().item() > 0
