"""`vmap` beside PyTorch's: random numbers, errors and custom functions, the same programs on both."""

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch")


def both(program):
    """The results of a program with each library: nested lists, or the class of the error."""
    found = []
    for lib in (minitorch, torch):
        lib.manual_seed(0)
        try:
            out = program(lib)
            found.append([t.tolist() for t in (out if isinstance(out, tuple) else (out,))])
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            name = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
            found.append((name, str(error)[:24]))
    return found


def inputs(lib):
    return lib.linspace(-1, 1, 15).reshape(3, 5) + 0.01


DRAWS = {
    "rand": lambda F, t, x: t.rand(2) + 0 * x[:2], "rand_like": lambda F, t, x: t.rand_like(x),
    "randn": lambda F, t, x: t.randn(4) + 0 * x[:4], "randint": lambda F, t, x: t.randint(9, (4,)) + 0 * x[:4],
    "randperm": lambda F, t, x: t.randperm(5) + 0 * x, "dropout": lambda F, t, x: F.dropout(x, 0.5),
    "dropout of ones": lambda F, t, x: F.dropout(t.ones(5), 0.5) + 0 * x,
    "bernoulli": lambda F, t, x: t.bernoulli(x.abs().clamp(0, 1)),
    "bernoulli_": lambda F, t, x: t.empty_like(x).bernoulli_(0.3),
    "normal_": lambda F, t, x: x.clone().normal_(), "normal_ of zeros": lambda F, t, x: t.zeros(5).normal_() + 0 * x,
    "uniform_": lambda F, t, x: t.empty_like(x).uniform_(2, 3),
    "exponential_": lambda F, t, x: t.empty_like(x).exponential_(),
    "multinomial": lambda F, t, x: t.multinomial(x.abs() + 0.1, 3).float() + 0 * x[:3],
    "normal": lambda F, t, x: t.normal(0.0, 1.0, (3,)) + 0 * x[:3],
    "dropout1d": lambda F, t, x: F.dropout1d(x.reshape(5, 1).expand(5, 3), 0.5),
    "alpha_dropout": lambda F, t, x: F.alpha_dropout(x, 0.5, True), "gumbel": lambda F, t, x: F.gumbel_softmax(x)}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name, randomness):
    draw = DRAWS[name]
    ours, theirs = both(lambda lib: lib.vmap(lambda x: draw(lib.nn.functional, lib, x), randomness=randomness)(
        inputs(lib)))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours[0], theirs[0], 1e-5, 1e-6)


@pytest.mark.parametrize("program", [
    lambda lib, x: lib.vmap(lambda x: x.sum(), out_dims=1)(x), lambda lib, x: lib.vmap(lambda x: 3)(x),
    lambda lib, x: lib.vmap(lambda x: x, out_dims=None)(x), lambda lib, x: lib.vmap(lambda x: x[x > 0])(x),
    lambda lib, x: lib.vmap(lambda x: lib.vmap(lambda y: x * y)(x))(x),
    lambda lib, x: lib.vmap(lambda x: x.unique())(x),
    lambda lib, x: lib.vmap(lambda x: x.sum().item())(x), lambda lib, x: lib.vmap(lambda x: x, chunk_size=0)(x),
    lambda lib, x: lib.vmap(lib.add)(x, x[:2]), lambda lib, x: lib.vmap(lib.add, (0, 5))(x, x),
    lambda lib, x: lib.vmap(lib.nonzero)(x), lambda lib, x: lib.vmap(lambda x: lib.zeros(5).copy_(x))(x),
    lambda lib, x: lib.vmap(lambda x, i: x[i])(x, lib.tensor([0, 1, 2])),
    lambda lib, x: lib.vmap(lambda x: x.clone().mul_(2)[::2], 1, 1, chunk_size=2)(x),
    lambda lib, x: lib.func.vmap(lib.func.grad(lambda x: (x.sin() * x).sum()))(x),
    lambda lib, x: lib.func.jacrev(lambda x: lib.vmap(lambda r: r.cumsum(0) * r.sum())(x))(x[:2, :2]),
    lambda lib, x: lib.autograd.functional.jacobian(lambda x: (x.sin(), x.sum()), x[0], vectorize=True)],
    ids=range(17))
def test_programs(program):
    ours, theirs = both(lambda lib: program(lib, inputs(lib)))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)
