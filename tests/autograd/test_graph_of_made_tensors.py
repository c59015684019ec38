"""Tensors made of others: whether `asarray` and `normal` stay in their graph; norms of several types."""

import itertools

import pytest

import minitorch as torch

F = torch.nn.functional


@pytest.mark.parametrize("leaf, copy, requires_grad", list(itertools.product((True, False), (None, True, False),
                                                                              (None, True, False))))
def test_asarray(leaf, copy, requires_grad):
    """PyTorch's rule: out of the graph with False, or with True where nothing is copied and nothing is said of it."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x if leaf else x * 2
    kwargs = {} if requires_grad is None else dict(requires_grad=requires_grad)
    out = torch.asarray(y, copy=copy, **kwargs)
    assert out.requires_grad is (requires_grad is not False)
    assert (out.data_ptr() == y.data_ptr()) is (copy is not True)
    if requires_grad is False or requires_grad and copy is None:
        assert out.is_leaf and out.grad_fn is None
    elif copy or not leaf:
        out.sum().backward()
        assert x.grad.tolist() == ([1, 1] if leaf else [2, 2])
    else:
        assert out.is_leaf


def test_asarray_of_another_dtype_stays_in_the_graph():
    x = torch.tensor([1.0], requires_grad=True)
    for kwargs in ({}, {"requires_grad": True}):
        torch.asarray(x, dtype=torch.float64, **kwargs).sum().backward()
    assert x.grad.item() == 2 and not torch.asarray(x, dtype=torch.float64, requires_grad=False).requires_grad
    assert torch.asarray([1.0, 2.0], requires_grad=True).requires_grad
    assert not torch.asarray([1.0, 2.0]).requires_grad


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((3, 2), (2,)), ((1,), (2,)), ((2, 1), (1, 3))])
def test_all_parameters_of_normal_get_a_gradient_of_zero(shapes):
    mean, std = (torch.ones(shape, requires_grad=True) for shape in shapes)
    torch.normal(mean, std).sum().backward()
    assert not mean.grad.any() and not std.grad.any() and (mean.grad.shape, std.grad.shape) == shapes


def test_normal_into_out_is_not_recorded():
    mean = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.normal(mean, 1.0, out=torch.empty(2))
    with torch.no_grad():
        torch.normal(mean, 1.0, out=torch.empty(2))


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_takes_statistics_of_the_weights_type_only(half, training):
    x, weight = torch.ones(4, 3).to(half), torch.ones(3)
    F.batch_norm(x, torch.zeros(3), torch.ones(3), weight, weight, training)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        F.batch_norm(x, torch.zeros(3, dtype=half), torch.ones(3, dtype=half), weight, weight, training)


def test_rms_norm_of_weights_of_another_type():
    x = torch.tensor([[1.0, 2.0]])
    assert F.rms_norm(x, (2,), torch.ones(2, dtype=torch.float64)).dtype == torch.float32
    assert F.rms_norm(x.to(torch.bfloat16), (2,), torch.ones(2)).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="normalized_shape"):
        F.rms_norm(x, (3,), torch.ones(2, dtype=torch.float64))
