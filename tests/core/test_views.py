"""Views: their bounds, writes to them and to their bases, views as another dtype, copies."""

import copy

import numpy as np
import pytest

import minitorch as torch


@pytest.mark.parametrize("size, stride, offset", [((5,), (1,), 0), ((4,), (1,), 1), ((2, 2), (3, 1), 0),
                                                  ((1,), (1,), 4)])
def test_views_stay_inside_their_memory(size, stride, offset):
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        torch.arange(4.0).as_strided(size, stride, offset)
    assert torch.arange(4.0).as_strided((2, 2), (2, 1), 0).tolist() == [[0, 1], [2, 3]]
    assert torch.arange(4.0).as_strided((0, 9), (1, 1), 0).shape == (0, 9)


def test_views_that_are_gone_are_forgotten():
    x = torch.ones(3, requires_grad=True) * 1
    for _ in range(2000):
        x[0]
    assert len(x._views) <= 32


@pytest.mark.parametrize("write", [lambda x: x.T.view(-1).neg_(), lambda x: x[0].add_(1), lambda x: x[::2].fill_(2),
                                   lambda x: x.__setitem__(0, 1.0), lambda x: x.T.exp_()])
def test_views_of_a_leaf_that_is_itself_a_view_are_not_written_to(write):
    leaf = torch.randn(4, 3).transpose(0, 1).requires_grad_()
    before = leaf.tolist()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        write(leaf)
    assert leaf.is_leaf and leaf.tolist() == before
    with torch.no_grad():
        leaf[0] = 1.0
    leaf.sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 4] * 3


def test_views_of_plain_tensors_are_written_to_and_recorded():
    base, w = torch.zeros(2, 3), torch.ones(3, requires_grad=True)
    base[0].add_(w)
    base[1].mul_(w)
    base.sum().backward()
    assert w.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_copy_shares_the_memory_of_results_in_any_order(order, dtype):
    x = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, dtype)).permute(order) + 1
    twin = copy.copy(x)
    assert twin.tolist() == x.tolist() and twin.stride() == x.stride() and twin.data_ptr() == x.data_ptr()


def test_views_as_another_dtype():
    x = torch.ones(4, requires_grad=True)
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000] * 4 and not x.view(torch.float32).requires_grad
    bits[0] = 0
    assert x.tolist() == [0, 1, 1, 1] and x._version == 1
    with pytest.raises(RuntimeError, match="divisible by 2"):
        torch.ones(3, dtype=torch.int8)[1:].view(torch.int16)
    assert torch.ones(4, dtype=torch.int8)[2:].view(torch.int16).tolist() == [257]


def test_N_14_shapes_are_views():
    x = torch.arange(6.0)
    for view in (x.reshape(2, 3), x.unsqueeze(0), x.reshape(1, 6).squeeze(), x.reshape(2, 3).transpose(0, 1), x[1:4]):
        assert np.shares_memory(view.numpy(), x.numpy())
