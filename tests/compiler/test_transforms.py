"""Compiled functions within function transforms, and compiled modules whose attributes are set."""

import copy

import pytest

import minitorch as torch
import minitorch.autograd.functional as AF
from minitorch import nn
from minitorch.autograd import forward_ad as fw
from minitorch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from minitorch.utils._pytree import tree_leaves
from tests.helpers.tangent_checks import close

X, W = torch.tensor([0.3, -0.7, 1.1]), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def vector(x):
    return torch.tanh(x * x) * W


def number(x):
    return vector(x).sum()


TRANSFORMS = {
    "grad": lambda f, g: grad(g)(X), "grad_and_value": lambda f, g: grad_and_value(g)(X),
    "grad of grad": lambda f, g: grad(lambda x: grad(g)(x).sum())(X),
    "jacrev": lambda f, g: jacrev(f)(X), "chunks": lambda f, g: jacrev(f, chunk_size=2)(X),
    "jacfwd": lambda f, g: jacfwd(f)(X), "hessian": lambda f, g: hessian(g)(X),
    "jvp": lambda f, g: jvp(f, (X,), (X,)), "vjp": lambda f, g: vjp(f, X)[1](X),
    "grad of vjp": lambda f, g: grad(lambda x: vjp(f, x)[1](X)[0].sum())(X),
    "linearize": lambda f, g: linearize(f, X)[1](X), "vmap of vjp": lambda f, g: vmap(vjp(f, X)[1])(torch.eye(3)),
    "vmap of grad": lambda f, g: vmap(grad(g))(torch.stack([X, X + 1])),
    "vmap of hessian": lambda f, g: vmap(hessian(g))(torch.stack([X, X + 1])),
    "jacobian": lambda f, g: AF.jacobian(f, X), "recorded jacobian": lambda f, g: AF.jacobian(f, X, create_graph=True),
    "jacobian by rows": lambda f, g: AF.jacobian(f, X, vectorize=True),
    "jacobian by columns": lambda f, g: AF.jacobian(f, X, vectorize=True, strategy="forward-mode"),
    "AF.hessian": lambda f, g: AF.hessian(g, X), "hessian by rows": lambda f, g: AF.hessian(g, X, vectorize=True),
    "hessian by columns": lambda f, g: AF.hessian(g, X, vectorize=True, outer_jacobian_strategy="forward-mode"),
    "AF.vjp": lambda f, g: AF.vjp(f, X, X), "AF.jvp": lambda f, g: AF.jvp(f, X, X),
    "vhp": lambda f, g: AF.vhp(g, X, X), "hvp": lambda f, g: AF.hvp(g, X, X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_compiled_functions_are_those_of_the_functions(name):
    """Eagerly, since a program can be differentiated once; a program that is there is not used, and stays."""
    f, g = torch.compile(vector), torch.compile(number)
    expected = TRANSFORMS[name](vector, number)
    for _ in range(2):
        found = TRANSFORMS[name](f, g)
        for a, b in zip(tree_leaves(found), tree_leaves(expected), strict=True):
            assert torch.equal(a, b) and a.requires_grad == b.requires_grad
        assert not f.plans and not g.plans
    assert torch.equal(f(X), vector(X)) and torch.equal(g(X), number(X)) and f.source and g.source
    assert torch.equal(tree_leaves(TRANSFORMS[name](f, g))[-1], tree_leaves(expected)[-1])
    assert len(f.plans) == len(g.plans) == 1


def test_an_error_within_a_transform_leaves_no_trace():
    def fails(x):
        raise KeyError("no")
    f = torch.compile(number)
    for transform in (grad, jacrev, hessian):
        with pytest.raises(KeyError):
            transform(fails)(X)
    with pytest.raises(KeyError):
        AF.jacobian(fails, X)
    f(X)
    assert f.plans


def test_a_recorded_pass_through_a_program_gives_gradients_that_cannot_be_differentiated():
    f = torch.compile(lambda x, y: (torch.exp(x) * y, y.sin()))
    x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
    for _ in range(2):
        a, b = f(x.cos(), y)
        found = torch.autograd.grad(a.sum() + b.sum(), (x, y), create_graph=True)
        expected = torch.autograd.grad((torch.exp(x.cos()) * y + y.sin()).sum(), (x, y))
        assert all([g.requires_grad and torch.allclose(g, e) for g, e in zip(found, expected)])
        with pytest.raises(RuntimeError, match="differentiated once.*the function that was compiled"):
            torch.autograd.grad(found[0].sum(), x)
        seed = torch.ones(3, requires_grad=True)
        again, = torch.autograd.grad(f(x, y)[0], x, seed, create_graph=True)
        with pytest.raises(RuntimeError, match="differentiated once"):
            again.sum().backward()
    f(x, y)[0].sum().backward(create_graph=True)
    assert torch.allclose(x.grad, torch.exp(X) * X)
    assert f.plans


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_batches_of_gradients_go_back_through_a_program(dtype):
    f = torch.compile(lambda x, y: (x * x * y, x.sum()))
    x, y = torch.empty(2, 3, dtype=dtype).copy_(X).requires_grad_().unbind()
    seeds = torch.arange(6.0).reshape(2, 3).to(dtype), torch.ones(2, dtype=dtype)
    for _ in range(2):
        found = torch.autograd.grad(f(x, y), (x, y), seeds, is_grads_batched=True)
        for i in range(2):
            for g, e in zip(found, torch.autograd.grad(f(x, y), (x, y), [s[i] for s in seeds])):
                assert torch.equal(g[i], e) and g.dtype == dtype
    out, _ = f(x, y)
    nested = vmap(vmap(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0]))(torch.stack([seeds[0]] * 2))
    rows = torch.stack([torch.autograd.grad(out, x, g, retain_graph=True)[0] for g in seeds[0]])
    assert torch.equal(nested, torch.stack([rows, rows]))
    with pytest.raises(RuntimeError, match="forward mode through its backward"):
        jvp(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0], (seeds[0][0],), (seeds[0][0],))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.scale, self.weight = nn.Linear(3, 2), 1.0, nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return self.linear(x) * self.scale * self.weight + self.shift


def test_attributes_of_a_compiled_module_are_those_of_the_original():
    model = Scaled()
    compiled = torch.compile(model)
    compiled(X)
    compiled.scale = 0.0
    assert compiled(X).tolist() == [1, 1] and model.scale == 0 and "scale" in dir(compiled)
    compiled.scale, compiled.weight = 1.0, nn.Parameter(torch.zeros(2))
    assert compiled(X).tolist() == [1, 1] and model.weight is compiled.weight
    compiled.shift = torch.zeros(2)
    assert compiled(X).tolist() == [0, 0]
    compiled.extra = nn.Linear(1, 1)
    assert [name for name, _ in compiled.named_children()] == ["_orig_mod"] and model.extra is compiled.extra
    del compiled.extra
    assert not hasattr(model, "extra")
    model.eval()
    assert not compiled.training
    compiled.training = True
    assert model.training and not compiled.eval().training and not model.linear.training
    assert not copy.deepcopy(compiled).training
    assert len(torch.compile(nn.Sequential(model, model))) == 2 and compiled
    with pytest.raises(TypeError, match="cannot assign"):
        compiled.weight = torch.zeros(2)
    with pytest.raises(AttributeError):
        del compiled.no_such


@pytest.mark.parametrize("prefix", ["", "_orig_mod."])
def test_functional_calls_of_compiled_modules_use_the_tensors_that_they_are_given(prefix):
    """Names without the prefix used to be set on the wrapper, where nobody read them: gradients were zero."""
    model = Scaled()
    compiled, parameters = torch.compile(model), {k: v.detach() for k, v in model.named_parameters()}

    def loss(module, given, prefix):
        return functional_call(module, {prefix + k: v for k, v in given.items()}, (X,)).pow(2).sum()
    for scale in (1, 2):
        given = {k: v * scale for k, v in parameters.items()}
        assert torch.equal(loss(compiled, given, prefix), loss(model, given, ""))
        found = grad(lambda p: loss(compiled, p, prefix))(given)
        expected = grad(lambda p: loss(model, p, ""))(given)
        assert all([torch.equal(found[k], expected[k]) and found[k].any() for k in expected])
    assert torch.allclose(functional_call(compiled, {prefix + "shift": 0 * X[:2]}, (X,)), model(X) - model.shift)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.a + self.b


def test_functional_calls_replace_tied_tensors_under_all_names():
    tied, one = Tied(), torch.ones(1)
    assert functional_call(tied, {"b": 5 * one}, one).tolist() == [10]
    assert functional_call(tied, {"b": 5 * one}, one, tie_weights=False).tolist() == [6]
    assert functional_call(tied, {"a": 2 * one, "b": 5 * one}, one, tie_weights=False).tolist() == [7]
    assert functional_call(tied, {"a": 2 * one}, one, strict=True).tolist() == [4]
    with pytest.raises(ValueError, match=r"multiple values for keys \['a', 'b'\], which are tied"):
        functional_call(tied, {"a": 2 * one, "b": 5 * one}, one)
    with pytest.raises(RuntimeError, match="Unexpected key.*'c'.*\n.*Missing key.*'b'"):
        functional_call(tied, {"a": one, "c": one}, one, strict=True, tie_weights=False)
    with pytest.raises(TypeError, match="is not an instance of"):
        functional_call(tied, {"a": 2}, one)
    with pytest.raises(AttributeError):
        functional_call(tied, {"no.such": one}, one)
    assert tied.a is tied.b and not hasattr(tied, "c")


# ---- forward mode and batches ------------------------------------------------------------------
def network(weight):
    return lambda x: torch.tanh(x @ weight).softmax(-1).sum(0)


def second(function, x, v):
    return jvp(grad(lambda y: function(y).sin().sum()), (x,), (v,))[1]


def test_forward_mode_of_compiled_functions():
    x, v, weight = torch.randn(4, 3), torch.randn(4, 3), torch.randn(3, 3)
    plain = network(weight)
    compiled = torch.compile(plain)
    for _ in range(3):
        compiled(x)
    assert close(jvp(compiled, (x,), (v,))[1], jvp(plain, (x,), (v,))[1], 1e-5)
    assert close(second(compiled, x, v), second(plain, x, v), 1e-5)
    inside = torch.compile(lambda x, v: second(plain, x, v))
    for _ in range(3):
        assert close(inside(x, v), second(plain, x, v), 1e-5)
    closed = [weight]
    compiled = torch.compile(lambda x: x @ closed[0])
    compiled(x)
    with fw.dual_level():
        closed[0] = fw.make_dual(weight, weight)
        assert fw.unpack_dual(compiled(x)).tangent is not None


def test_batches_in_a_compiled_function():
    x, w = torch.randn(4, 3), torch.randn(3)
    each = vmap(grad(lambda w, x: (x * w).tanh().sum()), (None, 0))
    compiled = torch.compile(lambda w, x: each(w, x) * 2)
    for _ in range(3):
        assert torch.allclose(compiled(w, x), each(w, x) * 2)
