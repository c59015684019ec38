"""Names of graph nodes are PyTorch's, which programs print and look for."""

import pytest

import minitorch as torch
from minitorch.nn.functional import linear

a, b = torch.rand(2, 3, requires_grad=True), torch.rand(3, 4)
v, c = torch.rand(3, requires_grad=True), torch.rand(5, 2, 3, requires_grad=True)


def written(x):
    out = x * 1
    out[0] = 5
    return out


@pytest.mark.parametrize("result, name", [
    (a @ b, "MmBackward0"), (a @ v, "MvBackward0"), (v @ v, "DotBackward0"), (c @ b, "UnsafeViewBackward0"),
    (torch.bmm(c, c.mT), "BmmBackward0"), (linear(a, b.T), "MmBackward0"), (linear(c, b.T), "UnsafeViewBackward0"),
    (torch.nn.Linear(3, 2)(a), "AddmmBackward0"), (torch.nn.Linear(3, 2)(c), "ViewBackward0"),
    (written(v), "CopySlices"), (v[1:], "SliceBackward0"), (v[1], "SelectBackward0"), (v.sum(), "SumBackward0"),
    (v.norm(), "LinalgVectorNormBackward0"), (v.median(), "MedianBackward0"), (v.log1p(), "Log1PBackward0"),
    (torch.deg2rad(v), "Deg2RadBackward0"), (torch.special.entr(v), "SpecialEntrBackward0"),
    (torch.special.i1e(v), "SpecialI1EBackward0"), (torch.special.erfcx(v), "SpecialErfcxBackward0"),
])
def test_names(result, name):
    assert result.grad_fn.name() == name and f"grad_fn=<{name}>" in str(result)


def test_leaves_are_told_apart_in_the_graph():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (one, _), (two, _) = (x * y).grad_fn.next_functions
    assert one != two and one != "AccumulateGrad" and (x * x).grad_fn.next_functions[0][0] == one
