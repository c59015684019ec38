"""The mistakes of those who went before: one test for each known defect, named after its row in the design notes.

N: PyNorch; D: DeepLearningWithNumpy; then the traps of the CS231n lecture, the defects of other small libraries, and
the eight programs that were run on all of them. Rows about CUDA only (N-9's atomics, N-10) have no test on the CPU.
"""

import subprocess
import sys
import time
import tracemalloc
import weakref

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
import minitorch.optim as optim
from minitorch.utils.data import DataLoader, TensorDataset


def leaf(data):
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def slope(function, value=3.0):
    x = leaf(value)
    function(x).backward()
    return x.grad.item()


# ---- PyNorch -----------------------------------------------------------------------------------------------
def test_N_1_every_path_counts():
    assert slope(lambda x: x + x) == 2 and slope(lambda x: x * x) == 6 and slope(lambda x: 2 * x + 5 * x) == 7
    assert slope(lambda x: (x * x) * (x * x) + x) == 4 * 27 + 1


def test_N_2_paths_are_not_walked_one_by_one():
    assert slope(lambda x: double(x, 200), 1.0) == 2.0 ** 200


def double(x, times):
    for _ in range(times):
        x = x + x
    return x


@pytest.mark.parametrize("reduce", [lambda x: x.sum(1), lambda x: x.max(1).values, lambda x: x.min(1).values,
                                    lambda x: x.mean(1) * x.shape[1], lambda x: x.amax(1)])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_N_3_reductions_put_their_axis_back(reduce, shape):
    x = leaf(np.arange(1.0, 1 + np.prod(shape)).reshape(shape))
    weights = torch.tensor([10.0, 100.0], dtype=torch.float64)
    (reduce(x) * weights).sum().backward()
    assert [row[row != 0].unique().tolist() for row in x.grad] == [[10], [100]]


def test_N_4_losses_pass_the_upstream_gradient_on():
    target = torch.tensor([0])
    for loss in (F.cross_entropy, lambda x, t: F.nll_loss(F.log_softmax(x, 1), t),
                 lambda x, t: F.mse_loss(x, F.one_hot(t, 2).double())):
        one, three = leaf([[1.0, 2.0]]), leaf([[1.0, 2.0]])
        loss(one, target).backward()
        (3 * loss(three, target)).backward()
        assert torch.allclose(three.grad, 3 * one.grad) and one.grad.any()


def test_N_5_large_logits():
    x = leaf([[1000.0, 0.0], [-1000.0, 0.0]])
    loss = F.cross_entropy(x, torch.tensor([1, 0]))
    loss.backward()
    assert loss.item() == 1000 and x.grad.tolist() == [[0.5, -0.5], [-0.5, 0.5]]
    assert F.softmax(x, 1).isfinite().all() and F.log_softmax(x, 1).isfinite().all()


def test_N_6_ties_share_one_gradient():
    x = leaf([[2.0, 2.0, 1.0]])
    x.max(1).values.sum().backward()
    assert x.grad.sum() == 1
    for whole in (torch.max, torch.amax, torch.amin):
        y = leaf([2.0, 2.0])
        whole(y).backward()
        assert y.grad.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("k", [1, 31, 32, 33, 784])
def test_N_7_matmul_of_every_inner_size(k):
    assert (torch.ones(3, k) @ torch.ones(k, 2)).tolist() == [[k] * 2] * 3
    assert (torch.ones(2, 3, k) @ torch.ones(k, 2))[1, 2, 1] == k


def test_N_8_N_9_reductions_read_only_and_see_nan():
    x = torch.tensor([[1.0, float("nan")], [-5.0, 2.0]])
    before = x.clone()
    assert x.max().isnan() and x.min().isnan() and x.max(1).values[1] == 2 and x.min(0).values[0] == -5
    assert torch.full((3,), -1.0).max() == -1 and torch.full((3,), 2.0).min() == 2, "the start value is not 0"
    x.sum(), x.sum(0)
    assert torch.equal(x.nan_to_num(), before.nan_to_num())
    big = torch.arange(100_000, dtype=torch.float64)
    assert big.sum() == 100_000 * 99_999 / 2 and big.max() == 99_999


def test_N_11_an_unknown_device_is_an_error():
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(1).to("nonsense")
    try:
        moved = torch.ones(1).to("cuda")
    except Exception as error:
        assert "cuda" in str(error).lower()
    else:
        assert moved.device.type == "cuda" and moved.is_cuda


def test_N_12_to_and_detach_leave_their_source_alone():
    x = leaf([1.0, 2.0])
    y = x * 2
    z, d = y.to(torch.float32), y.detach()
    assert y.grad_fn is not None and y.requires_grad and y.dtype is torch.float64 and z is not y and d is not y
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_N_13_an_optimizer_step_keeps_the_parameters():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight                      # tied
    before = {name: id(p) for name, p in model.named_parameters()}
    for make in (lambda p: optim.SGD(p, lr=0.1), lambda p: optim.Adam(p)):
        optimizer = make(model.parameters())
        alias = model[0].weight
        old = alias.clone()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        assert {name: id(p) for name, p in model.named_parameters()} == before and len(before) == 3
        assert alias is model[1].weight and alias.is_leaf and not torch.equal(alias, old)
        optimizer.zero_grad()
        assert alias.grad is None


def test_N_14_shapes_are_views():
    x = torch.arange(6.0)
    for view in (x.reshape(2, 3), x.unsqueeze(0), x.reshape(1, 6).squeeze(), x.reshape(2, 3).transpose(0, 1), x[1:4]):
        assert np.shares_memory(view.numpy(), x.numpy())


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


def test_N_17_mistakes_of_the_user_are_exceptions():
    for mistake, words in ((lambda: torch.ones(2, 3) + torch.ones(2, 4), "size of tensor a .3. must match .* b .4."),
                           (lambda: torch.ones(2, 3) @ torch.ones(2, 3), r"cannot be multiplied \(2x3 and 2x3\)"),
                           (lambda: torch.ones(2, 3).reshape(5), "invalid for input of size 6"),
                           (lambda: torch.ones(2).transpose(0, 5), "Dimension out of range"),
                           (lambda: nn.Linear(3, 2)(torch.ones(2, 4)), r"\(2x4 and 3x2\)")):
        with pytest.raises((RuntimeError, IndexError), match=words):
            mistake()


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


def test_N_19_a_module_saves_loads_trains_and_evaluates(tmp_path):
    model, twin = nn.Linear(2, 2), nn.Linear(2, 2)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    twin.load_state_dict(torch.load(tmp_path / "model.pt"))
    assert torch.equal(twin.weight, model.weight) and not model.eval().training and model.train().training
    with pytest.raises(RuntimeError, match="Missing key.*bias"):
        twin.load_state_dict({"weight": model.weight})


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


def test_N_22_initial_weights_depend_on_the_fan_in_and_the_seed():
    torch.manual_seed(0)
    layer = nn.Linear(100, 50)
    assert layer.weight.abs().max() <= 0.1 and layer.bias.shape == (50,) and layer(torch.ones(7, 100)).shape == (7, 50)
    torch.manual_seed(0)
    assert torch.equal(nn.Linear(100, 50).weight, layer.weight)


def test_N_23_the_loader_shuffles_drops_and_counts():
    data = TensorDataset(torch.arange(10))
    loader = DataLoader(data, batch_size=4)
    assert len(loader) == len(list(loader)) == 3 and loader.batch_size == 4
    assert len(DataLoader(data, batch_size=4, drop_last=True)) == 2
    shuffled = torch.cat([x for x, in DataLoader(data, batch_size=4, shuffle=True)])
    assert sorted(shuffled.tolist()) == list(range(10))


def test_N_24_D_3_importing_needs_numpy_only():
    code = ("import sys, importlib.abc\n"
            "class Refuse(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.partition('.')[0] in ('cupy', 'torch', 'mpi4py', 'scipy', 'matplotlib', 'tqdm'):\n"
            "            raise ImportError('not at import: ' + name)\n"
            "sys.meta_path.insert(0, Refuse())\n"
            "import minitorch as t, threading\n"
            "x = t.ones(2, requires_grad=True); t.nn.Linear(2, 1)(x * 2).sum().backward()\n"
            "assert threading.active_count() == 1 and x.grad is not None\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_N_25_a_shared_module_counts_once_and_writing_is_quiet():
    shared = nn.Linear(2, 2)
    assert len(list(nn.Sequential(shared, shared).parameters())) == 2
    x = leaf([1.0])
    calls = []
    x.register_hook(calls.append)
    x.anything, x.grad = 3, torch.ones(1, dtype=torch.float64)
    assert not calls, "hooks run in backward passes only"


# ---- DeepLearningWithNumpy ---------------------------------------------------------------------------------
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


def test_D_4_layers_can_be_used_twice_and_accumulate():
    layer, x = nn.Linear(2, 2).double(), torch.ones(1, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda w: F.linear(F.linear(x, w), w), layer.weight)
    layer(x).sum().backward()
    first = layer.weight.grad.clone()
    layer(x).sum().backward()
    assert torch.equal(layer.weight.grad, 2 * first)


def test_D_5_reflected_operators():
    x = torch.tensor([3.0])
    assert (2 ** x).item() == 8 and (x ** 2).item() == 9 and (1 - x).item() == -2 and (6 / x).item() == 2
    assert (7 // x).item() == 2 and (7 % x).item() == 1 and (x @ x).item() == 9


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


def test_D_7_optional_arguments():
    assert nn.Linear(2, 3, bias=False).bias is None and nn.Linear(2, 3, bias=False)(torch.ones(1, 2)).shape == (1, 3)
    assert nn.MaxPool2d(2)(torch.rand(1, 1, 4, 4)).shape == (1, 1, 2, 2)


def test_D_8_pooling_with_padding_and_dilation():
    x = -torch.rand(1, 1, 8, 8, dtype=torch.float64) - 1
    x.requires_grad_()
    y = F.max_pool2d(x, 3, stride=2, padding=1)
    assert (y < 0).all() and all((x == v).any() for v in y.flatten()), "padding never wins, values are not touched"
    y.sum().backward()
    assert x.grad.shape == (1, 1, 8, 8) and x.grad.sum() == y.numel()
    z = torch.arange(25.0).reshape(1, 1, 5, 5)
    assert F.max_pool2d(z, 2, stride=1, dilation=3).tolist() == [[[[18, 19], [23, 24]]]]
    assert F.conv2d(z, torch.ones(1, 1, 2, 2), dilation=4).item() == 0 + 4 + 20 + 24


def test_D_9_optimizers_norms_and_modes_work():
    for make in (optim.SGD, optim.Adagrad, optim.Adam):
        make([torch.ones(1, requires_grad=True)], lr=0.1).step()
    norm, x = nn.BatchNorm2d(2), torch.rand(8, 2, 3, 3) * 5 + 3
    y = norm(x)
    assert torch.allclose(y.mean((0, 2, 3)), torch.zeros(2), atol=1e-5)
    assert torch.allclose(y.var((0, 2, 3), unbiased=False), torch.ones(2), atol=1e-3)
    assert torch.allclose(norm.running_mean, 0.1 * x.mean((0, 2, 3)), atol=1e-5)
    assert not torch.allclose(norm.eval()(x), y) and nn.Dropout(0.5)(x) is not None


def test_D_10_max_pooling_uses_the_incoming_gradient():
    x = leaf(np.arange(16.0).reshape(1, 1, 4, 4))
    F.max_pool2d(x, 2).backward(torch.tensor([[[[1.0, 2], [3, 4]]]], dtype=torch.float64))
    assert x.grad[x.grad != 0].tolist() == [1, 2, 3, 4]


def test_D_11_convolution_gradients_have_the_shape_of_the_input():
    x, w = leaf(np.ones((1, 1, 5, 5))), leaf(np.ones((1, 1, 3, 3)))
    F.conv2d(x, w, padding=1).sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape and x.grad[0, 0, 2, 2] == 9 and x.grad[0, 0, 0, 0] == 4
    assert torch.allclose(F.log_softmax(x, 3).exp(), F.softmax(x, 3))


def test_D_12_tensors_are_light_hashable_and_honest_about_truth():
    x = torch.ones(2)
    assert {x: 1}[x] == 1 and not isinstance(x, nn.Module) and bool(torch.tensor(0.5)) and not bool(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x == x)


def test_D_13_devices_are_the_tensors_own():
    x = torch.rand(3, device="cpu")
    assert x.device.type == "cpu" and torch.rand_like(x).device == x.device
    with torch.device("cpu"):
        assert torch.zeros(1).device.type == "cpu"


def test_D_14_steps_write_in_place_and_record_nothing():
    w = torch.ones(4, requires_grad=True)
    view = w.detach()[:2]
    optimizer = optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    assert w.grad_fn is None and not torch.equal(view, torch.ones(2)) and torch.equal(view, w.detach()[:2])
    assert not hasattr(w, "exp_avg") and "exp_avg" in optimizer.state[w]


def test_D_15_the_mean_squared_error_is_a_mean():
    x, y = torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 4, 7])
    assert F.mse_loss(x, y).item() == pytest.approx(20 / 3) and F.mse_loss(x, y, reduction="sum").item() == 20


# ---- the lecture's traps -----------------------------------------------------------------------------------
def test_2_3_writes_through_data_are_noticed():
    w = leaf([1.0, 2.0])
    with torch.autograd.detect_anomaly():                  # elsewhere `data` sneaks past, as in PyTorch
        y = w * w
        w.data -= 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_2_3_there_is_data_without_a_network():
    from minitorch import datasets
    assert len(datasets.Digits(train=True)) + len(datasets.Digits(train=False)) == 1797


# ---- other libraries ---------------------------------------------------------------------------------------
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
    del y                                                  # taking the graph apart is no recursion either


def test_2_4_numpygrad_a_second_backward_adds_no_stale_gradients():
    x = leaf(3.0)
    y = x * x
    z = y * 1
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 12


def test_2_4_Cornell_gradients_are_checked_everywhere():
    class Wrong(torch.autograd.Function):                  # right but for one element
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g = g * 2
            g.reshape(-1)[-1] += 0.1
            return g
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(Wrong.apply, leaf([1.0, 2.0, 3.0]))


# ---- the eight programs ------------------------------------------------------------------------------------
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


def test_program_4_broadcast():
    a, b, c = leaf(np.ones((3, 1))), leaf(np.ones((1, 4))), leaf(np.ones((2, 3, 4)))
    (a * b * c).sum().backward()
    assert (a.grad == 8).all() and (b.grad == 6).all() and (c.grad == 1).all() and a.grad.shape == (3, 1)


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


def test_program_7_a_loss_whose_target_would_broadcast():
    x, y = torch.ones(4, 1), torch.ones(4)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy_with_logits):
        with pytest.raises((RuntimeError, ValueError), match=r"(?s)\[4, 1\].*\[4\]|\[4\].*\[4, 1\]"):
            loss(x, y)
        assert loss(x, y.unsqueeze(1)).ndim == 0
    assert F.mse_loss(x, y.unsqueeze(1)).item() == 0


def test_program_8_backward_twice():
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="second time.*retain_graph=True"):
        y.backward()
    assert x.grad.item() == 6


@pytest.mark.parametrize("a, b", [(1, "a"), ("a", "a"), ("a", torch.ones(1)), ([1], ["a"]), (object(), 1)])
def test_values_without_numbers_are_not_compared(a, b):
    with pytest.raises(TypeError, match="No comparison pair"):
        torch.testing.assert_close(a, b)
