"""Functions of the user's own and writes: views that they return, dirty inputs, keywords, what is kept."""

import pytest

import minitorch as torch
from minitorch.autograd import Function
from tests.helpers.own_functions import Squared


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 7 * g


class Rest(Function):
    @staticmethod
    def forward(ctx, x):
        return x[1:]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g.new_zeros(1), 7 * g])


class FreshView(Function):
    @staticmethod
    def forward(ctx, x):
        return (2 * x).view(-1)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@pytest.mark.parametrize("function", [Same, Rest])
@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[0], lambda y: y.view(-1, 1), lambda y: y.unbind()[0]],
                         ids=["itself", "element", "view", "unbind"])
def test_a_view_that_a_function_has_made_is_not_written_to(function, view):
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    y = function.apply(a)
    assert y._base is a and y.data_ptr() in (a.data_ptr(), a[1:].data_ptr()) and y._is_view() and not a._is_view()
    with pytest.raises(RuntimeError, match="custom Function"):
        view(y).mul_(2)
    assert a.tolist() == [1, 1, 1]                         # nothing was written before the refusal
    y.sum().backward()
    assert x.grad.tolist() == ([7, 7, 7] if function is Same else [0, 7, 7])


def test_a_write_to_the_base_makes_gradients_through_the_functions_view_an_error():
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    y, other = Rest.apply(a), a[:2]
    part = y[0]
    a.mul_(3)
    assert y.tolist() == [3, 3] and other.grad_fn.name() == "AsStridedBackward0"
    for stale in (y, part):
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified"):
            stale.sum().backward(retain_graph=True)
    (a + other.sum()).sum().backward()
    assert x.grad.tolist() == [12, 12, 3]


def test_views_of_what_a_function_itself_has_made_are_not_written_to_either():
    y = FreshView.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="in-place"):
        y[1:].mul_(5)


def test_without_a_graph_views_of_functions_are_like_any_others():
    a = torch.ones(3)
    Rest.apply(a).mul_(2)
    assert a.tolist() == [1, 2, 2]
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        Same.apply(x * 1).mul_(2)


class Forgetful(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g


def test_a_dirty_input_must_be_returned():
    for x in (torch.ones(2), torch.ones(2, requires_grad=True) * 1):
        with pytest.raises(RuntimeError, match="marked as dirty"):
            Forgetful.apply(x)


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, k=2):
        return x * k

    @staticmethod
    def backward(ctx, g):
        return 3 * g, None


class ScaledApart(Function):
    @staticmethod
    def forward(x, k=2):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.k = inputs

    @staticmethod
    def backward(ctx, g):
        return ctx.k * g, None


def test_keywords_and_defaults_have_their_places():
    x = torch.ones(2, requires_grad=True)
    assert Scaled.apply(x, k=5).tolist() == [5, 5] and Scaled.apply(k=4, x=x).tolist() == [4, 4]
    assert torch.autograd.grad(Scaled.apply(x, k=5).sum(), x)[0].tolist() == [3, 3]
    for call, k in ((lambda: ScaledApart.apply(x), 2), (lambda: ScaledApart.apply(x, k=5), 5)):
        assert torch.autograd.grad(call().sum(), x)[0].tolist() == [k, k]
    with pytest.raises(TypeError):
        Scaled.apply(x, wrong=5)


def test_what_is_kept_for_both_modes_is_checked_and_freed():
    x = torch.ones(3, requires_grad=True)
    w = x * 1
    y = Squared.apply(w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = Squared.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        list(y.grad_fn.saved_tensors)
