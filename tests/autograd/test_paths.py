"""Gradients along all paths of a graph: each counts, none is walked twice, long ones need no recursion."""

import time
import tracemalloc
import weakref

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


def test_gradients_of_a_sum_do_not_share_memory():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert a.grad.tolist() == [5, 5, 5] and b.grad.tolist() == [1, 1, 1]
    c = torch.ones(3, requires_grad=True)
    seed = torch.ones(3)
    (c + 0).backward(seed)
    c.grad.mul_(7)
    assert seed.tolist() == [1, 1, 1]


def test_a_graph_that_saved_a_gradient_is_not_betrayed_by_the_next_one():
    """PyTorch accumulates in place and refuses then; a right answer would do, a wrong one would not."""
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    (x * 5).sum().backward()
    y = (x.grad * w).sum()                                 # keeps x.grad, 5
    (x * 10).sum().backward()                              # x.grad is 15 now
    assert x.grad.tolist() == [15]
    try:
        y.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        assert w.grad.tolist() == [5]


def leaf(data):
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def slope(function, value=3.0):
    x = leaf(value)
    function(x).backward()
    return x.grad.item()


def test_N_1_every_path_counts():
    assert slope(lambda x: x + x) == 2 and slope(lambda x: x * x) == 6 and slope(lambda x: 2 * x + 5 * x) == 7
    assert slope(lambda x: (x * x) * (x * x) + x) == 4 * 27 + 1


def test_N_2_paths_are_not_walked_one_by_one():
    assert slope(lambda x: double(x, 200), 1.0) == 2.0 ** 200


def double(x, times):
    for _ in range(times):
        x = x + x
    return x


def test_N_18_nothing_leaks():
    def work():
        x = torch.zeros(256, 1024, requires_grad=True)
        for _ in range(5):
            torch.ones_like(x), torch.zeros_like(x)
            (x.exp() * 2).sum().backward()
            x.grad = None
    work()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5):
        work()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1 << 20


def test_N_20_gradients_share_no_memory():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (a + b).sum().backward()
    (a + 0).sum().backward()
    a.grad.mul_(100)
    assert b.grad.tolist() == [1, 1] and not np.shares_memory(a.grad.numpy(), b.grad.numpy())


def test_N_21_slopes_that_nobody_asks_for_are_not_computed():
    x, y = leaf([[-2.0, 3.0]]), leaf([[1.0], [2.0]])
    (x - y).sum().backward()
    assert x.grad.tolist() == [[2, 2]] and y.grad.tolist() == [[-2], [-2]]
    z = leaf([-2.0, 3.0])
    with np.errstate(all="raise"):                         # the logarithm of -2 would raise
        (z ** 2).sum().backward()
        (z ** torch.tensor([2.0, 3.0], dtype=torch.float64)).sum().backward()
    assert z.grad.tolist() == [-8, 33]


def test_D_1_branches_are_added():
    torch.manual_seed(0)
    layer, x = nn.Linear(3, 3).double(), torch.rand(2, 3, dtype=torch.float64)
    left, right = torch.autograd.grad(layer(x).sin().sum(), layer.weight)[0], torch.autograd.grad(
        layer(x).exp().sum(), layer.weight)[0]
    y = layer(x)
    (y.sin() + y.exp()).sum().backward()
    assert torch.allclose(layer.weight.grad, left + right)


def test_D_2_operators_around_a_layer_have_derivatives():
    layer, x = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
    (layer(x) * 3).sum().backward()
    assert torch.allclose(x.grad, 3 * layer.weight)


def test_D_6_in_place_writes_are_counted():
    x = leaf([1.0, 2.0])
    h = x * 1
    y = h * h
    h += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z = h
    z = z + 1                                              # not in place
    assert h.tolist() == [2, 3]


def test_2_3_writes_through_data_are_noticed():
    w = leaf([1.0, 2.0])
    with torch.autograd.detect_anomaly():                  # elsewhere `data` sneaks past, as in PyTorch
        y = w * w
        w.data -= 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_2_4_DeZero_second_derivatives_of_convolution_and_batch_norm():
    torch.manual_seed(0)
    x, w = torch.randn(2, 1, 4, 4).double().requires_grad_(), torch.randn(1, 1, 2, 2).double().requires_grad_()
    assert torch.autograd.gradgradcheck(F.conv2d, (x, w))
    z = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda z: F.batch_norm(z, None, None, training=True), z)


def test_2_4_PyDyNet_forwards_leave_nothing_and_graphs_are_apart():
    x = leaf(2.0)
    nodes = [weakref.ref((x * x).grad_fn) for _ in range(1000)]
    assert not any(ref() for ref in nodes)
    first, second = x * x, x * 3
    second.backward()
    first.backward()
    assert x.grad.item() == 7


def test_2_4_ML_by_Hand_sums_of_doubled_values():
    y = leaf([1.0, 2.0])
    z = y + y
    z.sum().backward()
    assert y.grad.tolist() == [2, 2]


@pytest.mark.parametrize("op", [lambda x: x + 1.0, lambda x: x * 1.0, torch.sin, lambda x: x.view(1)],
                         ids=["+", "*", "sin", "view"])
def test_2_4_AutoCompyute_no_recursion(op):
    x = leaf([1.0])
    y = x
    for _ in range(5000):
        y = op(y)
    y.sum().backward()
    assert x.grad is not None
    del y                                                  # freeing the graph does not recurse either


def test_2_4_numpygrad_a_second_backward_adds_no_stale_gradients():
    x = leaf(3.0)
    y = x * x
    z = y * 1
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 12


def test_program_1_polynomial():
    assert slope(lambda x: x * x + x ** 3) == 33


def test_program_2_diamond():
    start = time.process_time()
    assert slope(lambda x: double(x, 22), 1.0) == 2.0 ** 22
    assert time.process_time() - start < 5, "2 ** 22 paths, 22 nodes"


def test_program_3_chain():
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1


def test_program_5_repeated_index():
    x = leaf([1.0, 2.0, 3.0])
    x[[0, 0, 1]].sum().backward()
    assert x.grad.tolist() == [2, 1, 0]


def test_program_6_a_write_after_the_value_was_saved():
    x = leaf([1.0, 2.0, 3.0])
    y = x * x
    with torch.no_grad():
        x[0] = 100
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_program_8_backward_twice():
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="second time.*retain_graph=True"):
        y.backward()
    assert x.grad.item() == 6
