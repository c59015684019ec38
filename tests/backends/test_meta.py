"""``device("meta")``: shapes and dtypes without values, from the same definitions."""

import copy
import random

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.meta import Meta
from minitorch.core.device import get
from minitorch.core.registry import OPS
from minitorch.core.tensor import wrap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import definitions_with_inputs, outputs_of

meta = get("meta")
# Ops whose shapes depend on values, and one whose sample holds not only arrays.
REFUSED = {op.name for op in OPS.values() if op.by_values} | {"unique_indices", "rnn_layer_backward"}
OPS_WITH_SAMPLES = [op for op in definitions_with_inputs() if op.name not in REFUSED]


def described(F, op, arrays, attrs):
    tensors = [wrap(F.from_host(x), F) if isinstance(x, np.ndarray) else x for x in arrays]
    return [(o.shape, o.dtype) for o in outputs_of(op, tensors, attrs)]


@pytest.mark.parametrize("op", OPS_WITH_SAMPLES, ids=lambda op: op.name)
def test_results_have_the_shapes_and_dtypes_of_the_cpu(op):
    for seed in range(2):
        arrays, attrs = Draw(random.Random(seed)).op_sample(op)
        assert described(meta, op, arrays, attrs) == described(cpu, op, arrays, attrs)


def test_nothing_is_computed_where_labels_are_known(monkeypatch):
    def refuse(self, op, full, arrays, attrs):
        assert full and op.keeps, op.name                  # what is kept has no labels
        return from_zeros(self, op, full, arrays, attrs)
    from_zeros = Meta.from_zeros
    monkeypatch.setattr(Meta, "from_zeros", refuse)
    for op in OPS_WITH_SAMPLES:
        arrays, attrs = Draw(random.Random(5)).op_sample(op)
        described(meta, op, arrays, attrs)
    image, weight = torch.empty(1 << 12, 256, 64, 64, device="meta"), torch.empty(512, 256, 3, 3, device="meta")
    assert nn.functional.conv2d(image, weight).shape == (1 << 12, 512, 62, 62)


def test_tensors():
    x = torch.zeros(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert x.is_meta and not torch.zeros(1).is_meta and str(x.device) == "meta" and x.stride() == (3, 1)
    assert repr(torch.arange(5, device="meta")) == "tensor(..., device='meta', size=(5,), dtype=torch.int64)"
    assert (x @ torch.ones(3, 4, device="meta")).shape == (2, 4) and (x + torch.tensor(3.0)).is_meta
    assert torch.ones(2).to("meta").is_meta and torch.rand(3, device="meta").shape == (3,)
    assert [row.shape for row in x] == [(3,), (3,)] and x.nbytes == 24
    y = torch.zeros(3, device="meta", requires_grad=True)
    (y * 2).sum().backward()
    assert y.grad.is_meta and y.grad.shape == (3,)
    with torch.device("meta"):
        assert torch.ones(2).is_meta and torch.nn.functional.dropout(torch.ones(2)).is_meta
    for wrong in (x.tolist, x.sum().item, x.numpy, lambda: bool(x.sum()), lambda: x.to("cpu"), lambda: x[x > 0],
                  lambda: torch.ones(2, 3).copy_(x), lambda: torch.equal(x, x), lambda: torch.allclose(x, x)):
        with pytest.raises(NotImplementedError):
            wrong()
    with pytest.raises(RuntimeError, match="at least two devices"):
        x + torch.ones(3)
    with pytest.raises(RuntimeError, match="cannot be multiplied|mat1 and mat2"):
        x @ x


def test_no_memory_is_taken():
    big = torch.empty(1 << 20, 1 << 20, device="meta")
    out = (big @ big.t()).softmax(-1).sum(0)
    assert big.nbytes == 1 << 42 and out.shape == (1 << 20,)


def test_modules():
    with torch.device("meta"):
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                            nn.Linear(8, 2))
    assert all(p.is_meta for p in net.parameters())
    out = net(torch.zeros(4, 3, 8, 8, device="meta"))
    assert out.shape == (4, 2) and out.is_meta
    out.sum().backward()
    assert all(p.grad.shape == p.shape for p in net.parameters())
    with pytest.raises(NotImplementedError, match="Module.to_empty"):
        net.to("cpu")
    real = copy.deepcopy(net).to_empty(device="cpu")
    assert all(not p.is_meta and p.shape == q.shape for p, q in zip(real.parameters(), net.parameters()))
    state = nn.Linear(8, 2).state_dict()
    with pytest.warns(UserWarning, match="which is a no-op"):
        net[5].load_state_dict(state)
    assert net[5].weight.is_meta
    net[5].load_state_dict(state, assign=True)
    assert torch.equal(net[5].weight, state["weight"])
    assert nn.Linear(3, 4).to("meta").weight.is_meta
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="meta")
    assert encoder(torch.zeros(2, 5, 8, device="meta")).shape == (2, 5, 8)
    states, last = nn.LSTM(3, 4, device="meta")(torch.zeros(5, 2, 3, device="meta"))
    assert states.shape == (5, 2, 4) and last[0].shape == (1, 2, 4)


def test_summary_counts_what_is_not_computed():
    with torch.device("meta"):
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    x = torch.zeros(2, 3, 8, 8)
    text, other = str(nn.summary(net, x.to("meta"))), str(nn.summary(copy.deepcopy(net).to_empty(device="cpu"), x))
    assert text == other and "3,114 parameters" in text


def test_calls_that_index_notation_leaves_out():
    """One row for a loss of rows, and arrays among the attributes."""
    row, rows = torch.empty(5, device="meta"), torch.empty(6, 2, device="meta")
    target = torch.empty((), dtype=torch.int64, device="meta")
    for loss in (torch.nn.functional.nll_loss, torch.nn.functional.cross_entropy):
        assert loss(row, target).shape == () and loss(row, target).is_meta
    assert torch.histc(row, 4, -1, 1).shape == (4,)
    edges = torch.empty(4, device="meta")
    assert torch.histogramdd(rows, [edges, edges]).hist.shape == (3, 3)
