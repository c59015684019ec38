"""Gradients of `segment_reduce`, to second order and in batches."""

import numpy as np

import minitorch as torch

REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


def test_gradients_of_segments():
    lengths = torch.tensor([2, 0, 3])
    x = torch.tensor([1.0, 4.0, 2.0, 0.5, 3.0], dtype=torch.float64).requires_grad_()
    for reduce in REDUCTIONS:
        for initial in (None, 0.75):
            def function(x, reduce=reduce, initial=initial):
                return torch.segment_reduce(x, reduce, lengths=lengths, initial=initial)[::2]
            assert torch.autograd.gradcheck(function, x) and torch.autograd.gradgradcheck(function, x)
    ties = torch.tensor([1.0, 1.0, 2.0]).requires_grad_()
    torch.segment_reduce(ties, "min", lengths=torch.tensor([3])).sum().backward()
    assert ties.grad.tolist() == [0.5, 0.5, 0.0]           # shared among equals
    batch = torch.vmap(lambda row: torch.segment_reduce(row, "max", lengths=torch.tensor([1, 2])))
    assert batch(torch.tensor([[1.0, 5, 2], [4, 0, 3]])).tolist() == [[1, 5], [4, 3]]
    half = torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]).bfloat16(), "mean", lengths=torch.tensor([1, 2]))
    assert half.dtype is torch.bfloat16 and half.tolist() == [1, 3]
