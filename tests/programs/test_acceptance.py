"""Every item of the starting documents, with PyTorch's names: one test for each row of the acceptance table.

T: the tensor of the article's library (PyNorch); N: its autograd, layers, optimiser and data; D: the blog's library
over NumPy and CuPy (DeepLearningWithNumpy); C: the CS231n lecture on PyTorch. What is distributed, downloads weights or
needs a GPU is not here.
"""

import math

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
import minitorch.optim as optim
from minitorch.utils.data import DataLoader, Dataset, TensorDataset

cases = pytest.mark.parametrize
A = [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]
a = np.array(A)


def tensor(data=A, requires_grad=False):
    return torch.tensor(data, dtype=torch.float64, requires_grad=requires_grad)


def same(x, y):
    np.testing.assert_allclose(x.detach().numpy() if isinstance(x, torch.Tensor) else x, y, rtol=1e-12)


def gradient(function, *arrays):
    """The gradients of ``function(...).sum()`` at each of the arrays."""
    xs = [tensor(x, True) for x in arrays]
    function(*xs).sum().backward()
    return [x.grad.numpy() for x in xs]


def trains(model, x, y, loss, optimizer, steps=30):
    """True if the loss falls to less than half."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses[-1] < 0.5 * losses[0]


# ---- PyNorch: tensors --------------------------------------------------------------------------------------
class TestNorchTensor:
    def test_T1_T2_making_and_attributes(self):
        x = torch.tensor([[1.0, 2], [3, 4]], device="cpu", requires_grad=True)
        assert (x.shape, x.ndim, x.numel(), x.device.type, x.requires_grad) == ((2, 2), 2, 4, "cpu", True)
        assert x.grad is None and x.grad_fn is None and torch.Tensor([1.0]).requires_grad is False
        assert torch.Tensor([[1.0, 2]], requires_grad=True).shape == (1, 2) and torch.tensor(3.5).item() == 3.5

    def test_T3_T4_likes(self):
        assert torch.ones_like(tensor()).tolist() == [[1] * 3] * 2 and torch.zeros_like(tensor()).sum() == 0

    def test_T5_T6_T7_shapes(self):
        x = tensor()
        assert x.reshape(-1).shape == (6,) and x.reshape(3, -1).shape == (3, 2) and x.unsqueeze(1).shape == (2, 1, 3)
        assert x.unsqueeze(0).squeeze().shape == (2, 3) and x.unsqueeze(0).squeeze(dim=0).shape == (2, 3)

    def test_T8_T11_to_and_detach_return_others(self):
        x = tensor(requires_grad=True)
        y = x * 2
        assert x.to("cpu") is x and y.detach() is not y and y.requires_grad and y.grad_fn is not None

    def test_T9_T10_backward_and_zeroing(self):
        x = tensor(requires_grad=True)
        (x * x).backward(torch.ones_like(x))
        same(x.grad, 2 * a)
        x.grad.zero_()
        assert not x.grad.any()
        (x * x).sum().backward()
        same(x.grad, 2 * a)

    def test_T12_T13_items_and_text(self):
        assert tensor()[1, 2].item() == -6.0
        assert str(torch.tensor([1.0, 2])) == repr(torch.tensor([1.0, 2])) == "tensor([1., 2.])"

    @cases("compute", [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y,
                       lambda x, y: x + 2, lambda x, y: 2 + x, lambda x, y: x - 2, lambda x, y: 2 - x,
                       lambda x, y: x * 2, lambda x, y: 2 * x, lambda x, y: x / 2, lambda x, y: 2 / x,
                       lambda x, y: -x, lambda x, y: +x, lambda x, y: x ** 3, lambda x, y: 2 ** x,
                       lambda x, y: x + y[0], lambda x, y: x[:, :1] - y, lambda x, y: x[0] * y, lambda x, y: x / y[:1]])
    def test_T14_to_T21_operators(self, compute):
        b = np.array([[3.0, 1, 2], [5, 4, 0.5]])
        same(compute(tensor(), tensor(b)), compute(a, b))

    @cases("left, right", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((3,), (3, 4)),
                           ((2, 3), (3,))])
    def test_T18_matmul(self, left, right):
        rng = np.random.default_rng(0)
        m, n = rng.standard_normal(left), rng.standard_normal(right)
        same(tensor(m) @ tensor(n), m @ n)

    def test_T22_equal(self):
        x = tensor()
        assert (x == x).all() and (x == x[0]).tolist() == [[True] * 3, [False] * 3]
        assert torch.equal(x, x.clone()) and not torch.equal(x, x[0])

    @cases("name", ["log", "sin", "cos"])
    def test_T23_T27_T28_elementwise(self, name):
        same(getattr(tensor(np.abs(a)), name)(), getattr(np, name)(np.abs(a)))
        same(getattr(torch, name)(tensor(np.abs(a))), getattr(np, name)(np.abs(a)))

    def test_T29_sigmoid(self):
        same(tensor().sigmoid(), 1 / (1 + np.exp(-a)))

    def test_T24_T25_T26_reductions(self):
        x = tensor()
        for dim in (0, 1, -1):
            for keep in (False, True):
                same(x.sum(dim, keepdim=keep), a.sum(dim, keepdims=keep))
                same(x.max(dim, keepdim=keep).values, a.max(dim, keepdims=keep))
                same(x.min(dim, keepdim=keep)[0], a.min(dim, keepdims=keep))
        assert (x.sum().item(), x.max().item(), x.min().item()) == (-3, 5, -6)

    def test_T30_T31_transposes(self):
        x = torch.arange(24.0).reshape(2, 3, 4)
        assert x.transpose(0, 2).shape == (4, 3, 2) and x.mT.shape == (2, 4, 3) and x[0].T.shape == (4, 3)
        assert x[0, 0].T.shape == (4,) and x.transpose(0, 2)[3, 2, 1] == x[1, 2, 3]

    def test_T32_hooks(self):
        x, seen = tensor([1.0, 2], True), []
        handle = x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
        (x * 3).sum().backward()
        assert seen == [[3, 3]] and x.grad.tolist() == [6, 6]
        handle.remove()


# ---- PyNorch: autograd, nn, optim, data --------------------------------------------------------------------
class TestNorchAutograd:
    @cases("name, function, derivative", [
        ("Add", lambda x: x + x, lambda x: 2 + 0 * x),
        ("AddBroadcasted", lambda x: x + x[0], lambda x: [[3] * 3, [1] * 3]),
        ("Sub", lambda x: x - 3 * x, lambda x: -2 + 0 * x),
        ("SubBroadcasted", lambda x: x - x[:, :1], lambda x: [[-2, 1, 1]] * 2),
        ("ScalarMul", lambda x: 5 * x, lambda x: 5 + 0 * x),
        ("ElementwiseMul", lambda x: x * x, lambda x: 2 * x), ("PowBase", lambda x: x ** 3, lambda x: 3 * x ** 2),
        ("PowExponent", lambda x: 2.0 ** x, lambda x: math.log(2) * 2.0 ** x),
        ("Log", lambda x: (x * x).log(), lambda x: 2 / x),
        ("Sum", lambda x: x.sum(0) * x.sum(1)[0],
         lambda x: np.full((2, 3), x.sum(1)[0]) + np.array([[1], [0]]) * x.sum()),
        ("Reshape", lambda x: x.reshape(3, 2)[0] * 7, lambda x: [[7, 7, 0], [0, 0, 0]]),
        ("Transpose", lambda x: x.transpose(0, 1)[0] * 7, lambda x: [[7, 0, 0]] * 2),
        ("T", lambda x: x.T[1:], lambda x: [[0, 1, 1]] * 2),
        ("Division", lambda x: 1 / x + x / 4, lambda x: -1 / x ** 2 + 0.25), ("Sin", torch.sin, np.cos),
        ("Cos", torch.cos, lambda x: -np.sin(x)), ("Max", lambda x: x.max(1).values, lambda x: [[0, 0, 1], [0, 1, 0]]),
        ("MaxAll", lambda x: x.max(), lambda x: [[0, 0, 0], [0, 1, 0]]),
        ("Min", lambda x: x.min(0)[0], lambda x: [[0, 1, 0], [1, 0, 1]]),
        ("Sigmoid", torch.sigmoid, lambda x: 1 / (2 + np.exp(x) + np.exp(-x)))],
        ids=lambda v: v if isinstance(v, str) else "")
    def test_nodes(self, name, function, derivative):
        np.testing.assert_allclose(gradient(function, a)[0], derivative(a), rtol=1e-12)

    @cases("left, right", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4))])
    def test_matmul_nodes(self, left, right):
        rng = np.random.default_rng(0)
        m, n = rng.standard_normal(left), rng.standard_normal(right)
        g, h = gradient(torch.matmul, m, n)
        whole = np.ones(np.matmul(m, n).shape)
        same(g, (whole @ n.swapaxes(-1, -2)).sum(0) if m.ndim < n.ndim else whole @ n.swapaxes(-1, -2))
        same(h, np.broadcast_to(m.swapaxes(-1, -2), (*n.shape[:-2], m.shape[-1], m.shape[-2])) @ whole)

    def test_cross_entropy_node(self):
        x = tensor(requires_grad=True)
        F.cross_entropy(x, torch.tensor([2, 0])).backward()
        p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
        same(x.grad, (p - np.eye(3)[[2, 0]]) / 2)


class TestNorchNN:
    def test_module(self, tmp_path):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.act, self.fc2 = nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2, bias=False)

            def forward(self, x):
                return self.fc2(self.act(self.fc1(x)))
        net, other = Net(), Net()
        assert [n for n, _ in net.named_parameters()] == ["fc1.weight", "fc1.bias", "fc2.weight"]
        assert len(list(net.modules())) == 4 and net.train().training and not net.eval().act.training
        net(torch.ones(1, 3)).sum().backward()
        assert all(p.grad is not None for p in net.parameters())
        net.zero_grad()
        assert all(p.grad is None or not p.grad.any() for p in net.parameters())
        torch.save(net.state_dict(), tmp_path / "net.pt")
        other.load_state_dict(torch.load(tmp_path / "net.pt"))
        assert torch.equal(other(torch.ones(1, 3)), net(torch.ones(1, 3)))
        assert net.to("cpu") is net and isinstance(net.fc1.weight, nn.Parameter) and net.fc1.weight.requires_grad
        assert repr(net).splitlines()[1] == "  (fc1): Linear(in_features=3, out_features=4, bias=True)"

    def test_layers_and_functional(self):
        x = tensor()
        same(nn.Sigmoid()(x), 1 / (1 + np.exp(-a)))
        for f in (nn.Softmax(dim=1), lambda x: F.softmax(x, dim=1), lambda x: torch.softmax(x, 1)):
            same(f(x), np.exp(a) / np.exp(a).sum(1, keepdims=True))
        assert F.one_hot(torch.tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert F.sigmoid(x).shape == (2, 3)

    def test_losses(self):
        x, y = tensor(), tensor(a + 1)
        assert nn.MSELoss()(x, y).item() == 1
        log_p = a - np.log(np.exp(a).sum(1, keepdims=True))
        loss = nn.CrossEntropyLoss()
        assert loss(x, torch.tensor([2, 0])).item() == pytest.approx(-(log_p[0, 2] + log_p[1, 0]) / 2)
        assert loss(x[0], torch.tensor(1)).item() == pytest.approx(-log_p[0, 1])
        q = np.array([[0.2, 0.3, 0.5], [1, 0, 0]])
        assert loss(x, tensor(q)).item() == pytest.approx(-(q * log_p).sum(1).mean())

    def test_sgd(self):
        model = nn.Linear(3, 1)
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        assert trains(model, torch.eye(3), torch.ones(3, 1), nn.MSELoss(), optimizer)
        optimizer.zero_grad()
        assert model.weight.grad is None and optimizer.param_groups[0]["params"][0] is model.weight

    def test_data(self):
        class Squares(Dataset):
            def __len__(self):
                return 10

            def __getitem__(self, i):
                return torch.tensor(float(i)), i * i
        data = Squares()
        assert data[3][1] == 9 and len(data) == 10
        batches = list(DataLoader(data, batch_size=4))
        assert [len(x) for x, _ in batches] == [4, 4, 2] and batches[1][1].tolist() == [16, 25, 36, 49]
        backwards = DataLoader(data, batch_size=5, sampler=range(9, -1, -1))
        assert next(iter(backwards))[1].tolist() == [81, 64, 49, 36, 25]

    def test_transforms_and_datasets(self):
        from minitorch import datasets, transforms
        both = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda x: x.reshape(-1))])
        image = np.full((2, 2, 1), 255, np.uint8)
        assert both(image).tolist() == [1, 1, 1, 1]
        digits = datasets.Digits(train=True)
        picture, label = digits[0]
        assert len(digits) > 1000 and 0 <= label <= 9 and picture is not None
        assert hasattr(datasets, "MNIST") and hasattr(datasets, "FashionMNIST")


# ---- DeepLearningWithNumpy ---------------------------------------------------------------------------------
class TestDLwN:
    @cases("ours, theirs", [
        (lambda: torch.arange(2, 8, 2), np.arange(2, 8, 2)), (lambda: torch.eye(3), np.eye(3)),
        (lambda: tensor().argmax(1), a.argmax(1)), (lambda: torch.argmax(tensor()), a.argmax()),
        (lambda: torch.ones(2, 3), np.ones((2, 3))), (lambda: torch.zeros_like(tensor()), np.zeros((2, 3))),
        (lambda: torch.maximum(tensor(), -tensor()), np.abs(a)), (lambda: tensor().max(), a.max()),
        (lambda: torch.where(tensor() > 0, tensor(), 0.0), np.where(a > 0, a, 0)),
        (lambda: tensor(a * a).sqrt(), np.abs(a)),
        (lambda: torch.dot(tensor(a[0]), tensor(a[1])), a[0] @ a[1]),
        (lambda: torch.matmul(tensor(), tensor().T), a @ a.T),
        (lambda: tensor().mean(0), a.mean(0)), (lambda: tensor().sum(), a.sum()), (lambda: tensor().exp(), np.exp(a)),
        (lambda: tensor().reshape(3, 2), a.reshape(3, 2)), (lambda: tensor(np.abs(a)).log(), np.log(np.abs(a))),
        (lambda: tensor().transpose(0, 1), a.T), (lambda: torch.tile(tensor(), (2, 1)), np.tile(a, (2, 1))),
        (lambda: tensor() // 2, a // 2), (lambda: tensor() == 5, a == 5), (lambda: tensor() < 0, a < 0),
        (lambda: tensor() <= 1, a <= 1), (lambda: tensor() != 1, a != 1), (lambda: tensor() > 1, a > 1),
        (lambda: tensor() >= 1, a >= 1), (lambda: (tensor() > 0) | (tensor() < -5), (a > 0) | (a < -5)),
        (lambda: (tensor() > 0) ^ (tensor() < 2), (a > 0) ^ (a < 2)),
        (lambda: (tensor() > 0) & (tensor() < 2), (a > 0) & (a < 2))])
    def test_functions(self, ours, theirs):
        same(ours(), theirs)

    def test_random_in_place_and_truth(self):
        x = torch.empty(1000).uniform_(-1, 1)
        assert -1 <= x.min() < -0.9 and 0.9 < x.max() <= 1
        y = tensor()
        y += 1
        y -= 2
        y *= 3
        y /= 2
        same(y, (a - 1) * 1.5)
        y[0, 0] = 9
        assert y[0, 0] == 9 and bool(torch.tensor([True])) and y.numpy()[0, 0] == 9

    def test_modules(self):
        model = nn.Sequential(nn.Conv2d(1, 4, 3, stride=1, padding=1, dilation=1, bias=True), nn.BatchNorm2d(4),
                              nn.ReLU(), nn.MaxPool2d(2, 2, padding=0, dilation=1), nn.Dropout(0.1), nn.AvgPool2d(2),
                              nn.Flatten(start_dim=1, end_dim=-1), nn.Linear(16, 10, bias=False), nn.Sigmoid())
        assert model(torch.rand(3, 1, 8, 8)).shape == (3, 10) and len(list(model.children())) == 9
        model.add_module("last", nn.Linear(10, 2))
        assert model.train() is model and model.eval() is model and model.to(device="cpu") is model
        assert model(torch.rand(3, 1, 8, 8)).shape == (3, 2) and len(model) == 10

    @cases("make", [lambda p: optim.SGD(p, lr=0.2), lambda p: optim.Adam(p, lr=0.05), lambda p: optim.AdamW(p, lr=0.05),
                    lambda p: optim.Adagrad(p, lr=0.2)], ids=["SGD", "Adam", "AdamW", "Adagrad"])
    def test_optimizers(self, make):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = make(model[0].parameters())
        optimizer.add_param_group({"params": model[2].parameters()})
        x = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        assert trains(model, x, x.sum(1, keepdim=True), nn.MSELoss(), optimizer)
        state = optimizer.state_dict()
        make(model.parameters()).param_groups[0]["lr"] *= 2
        optimizer.load_state_dict(state)

    def test_nhwc_network_of_the_first_version(self):
        """Softmax, convolution, pooling, flatten and linear as in `main_np.py`: one pass, gradients everywhere."""
        x = torch.rand(2, 8, 8, 1).permute(0, 3, 1, 2)
        conv, fc = nn.Conv2d(1, 2, 3), nn.Linear(18, 4)
        p = F.softmax(fc(F.max_pool2d(F.relu(conv(x)), 2).flatten(1)), dim=1)
        (-(F.one_hot(torch.tensor([1, 2]), 4) * p.log()).sum(1).mean()).backward()
        assert all(q.grad.isfinite().all() and q.grad.any() for q in [*conv.parameters(), *fc.parameters()])


# ---- CS231n ------------------------------------------------------------------------------------------------
class TestCS231n:
    def data(self):
        torch.manual_seed(0)
        return torch.randn(64, 100), torch.randn(64, 10)

    def test_C1_to_C8_two_layers_by_hand(self):
        device = torch.device("cpu")
        x = torch.randn(64, 100, device=device)
        y = torch.randn(64, 10, device=device)
        w1, w2 = torch.randn(100, 50, device=device), torch.randn(50, 10, device=device)
        losses = []
        for _ in range(50):
            h = x.mm(w1)
            h_relu = h.clamp(min=0)
            y_pred = h_relu.mm(w2)
            losses.append((y_pred - y).pow(2).sum().item())
            grad_y_pred = 2.0 * (y_pred - y)
            grad_w2 = h_relu.t().mm(grad_y_pred)
            grad_h = grad_y_pred.mm(w2.t()).clone()         # C9
            grad_h[h < 0] = 0                               # C10
            w1 -= 1e-6 * x.t().mm(grad_h)                   # C11
            w2 -= 1e-6 * grad_w2
        assert losses[-1] < losses[0]
        assert torch.clamp(torch.tensor([-2.0, 0, 2]), -1, 1).tolist() == [-1, 0, 1]

    def test_C12_to_C16_autograd(self):
        x, y = self.data()
        w1, w2 = torch.randn(100, 50, requires_grad=True), torch.randn(50, 10, requires_grad=True)
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        loss.backward(retain_graph=True)
        g1, g2 = torch.autograd.grad(loss, [w1, w2])
        assert torch.equal(g1, w1.grad) and torch.equal(g2, w2.grad)
        with torch.no_grad():
            w1 -= 1e-6 * w1.grad
            w1.grad.zero_()
        assert w1.is_leaf and w1.requires_grad and not w1.grad.any()

    def test_C17_C18_functions(self):
        class MyReLU(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)

            @staticmethod
            def backward(ctx, grad_output):
                x, = ctx.saved_tensors
                grad_x = grad_output.clone()
                grad_x[x < 0] = 0
                return grad_x

        class Sigmoid(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = 1 / (1 + (-x).exp())
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                y, = ctx.saved_tensors
                return g * y * (1 - y)
        x = torch.tensor([-1.0, 2.0], requires_grad=True)
        MyReLU.apply(x).sum().backward()
        assert x.grad.tolist() == [0, 1]
        far = torch.tensor([-1000.0], requires_grad=True)
        plain, = torch.autograd.grad((1 / (1 + (-far).exp())).sum(), far)
        stable, = torch.autograd.grad(Sigmoid.apply(far).sum(), far)
        assert plain.isnan().all() and stable.item() == 0, "the reason why the lecture writes a Function"

    def test_C19_to_C22_nn_and_optim(self):
        x, y = self.data()
        model = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))
        loss = F.mse_loss(model(x), y)
        model.zero_grad()
        loss.backward()
        before = loss.item()
        for param in model.parameters():
            param.data -= 1e-2 * param.grad
        assert F.mse_loss(model(x), y) < before
        for optimizer in (optim.SGD(model.parameters(), lr=1e-4, momentum=0.9),
                          optim.Adam(model.parameters(), lr=1e-3)):
            assert trains(model, x, y, nn.MSELoss(reduction="sum"), optimizer, 60)

    def test_C23_modules(self):
        class ParallelBlock(nn.Module):
            def __init__(self, d_in, d_out):
                super().__init__()
                self.linear1, self.linear2 = nn.Linear(d_in, d_out), nn.Linear(d_in, d_out)

            def forward(self, x):
                return (self.linear1(x) * self.linear2(x)).clamp(min=0)
        model = nn.Sequential(ParallelBlock(100, 20), ParallelBlock(20, 20), nn.Linear(20, 10))
        assert len(list(model.parameters())) == 10
        x, y = self.data()
        assert trains(model, x, y, nn.MSELoss(), optim.Adam(model.parameters(), lr=1e-2))

    def test_C24_dynamic_graphs_and_shared_weights(self):
        class DynamicNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.middle, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

            def forward(self, x, times):
                h = self.first(x).clamp(min=0)
                for _ in range(times):
                    h = self.middle(h).clamp(min=0) if h.sum() > 0 else h
                return self.last(h)
        net = DynamicNet().double()
        x = torch.rand(3, 4, dtype=torch.float64)
        assert torch.autograd.gradcheck(lambda w: F.linear(F.linear(F.linear(x[:, :3], w).clamp(min=0), w), w).sum(),
                                        torch.rand(3, 3, dtype=torch.float64, requires_grad=True))
        for times in range(4):
            net.zero_grad()
            net(x, times).sum().backward()
            assert (net.middle.weight.grad is not None) == (times > 0)

    def test_C25_data_loader(self):
        x, y = self.data()
        loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, num_workers=0)
        seen = torch.cat([xb for xb, yb in loader])
        assert len(loader) == 8 and not torch.equal(seen, x) and torch.equal(seen.sum(1).sort()[0], x.sum(1).sort()[0])

    def test_C30_to_C35_the_notebooks_tensors(self):
        assert torch.tensor([[1, 2]], dtype=torch.float32).dtype is torch.float32 and torch.rand(2, 3).shape == (2, 3)
        x = torch.arange(12).view(3, 4)
        assert torch.from_numpy(np.ones(2)).dtype is torch.float64 and torch.cuda.is_available() in (True, False)
        assert (x.shape, x.dtype, x.device.type) == ((3, 4), torch.int64, "cpu")
        assert x[0].tolist() == [0, 1, 2, 3] and x[:, 1].tolist() == [1, 5, 9] and x[1:, -2:].shape == (2, 2)
        assert (x @ x.T).shape == (3, 3) and torch.equal(x.mul(x), x * x) and torch.equal(x.matmul(x.T), x @ x.T)
        y = torch.tensor([-1.5, 2.5])
        assert [f(y).tolist() for f in (torch.abs, torch.ceil, torch.floor)] == [[1.5, 2.5], [-1, 3], [-2, 2]]
        assert (x + torch.tensor([10, 20, 30, 40])).tolist()[0] == [10, 21, 32, 43] and (x * 2)[2, 3] == 22

    def test_C36_binary_cross_entropy(self):
        x, y = torch.tensor([2.0, -1000.0]), torch.tensor([1.0, 1.0])
        loss = F.binary_cross_entropy_with_logits(x, y, reduction="none")
        assert loss.tolist() == pytest.approx([math.log(1 + math.exp(-2)), 1000])

    def test_C37_printing_a_network(self):
        assert repr(nn.Sequential(nn.Linear(784, 10, bias=False))) == (
            "Sequential(\n  (0): Linear(in_features=784, out_features=10, bias=False)\n)")

    def test_C38_images(self):
        from minitorch import datasets, transforms
        from minitorch.vision import make_grid
        pipeline = transforms.Compose([transforms.ToTensor(), transforms.Resize((4, 4)),
                                       transforms.Normalize((0.5,), (0.5,))])
        picture = pipeline(np.zeros((8, 8, 1), np.uint8))
        assert picture.shape == (1, 4, 4) and (picture == -1).all() and hasattr(datasets, "FashionMNIST")
        assert make_grid(torch.rand(6, 1, 4, 4), nrow=3, padding=2).shape == (3, 14, 20)

    def test_C39_to_C42_a_convolutional_network(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3)
                self.pool, self.fc = nn.MaxPool2d(2, 2), nn.Linear(8, 10)

            def forward(self, x):
                x = self.pool(F.relu(self.conv1(x)))
                x = self.pool(F.relu(self.conv2(x)))
                return self.fc(x.view(x.size(0), -1))
        net, x, y = Net(), torch.rand(8, 1, 8, 8), torch.randint(10, (8,))
        assert sum(p.numel() for p in net.parameters()) == 40 + 296 + 90
        assert trains(net, x, y, nn.CrossEntropyLoss(), optim.Adam(net.parameters(), lr=0.03), 60)
        net.eval()
        with torch.no_grad():
            best, predicted = torch.max(net(x), 1)
        assert predicted.dtype is torch.int64 and 0 <= (predicted == y).sum().item() / len(y) <= 1

    def test_C43_fine_tuning(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        for param in model.parameters():
            param.requires_grad = False
        model[2] = nn.Linear(8, 3)
        old = model[0].weight.clone()
        optimizer = optim.SGD(model[2].parameters(), lr=0.1)
        F.cross_entropy(model(torch.rand(5, 4)), torch.zeros(5, dtype=torch.int64)).backward()
        optimizer.step()
        assert model[0].weight.grad is None and torch.equal(model[0].weight, old) and model[2].weight.grad.any()

    def test_C44_dropout(self):
        x, drop = torch.ones(1000), nn.Dropout(0.25)
        y = drop(x)
        assert y.unique().tolist() == pytest.approx([0, 4 / 3]) and 150 < (y == 0).sum() < 350
        assert torch.equal(drop.eval()(x), x)
