"""`minitorch.compile`: the programs give what eager runs give, in values, gradients and side effects."""

import gc
import random
import warnings
import weakref

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.compiler import Compiled
from minitorch.core import graph
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.optim import stepping
from minitorch.testing.strategies import Draw


def same(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=1e-6)


def runs(make, data, times=4, compiled=True):
    """The results of the steps that `make` returns, for the data, several times each; and the compiled function."""
    torch.manual_seed(0)
    step = make()
    if compiled:
        step = torch.compile(step)
    torch.manual_seed(1)
    return [step(*d) for _ in range(times) for d in data], step


def agree(make, data, times=4):
    """Eager and compiled runs of the same steps agree; nothing ran eagerly behind our back."""
    (eager, _), (compiled, step) = runs(make, data, times, False), runs(make, data, times)
    for a, b in zip(eager, compiled):
        same(a, b)
    assert not any("eagerly" in note for note in step.notes), step.notes
    return step


# ---- training steps ----------------------------------------------------------------------------------------
def training(model, optimizer, loss):
    def make():
        net = model()
        opt = optimizer(net.parameters())

        def step(*batch):
            opt.zero_grad()
            value = loss(net, *batch)
            value.backward()
            opt.step()
            return value
        return step
    return make


def classify(net, x, y):
    return F.cross_entropy(net(x), y)


OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, 0.01),
              "adamw": lambda p: torch.optim.AdamW(p, 0.01), "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01)}
MODELS = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 4)),
    "norms": lambda: nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.2),
                                   nn.Linear(16, 4)),
    "cnn": lambda: nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Flatten(), nn.Linear(24, 4)),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_steps(model, optimizer):
    torch.manual_seed(2)
    data = [(torch.randn(5, 3, 4, 4), torch.randint(0, 4, (5,))) for _ in range(2)]
    agree(training(MODELS[model], OPTIMIZERS[optimizer], classify), data)


@pytest.mark.parametrize("make, shape", [
    (lambda: nn.LSTM(3, 4), (5, 2, 3)), (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (2, 5, 4))])
def test_sequences(make, shape):
    def loss(net, x):
        out = net(x)
        return ((out[0] if isinstance(out, tuple) else out) ** 2).mean()
    agree(training(make, OPTIMIZERS["adamw"], loss), [(torch.randn(shape),)])


def test_schedules_clipping_and_accumulation():
    def make():
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)

        def step(x):
            loss = net(x).square().sum()
            loss.backward()
            net(x * 2).sum().backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            schedule.step()
            opt.zero_grad()
            return loss
        return step
    agree(make, [(torch.randn(4, 3),)], times=6)


def test_a_schedule_made_of_schedules_is_one_step():
    def make():
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        lr = torch.optim.lr_scheduler
        schedule = lr.SequentialLR(opt, [lr.StepLR(opt, 1, 0.5), lr.ConstantLR(opt, 0.1, 2)], [3])

        def step(x):
            opt.zero_grad()
            loss = net(x).square().sum()
            loss.backward()
            opt.step()
            schedule.step()
            return loss
        return step
    step = agree(make, [(torch.randn(4, 3),)], times=6)
    assert step.source.count("schedule.step()") == 1


def test_a_compiled_function_within_a_compiled_one():
    def make():
        net = nn.Linear(3, 2)
        opt = torch.optim.Adam(net.parameters(), 0.1)

        @torch.compile
        def inner(x):
            opt.zero_grad()
            loss = net(x).square().sum()
            loss.backward()
            opt.step()
            return loss
        return lambda x: inner(x) * 2
    agree(make, [(torch.randn(4, 3),)], times=4)


def test_a_step_that_fails_leaves_everything_as_it_was():
    net = nn.Linear(2, 1)

    class Failing(torch.optim.SGD):
        def step(self):
            raise KeyError("no")
    opt = Failing(net.parameters(), 0.1)

    def step(x):
        net(x).sum().backward()
        opt.step()
    with pytest.raises(KeyError):
        torch.compile(step)(torch.ones(2))
    assert net.weight.backend is torch.ones(1).backend is torch.backends.get("cpu")
    assert type(net.weight.array) is np.ndarray
    assert stepping.observer is None and graph.node_hooks is None and "step" not in vars(opt)


def test_gradients_that_the_step_leaves():
    net = nn.Linear(3, 1)

    def step(x):
        net.zero_grad()
        net(x).sum().backward()
        return x.sum()
    compiled = torch.compile(step)
    first = []
    for i in range(3):
        x = torch.full((2, 3), float(i))
        compiled(x)
        first.append(net.weight.grad)
        assert net.weight.grad.tolist() == [[2.0 * i] * 3] and net.bias.grad.tolist() == [2.0]
    assert [g.tolist()[0][0] for g in first] == [0, 2, 4]  # the gradients of earlier runs are not written to


def test_gradient_penalty_is_differentiated_twice():
    def loss(net, x):
        x = x.detach().requires_grad_()
        g, = torch.autograd.grad(torch.tanh(net(x)).sum(), x, create_graph=True)
        return (g ** 2).sum()
    agree(training(lambda: nn.Linear(5, 1), OPTIMIZERS["sgd"], loss), [(torch.randn(7, 5),)])


# ---- forward passes whose result is differentiated outside -------------------------------------------------
def test_compiled_module_trains_like_the_module():
    def run(wrap_model):
        torch.manual_seed(0)
        net = MODELS["norms"]()
        opt = torch.optim.Adam(net.parameters(), 0.01)
        model, losses = wrap_model(net), []
        x, y = torch.randn(6, 3, 4, 4), torch.randint(0, 4, (6,))
        for _ in range(5):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        return losses, model(x), model

    a, out_a, _ = run(lambda net: net)
    b, out_b, model = run(torch.compile)
    assert np.allclose(a, b, rtol=1e-5)
    same(out_a, out_b)
    assert list(model.state_dict())[0].startswith("_orig_mod.") and "np.dot" in model.source
    assert not any("eagerly" in note for note in model.notes)


def test_two_runs_before_one_backward():
    f = torch.compile(lambda x, w: torch.tanh(x * w).sum())
    w = torch.ones(3, requires_grad=True)
    f(torch.zeros(3), w)
    loss = f(torch.ones(3), w) * f(torch.full((3,), 2.0), w)
    loss.backward()
    v = torch.ones(3, requires_grad=True)
    (torch.tanh(v).sum() * torch.tanh(2 * v).sum()).backward()
    same(w.grad, v.grad)


def test_argument_of_another_graph():
    f = torch.compile(lambda x: (x * x).sum())
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        w.grad = None
        f(w * 3).backward()
        assert w.grad.tolist() == [18, 36]


def test_writes_between_forward_and_backward_are_noticed():
    f = torch.compile(lambda x: (x * x).sum())
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        loss = f(x)
        with torch.no_grad():
            x.mul_(2)
        if f.notes and _:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()


def test_second_order_and_second_backward_are_refused():
    f = torch.compile(lambda x: torch.exp(x).sum())
    x = torch.ones(3, requires_grad=True)
    g, = torch.autograd.grad(f(x), x, create_graph=True)
    assert g.requires_grad and torch.allclose(g, x.exp())
    with pytest.raises(RuntimeError, match="differentiated once"):
        g.sum().backward()
    loss = f(x)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


# ---- every row of the table --------------------------------------------------------------------------------
ROWS = [row for row in OPS.values() if row.sample or not any(x.kind == "variadic" for x in row.inputs)]


def squared(x):
    return (x * x.conj()).sum().real if x.is_complex() else (x * x).sum()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_and_their_gradients(row):
    arrays, attrs = Draw(random.Random(0)).op_sample(row)

    def leaves():
        return [wrap(x.copy(), torch.backends.get("cpu")).requires_grad_(x.dtype == np.float64)
                if isinstance(x, np.ndarray) else x for x in arrays]

    def call(*inputs):
        return row.call(inputs, **attrs) if row.inputs[0].kind == "variadic" else row.call(*inputs, **attrs)
    compiled = Compiled(call)
    for _ in range(2):
        x, y = leaves(), leaves()
        a, b = [out if isinstance(out, tuple) else (out,) for out in (call(*x), compiled(*y))]
        assert len(a) == len(b)
        for u, v in zip(a, b):
            if isinstance(u, Tensor):
                assert u.dtype == v.dtype and u.shape == v.shape and u.requires_grad == v.requires_grad
                np.testing.assert_allclose(u.detach().numpy(), v.detach().numpy(), rtol=1e-9, atol=1e-12)
        live = [(u, v) for u, v in zip(a, b) if isinstance(u, Tensor) and u.requires_grad]
        if not live:
            continue
        try:
            sum(squared(u) for u, _ in live).backward()
        except NotImplementedError:                        # a derivative that nobody knows
            continue
        sum(squared(v) for _, v in live).backward()
        for p, q in zip(x, y):
            if isinstance(p, Tensor) and p.grad is not None:
                np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-10)


# ---- random programs ---------------------------------------------------------------------------------------
UNARY = [torch.exp, torch.tanh, torch.sigmoid, torch.relu, torch.neg, torch.abs, lambda x: x.clone(),
         lambda x: x.T.contiguous().T, lambda x: x[:, ::2].repeat(1, 2)[:, :x.shape[1]], lambda x: x.softmax(1),
         lambda x: x * 2.0 + 1, lambda x: x.mean(0, keepdim=True).expand_as(x), lambda x: x.reshape(-1).view(x.shape)]
BINARY = [torch.add, torch.sub, torch.mul, torch.maximum, lambda x, y: x @ y.T @ y,
          lambda x, y: torch.where(x > 0, x, y), lambda x, y: x.clone().add_(y), lambda x, y: x / (y.abs() + 1)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=14),
       st.sampled_from([(3, 4), (64, 1100)]), st.integers(0, 5))
def test_random_programs(steps, shape, seed):
    def f(x, y):
        values = [x, y]
        for which, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            k = which % (len(UNARY) + len(BINARY))
            values.append(UNARY[k](a) if k < len(UNARY) else BINARY[k - len(UNARY)](a, b))
        return values[-1].clamp(-1e3, 1e3)
    rng = np.random.default_rng(seed)
    inputs = [torch.tensor(rng.standard_normal(shape, np.float32) / 8, requires_grad=k == 0) for k in range(2)]
    compiled = torch.compile(f)
    for _ in range(3):
        a, b = f(*inputs), compiled(*inputs)
        same(a, b)
        if a.requires_grad:
            x, = inputs[:1]
            (g,), (h,) = torch.autograd.grad(a.mean(), x), torch.autograd.grad(b.mean(), x)
            same(g, h)
    assert not any("eagerly" in note for note in compiled.notes), compiled.notes


# ---- guards and fallbacks ----------------------------------------------------------------------------------
def test_shapes_arguments_and_modes_have_their_own_programs():
    net = nn.Dropout(0.5)
    f = torch.compile(lambda x, scale: net(x) * scale)
    assert f(torch.ones(4), 2).shape == (4,) and f(torch.ones(7), 2).shape == (7,)
    net.eval()
    assert f(torch.ones(4), 2).tolist() == [2] * 4 and f(torch.ones(4), 3).tolist() == [3] * 4
    net.train()
    torch.manual_seed(0)
    drawn = {tuple(f(torch.ones(4), 2).tolist()) for _ in range(20)}
    assert len(drawn) > 1                                  # new random numbers in every run


def test_captured_tensors_may_change_their_values_and_arrays():
    w = torch.ones(2)
    f = torch.compile(lambda x: x * w)
    f(torch.ones(2))
    w.mul_(3)
    assert f(torch.ones(2)).tolist() == [3, 3]
    w.data = torch.tensor([5.0, 6.0])
    assert f(torch.ones(2)).tolist() == [5, 6]


def test_functions_that_read_values_run_eagerly_with_the_reason():
    def f(x):
        return x * 2 if x.sum() > 0 else x * 3
    compiled = torch.compile(f)
    assert compiled(torch.ones(2)).tolist() == [2, 2] and compiled(-torch.ones(2)).tolist() == [-3, -3]
    assert "eagerly" in compiled.notes[0] and "test_compile.py" in compiled.notes[0]
    with pytest.raises(RuntimeError, match="reads a value"):
        torch.compile(f, fullgraph=True)(torch.ones(2))
    with pytest.raises(RuntimeError, match="no program"):
        compiled.source  # noqa: B018


def test_errors_pass_and_leave_everything_as_it_was():
    w = torch.ones(3)

    def f(x):
        return x @ w
    compiled = torch.compile(f)
    with pytest.raises(RuntimeError):
        compiled(torch.ones(2))
    assert type(w.array) is np.ndarray and w.backend is torch.backends.get("cpu")
    assert torch.ones(2).backend is torch.backends.get("cpu")
    assert compiled(torch.ones(3)).item() == 3


def test_source_runs_on_its_own():
    f = torch.compile(lambda x: (torch.exp(x) * 2 - x).sum(1))
    x = torch.randn(3, 4)
    f(x)
    scope = {}
    exec(f.source, scope)
    run = next(v for k, v in scope.items() if callable(v) and k not in ("np", "F"))
    np.testing.assert_allclose(run(x.numpy())[0], f(x).numpy())


def test_large_chains_are_done_in_blocks():
    f = torch.compile(lambda x, y: torch.tanh(x * y + 1.0) * torch.sigmoid(x))
    x, y = torch.randn(300, 1000), torch.randn(1000)
    for _ in range(2):
        same(f(x, y), torch.tanh(x * y + 1.0) * torch.sigmoid(x))
    assert "for i in range" in f.source


def test_what_is_shared_and_what_is_dead():
    f = torch.compile(lambda x: (torch.exp(x) + torch.exp(x), torch.sin(x))[0])
    f(torch.ones(3))
    assert f.source.count("np.exp(") == 1 and "np.sin" not in f.source


def test_spellings_of_pytorch():
    @torch.compile
    def f(x):
        return x + 1

    @torch.compile(mode="reduce-overhead", dynamic=False)
    def g(x):
        return x + 2
    assert f(torch.ones(1)).item() == 2 and g(torch.ones(1)).item() == 3
    net = nn.Linear(2, 1)
    assert torch.compile(net, disable=True) is net
    expected = net(torch.ones(1, 2))
    net.compile()
    same(net(torch.ones(1, 2)), expected)
    with pytest.raises(TypeError, match="takes a function"):
        torch.compile(3)
    assert torch.compile(net).in_features == 2


def test_lazy_modules_elsewhere_do_not_disturb():
    """The tracer asks for all living tensors, and an uninitialized parameter has no array to be traced."""
    lazy = nn.LazyLinear(2)
    assert torch.compile(lambda x: x * 2)(torch.ones(2)).tolist() == [2, 2] and lazy.has_uninitialized_params()


def test_compiled_copies_are_taken_before_the_source_is_written():
    def program(x):
        y = x * 2
        z = y.clone()
        w = y.contiguous().reshape(-1).clone()
        y.add_(100)
        return z + 1, y, w
    compiled, x = torch.compile(program), torch.arange(4.0)
    for _ in range(3):
        for a, b in zip(compiled(x), program(x)):
            assert a.tolist() == b.tolist()


def test_compiled_functions_do_not_warn_where_eager_ones_do_not():
    compiled = torch.compile(lambda x: (x.exp() / 0).log())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="minitorch")
        for _ in range(3):
            assert compiled(torch.full((3,), 1e3)).tolist() == [float("inf")] * 3


@pytest.mark.parametrize("n", [5, 70_000])
def test_compiled_chains_do_not_reuse_what_is_still_read(n):
    """Long enough for blocks; early values are needed late."""
    def program(x, y):
        a = x * y
        b = a + x
        c = b * a
        d = (c - b).exp().clamp(max=2)
        e = d * a + c
        return e * b + d, a + e, c.sum() + (d * x).sum()
    torch.manual_seed(0)
    x, y = torch.randn(n), torch.randn(n)
    compiled = torch.compile(program)
    for _ in range(3):
        for a, b in zip(compiled(x, y), program(x, y)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-5)
        x = x + 0.25
    assert ("in blocks" in compiled.source) == (n > 1000) and ("out=" in compiled.source) == (n > 1000)


def test_compiled_functions_say_what_runs_eagerly():
    compiled = torch.compile(lambda x: x * 2 if x.sum().item() > 0 else x)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert any("runs eagerly" in note for note in compiled.notes)
    with pytest.raises(RuntimeError, match="runs eagerly"):
        torch.compile(lambda x: x * x.sum().item(), fullgraph=True)(torch.ones(2))


@pytest.mark.parametrize("make", [lambda leaf: leaf * 1, lambda leaf: leaf.expand(3, 4), lambda leaf: leaf])
def test_hooks_that_a_compiled_function_puts_on_an_argument_see_its_whole_gradient(make):
    """Also what comes from uses of the argument before the call."""
    def hooked(x):
        x.register_hook(lambda g: g * 2)
        return x * 3
    found = []
    for function in (hooked, torch.compile(hooked)):
        leaf = torch.ones(1, 4, requires_grad=True)
        x = make(leaf)
        before = x * x
        (function(x).sum() + before.sum() + x.sum()).backward()
        found.append(leaf.grad.tolist())
    assert found[0] == found[1] == [[12.0 * x.shape[0]] * 4]


@pytest.mark.parametrize("write, counts", [(lambda x: x.data.add_(1), 0), (lambda x: x.data[0].mul_(3), 0),
                                           (lambda x: (x.data.add_(1), x.mul_(2)), 1)])
def test_compiled_functions_count_alike(write, counts):
    @torch.compile
    def f(x):
        write(x)
        return x * 2

    x, y = torch.ones(2, 3), torch.ones(2, 3)
    for n in range(4):
        write(y)
        assert f(x).equal(y * 2) and x._version == y._version == (n + 1) * counts


def numbers(rng, shape, kind="c"):
    z = rng.normal(size=shape)
    return np.asarray(z + 1j * rng.normal(size=shape) if kind == "c" else z)


def complex_tensor(*shape, seed=0, kind="c"):
    return torch.from_numpy(numbers(np.random.default_rng(seed), shape, kind)).requires_grad_()


def test_compiled_functions():
    def loss(z, w):
        return (torch.fft.fft(z * w).abs() ** 2).sum() + (z @ w).real
    z, w = complex_tensor(4), complex_tensor(4, seed=1)
    compiled = torch.compile(loss)
    for _ in range(3):
        grads = torch.autograd.grad(compiled(z, w), (z, w))
        for a, b in zip(grads, torch.autograd.grad(loss(z, w), (z, w))):
            torch.testing.assert_close(a, b)


def test_only_the_programs_of_a_plan_keep_arrays_of_the_trace():
    """A plan that will not be printed again can let them go by letting go of its programs."""
    w = torch.ones(64, 64, requires_grad=True)
    f = torch.compile(lambda x: (x @ w).tanh().exp().sum(), backend="numpy")
    x = torch.ones(64, 64)
    f(x).backward(), f(x).backward()
    values = {v.root for part in f._last.programs.parts for i in part.program.instructions for v in i.results}
    examples = [weakref.ref(v.example) for v in values if v.kind == "made"]
    del values
    gc.collect()
    assert sum(a() is not None for a in examples) > 4
    f._last.programs = None
    gc.collect()
    assert not any(a() is not None for a in examples) and f(x).item() == f(x).item()
