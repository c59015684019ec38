"""`nn.parallel`: batches scattered in parts, and gathered."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.nn.parallel import gather, scatter, scatter_kwargs

FEW = settings(max_examples=20, deadline=None, derandomize=True, database=None)


@FEW
@given(st.integers(1, 7), st.integers(1, 4), st.booleans())
def test_scattered_batches_come_together(rows, parts, as_dict):
    x = torch.arange(rows * 3.0).reshape(rows, 3)
    batch = {"x": x, "rest": [x.t(), 5]} if as_dict else x
    if as_dict:
        batch["rest"][0] = x * 2
    scattered = scatter(batch, ["cpu"] * parts)
    assert type(scattered) is (list if as_dict else tuple) and len(scattered) == len(x.chunk(parts))
    if as_dict:
        assert [p["rest"][1] for p in scattered] == [5] * len(scattered)
        scattered = [{"x": p["x"], "rest": p["rest"][0]} for p in scattered]
    back = gather(scattered, "cpu")
    assert (back["x"] if as_dict else back).equal(x) and (not as_dict or back["rest"].equal(2 * x))


def test_scattered_arguments_and_numbers():
    inputs, kwargs = scatter_kwargs((torch.arange(4),), {"k": torch.arange(2)}, ["cpu", "cpu"])
    assert [len(i) for i in inputs] == [1, 1] and [k["k"].tolist() for k in kwargs] == [[0], [1]]
    assert scatter_kwargs((torch.arange(2),), None, ["cpu", "cpu"])[1] == ({}, {})
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1, 2]
    model = nn.Linear(2, 1)
    halves = [model(x) for x in scatter(torch.ones(4, 2), ["cpu"] * 2)]
    gather(halves, "cpu").sum().backward()
    assert model.weight.grad.tolist() == [[4, 4]]
