"""`jvp` of programs that write to views, and of functions of the user's own, beside other ways."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import func
from minitorch.autograd import Function
from tests.helpers.tangent_checks import T, close


def writing(rng, steps):
    """A random program of views and writes, of a vector of four."""
    plan = [(rng.randrange(9), rng.random() < 0.5, rng.randrange(4)) for _ in range(steps)]

    def program(x):
        a, b = x * 1.5, torch.zeros(4, dtype=x.dtype)
        views = [a, b]
        for kind, swap, k in plan:
            p, q = views[k % len(views)], views[(k + 1 + swap) % len(views)]
            small, large = sorted((p, q), key=lambda t: t.numel())
            if kind == 0 and p.numel() > 1:
                views.append(p.reshape(-1)[::2] if swap else p.reshape(-1)[1:])
            elif kind == 1 and p.numel() == 4:
                views.append(p.reshape(2, 2).t())
            elif kind == 2:
                p.mul_(1.25)
            elif kind == 3:
                p.copy_((q.sum() + 1).sin())
            elif kind == 4:
                large.view_as(large).add_(small.sum() * 0.5)
            elif kind == 5:
                p[...] = q.reshape(-1)[0] * x[k]
            elif kind == 6 and p.numel() == 4 and p.dim() == 1:
                p[[0, 2]] = x[:2]
            elif kind == 7:
                p.zero_()
            else:
                p.sin_()
        return torch.cat([v.reshape(-1) for v in views])
    return program


@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(st.integers(0, 10 ** 6))
def test_random_programs_of_views_and_writes(seed):
    rng = random.Random(seed)
    program = writing(rng, rng.randrange(1, 12))
    x, v = T(*[rng.uniform(-1, 1) for _ in range(4)]), T(*[rng.uniform(-1, 1) for _ in range(4)])
    out, product = func.jvp(program, (x,), (v,))
    difference = (program(x + 1e-6 * v) - program(x - 1e-6 * v)) / 2e-6
    assert close(out, program(x)) and close(product, difference, 1e-6)
    with torch.no_grad():
        assert close(func.jvp(program, (x,), (v,))[1], product)


class Square(Function):
    @staticmethod
    def forward(x, n):
        return x ** n, x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x, output[1])
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g, h):
        return ctx.n * ctx.saved_tensors[1] ** (ctx.n - 1) * g + h, None

    @staticmethod
    def jvp(ctx, t, n):
        assert n is None
        return ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1) * t, t * 1


def test_function_jvp():
    x, v, w = T(1.0, 2.0), T(0.5, -1.0), T(2.0, 1.0)
    assert close(func.jvp(lambda y: Square.apply(y, 3), (x,), (v,)), ((x ** 3, x), (3 * x ** 2 * v, v)))
    twice = func.jvp(lambda z: func.jvp(lambda y: Square.apply(y, 3)[0], (z,), (v,))[1], (x,), (w,))[1]
    assert close(twice, 6 * x * v * w)
    mixed = func.jvp(func.grad(lambda y: Square.apply(y, 3)[0].sum()), (x,), (v,))[1]
    assert close(mixed, 6 * x * v)
    assert close(func.grad(lambda y: func.jvp(lambda z: Square.apply(z, 3)[0], (y,), (v,))[1].sum())(x), 6 * x * v)
