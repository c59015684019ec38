"""Behaviours that libraries built on PyTorch rely on: older signatures, keywords, hooks, scattered batches."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.nn.parallel import gather, scatter, scatter_kwargs

FEW = settings(max_examples=20, deadline=None, derandomize=True, database=None)
ELEMENTWISE = {"add": ("alpha", 2), "sub": ("alpha", 2), "addcmul": ("value", 3), "addcdiv": ("value", 3)}
PRODUCTS = {"addmm": [(2, 4), (2, 3), (3, 4)], "addmv": [(2,), (2, 3), (3,)], "addr": [(2, 3), (2,), (3,)],
            "addbmm": [(2, 4), (5, 2, 3), (5, 3, 4)], "baddbmm": [(5, 2, 4), (5, 2, 3), (5, 3, 4)]}


# ---- numbers among the tensors --------------------------------------------------------------------
@FEW
@given(st.sampled_from(sorted(ELEMENTWISE)), st.integers(1, 3), st.sampled_from([2, 0.5, -1.5]), st.booleans())
def test_older_signatures_of_elementwise_functions(name, n, number, write):
    keyword, count = ELEMENTWISE[name]
    x, *others = [torch.rand(n).add(0.5).requires_grad_(not write) for _ in range(count)]
    today = getattr(torch, name)(x, *others, **{keyword: number})
    with pytest.warns(UserWarning, match=f"overload of {name}.* is deprecated.*{keyword}={number}"):
        found = getattr(x, name + "_" * write)(number, *others)
    assert found.equal(today) and (found is x) == write
    if not write:
        with pytest.warns(UserWarning):
            assert getattr(torch, name)(x, number, *others).equal(today)
        a, b = (torch.autograd.grad(y.sum(), [x, *others]) for y in (found, today))
        assert all(p.equal(q) for p, q in zip(a, b))


@pytest.mark.parametrize("name", PRODUCTS)
def test_older_signatures_of_products(name):
    x, a, b = (torch.randn(shape) for shape in PRODUCTS[name])
    f, method = getattr(torch, name), getattr(x, name)
    with pytest.warns(UserWarning, match="beta=2"):
        assert f(2, x, 3, a, b).equal(f(x, a, b, beta=2, alpha=3)) and f(2, x, a, b).equal(f(x, a, b, beta=2))
        assert method(2, 3, a, b).equal(f(x, a, b, beta=2, alpha=3)) and method(2, a, b).equal(f(x, a, b, beta=2))
    assert f(x, a, b, beta=torch.tensor(2)).equal(f(x, a, b, beta=2))


def test_no_warning_for_the_signatures_of_today_and_errors_for_none():
    x = torch.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.addcmul(x, x, value=torch.tensor(2.0)).equal(torch.add(x, x, alpha=2))
        for bad in (lambda: x.add(1, 2, 3), lambda: x.addcmul_(x, 0.5), lambda: x.addcmul_("a", x, x),
                    lambda: torch.addmv(1, 2, 3, x, x), lambda: x.add_(x, x)):
            with pytest.raises(TypeError):
                bad()
    assert x.tolist() == [1, 1, 1]


def test_sizes_by_keyword():
    x = torch.ones(1, dtype=torch.float64)
    for made in (torch.zeros(size=(2, 3)), torch.ones(size=[2, 3]), torch.empty(size=(2, 3)), x.new_zeros(size=(2, 3)),
                 x.new_ones(size=torch.Size((2, 3))), x.new_empty(size=(2, 3))):
        assert made.shape == (2, 3)
    assert x.new_ones(size=(2,)).dtype is torch.float64 and torch.ones(size=()).shape == ()


# ---- hooks ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_a_tensor_see_one_tensor(create_graph):
    x, seen = torch.ones(2, requires_grad=True), []
    y = x * 3

    def note(g):
        g.word = "left"
        seen.append(g)

    def replace(g):
        seen.append(g)
        made = g * 2
        seen.append(made)
        return made
    for hook in (note, replace, seen.append):
        y.register_hook(hook)
    y.sum().backward(create_graph=create_graph)
    assert seen[0] is seen[1] and seen[1].word == "left" and seen[2] is seen[3] and x.grad.tolist() == [6, 6]


# ---- batches in parts -----------------------------------------------------------------------------
@FEW
@given(st.integers(1, 7), st.integers(1, 4), st.booleans())
def test_scattered_batches_come_together(rows, parts, as_dict):
    x = torch.arange(rows * 3.0).reshape(rows, 3)
    batch = {"x": x, "rest": [x.t(), 5]} if as_dict else x
    if as_dict:
        batch["rest"][0] = x * 2
    scattered = scatter(batch, ["cpu"] * parts)
    assert type(scattered) is (list if as_dict else tuple) and len(scattered) == len(x.chunk(parts))
    if as_dict:
        assert [p["rest"][1] for p in scattered] == [5] * len(scattered)
        scattered = [{"x": p["x"], "rest": p["rest"][0]} for p in scattered]
    back = gather(scattered, "cpu")
    assert (back["x"] if as_dict else back).equal(x) and (not as_dict or back["rest"].equal(2 * x))


def test_scattered_arguments_and_numbers():
    inputs, kwargs = scatter_kwargs((torch.arange(4),), {"k": torch.arange(2)}, ["cpu", "cpu"])
    assert [len(i) for i in inputs] == [1, 1] and [k["k"].tolist() for k in kwargs] == [[0], [1]]
    assert scatter_kwargs((torch.arange(2),), None, ["cpu", "cpu"])[1] == ({}, {})
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1, 2]
    model = nn.Linear(2, 1)
    halves = [model(x) for x in scatter(torch.ones(4, 2), ["cpu"] * 2)]
    gather(halves, "cpu").sum().backward()
    assert model.weight.grad.tolist() == [[4, 4]]


# ---- names ----------------------------------------------------------------------------------------
def test_names_of_what_is_absent():
    from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake
    from minitorch.fx.experimental.proxy_tensor import get_proxy_mode
    assert not is_fake(torch.ones(1)) and not isinstance(torch.ones(1), FakeTensor) and get_proxy_mode() is None
    for absent in (FakeTensorMode, lambda: FakeTensor(torch.ones(1))):
        with pytest.raises(NotImplementedError, match="meta"):
            absent()


def test_formulas_of_divergences_for_other_bases():
    from minitorch.distributions import kl

    class Own:
        pass
    try:
        torch.distributions.register_kl(Own, Own)(lambda p, q: torch.tensor(0.25))
        assert torch.distributions.kl_divergence(Own(), Own()).item() == 0.25
    finally:
        kl._KL_REGISTRY.pop((Own, Own))
    with pytest.raises(TypeError, match="type_p"):
        torch.distributions.register_kl(1, Own)
