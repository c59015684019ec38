"""``compile(f)`` without a backend: NumPy at first, C once a program has run often and gains by it."""


import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from minitorch.backends.native import eager
from minitorch.compiler import choice
from minitorch.compiler import native as native_programs

needs_compiler = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(choice, "RUNS", 4)


def calls(f, *args, n=8):
    """The results of `n` calls; the first one is traced."""
    return [f(*args) for _ in range(n)]


@needs_compiler
@pytest.mark.parametrize("backend", [None, "auto", "inductor"])
def test_a_program_becomes_c_when_it_has_run_often(backend):
    f = torch.compile(lambda x: (x * 2 + 1).tanh(), backend=backend)
    x = torch.randn(50)
    calls(f, x, n=4)
    assert f.c_source == "" and "np.tanh" in f.source
    found = calls(f, x)
    assert "m_tanh" in f.c_source and any(n.startswith("C: 1 loops") for n in f.notes)
    for y in found:
        np.testing.assert_allclose(y.numpy(), (x * 2 + 1).tanh().numpy(), 1e-6)


@needs_compiler
def test_both_passes_and_the_step_of_an_optimiser_become_c_at_once():
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        w = torch.randn(6, 3, requires_grad=True)
        optimizer = torch.optim.Adam([w], 0.1)

        def loss(x, w=w):
            return (F.softplus(x @ w) * 2).sum()

        def step(x, w=w, optimizer=optimizer, loss=loss):
            optimizer.zero_grad()
            y = loss(x)
            y.backward()
            optimizer.step()
            return y
        f, g = (torch.compile(step), torch.compile(loss)) if compiled else (step, loss)
        x = torch.randn(5, 6)
        found.append([y.item() for y in calls(f, x)])
        for _ in range(8):
            w.grad = None
            g(x).backward()
            found[-1] += w.grad.flatten().tolist()
        if compiled:
            assert "step0" in f.c_source and g.c_source.count("int run0") == 2
    np.testing.assert_allclose(*found, 1e-4, 1e-5)


@needs_compiler
def test_what_gains_nothing_stays_numpy_with_a_note():
    for function in (lambda x: x @ x, lambda x: x.sort().values, lambda x: x.clone()):
        f = torch.compile(function)
        calls(f, torch.randn(4, 4))
        assert f.c_source == "" and "no loop would do more" in f.notes[-1]
    f = torch.compile(lambda x: x * 2 + 1, backend="numpy")
    calls(f, torch.ones(3))
    assert f.c_source == "" and not any("C" in n for n in f.notes)


def test_without_a_compiler_programs_stay_numpy_with_a_note(monkeypatch):
    monkeypatch.setenv("MINITORCH_NATIVE", "0")
    f = torch.compile(lambda x: x * 2 + 1)
    assert [y.tolist() for y in calls(f, torch.ones(2))] == [[3.0, 3.0]] * 8
    assert "MINITORCH_NATIVE" in f.notes[-1] and f.c_source == ""


@needs_compiler
@pytest.mark.parametrize("error", [RuntimeError("refused the code"), KeyError("a fault of the lowering")])
def test_a_failure_leaves_the_program_that_runs(monkeypatch, error):
    def fail(self):
        raise error
    monkeypatch.setattr(native_programs.Native, "load", fail)
    f = torch.compile(lambda x: x * 2 + 1)
    assert [y.tolist() for y in calls(f, torch.ones(2))] == [[3.0, 3.0]] * 8
    assert type(error).__name__ in f.notes[-1] and f.c_source == ""


@needs_compiler
def test_images_and_sequences_are_traced_again_with_native_kernels(monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 1)
    found = {}
    for backend in ("numpy", "auto", "c"):
        torch.manual_seed(0)
        images = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.BatchNorm2d(4),
                                     torch.nn.MaxPool2d(2))
        rnn = torch.nn.LSTM(8, 5)
        optimizer = torch.optim.SGD([*images.parameters(), *rnn.parameters()], 0.1)
        x = torch.randn(3, 2, 4, 4)

        def step(x, images=images, rnn=rnn, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (rnn(images(x).reshape(2, 3, 8))[0] ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss
        f = torch.compile(step, backend=backend)
        found[backend] = [y.item() for y in calls(f, x, n=12)]
        if backend == "auto":
            assert f.c_source
            assert all(f"F.{op}: its kernel is in C" in str(f.notes) for op in ("max_pool", "full_rnn_layer"))
            assert [len(p) for p in f.plans.values()] == [2]           # with gradients and without; the old one is gone
    np.testing.assert_allclose(found["auto"], found["numpy"], 1e-5)
    np.testing.assert_allclose(found["auto"], found["c"], 1e-5)


@needs_compiler
def test_a_program_that_cannot_be_traced_again_stays(monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 1)
    monkeypatch.setattr(eager.limits, "traces", 0, raising=False)     # ours, which no guard looks into

    def forward(x):
        y = F.max_pool2d(x, 2)
        eager.limits.traces += 1
        return y * 2 if eager.limits.traces < 2 else y * (1 + float(y.sum() * 0 + 1))
    f = torch.compile(forward)
    x = torch.randn(2, 3, 4, 4)
    wanted = (F.max_pool2d(x, 2) * 2).tolist()
    assert all(y.tolist() == wanted for y in calls(f, x))
    assert eager.limits.traces == 2 and "stays NumPy's" in f.notes[-1]
    again = torch.compile(lambda x: F.max_pool2d(x, 2).exp())
    old = [again(x.requires_grad_()) for _ in range(3)]                # backward passes of the old program, of the new
    new = [again(x) for _ in range(4)]
    assert again.c_source
    for y in (*old, *new):
        x.grad = None
        y.sum().backward()
        found, x.grad = x.grad.numpy(), None
        F.max_pool2d(x, 2).exp().sum().backward()
        np.testing.assert_allclose(found, x.grad.numpy(), 1e-6)
