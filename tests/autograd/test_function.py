"""Functions of the user's own with their own backward: several orders and outputs, writes in place, errors."""

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import Function
from minitorch.autograd.api import grad
from tests.helpers.own_functions import Scaled


def leaf(*values):
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.float64, requires_grad=True)


# ---- user-defined functions --------------------------------------------------------------------------------
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x * x * g


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y


def test_function_to_third_order():
    x = leaf(0.5, 2.0)
    for function, orders in ((Cube, [lambda v: 3 * v ** 2, lambda v: 6 * v, lambda v: 6 + 0 * v]), (Exp, [np.exp] * 3)):
        y = function.apply(x)
        for order in orders:
            (y,) = grad(y.sum(), x, create_graph=True)
            np.testing.assert_allclose(y.detach().numpy(), order(x.detach().numpy()))


def test_function_with_several_outputs_and_arguments():
    class Both(Function):
        @staticmethod
        def forward(ctx, x, scale, y):
            ctx.scale = scale
            ctx.save_for_backward(x, y)
            assert ctx.needs_input_grad == (True, False, True)
            return x * y, (x + y) * scale, torch.arange(2)

        @staticmethod
        def backward(ctx, g, h, unused):
            x, y = ctx.saved_tensors
            return g * y + h * ctx.scale, None, g * x + h * ctx.scale

    x, y = leaf(2.0), leaf(3.0)
    product, total, constant = Both.apply(x, 10.0, y)
    assert not constant.requires_grad and product.grad_fn.name() == "BothBackward"
    total.backward()                                       # the unused product's gradient arrives as zeros
    assert x.grad.item() == 10 and y.grad.item() == 10


def test_function_errors():
    class Wrong(Cube):
        @staticmethod
        def backward(ctx, g):
            return g, g
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(leaf(1.0)).backward()

    class Shape(Cube):
        @staticmethod
        def backward(ctx, g):
            return torch.ones(5, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        Shape.apply(leaf(1.0, 2.0)).sum().backward()
    y = Cube.apply(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_function_notices_writes_to_what_it_saved():
    x = leaf(1.0) * 1
    y = Cube.apply(x)
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="saved by CubeBackward"):
        y.backward()


def test_function_that_writes_in_place():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g
    x = leaf(3.0)
    y = x * 1
    z = Double.apply(y)
    assert z is y and y.item() == 6
    y.backward()
    assert x.grad.item() == 2


def test_non_differentiable_and_once_differentiable():
    from minitorch.autograd.function import once_differentiable

    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            index = x * 0
            ctx.mark_non_differentiable(index)
            return x * 2, index

        @staticmethod
        @once_differentiable
        def backward(ctx, g, unused):
            return g * 2
    x = leaf(1.0)
    y, index = Sorted.apply(x)
    assert not index.requires_grad
    (g,) = grad(y * y, x, create_graph=True)               # the upstream gradient depends on x
    assert g.item() == 8
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g, x)


def test_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * g
    x = leaf(3.0)
    Square.apply(x).backward()
    assert x.grad.item() == 6


def test_functions_are_not_instantiated():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.warns(DeprecationWarning, match="should not be instantiated") as noted:
        function = Twice()
    assert noted[0].filename == __file__
    with pytest.raises(RuntimeError, match="Legacy autograd function.*Twice.apply"):
        function(torch.ones(2))


@pytest.mark.parametrize("shapes", [((3, 2), (2,)), ((3,), (4, 1)), ((2, 1, 3), (2, 3)), ((), (2,))])
def test_gradients_of_functions_are_summed_over_broadcast_axes_to_any_order(shapes):
    x, scale = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    assert torch.autograd.gradcheck(Scaled.apply, (x, scale)) and torch.autograd.gradgradcheck(Scaled.apply, (x, scale))
    grads = torch.autograd.grad(Scaled.apply(x, scale).sin().sum(), (x, scale), create_graph=True)
    assert [g.shape for g in grads] == [x.shape, scale.shape]
    second = torch.autograd.grad(sum((g ** 2).sum() for g in grads), (x, scale))
    plain = torch.autograd.grad((x * scale).sin().sum(), (x, scale), create_graph=True)
    for a, b in zip(second, torch.autograd.grad(sum((g ** 2).sum() for g in plain), (x, scale)), strict=True):
        torch.testing.assert_close(a, b)
    assert torch.testing.check(Scaled)
    half = torch.rand(shapes[1], requires_grad=True).bfloat16()
    torch.autograd.grad(Scaled.apply(x.float(), half).sum(), half, create_graph=True)[0].sum().backward()


def test_a_gradient_that_is_no_tensor_is_refused():
    class Number(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got int\)"):
        Number.apply(torch.ones(2, requires_grad=True)).sum().backward()


def returning(marks=lambda ctx, *outputs: None, also=()):
    """A Function that returns its argument `x` as it is, and what `also` makes of it."""
    class Returning(Function):
        @staticmethod
        def forward(ctx, x, y):
            outputs = (x, *[make(x) for make in also])
            marks(ctx, *outputs)
            Returning.needs = ctx.needs_input_grad
            return outputs if also else x

        @staticmethod
        def backward(ctx, *grads):
            return sum(grads[1:], grads[0]), None
    return Returning


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("also", [(), (lambda x: x[1:],), (lambda x: x * 2, lambda x: x)])
def test_an_argument_comes_back_as_a_tensor_of_its_own(mode, needs, also):
    x, y = torch.ones(3, requires_grad=needs) * 1, torch.ones(3)
    function = returning(also=also)
    with mode():
        found = function.apply(x, y)
    out = found[0] if also else found
    recorded = needs and mode is torch.enable_grad
    assert out is not x and out.requires_grad == recorded and out.data_ptr() == x.data_ptr()
    assert function.needs == (needs, False)                # whatever is recorded
    assert x.requires_grad == needs and out._is_view() == (recorded or not needs)
    with torch.no_grad():
        out.mul_(2)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
def test_an_argument_without_a_gradient_comes_back_outside_the_graph(mode):
    x = torch.ones(3, requires_grad=True) * 1
    with mode():
        out = returning(lambda ctx, x: ctx.mark_non_differentiable(x)).apply(x, torch.ones(3))
    assert out is not x and not out.requires_grad and out.grad_fn is None and x.requires_grad


def test_an_argument_that_was_written_to_comes_back_itself():
    def marks(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
    x = torch.ones(3)
    assert returning(marks).apply(x, x.clone()) is x and x._version == 2
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        out = returning(marks).apply(x, torch.ones(3))
    assert out is not x and not out.requires_grad and x.requires_grad and x.tolist() == [2, 2, 2]
