"""Older signatures of functions: a number among the tensors, with a warning."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch

FEW = settings(max_examples=20, deadline=None, derandomize=True, database=None)
ELEMENTWISE = {"add": ("alpha", 2), "sub": ("alpha", 2), "addcmul": ("value", 3), "addcdiv": ("value", 3)}
PRODUCTS = {"addmm": [(2, 4), (2, 3), (3, 4)], "addmv": [(2,), (2, 3), (3,)], "addr": [(2, 3), (2,), (3,)],
            "addbmm": [(2, 4), (5, 2, 3), (5, 3, 4)], "baddbmm": [(5, 2, 4), (5, 2, 3), (5, 3, 4)]}


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
