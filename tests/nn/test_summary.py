"""`nn.summary`: shapes, parameters and work of modules."""

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.core import layers


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 6, 3, padding=1, groups=3), nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 5, bias=False)

    def forward(self, x, times=1):
        h = self.norm(self.conv(x)).relu()
        for _ in range(times):
            out = self.head(h.mean((2, 3)))
        return {"out": out, "features": (h, h.mean())}


def test_rows_shapes_parameters_and_work():
    net = Twice()
    found = nn.summary(net, torch.randn(2, 3, 8, 8), times=2)
    rows = {(r.path, i): r for i, r in enumerate(found.rows)}
    assert [r.path for r in found.rows] == ["", "conv", "norm", "head", "head"]
    assert found.rows[0].output == [[2, 5], [2, 6, 8, 8], []]
    assert [r.parameters for r in found.rows] == [0, 6 * 9 + 6, 12, 30, 0]    # each counted once
    assert rows["conv", 1].flops == 2 * (2 * 6 * 8 * 8) * 9 and rows["head", 3].flops == 2 * 2 * 5 * 6
    assert found.flops == rows["conv", 1].flops + 2 * rows["head", 3].flops
    assert found.parameters == found.trainable == 102 and found.bytes == 408
    assert "102 parameters (408 bytes), all trainable" in str(found)


def test_nothing_is_left_behind():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
    net[2].weight.requires_grad_(False)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    found = nn.summary(net, torch.ones(4, 3), depth=0)
    torch.testing.assert_close(torch.rand(2), expected)
    for k, v in net.state_dict().items():
        torch.testing.assert_close(v, before[k])
    assert not net[0]._forward_hooks and not net._forward_pre_hooks and not layers.stack
    assert len(str(found).splitlines()) == 3 and "6 of them frozen" in str(found)


def test_a_model_that_fails_leaves_nothing_behind():
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        nn.summary(net, torch.ones(4, 3))
    assert not layers.stack and not net[0]._forward_hooks


def test_attention_products_and_transposed_convolutions_are_counted():
    q = torch.randn(2, 4, 5, 8)

    class Attend(nn.Module):
        def forward(self, q):
            return nn.functional.scaled_dot_product_attention(q, q, q)

    assert nn.summary(Attend(), q).flops == 2 * (2 * 2 * 4 * 5 * 5 * 8)
    up = nn.ConvTranspose2d(3, 4, 2, stride=2)
    assert nn.summary(up, torch.randn(1, 3, 5, 5)).flops == 2 * (3 * 5 * 5) * 4 * 4
    assert nn.summary(nn.Bilinear(2, 3, 4), torch.randn(5, 2), torch.randn(5, 3)).flops > 0


def test_summaries_end_at_a_depth():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    shown = [nn.summary(model, torch.ones(4, 2), depth=depth) for depth in (0, 1, None)]
    assert [len(found.table()) for found in shown] == [1, 3, 5]
    assert shown[0].flops == shown[2].flops == shown[2].rows[0].flops > shown[2].rows[1].flops > 0
