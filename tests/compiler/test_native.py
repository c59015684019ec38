"""`compile(backend="c")`: what C computes is what eager runs compute: values, gradients, steps, errors, memory."""

import random

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch import optim
from minitorch.backends import native
from minitorch.core.op import Op
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw
from tests.compiler.compiled_programs import NAMES, Case, check, random_case

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 1.0, -100.0, 88.8, -104.0]


def tensor(x, grad=False):
    return torch.tensor(np.asarray(x, np.float32), requires_grad=grad)


def differentiate(outs):
    """Run the backward pass of a number in which all results that need gradients have a part."""
    parts = [torch.view_as_real(o) if o.is_complex() else o for o in outs if getattr(o, "requires_grad", False)]
    if parts:
        sum((o * o.detach().cos()).sum() for o in parts).backward()


def agree(function, *arrays, rtol=2e-5, atol=2e-6, grad=True):
    """Compare results and gradients of a function, eager and in C, in three calls; returns the compiled one."""
    compiled = torch.compile(function, backend="c")
    for _ in range(3):
        found = []
        for f in (function, compiled):
            inputs = [torch.tensor(a, requires_grad=grad and a.dtype.kind == "f") for a in arrays]
            outs = f(*inputs)
            outs = outs if isinstance(outs, tuple) else (outs,)
            differentiate(outs)
            found.append([*[o.detach().numpy() for o in outs],
                          *[x.grad.numpy() for x in inputs if x.grad is not None]])
        assert len(found[0]) == len(found[1])
        for a, b in zip(*found):
            assert a.dtype == b.dtype and a.shape == b.shape
            scale = float(np.abs(a[np.isfinite(a)]).max(initial=1.0)) if a.dtype.kind == "f" else 1.0
            np.testing.assert_allclose(b, a, rtol, atol * scale)
    assert "C: " in str(compiled.notes), compiled.notes
    return compiled


# ---- every definition ----------------------------------------------------------------------------------------
def sampled():
    """(definition, inputs, attributes) of all definitions of the table that can be called on tensors."""
    for name in sorted(OPS):
        op = OPS[name]
        if not isinstance(op, Op) or op.outputs == "list" or op.by_values:
            continue
        try:
            arrays, attrs = Draw(random.Random(0)).op_sample(op)
            arrays = [a.astype(np.float32) if getattr(a, "dtype", None) == np.float64 else a for a in arrays]
            inputs = [torch.tensor(a, requires_grad=a.dtype.kind == "f") if isinstance(a, np.ndarray) else a
                      for a in arrays]
            out = op.call(*inputs, **attrs)
            differentiate(out if isinstance(out, (tuple, list)) else [out])
        except Exception:                                  # a generator, no derivative: not for this test
            continue
        if any(isinstance(x, np.ndarray) for a in attrs.values() for x in (a if isinstance(a, (list, tuple)) else [a])):
            continue                                       # values of Python's own, which no program has
        yield op, arrays, attrs


SAMPLES = [s for s in sampled() if s[0].name not in (      # whose result or gradient has a shape by values
    "masked_select", "masked_select_backward", "masked_scatter", "index_fill")]
assert len(SAMPLES) > 300


@pytest.mark.parametrize("start", range(0, len(SAMPLES), 60))
def test_every_definition(start):
    """Sixty at a time in one function: one C file for the forward, one for the backward pass."""
    chosen, flat = [], []
    for op, arrays, attrs in SAMPLES[start:start + 60]:
        places = [len(flat) + sum(isinstance(b, np.ndarray) for b in arrays[:k]) if isinstance(a, np.ndarray) else a
                  for k, a in enumerate(arrays)]
        flat += [a for a in arrays if isinstance(a, np.ndarray)]
        chosen.append((op, places, [isinstance(a, np.ndarray) for a in arrays], attrs))

    def run(*inputs):
        found = []
        for op, places, is_array, attrs in chosen:
            out = op.call(*[inputs[p] if here else p for p, here in zip(places, is_array)], **attrs)
            found += out if isinstance(out, (tuple, list)) else [out]
        return tuple(x for x in found if isinstance(x, torch.Tensor))
    agree(run, *flat, rtol=1e-4, atol=2e-5)


# ---- rows, special values, sizes ------------------------------------------------------------------------------
ROWS = dict(softmax=lambda x: x.softmax(-1), log_softmax=lambda x: x.log_softmax(-1), first=lambda x: x.softmax(0),
            layer_norm=lambda x: F.layer_norm(x, x.shape[-1:]), gelu=lambda x: F.gelu(x, approximate="tanh"),
            sigmoid=lambda x: torch.sigmoid(x), tanh=lambda x: x.tanh(), relu=lambda x: x.relu(),
            silu=lambda x: F.silu(x),
            square=lambda x: (x * x + 1).sqrt(), amax=lambda x: x.amax(-1),
            sums=lambda x: (x.sum(0), x.sum(-1), x.sum()),
            mean=lambda x: (x - x.mean(-1, keepdim=True)), turned=lambda x: (x.t() * 2).contiguous(),
            where=lambda x: torch.where(x > 0, x, x * 0.5), clamp=lambda x: x.clamp(-1, 1), joined=lambda x: torch.cat(
                [x, x * 2], -1), sliced=lambda x: x[:, 1:] * x[:, :-1])


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 130), (0, 4), (2, 9000)])
def test_rows(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    agree(lambda x: tuple(y for f in ROWS.values() if shape[0] for y in [f(x)] if not isinstance(y, tuple)), x) if (
        shape[0]) else agree(lambda x: (x * 2, x.tanh(), x.sum(0), x.softmax(-1)), x)


def test_special_values():
    x = np.array(SPECIAL * 3, np.float32)
    with np.errstate(all="ignore"):
        one, two = (torch.compile(f, backend="c") if k else f for k, f in enumerate([functions] * 2))
        for _ in range(2):
            for a, b in zip(one(torch.tensor(x)), two(torch.tensor(x))):
                np.testing.assert_allclose(b.numpy(), a.numpy(), 3e-7, 1e-44)
                if a.dtype == torch.float32:
                    assert (np.signbit(a.numpy()) == np.signbit(b.numpy()))[~np.isnan(a.numpy())].all()


def functions(x):
    return (x.exp(), x.tanh(), torch.sigmoid(x), x.relu(), x.log(), x.abs(), -x, x.sqrt(), 1 / x, x * 0, x + 1, x > 0,
            x.isnan(), x.maximum(x * 0), x.minimum(x * 0), x.floor(), x.reshape(3, -1).amax(-1),
            x.reshape(3, -1).sum(0), x.isfinite(), x.square(), torch.where(x > 0, x, -x))


def test_integers_and_bools():
    i, b = np.arange(-6, 6).reshape(3, 4), np.arange(12).reshape(3, 4) % 3 == 0
    agree(lambda i, b: (i + 2, i * i - 3, i > 1, i.sum(0), b & (i > 0), ~b, b.sum(), i.float() * 0.5, i.abs(),
                        i.amax(-1), b.all(-1), b.any(0), torch.where(b, i, -i), i.clamp(-2, 3), i - 1), i, b)


def test_float64():
    x = np.random.default_rng(1).standard_normal((5, 70))
    agree(lambda x: (x * 2 + 1, (x - x.mean(-1, keepdim=True)).square().mean(-1).sqrt(), x @ x.t(), x.sum(0)), x,
          rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (3, 5, 4), (40, 30, 50), (1, 33, 7)])
def test_products(m, n, k):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((m, k)).astype("f"), rng.standard_normal((n, k)).astype("f")
    c = rng.standard_normal((2, 3, m, k)).astype("f")
    agree(lambda a, b, c: (a @ b.t(), F.linear(c, b), c @ a.t(), c.transpose(-1, -2) @ c, a @ b[0], b[0] @ a.t(),
                           (c @ b.t()).transpose(1, 2).contiguous()), a, b, c)


# ---- steps ------------------------------------------------------------------------------------------------------
def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))


OPTIMISERS = dict(
    SGD=lambda p: torch.optim.SGD(p, 0.1), momentum=lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01),
    nesterov=lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True), Adam=lambda p: torch.optim.Adam(p, 0.01),
    AdamW=lambda p: torch.optim.AdamW(p, 0.01),
    amsgrad=lambda p: torch.optim.Adam(p, 0.01, amsgrad=True, maximize=True),
    RMSprop=lambda p: torch.optim.RMSprop(p, 0.01), NAdam=lambda p: torch.optim.NAdam(p, 0.01),
    groups=lambda p: torch.optim.Adam([{"params": [*p][:2]}, {"params": [*p][2:], "lr": 0.1}], 0.01))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_of_optimisers(name):
    """Parameters and states are those of eager steps: hyperparameters, hooks and states that change are seen."""
    x, t = tensor(np.random.default_rng(4).standard_normal((5, 6))), torch.tensor([0, 2, 1, -100, 2])
    found = []
    for backend in (None, "c"):
        model = network()
        optimizer = OPTIMISERS[name](model.parameters())

        def step(x, t, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
            return loss
        run = step if backend is None else torch.compile(step, backend=backend)
        seen = []
        for k in range(8):
            if k == 4:
                optimizer.param_groups[0]["lr"] *= 0.5
            if k == 5:
                optimizer.register_step_post_hook(lambda *a, seen=seen: seen.append("hook"))
            if k == 6:
                for p in list(optimizer.state)[:1]:
                    for s in optimizer.state[p].values():
                        if isinstance(s, torch.Tensor) and s.dim():
                            s.mul_(0.5)
            seen.append(run(x, t).item())
            seen.append([p.detach().numpy().copy() for p in model.parameters()])
            seen.append([p._version for p in model.parameters()])
        seen += [s.numpy().copy() for p in model.parameters() for s in optimizer.state[p].values()
                 if isinstance(s, torch.Tensor)]
        found.append(seen)
        if backend:
            assert "step0" in run.c_source, run.notes
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found):
        if isinstance(a, str):
            assert a == b
        else:
            for x, y in zip(a if isinstance(a, list) else [a], b if isinstance(b, list) else [b]):
                np.testing.assert_allclose(y, x, 2e-4, 2e-5)


def test_a_program_has_one_text():
    """Libraries are kept under their text: what comes up at the same time must lie in the same order in each trace."""
    def run(x):
        return x.var(1, unbiased=False).sum() * x.var() + ((x - x.mean(0)) / x.std(0)).amax(1).sum()
    held, texts = [], set()
    for _ in range(4):
        compiled = torch.compile(run, backend="c")
        compiled(tensor(np.ones((40, 130))))
        held += compiled, [object() for _ in range(7)]     # memory is another one in the next trace
        texts.add(compiled.c_source)
    assert len(texts) == 1


def test_schedules_and_missing_gradients():
    found = []
    for backend in (None, "c"):
        w, u = tensor([1.0, 2.0], True), tensor([3.0], True)
        optimizer = torch.optim.Adam([w, u], 0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(x, optimizer=optimizer, w=w):
            w.grad = None
            loss = (w * x).square().sum()
            loss.backward()
            optimizer.step()
            return loss
        run = step if backend is None else torch.compile(step, backend=backend)
        seen = []
        for k in range(6):
            if k == 3:
                (u * 2).sum().backward()
            seen += [run(tensor([1.0, -1.0])).item(), *w.tolist(), *u.tolist()]
            schedule.step()
        found.append(seen)
    np.testing.assert_allclose(*found, 1e-5)


# ---- indices -----------------------------------------------------------------------------------------------------
def test_embedding_and_its_gradient():
    i, w = np.array([[1, 0, 3], [3, 3, 2]]), np.random.default_rng(5).standard_normal((5, 4)).astype("f")
    compiled = agree(lambda i, w: (F.embedding(i, w) * 2, F.embedding(i, w, padding_idx=3)), i, w)
    for wrong in (5, -1):
        bad = i.copy()
        bad[1, 1] = wrong
        with pytest.raises(IndexError, match=f"from 0 to 4, got {wrong}"):
            compiled(torch.tensor(bad), tensor(w, True))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction):
    rng = np.random.default_rng(6)
    x, t = rng.standard_normal((6, 5)).astype("f"), np.array([0, 4, -100, 2, 2, 1])

    def run(x, t):
        return F.cross_entropy(x, t, reduction=reduction)
    compiled = agree(run, x, t)
    agree(run, x, np.full(6, -100)) if reduction != "mean" else None
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        compiled(tensor(x, True), torch.tensor([0, 5, 1, 1, 1, 1]))


# ---- memory ------------------------------------------------------------------------------------------------------
def test_results_that_somebody_holds_stay():
    f = torch.compile(lambda x: (x * 2 + 1, x.sum(0)), backend="c")
    kept = []
    for k in range(8):
        y, _ = f(torch.full((300, 100), float(k)))
        kept.append(y if k % 3 == 0 else y[1:].numpy() if k % 3 == 1 else y.t()[3])
        if k % 2:
            kept[k] = None
        else:
            y.add_(0)
            assert y._version == 1
    for k in range(0, 8, 2):
        assert (np.asarray(kept[k]) == 2 * k + 1).all()
    assert f(torch.full((300, 100), 1.0))[0]._version == 0


def test_memory_that_is_not_aligned_runs_as_numpy():
    raw = np.zeros(41, np.uint8)[1:].view(np.float32)
    assert not raw.flags.aligned
    f = torch.compile(lambda x: x * 2 + 1, backend="c")
    f(torch.zeros(10))
    assert f(torch.from_numpy(raw)).tolist() == [1.0] * 10


def test_writes_views_and_arguments_in_one_memory():
    def run(x, y):
        x[1:] = x[1:] + y[:-1]
        x.mul_(2)
        return x[0] * 1, x.t()
    for same in (False, True):
        found = []
        for f in (run, torch.compile(run, backend="c")):
            for _ in range(2):
                x = torch.arange(12.0).reshape(3, 4)
                y = x if same else torch.ones(3, 4)
                found.append([*[v.tolist() for v in f(x, y)], x.tolist(), x._version])
        assert all(v == found[0] for v in found)


def test_random_numbers_are_those_of_eager_runs():
    def run(x):
        return F.dropout(x, 0.5) * 2 + torch.rand(3)
    found = []
    for f in (run, torch.compile(run, backend="c")):
        torch.manual_seed(0)
        found.append([f(torch.ones(3)).tolist() for _ in range(4)])
    assert found[0] == found[1]


# ---- what is said, and what happens without a compiler ---------------------------------------------------------------
def test_sources_and_notes():
    f = torch.compile(lambda x: F.layer_norm(x, (8,)).tanh().sort(0).values, backend="c")
    f(torch.ones(4, 8))
    assert "F.sort" in f.source
    assert "layer_norm" in f.c_source and "m_tanh" in f.c_source and "void *objects" in f.c_source
    assert any(n.startswith("C: 1 loops") for n in f.notes) and any("sort" in n for n in f.notes)
    assert torch.compile(lambda x: x + 1, backend="numpy")(torch.ones(1)).tolist() == [2.0]


def test_without_a_compiler_it_is_numpy_with_a_note(monkeypatch):
    monkeypatch.setenv("MINITORCH_NATIVE", "0")
    f = torch.compile(lambda x: x * 2 + 1, backend="c")
    assert [f(torch.ones(2)).tolist() for _ in range(2)] == [[3.0, 3.0]] * 2
    assert f.c_source == "" and "MINITORCH_NATIVE" in f.notes[-1]


# ---- random programs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", range(3))
def test_random_programs(part):
    """A sample of ``python -m tests.compiler.compiled_programs --backend c``."""
    for n in range(5):
        check(random_case(random.Random(f"native {part} {n}"))._replace(backend="c"))


@pytest.mark.parametrize("part", range(4))
def test_statements_of_programs(part):
    """Each statement between two others."""
    for name in NAMES[part::24]:
        check(Case((("twice", 0, 0, 1), (name, 2, 1, 1), ("twice", 2, 0, 0)), needs_grad=(True, True), results="all",
                   modes=("grad", "grad"), backend="c"))


@pytest.mark.parametrize("kind", ["bfloat16", "shared", "empty"])
def test_steps_in_c_of_parameters_that_c_does_not_take(kind):
    from minitorch.backends import native
    if native.reason() is not None:
        pytest.skip(native.reason())
    found = []
    for compiled in (False, True):
        base = torch.arange(6.0, dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
        params = [nn.Parameter(base[:4]), nn.Parameter(base[2:] if kind == "shared" else base[:0])]
        o = optim.SGD(params, 0.1, 0.9)

        def step(x, params=params, o=o):
            o.zero_grad()
            loss = sum((p * p * x).sum() for p in params)
            loss.backward()
            o.step()
            return loss
        step = torch.compile(step, backend="c") if compiled else step
        for _ in range(4):
            step(torch.tensor(2.0, dtype=base.dtype))
        found.append([p.detach().float().numpy() for p in params])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-5)
