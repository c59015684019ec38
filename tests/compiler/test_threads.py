"""Loops of compiled programs that several threads share: the same bits whatever their number."""

import threading

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from minitorch.backends.native import parts
from minitorch.compiler import trace

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of eight elements, so that small arrays have several."""
    monkeypatch.setattr(parts, "ENOUGH", 8)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def bits(make, args, threads):
    """Results and gradients of a function, in the third call of its program, with some threads."""
    torch.set_num_threads(threads)
    f = torch.compile(make(), backend="c")
    for _ in range(3):
        inputs = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in args]
        outs = f(*inputs)
        parts_of_loss = [(o * 0.5).sum() for o in outs if o.requires_grad]
        sum(parts_of_loss).backward()
    return f, [o.detach().numpy() for o in outs] + [x.grad.numpy() for x in inputs if x.grad is not None]


def rows(x, w, i):
    return (F.softmax(x, -1), F.layer_norm(x, x.shape[-1:]) * w, x.sum(0), x.sum(), x.amax(0), x.argmax(1),
            x.exp().mean(), (x * 0.1 + 1).prod(0), i.sum(0), i.amin(0), x.cumsum(1), (x > 0).any(0),
            (x.reshape(-1) * 2).sum(),
            x.transpose(0, 1).contiguous(), x.unsqueeze(0) * 1)


@pytest.mark.parametrize("shape", [(13, 10), (1, 300), (300, 1), (2, 64), (3, 9000)])
def test_one_and_more_threads_give_the_same_bits(shape):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shape).astype("f"), rng.standard_normal(shape[-1:]).astype("f")
    args = x, w, rng.integers(-9, 9, shape)
    f, one = bits(lambda: rows, args, 1)
    assert "int phase, int part" in f.c_source
    for threads in (2, 3):
        for a, b in zip(one, bits(lambda: rows, args, threads)[1]):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(one, rows(*map(torch.tensor, args))):
        np.testing.assert_allclose(a, b.numpy(), 2e-5, 2e-5)


def test_several_threads_take_part(monkeypatch):
    seen, another_came = set(), threading.Event()
    plain = parts.phase_of

    def watched(function, objects, phase, count):
        def call(*arguments):
            seen.add(threading.current_thread().name)
            if len(seen) > 1:
                another_came.set()
            another_came.wait(60)                          # or one alone may be done before another one wakes
            return function(*arguments)
        return plain(call, objects, phase, count)
    monkeypatch.setattr(parts, "phase_of", watched)
    x = np.ones((64, 64), "f")
    bits(lambda: lambda x: (x.exp().sum(0),), (x,), 1)
    assert not seen
    bits(lambda: lambda x: (x.exp().sum(0),), (x,), 2)
    assert len(seen) >= 2


def test_steps_of_optimisers_are_shared():
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        w = torch.randn(40, 30, requires_grad=True)
        optimizer = torch.optim.AdamW([w], 0.01)

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (x @ w).square().mean()
            loss.backward()
            optimizer.step()
            return loss
        f = torch.compile(step, backend="c")
        for _ in range(4):
            f(torch.ones(5, 40))
        assert "void step0(void *objects, const double *H, int phase, int part)" in f.c_source
        found.append(w.detach().numpy().copy())
    np.testing.assert_array_equal(*found)


def test_a_wrong_index_in_a_part_is_an_error():
    f = torch.compile(lambda i, w: F.embedding(i, w) * 2, backend="c")
    i, w = torch.zeros(40, dtype=torch.int64), torch.ones(5, 8)
    torch.set_num_threads(2)
    f(i, w)
    assert f(i, w).tolist() == [[2.0] * 8] * 40
    i[33] = 7
    with pytest.raises(IndexError, match="from 0 to 4, got 7"):
        f(i, w)


def test_memory_that_is_not_aligned_runs_as_numpy():
    raw = np.zeros(401, np.uint8)[1:].view(np.float32)
    f = torch.compile(lambda x: x * 2 + 1, backend="c")
    f(torch.zeros(100))
    for threads in (1, 2):
        torch.set_num_threads(threads)
        assert f(torch.from_numpy(raw)).tolist() == [1.0] * 100


def test_functions_run_while_another_thread_begins_a_trace():
    f = torch.compile(lambda x: x * 2)
    with trace.turn:
        assert f(torch.ones(3)).tolist() == [2, 2, 2] and not f.notes
    assert not any(f.plans.values())


def test_steps_of_other_threads_are_not_part_of_a_trace():
    """A trace that another thread's optimizer interrupts is given up, and leaves all as it was."""
    p = torch.zeros(3, requires_grad=True)
    p.grad = torch.ones(3)
    other = torch.optim.SGD([p], lr=1.0)

    @torch.compile
    def f(x):
        thread = threading.Thread(target=other.step)
        thread.start()
        thread.join()
        return x * 2

    for n in (1, 2, 3):
        assert f(torch.ones(3)).tolist() == [2, 2, 2]
        assert p.tolist() == [-n] * 3
