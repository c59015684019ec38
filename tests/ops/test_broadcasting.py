"""Broadcasting: of shapes of different ranks, and of gradients back to them."""

import numpy as np

import minitorch as torch


def test_broadcast_tensors_takes_a_list_too():
    for found in (torch.broadcast_tensors([torch.ones(2, 1), torch.ones(3)]),
                  torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))):
        assert [tuple(x.shape) for x in found] == [(2, 3), (2, 3)]


def test_equal_shapes_are_not_broadcast_to_another_tensor():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    a, b = torch.broadcast_tensors(x, y)
    assert a is x and b.shape == (2, 3)


def leaf(data):
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def test_N_15_broadcasting_of_different_ranks():
    assert (torch.tensor([1, 2]) + torch.ones(1, 2, 2, dtype=torch.int64)).tolist() == [[[2, 3], [2, 3]]]
    assert (torch.tensor([1.0, 2]) + torch.tensor([[[1.0, 1], [2, 2]]])).tolist() == [[[2, 3], [3, 4]]]
    x, y = leaf([1.0, 2.0]), leaf([[[1.0, 1], [2, 2]]])
    (x * y).sum().backward()
    assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [[[1, 2], [1, 2]]]


def test_N_16_products_and_quotients_broadcast():
    x, y = leaf([[2.0, 4.0]]), leaf([2.0])
    assert (x * leaf([[1.0], [2.0]])).tolist() == [[2, 4], [4, 8]]
    (x / y).sum().backward()
    assert x.grad.tolist() == [[0.5, 0.5]] and y.grad.tolist() == [-1.5]


def test_program_4_broadcast():
    a, b, c = leaf(np.ones((3, 1))), leaf(np.ones((1, 4))), leaf(np.ones((2, 3, 4)))
    (a * b * c).sum().backward()
    assert (a.grad == 8).all() and (b.grad == 6).all() and (c.grad == 1).all() and a.grad.shape == (3, 1)
