"""Tensors that stand for numbers in compiled functions: ``p.add_(g, alpha=-lr)``."""

import random

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.extend import OPS
from minitorch.testing.strategies import Draw

VALUES = 0.5, 0.25, 1.0, 1.5
# Attributes whose values an op checks, or on which the way of its computation depends.
CHECKED = {("vector_norm", "ord"), ("addmm", "beta"), ("scaled_dot_product_attention", "p"),
           ("scaled_dot_product_attention_backward", "p"), ("hardshrink", "lambd"),
           ("softshrink", "lambd"), ("smooth_l1_loss", "delta"), ("logit", "eps")}
TAKES_A_NUMBER = {(op.name, k) for op in OPS.values() for k in op.scalars if op.sample}


def results_of(f, make):
    """The results of calls with changing numbers, as arrays."""
    found = []
    for k, value in enumerate(VALUES):
        result = f(*make(k), torch.tensor(value))
        found += [x.detach().numpy().copy() for x in (result if isinstance(result, tuple) else
                                                      (result,))]
    return found


def compare(f, make, backend="numpy", fullgraph=True):
    """Compiled calls beside eager ones; returns the notes."""
    compiled = torch.compile(f, fullgraph=fullgraph, backend=backend)
    expected, found = results_of(f, make), results_of(compiled, make)
    for a, b in zip(expected, found):
        assert a.dtype == b.dtype and a.shape == b.shape
        if backend == "numpy":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)
    assert sum(map(len, compiled.plans.values())) == 1, "traced again for another value"
    return compiled.notes


@pytest.mark.parametrize("name, attribute", sorted(TAKES_A_NUMBER))
def test_each_attribute_of_an_op_that_takes_a_number(name, attribute):
    op = OPS[name]
    arrays, attrs = Draw(random.Random(0)).op_sample(op)
    arrays = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]

    def f(number):
        return op.call(*arrays, **{**attrs, attribute: number * 0.6})
    notes = compare(f, lambda k: (), fullgraph=(name, attribute) not in CHECKED)
    assert any("eagerly" in note for note in notes) <= ((name, attribute) in CHECKED), notes


def pair(k):
    return torch.arange(3.0) - 1 + k, torch.arange(3.0) * 0.5 + 1


CALLS = {
    "add_": lambda p, g, s: p.add_(g, alpha=-s),
    "add": lambda p, g, s: torch.add(p, g, alpha=s),
    "sub": lambda p, g, s: torch.sub(p, g, alpha=s),
    "rsub": lambda p, g, s: torch.rsub(p, g, alpha=s),
    "addcmul_": lambda p, g, s: p.addcmul_(g, g, value=s),
    "addcdiv_": lambda p, g, s: p.addcdiv_(g, g + 1, value=-s / (1 + s)),
    "lerp_": lambda p, g, s: p.lerp_(g, weight=1 - s),
    "lerp": lambda p, g, s: torch.lerp(p, g, s),
    "pow": lambda p, g, s: g ** s + s ** p + torch.pow(g, s),
    "clamp": lambda p, g, s: p.clamp(min=-s, max=s),
    "fill_": lambda p, g, s: p.fill_(s),
    "full": lambda p, g, s: p * torch.full((3,), s) + p.new_full((3,), s) + torch.full_like(p, s),
    "masked_fill_": lambda p, g, s: p.masked_fill_(p > 0, s),
    "index_add": lambda p, g, s: p.index_add(0, torch.tensor([0]), g[:1], alpha=s),
    "addmm": lambda p, g, s: torch.addmm(p, torch.ones(2, 3), torch.eye(3), alpha=s),
    "addmv": lambda p, g, s: torch.addmv(p, torch.eye(3), g, alpha=s),
    "pad": lambda p, g, s: F.pad(p, (1, 1), value=s),
    "setitem": lambda p, g, s: (p.__setitem__(0, s), p)[1],
    "foreach add": lambda p, g, s: torch._foreach_add([p, g], [g, p], alpha=s),
    "foreach in place": lambda p, g, s: (
        torch._foreach_mul_([p], s), torch._foreach_lerp_([p], [g], s),
        torch._foreach_addcmul_([p], [g], [g], s), torch._foreach_sub_([p], [g], alpha=s), p)[-1],
    "constant": lambda p, g, s: p.add_(g, alpha=torch.tensor(0.1)).mul_(s),
    "changed in between": lambda p, g, s: p.add_(g, alpha=s).add_(g, alpha=s.mul_(0.5)).sub_(s),
    "gradient": lambda p, g, s: slope(p, s),
}


def slope(p, s):
    p = p.detach().requires_grad_()
    y = F.leaky_relu(p, s) * 2 + torch.add(p, p * p, alpha=s) + F.elu(p, s) + F.softplus(p, s)
    return torch.autograd.grad(y.sum(), p)[0]


@pytest.mark.parametrize("name", CALLS)
def test_public_calls_take_a_tensor_for_a_number(name):
    compare(CALLS[name], pair)


def test_all_of_them_in_c():
    def f(p, g, s):
        found = [call(p.clone(), g.clone(), s.clone()) for call in CALLS.values()]
        return tuple([y for x in found for y in (x if isinstance(x, tuple) else (x,))])
    compare(f, pair, "c")


def test_a_number_that_python_reads_is_the_reason_to_run_eagerly():
    for f in (lambda p, g, s: p.add_(g, alpha=s.item()), lambda p, g, s: F.celu(p, s),
              lambda p, g, s: torch.add(p.int(), g.int(), alpha=(s * 4).int())):   # its range counts
        compiled = torch.compile(f, backend="numpy")
        for a, b in zip(results_of(f, pair), results_of(compiled, pair)):
            np.testing.assert_array_equal(a, b)
        assert "Python reads a value" in compiled.notes[-1]


OPTIMIZERS = [name for name in torch.optim.__all__ if name[0].isupper() and name not in (
    "Optimizer", "LBFGS", "SparseAdam")]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_learning_rate_of_an_optimiser_stays_a_tensor(name):
    found = []
    for backend in (None, "numpy", *["c"] * (name in ("SGD", "Adam", "Rprop"))):
        torch.manual_seed(0)
        model = nn.Linear(4, 3, bias=name != "Muon")
        lr = torch.tensor(0.01)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=lr)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            optimizer.param_groups[0]["lr"].mul_(0.9)
            optimizer.step()
            return loss
        f = step if backend is None else torch.compile(step, fullgraph=True, backend=backend)
        for k in range(4):
            f(torch.arange(8.0).reshape(2, 4) / 8)
            lr.copy_(torch.tensor(0.02 / (k + 1)))
        assert optimizer.param_groups[0]["lr"] is lr
        found.append(model.weight.detach().numpy().copy())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[-1], 1e-4, 1e-6)


def test_modes_backends_and_options_that_do_not_exist():
    f = torch.relu
    with pytest.raises(RuntimeError, match="Unrecognized mode=nonsense, should be one of: default"):
        torch.compile(f, mode="nonsense")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="'nonsense'.*auto, c, numpy"):
        torch.compile(f, backend="nonsense")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="nonsense"):
        torch.compiler.set_default_backend("nonsense")
    with pytest.raises(RuntimeError, match="max_autotoon, known options are.*max_autotune"):
        torch.compile(f, options={"max_autotoon": True})
    with pytest.raises(RuntimeError, match="max_autotune, got int should be bool"):
        torch.compile(f, options={"max_autotune": 3})
    with pytest.raises(RuntimeError, match="both can't be specified"):
        torch.compile(f, mode="default", options={})
    for given in (dict(mode="max-autotune"), dict(backend="inductor"), dict(options={"shape-padding": True})):
        assert torch.compile(f, **given)(torch.ones(2)).tolist() == [1, 1]
