"""`func.vmap`: every op on a batch beside a loop, gradients, nesting, randomness, writes in place, custom functions."""

import copy
import itertools
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.autograd import Function
from minitorch.backends.batched import backend as batched_backend
from minitorch.backends.batched import loop
from minitorch.backends.batched.array import Unbatched
from minitorch.backends.batched.backend import BatchedBackend, rule
from minitorch.core.registry import OPS
from minitorch.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    stack_module_state,
    vmap,
    vmap_fallbacks,
)
from tests.func import batched_cases
from tests.helpers.op_calls import definitions_with_inputs
from tests.helpers.pages import run_examples

ROWS = definitions_with_inputs()


def refusing(op, check):
    """Run a check; ops whose results depend on the values of a batch may refuse it, in PyTorch's words."""
    try:
        check()
    except RuntimeError as error:
        if op.name not in batched_cases.REFUSED or "dynamic shape" not in str(error):
            raise


# ---- every definition --------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_batch_equals_loop(op):
    before = vmap_fallbacks()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(2):
            refusing(op, lambda seed=seed: batched_cases.check(op, seed, most=3))
        refusing(op, lambda: batched_cases.check(op, 2, most=2, with_grad=True))
        refusing(op, lambda: batched_cases.check_nested(op, 3, most=2))
    assert vmap_fallbacks() == before, "an op runs element by element"


def test_rules_take_what_definitions_take():
    for name, function in rule.found.items():
        if function.__kwdefaults__:
            assert function.__kwdefaults__ == {k: v for k, v in OPS[name].attrs if k in function.__kwdefaults__}, name
    own = {k for k in vars(BatchedBackend) if k not in OPS and k.removeprefix("full_") not in OPS}
    assert not {name for name in OPS if name in own or name in ("inner", "size", "depth", "origin", "copies")}


def test_op_without_a_rule_runs_element_by_element_and_says_so(monkeypatch):
    def refuse(F, input):
        raise Unbatched("for the test")
    monkeypatch.setitem(rule.found, "sin", refuse)
    monkeypatch.setattr(loop, "fell_back", {})
    monkeypatch.setattr(BatchedBackend, "sin", batched_backend.operation("sin"), raising=False)
    x = torch.randn(3, 4)
    with pytest.warns(UserWarning, match="performance drop because .* batching rule for sin"):
        assert torch.equal(vmap(torch.sin)(x), x.sin())
    assert vmap_fallbacks() == {"sin": "for the test"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(vmap(torch.sin, 1, 1)(x), x.sin())


# ---- functions made of ops ---------------------------------------------------------------------------------
labels = torch.tensor([0, 2, 1, 1])
attention, affine = nn.MultiheadAttention(4, 2, dtype=torch.float64), nn.Linear(4, 3, dtype=torch.float64)


def written(x):
    y = x.new_zeros(x.shape)
    y[1:, 0] += x[1:, 0]
    y[..., 0].mul_(3).add_(x[..., 1])
    y[x > 0] = 7.0
    y[labels, 0] = x[0, 0]
    return y


COMPOSITES = [
    lambda x: x[1:, ::2], lambda x: x[:, [0, 1], :, [1, 2]], lambda x: x[..., labels, :], lambda x: x[labels, :, None],
    lambda x: x.median(1).values, lambda x: x.argmax(), lambda x: torch.quantile(x, 0.3), lambda x: x.var(),
    lambda x: torch.cat([x, x], 1), lambda x: x.flip(0).roll(1), lambda x: x.repeat_interleave(2, 0),
    lambda x: torch.combinations(x[0, 0, 0]), lambda x: F.fold(F.unfold(x, 2), (4, 4), 2), lambda x: x.unfold(2, 3, 1),
    lambda x: torch.where(x > 0, x, 0.0), lambda x: x.scatter_reduce(0, torch.zeros_like(x).long(), x, "mean"),
    lambda x: torch.einsum("nchw,nchw->nc", x, x), lambda x: torch.cdist(x[0, 0], x[0, 1]),
    lambda x: torch.linalg.pinv(x[0, 0]), lambda x: torch.linalg.matrix_power(x[0, 0], 3),
    lambda x: x[0, 0] @ x[0, 0, 0],
    lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), lambda x: F.embedding(labels, x[0, 0]),
    lambda x: F.embedding_bag(labels, x[0, 0], torch.tensor([0, 2])), lambda x: F.interpolate(x, scale_factor=2),
    lambda x: F.pad(x, (1, 1, 2, 0), mode="reflect"), lambda x: F.conv_transpose2d(x, x[:3, :2]),
    lambda x: F.adaptive_max_pool2d(x, 3), lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    lambda x: F.grid_sample(x, F.affine_grid(torch.eye(2, 3, dtype=x.dtype).expand(4, 2, 3), [4, 3, 5, 5], False),
                            align_corners=False),
    lambda x: F.cross_entropy(x[:, :, 0, 0], labels), lambda x: F.cross_entropy(x[:, :, 0, 0], labels, ignore_index=1),
    lambda x: F.ctc_loss(x[0].log_softmax(2), labels[:1].expand(4, 1) + 1, [3] * 4, [1] * 4),
    lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.group_norm(x, 3), lambda x: F.instance_norm(x),
    lambda x: F.normalize(x, dim=1), lambda x: torch.linalg.cross(x, x * 2 + 1, dim=1),
    lambda x: x.as_strided((2, 2), (1, 2)),
    lambda x: x.transpose(0, 1).contiguous().view(-1), lambda x: x[:1].expand(5, -1, -1, -1), lambda x: x.tile(2),
    lambda x: x.clone().add_(1).mul_(x), written, lambda x: torch.zeros_like(x) + x, lambda x: torch.arange(4) * x,
    lambda x: (x.bfloat16() * 2 + x.bfloat16()).softmax(-1).double(), lambda x: (x * 10).int() // 3,
    lambda x: torch.fft.irfft(torch.fft.rfft(x)), lambda x: torch.diag(x[0, 0, 0]), lambda x: sum(list(x)),
    lambda x: attention(x[0], x[0], x[0])[0], lambda x: affine(x), lambda x: torch.histc(x, 5, -2, 2),
    lambda x: x[0, 0][tuple(torch.triu_indices(4, 4))], lambda x: torch.slice_scatter(x, x[:2], 0, 1, 3),
    lambda x: torch.logdet(x[0, 0] @ x[0, 0].T), lambda x: torch.linalg.lu_factor(x[0, 0])[0]]


@pytest.mark.parametrize("f", COMPOSITES, ids=range(len(COMPOSITES)))
def test_composites(f):
    torch.manual_seed(0)
    x = torch.randn(3, 4, 3, 4, 4, dtype=torch.float64)
    wanted = torch.stack([f(one) for one in x])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = vmap(f, 2)(x.movedim(0, 2))
    assert found.dtype is wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), 1e-9, 1e-9)


# ---- dimensions, pytrees, chunks ---------------------------------------------------------------------------
def test_arguments_and_results_are_pytrees():
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(4.0).reshape(2, 2)

    def f(d, rest, scale=1):
        assert d["a"].shape == (2,) and rest[0].shape == (2,) and isinstance(rest[1], int)
        return {"sum": d["a"] + scale, "pair": (rest[0].sum(), d["a"][0] * rest[1])}
    out = vmap(f, ({"a": 1}, (None, None)), {"sum": 1, "pair": 0})({"a": x}, (y[0], 5), scale=2)
    assert torch.equal(out["sum"], x + 2)
    assert out["pair"][0].tolist() == [1, 1, 1] and torch.equal(out["pair"][1], x[0] * 5)
    assert vmap(lambda x: (x, 3), out_dims=(0, None))(x)[1] == 3
    assert vmap(lambda x: x.sum(), out_dims=-1)(x).shape == (2,)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8])
def test_chunks(chunk):
    x = torch.randn(5, 3)
    assert torch.equal(vmap(lambda x: (x * 2, x.sum()), out_dims=(1, 0), chunk_size=chunk)(x)[0], (x * 2).T)
    rows = jacrev(torch.sin, chunk_size=chunk)(x[0])
    assert torch.allclose(rows, torch.diag(x[0].cos()))


def test_batches_of_none_and_of_one():
    assert vmap(lambda x: x * 2)(torch.ones(0, 3)).shape == (0, 3)
    x, w = torch.randn(1, 3), torch.randn(3)
    assert torch.equal(vmap(lambda x: x * w)(x), x * w)
    assert torch.equal(vmap(grad(lambda w, x: (x * w).sum()), (None, 0))(w, x), x)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: vmap(lambda x: x.item())(x[:, 0]), RuntimeError, "calling .item()"),
    (lambda x: vmap(lambda x: x if x.sum() > 0 else -x)(x), RuntimeError, "data-dependent control flow"),
    (lambda x: vmap(lambda x: x[x > 0])(x), RuntimeError, "indexing with a boolean mask"),
    (lambda x: vmap(torch.nonzero)(x), RuntimeError, "dynamic shape"),
    (lambda x: vmap(lambda x: x.unique())(x), RuntimeError, "dynamic shape"),
    (lambda x: vmap(lambda x: x.numpy())(x), RuntimeError, "item"),
    (lambda x: vmap(lambda x: 3)(x), ValueError, "must only return Tensors, got type <class 'int'>"),
    (lambda x: vmap(lambda x: x, out_dims=None)(x), ValueError, "can not return a BatchedTensor when out_dim is None"),
    (lambda x: vmap(lambda x: x.sum(), out_dims=1)(x), IndexError, r"expected to be in range of \[-1, 0\], but got 1"),
    (lambda x: vmap(lambda x: x, chunk_size=0)(x), ValueError, "chunk_size should be None or greater than 0"),
    (lambda x: vmap(lambda x: x, randomness="no")(x), RuntimeError, "Only allowed values for randomness"),
    (lambda x: vmap(torch.add)(x, x[:2]), ValueError, "same size in the mapped dimension"),
    (lambda x: vmap(torch.add, (None, None))(x, x), ValueError, "at least one"),
    (lambda x: vmap(lambda x: torch.zeros(3).add_(x))(x), RuntimeError, "inplace arithmetic"),
    (lambda x: vmap(lambda x: torch.zeros(3).copy_(x))(x), RuntimeError, "inplace arithmetic"),
    (lambda x: vmap(lambda x: torch.zeros(3).__setitem__(0, x[0]))(x), RuntimeError, "inplace arithmetic"),
    (lambda x: vmap(lambda x: torch.zeros(3).__setitem__(x[0].long(), 1))(x * 0), RuntimeError, "inplace arithmetic"),
    (lambda x: vmap(lambda x: x.bool().masked_select(x > 0))(x), RuntimeError, "dynamic shape"),
    (lambda x: vmap(lambda x: F.cross_entropy(x, x.long()[0] * 0 + 5))(x), IndexError, "Target 5 is out of bounds"),
])
def test_errors(call, error, text):
    torch.manual_seed(0)
    with pytest.raises(error, match=text):
        call(torch.randn(4, 3))


def test_tensor_that_escapes_is_refused():
    kept = []
    vmap(lambda x: kept.append(x) or x)(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="escaped from a function being vmapped"):
        vmap(lambda x: x + kept[0])(torch.ones(2, 3))


def test_text():
    texts = []
    vmap(vmap(lambda x: texts.append(repr(x)) or x))(torch.arange(4.0).reshape(1, 2, 2))
    assert texts == ["BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n"
                     "        tensor([[[0., 1.],\n                 [2., 3.]]])\n    )\n)"]


# ---- writes in place ---------------------------------------------------------------------------------------
def test_writes_reach_the_argument_and_are_counted():
    x = torch.zeros(2, 3)
    y = torch.ones(2, 3, requires_grad=True)
    z = x * y
    vmap(lambda x, n: x.add_(n), (1, 0))(x, torch.arange(3.0))
    assert x.tolist() == [[0, 1, 2], [0, 1, 2]] and x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.sum().backward()


def test_an_element_is_copied_to_its_neighbour():
    def f(x):
        x[1] = x[0]
        x[-1] = x[2:3].reshape(())
        return x.sum()
    x = torch.arange(12.0).reshape(2, 6)
    assert vmap(f)(x).tolist() == [11, 47]
    assert x.tolist() == [[0, 0, 2, 3, 4, 2], [6, 6, 8, 9, 10, 8]]


def test_writes_with_gradients():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    def f(x):
        y = x * 2
        y[1:] *= x[:-1]
        v = y.view(2, 2)
        v[0].mul_(x[0])
        return y.sum()
    (a,) = torch.autograd.grad(vmap(f)(x).sum(), x)
    (b,) = torch.autograd.grad(sum([f(row) for row in x]), x)
    assert torch.allclose(a, b)
    c = vmap(grad(f))(x.detach())
    assert torch.allclose(a, c)
    with pytest.raises(RuntimeError):                      # its gradient would be lost behind the graph's back
        vmap(lambda x: x.mul_(2))(x * 1)


# ---- gradients ---------------------------------------------------------------------------------------------
STEPS = [torch.sin, torch.tanh, lambda x: x * x, lambda x: x.cumsum(-1), lambda x: x.softmax(-1), lambda x: x.flip(-1),
         lambda x: x / (1 + x.square().sum()), lambda x: x @ (x.unsqueeze(-1) * x), lambda x: x.sort().values,
         lambda x: torch.where(x > 0, x, 0.5 * x)]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=4), st.integers(0, 2**16))
def test_random_compositions(steps, seed):
    torch.manual_seed(seed)
    x, w = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)

    def f(w, x):
        y = x * w
        for k in steps:
            y = STEPS[k](y) + x
        return (y * w).sum()
    each = vmap(grad(f), (None, 0))(w, x)
    assert torch.allclose(each, torch.stack([grad(f)(w, row) for row in x]))
    assert torch.allclose(grad(lambda w: vmap(f, (None, 0))(w, x).sum())(w), each.sum(0))
    table = vmap(vmap(f, (0, None)), (None, 0))(torch.stack([w, 2 * w]), x)
    assert torch.allclose(table, torch.stack([torch.stack([f(v, row) for v in (w, 2 * w)]) for row in x]))
    second = vmap(hessian(f), (None, 0))(w, x)
    assert torch.allclose(second, torch.stack([jacrev(grad(f))(w, row) for row in x]), atol=1e-8)
    assert torch.allclose(jacrev(lambda w: vmap(f, (None, 0))(w, x))(w), each)
    assert torch.allclose(jacfwd(lambda w: vmap(f, (None, 0))(w, x))(w), each)


def test_gradients_of_a_closure():
    w = torch.randn(3, requires_grad=True)
    x = torch.randn(2, 3)
    each = vmap(lambda x: torch.autograd.grad((x * w).sin().sum(), w)[0])(x)      # of each element, as in a loop
    assert torch.allclose(each, x * (x * w).cos())
    vmap(lambda x: (x * w).sin().sum())(x).sum().backward()
    assert torch.allclose(w.grad, each.sum(0))
    y = vmap(grad(lambda x: (x * w).sin().sum()))(x)       # depends on w
    (g,) = torch.autograd.grad(y.sum(), w)
    assert torch.allclose(g, ((x * w).cos() - x * w * (x * w).sin()).sum(0), atol=1e-6)


@pytest.mark.parametrize("make", [
    lambda x, w: (x @ w).sin(), lambda x, w: vmap(lambda x: (x * w).sin().sum())(x),
    lambda x, w: vmap(vmap(lambda x, w: (x * w).sin()), (0, None))(x, w).sum(1),
    lambda x, w: vmap(grad(lambda x: (x * w).sin().prod()))(x).sum(1),
    lambda x, w: F.relu(F.linear(x, w[None])).reshape(-1)], ids=range(5))
def test_batched_gradients_go_through_any_graph(make):
    x, w = torch.randn(3, 4), torch.randn(4, requires_grad=True)
    y = make(x, w)
    a, = torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True, create_graph=True)
    b = torch.stack([torch.autograd.grad(y, w, e, create_graph=True)[0] for e in torch.eye(3)])
    assert torch.allclose(a, b, atol=1e-6)
    (c,), (d,) = [torch.autograd.grad((g * g).sum(), w, retain_graph=True) for g in (a, b)]
    assert torch.allclose(c, d, atol=1e-5)
    plain, = torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True)
    assert not plain.requires_grad and torch.equal(plain, a)


def test_functional_vectorized():
    x = torch.randn(3, dtype=torch.float64)
    for f in (lambda x: x.sin() * x.sum(), lambda x: (x.exp(), x.sum())):
        jacobian = torch.autograd.functional.jacobian
        for a, b in zip(jacobian(f, x), jacobian(f, x, vectorize=True)):
            assert torch.equal(a, b)
    f = lambda x: (x.sin() * x).sum() ** 2                                        # noqa: E731
    found = torch.autograd.functional.hessian(f, x, vectorize=True)
    assert torch.allclose(found, torch.autograd.functional.hessian(f, x))


def test_gradients_per_sample_of_a_cnn():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.ReLU(), nn.MaxPool2d(2), nn.GroupNorm(2, 4), nn.Flatten(),
                          nn.Linear(16, 3)).double()
    params = {k: p.detach() for k, p in model.named_parameters()}
    x, y = torch.randn(4, 2, 6, 6, dtype=torch.float64), torch.tensor([0, 2, 1, 1])

    def loss(params, x, y):
        return F.cross_entropy(functional_call(model, params, (x[None],)), y[None])
    found = vmap(grad(loss), (None, 0, 0))(params, x, y)
    for i in range(4):
        one = grad(loss)(params, x[i], y[i])
        assert all([torch.allclose(found[k][i], one[k]) for k in params])


def test_ensemble():
    models = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).eval() for _ in range(3)]
    params, buffers = stack_module_state(models)
    x = torch.randn(5, 3)
    out = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), (0, 0, None))(params, buffers, x)
    assert torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6)
    out.sum().backward()
    assert all([p.grad is not None and p.grad.shape == p.shape for p in params.values()])


def test_stacking_other_than_equal_models_is_refused():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    frozen = nn.Linear(2, 2).requires_grad_(False)
    assert not any([p.requires_grad for p in stack_module_state([frozen, frozen])[0].values()])
    for models, text in (([], "at least one model"), ([a, b.eval()], "same training/eval mode"),
                         ([a, nn.Flatten()], "same class"), ([a, frozen], "weight from each model to have the same")):
        with pytest.raises(RuntimeError, match=text):
            stack_module_state(models)


# ---- random numbers ----------------------------------------------------------------------------------------
DRAWS = [lambda x: torch.rand(4), lambda x: torch.randn_like(x), lambda x: F.dropout(x + 3),
         lambda x: torch.randperm(9),
         lambda x: x.clone().normal_(), lambda x: F.gumbel_softmax(x), lambda x: torch.randint(99, (4,)),
         lambda x: F.rrelu(x - 1, training=True), lambda x: F.dropout(torch.ones(9)),
         lambda x: torch.poisson(x * 0 + 9),
         lambda x: torch.multinomial(torch.ones(9), 5), lambda x: torch.bernoulli(torch.full((20,), 0.5))]


@pytest.mark.parametrize("f", DRAWS, ids=range(len(DRAWS)))
def test_randomness(f):
    x = torch.zeros(3, 4)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        vmap(f)(x)
    torch.manual_seed(0)
    different = vmap(f, randomness="different")(x)
    assert not torch.equal(different[0], different[1]) and not torch.equal(different[1], different[2])
    if f is DRAWS[9]:
        with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
            vmap(f, randomness="same")(x)
        return
    same = vmap(f, randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[1], same[2])


def test_random_numbers_are_those_of_one_draw():
    torch.manual_seed(0)
    found = vmap(lambda x: torch.rand(2) + x, randomness="different")(torch.zeros(3))
    torch.manual_seed(0)
    assert torch.equal(found, torch.rand(3, 2))
    inner = vmap(lambda x: torch.rand(2) + x, randomness="different")
    table = vmap(inner, randomness="same")(torch.zeros(2, 3))
    assert torch.equal(table[0], table[1]) and not torch.equal(table[0, 0], table[0, 1])
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda x: torch.zeros(2).normal_() + x, randomness="different")(torch.zeros(3))


# ---- functions with derivatives of their own ---------------------------------------------------------------
class Cube(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x * x * g


class Product(Function):
    seen: list = []

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return y * g, x * g

    @staticmethod
    def vmap(info, in_dims, x, y):
        Product.seen.append((info.batch_size, info.randomness, in_dims))
        x, y = [v[None] if d is None else v.movedim(d, 0) for v, d in zip((x, y), in_dims)]
        return Product.apply(x, y), 0


def test_custom_functions():
    x, w = torch.arange(6.0).reshape(3, 2), torch.tensor([2.0, 3.0], requires_grad=True)
    assert torch.equal(vmap(Cube.apply)(x), x ** 3) and torch.equal(vmap(vmap(Cube.apply))(x), x ** 3)
    assert torch.equal(vmap(grad(lambda x: Cube.apply(x).sum()))(x), 3 * x * x)
    assert torch.equal(vmap(grad(lambda w, x: Cube.apply(w * x).sum()), (None, 0))(w.detach(), x), 3 * x ** 3 * w ** 2)
    Product.seen.clear()
    assert torch.equal(vmap(Product.apply, (0, None))(x, w.detach()), x * w)
    assert Product.seen == [(3, "error", (0, None))]
    each = vmap(grad(lambda w, x: Product.apply(x, w).sum()), (None, 0))(w.detach(), x)
    assert torch.equal(each, x)
    vmap(Product.apply, (0, None))(x, w).sum().backward()
    assert torch.equal(w.grad, x.sum(0))
    assert torch.equal(vmap(vmap(Product.apply, (0, None)), (0, 0))(x, x[:, 0]), x * x[:, :1])
    assert torch.autograd.gradcheck(Cube.apply, (x.double().requires_grad_(),), check_batched_grad=True)


def test_custom_functions_without_a_rule_are_refused():
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    class Neither(Cube):
        generate_vmap_rule = False

    class Both(Product):
        generate_vmap_rule = True
    x = torch.ones(2, 3)
    for cls, text in ((Old, "must override the setup_context"), (Neither, "does not have vmap support"),
                      (Both, "both generate_vmap_rule=True and an overridden vmap")):
        with pytest.raises(RuntimeError, match=text):
            vmap(cls.apply)(x)


# ---- the rest of the library -------------------------------------------------------------------------------
def test_mixed_precision_hooks_and_parameters():
    layer = nn.Linear(3, 2)
    x, seen = torch.randn(4, 3), []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert vmap(layer)(x).dtype is torch.bfloat16
    h = layer.register_forward_hook(lambda m, args, out: seen.append(tuple(out.shape)))
    out = vmap(layer)(x)
    h.remove()
    assert seen == [(2,)] and torch.allclose(out, layer(x), atol=1e-6)
    grads = []
    y = vmap(lambda x: (lambda y: (y.register_hook(lambda g: grads.append(tuple(g.shape))), y)[1])(layer(x)))(x)
    y.sum().backward()
    assert grads == [(2,)] and layer.bias.grad.tolist() == [4, 4]
    with torch.no_grad():
        assert not vmap(layer)(x).requires_grad
    assert torch.equal(vmap(lambda i: layer.weight[i])(torch.tensor([1, 0, 1])), layer.weight[[1, 0, 1]])


def test_within_other_machinery():
    x, w = torch.randn(3, 5), torch.randn(5, requires_grad=True)
    with torch.inference_mode():
        assert torch.equal(vmap(lambda x: x * 2)(x), x * 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t), torch.autograd.detect_anomaly():
        vmap(lambda x: (x * w).sum())(x).sum().backward()
    assert torch.equal(w.grad, x.sum(0))
    w.grad = None
    vmap(lambda x: ((x * w).sum().backward(), x)[1])(x)    # adds up what the elements give, as a loop does
    assert torch.allclose(w.grad, x.sum(0))
    assert torch.equal(vmap(lambda x: copy.deepcopy(x).add_(1))(x), x + 1)
    assert torch.equal(vmap(lambda x: torch.mul(x, 2, out=x.new_empty(5)))(x), x * 2)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(lambda x: torch.mul(x, 2, out=torch.empty(5)))(x)
    spectrum = vmap(grad(lambda x: torch.fft.rfft(x).abs().sum()))(x)
    assert torch.allclose(spectrum[0], grad(lambda x: torch.fft.rfft(x).abs().sum())(x[0]))
    half = vmap(grad(lambda w, x: (x * w).softmax(0).max()), (None, 0))(w.detach().bfloat16(), x.bfloat16())
    assert half.dtype is torch.bfloat16 and half.shape == (3, 5)


@pytest.mark.parametrize("device", ["sim"])
def test_on_a_device(device):
    x, w = torch.randn(3, 5), torch.randn(5)

    def f(w, x):
        return ((x * w).tanh().softmax(0) * x).sum()
    there = vmap(grad(f), (None, 0))(w.to(device), x.to(device))
    assert there.device.type == device
    assert torch.allclose(there.cpu(), vmap(grad(f), (None, 0))(w, x), atol=1e-6)
    y = x.to(device)
    vmap(lambda row: row.add_(1))(y)
    assert torch.equal(y.cpu(), x + 1) and y._version == 1


def test_random_indices():
    draw = batched_cases.Draw(random.Random(0))
    x = torch.from_numpy(draw.array((3, 4, 3, 2)))

    def check(index):
        def read(one):
            return one[index]

        def write(one):
            one[index] = 5.0
            return one
        try:
            wanted = torch.stack([read(one) for one in x])
        except IndexError:
            return
        assert torch.equal(vmap(read)(x), wanted), index
        assert torch.equal(vmap(read, 3)(x.movedim(0, 3)), wanted), index
        a, b = x.clone(), x.clone()
        vmap(write)(a)
        for one in b:
            write(one)
        assert torch.equal(a, b), index
    for _ in range(60):
        check(draw.index((4, 3, 2)))


def test_the_page_on_vmap_tells_the_truth():
    assert run_examples("vmap.md") == 12


vector = torch.tensor([0.5, 1.0, 2.0])


def test_vectors_side_by_side():
    assert torch.column_stack([vector, vector * 2]).tolist() == [[0.5, 1], [1, 2], [2, 4]]
    assert torch.vmap(torch.outer)(torch.ones(2, 3), torch.ones(2, 4)).shape == (2, 3, 4)


def test_pairs_of_results_in_a_batch():
    mantissa, exponent = torch.vmap(torch.frexp)(torch.tensor([[8.0, 3.0], [0.5, 1.0]]))
    assert (mantissa * 2.0 ** exponent).tolist() == [[8, 3], [0.5, 1]]


def looped(f, in_dims, *args):
    """The results of `f` for each element of a batch, stacked."""
    size = next(len(x) for x, d in zip(args, in_dims) if d is not None)
    return torch.stack([f(*[x if d is None else x[i] for x, d in zip(args, in_dims)]) for i in range(size)])


def choices_of(n):
    """Which of `n` arguments are mapped over, one at least."""
    return [dims for dims in itertools.product((0, None), repeat=n) if any([d == 0 for d in dims])]


def check_all(f, *args):
    """`f` on a batch, for every choice of mapped arguments, equals a loop, and no op runs element by element."""
    before = vmap_fallbacks()
    for dims in choices_of(len(args)):
        given = [x if d == 0 else x[0] for x, d in zip(args, dims)]
        assert torch.allclose(vmap(f, dims)(*given), looped(f, dims, *given)), dims
    assert vmap_fallbacks() == before


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_images_sampled_at_positions(mode, padding):
    torch.manual_seed(0)
    images = torch.randn(3, 2, 2, 5, 4, dtype=torch.float64)
    grids = torch.rand(3, 2, 4, 4, 2, dtype=torch.float64) * 3 - 1.5

    def sampled(image, grid):
        return F.grid_sample(image, grid, mode, padding, align_corners=False)
    check_all(sampled, images, grids)
    check_all(grad(lambda image, grid: sampled(image, grid).sin().sum()), images, grids)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings(mode):
    torch.manual_seed(0)
    indices, tables = torch.randint(0, 6, (3, 4, 2)), torch.randn(3, 6, 3, dtype=torch.float64)
    starts = torch.tensor([[0, 2, 5], [0, 1, 1], [0, 8, 8]])
    check_all(lambda i, table: F.embedding_bag(i, table, mode=mode), indices, tables)
    check_all(lambda i, table, start: F.embedding_bag(i, table, start, mode=mode), indices.reshape(3, 8), tables,
              starts)
    check_all(lambda i, table: grad(lambda table: F.embedding_bag(i, table, mode=mode).sin().sum())(table), indices,
              tables)
    if mode != "max":                                      # which elements count differs between bags
        check_all(lambda i, table: F.embedding_bag(i, table, mode=mode, padding_idx=1), indices, tables)


def test_writes_of_a_batch_into_a_tensor_of_outside():
    values, places = torch.randn(3, 4), torch.tensor([[0, 1], [2, 3], [1, 0]])
    base = torch.zeros(4)
    for accumulate in (False, True):
        def put(value, place, accumulate=accumulate):
            return base.index_put((place,), value[:2], accumulate)
        check_all(put, values, places)
    check_all(lambda value, mask: base.index_put((mask,), value.sum()), values, values > 0)
    assert base.tolist() == [0] * 4
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(lambda place: base.index_put_((place,), torch.ones(2)))(places)


def test_products_of_the_wrong_shapes_in_a_batch():
    with pytest.raises(RuntimeError):
        torch.vmap(torch.mv, (None, 0))(torch.ones(3, 2), torch.ones(1, 2, 2))


def test_models_as_one_call():
    """PyTorch's tutorial on ensembles: a module without memory says what to compute, stacked parameters with what."""
    from minitorch.func import functional_call, stack_module_state, vmap
    models = [nn.Linear(3, 2) for _ in range(4)]
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    x = torch.randn(5, 3)
    found = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    assert torch.allclose(found, torch.stack([m(x) for m in models]), atol=1e-6)


def test_a_write_needs_memory_in_each_batch_around():
    """The middle one is not mapped over: a loop over the others would write all to one element."""
    x, y = torch.ones(2, 2, 1), torch.arange(8.0).reshape(2, 2, 2, 1)

    def write(x, y):
        return (x * 1).add_(y)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(vmap(vmap(write), in_dims=(None, 0)))(x, y)
    assert vmap(vmap(write))(x, x).tolist() == (2 * x).tolist()


def test_a_mask_from_outside_in_batches_of_batches():
    x, mask = torch.arange(12.0).reshape(2, 2, 3), torch.tensor([True, False, True])

    def assigned(x, value):
        y = x * 1
        y[mask] = value
        return y
    value = torch.ones(2, 2, 2)
    assert vmap(vmap(assigned))(x, value).tolist() == torch.where(mask, 1.0, x).tolist()
    assert vmap(vmap(lambda x: x[mask]))(x).tolist() == x[..., mask].tolist()
    found = torch.func.jacrev(vmap(assigned), (0, 1))(x[0], value[0])
    assert [d.sum().item() for d in found] == [2, 4]
