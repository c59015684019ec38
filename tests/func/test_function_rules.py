"""Functions of the user's own under `vmap` and forward mode: their rules, keywords and what they keep."""

import pytest

import minitorch as T
from tests.helpers.own_functions import Scaled, Squared

vector = T.tensor([0.5, 1.0, 2.0])


@pytest.mark.parametrize("given, text", [(3, "Got <class 'int'>"), ((vector,), "Got a tuple of length 1")])
def test_rules_of_functions_return_a_pair(given, text):
    class Single(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return given
    with pytest.raises(RuntimeError, match=text):
        T.vmap(Single.apply)(T.ones(2, 3))


def test_what_is_kept_for_forward_mode_serves_all_levels():
    def slope(x):
        return T.func.jvp(OnlyForward.apply, (x,), (T.ones(2),))[1]

    class OnlyForward(Squared):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * x

    x = T.tensor([1.0, 3.0])
    assert T.func.jvp(slope, (x,), (T.ones(2),))[1].tolist() == [2, 2]


class Fitted(T.autograd.Function):
    """A function with a default, whose context is set up apart."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight, power=2):
        return x ** power * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.power = inputs                      # the default is among them
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1) * weight, g * x ** ctx.power, None


def test_arguments_of_functions_may_be_named_and_have_defaults():
    x, weight = (T.tensor([1.0, 3.0]).requires_grad_() for _ in range(2))
    for call in (lambda: Fitted.apply(x, weight), lambda: Fitted.apply(x, weight=weight),
                 lambda: Fitted.apply(weight=weight, x=x), lambda: Fitted.apply(x, weight, power=2)):
        assert [g.tolist() for g in T.autograd.grad(call().sum(), (x, weight))] == [[2, 18], [1, 9]]
    assert T.vmap(lambda row: Fitted.apply(row, power=3, weight=row))(T.ones(2, 2)).shape == (2, 2)
    swapped = T.autograd.grad(Scaled.apply(scale=x, x=weight.detach()).sum(), x)
    assert swapped[0].tolist() == [1, 3]
    for call in (lambda: Scaled.apply(x), lambda: Scaled.apply(x, c=1), lambda: Scaled.apply(x, weight, scale=x),
                 lambda: Fitted.apply(x), lambda: Fitted.apply(x, weight, 2, 3)):
        with pytest.raises(TypeError):
            call()


def test_the_batching_rule_of_a_function_is_asked_only_for_batches():
    seen = []

    class Cubed(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x ** 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append(in_dims)
            return Cubed.apply(x), in_dims[0]
    x = T.tensor([1.0, 2.0])
    assert T.func.hessian(lambda x: Cubed.apply(x).sum())(x).tolist() == [[6, 0], [0, 12]]
    assert T.func.jacfwd(Cubed.apply)(x).tolist() == [[3, 0], [0, 12]] and all(d != (None,) for d in seen)
    assert T.vmap(Cubed.apply)(x).tolist() == [1, 8] and seen[-1] == (0,)
