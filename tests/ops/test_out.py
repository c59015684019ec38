"""``out=``: which functions take it, its size, layout and version, several results."""

import inspect

import pytest

import minitorch as torch


def test_random_numbers_into_a_given_tensor():
    out = torch.zeros(1)
    torch.manual_seed(3)
    with pytest.warns(UserWarning, match="was resized"):
        found = torch.rand(2, 3, out=out)
    torch.manual_seed(3)
    assert found is out and out.shape == (2, 3) and out.equal(torch.rand(2, 3))


def test_signatures_name_out():
    assert str(inspect.signature(torch.exp)) == "(input, *, out=None)"
    assert "out" not in inspect.signature(torch.squeeze).parameters


def test_lists_of_tensors_are_joined_into_what_is_given():
    a, b, out = torch.ones(2), torch.zeros(1, dtype=torch.int64), torch.zeros(3)
    assert torch.cat([a, a[:1]], out=out) is out and out.tolist() == [1, 1, 1]
    assert torch.cat([a, b]).dtype is torch.float32 and torch.stack([a, a], out=out.new_zeros(2, 2)).sum() == 4


def test_pairs_of_results_into_given_tensors():
    out = torch.empty(0), torch.empty(0)
    torch.var_mean(torch.tensor([[1.0, 3.0], [2.0, 5.0]]), 0, out=out)
    assert [x.tolist() for x in out] == [[0.5, 2.0], [1.5, 4.0]]


def test_an_empty_out_lies_as_the_result_would():
    x = torch.randn(3, 4).T
    out = torch.add(x, 1, out=torch.empty(0))
    assert out.stride() == (1, 4) and torch.equal(out, x + 1)
