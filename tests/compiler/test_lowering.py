"""Code that `compile(backend="c")` lowers to loops: scalar functions, extremes, running sums,
joins, 16-bit floats."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from tests.compiler.test_native import SPECIAL, agree

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")
FUNCTIONS = ("sin cos tan log1p expm1 sinh cosh asinh acosh atanh atan asin acos exp2 log2 log10 erf sigmoid exp tanh "
             "log round sign signbit rsqrt trunc").split()


def whole(compiled):
    """That nothing but C is called: the function itself is one piece."""
    assert "0 calls of Python" in str(compiled.notes) and "called, " not in str(compiled.notes), compiled.notes


@pytest.mark.parametrize("dtype,ulps", [("float32", 2), ("float64", 4)])
def test_scalar_functions_at_special_and_at_random_values(dtype, ulps):
    x = np.concatenate([SPECIAL, [-1.0, 2.0, -0.7, 1e-10, 1e15, -3e22, 709.5, -745.0, 0.35, 1e-300],
                        np.random.default_rng(0).standard_normal(200) * 3]).astype(dtype)
    run = lambda x: tuple(getattr(torch, name)(x) for name in FUNCTIONS)
    compiled = torch.compile(run, backend="c")
    with np.errstate(all="ignore"):
        for _ in range(2):
            for name, a, b in zip(FUNCTIONS, run(torch.tensor(x)), compiled(torch.tensor(x))):
                a, b = a.numpy(), b.numpy()
                if name in ("erf", "sigmoid", "rsqrt"):    # whose eager kernels round several times
                    np.testing.assert_allclose(b, a, 3e-7 if dtype == "float32" else 2e-15, 1e-44, err_msg=name)
                elif a.dtype.kind == "f":
                    np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg=name)
                    finite = np.isfinite(a) & np.isfinite(b)
                    assert (np.isfinite(a) == finite).all() and (np.abs(a - b) <= ulps * np.spacing(np.abs(a)))[
                        finite].all(), (name, x[finite][(np.abs(a - b) / np.spacing(np.abs(a)))[finite].argmax()])
                    assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all(), name
                else:
                    np.testing.assert_array_equal(a, b, err_msg=name)
    if dtype == "float32":
        whole(compiled)


def test_powers():
    x = np.array([*SPECIAL, -1, 2, -2, 3.5, -0.25], np.float32).repeat(9)
    y = np.tile(np.array([0, 1, -1, 0.5, 3, -3, np.inf, -np.inf, np.nan], np.float32), len(x) // 9)
    with np.errstate(all="ignore"):
        run = lambda x, y: (x ** y, x ** 1.7, 2.0 ** y)
        compiled = torch.compile(run, backend="c")
        for _ in range(2):
            for a, b in zip(run(*map(torch.tensor, (x, y))), compiled(*map(torch.tensor, (x, y)))):
                np.testing.assert_allclose(b.numpy(), a.numpy(), 2e-7)
    whole(compiled)
    positive = np.random.default_rng(1).uniform(0.1, 3, (4, 5)).astype("f")
    agree(lambda x, y: x ** y, positive, positive.T.copy().T)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_of_networks(dtype):
    x = np.random.default_rng(2).standard_normal((5, 70)).astype(dtype)
    compiled = agree(lambda x: (F.gelu(x), F.softplus(x), F.elu(x), F.logsigmoid(x), F.mish(x), F.selu(x), F.celu(x),
                                F.binary_cross_entropy_with_logits(x, x * 0 + 0.5), F.softmax(x, 0), x.logsumexp(0)), x,
                     rtol=2e-5 if dtype == "float32" else 1e-12, atol=2e-6 if dtype == "float32" else 1e-13)
    whole(compiled)


SHAPES = [(6, 5, 4), (1, 7), (3, 1, 2), (40,), (2, 9000)]


@pytest.mark.parametrize("shape", SHAPES)
def test_extremes_products_and_their_places_along_every_dimension(shape):
    rng = np.random.default_rng(3)
    x, i = rng.standard_normal(shape).astype("f"), rng.integers(-3, 3, shape)

    def run(x, i):
        found = [x.max(), x.prod() if x.numel() < 50 else x.min()]
        for d in range(x.dim()):
            found += [x.amax(d), x.amin(d), x.max(d).values, x.min(d, keepdim=True).indices, x.argmax(d), i.amax(d),
                      i.argmin(d), i.max(d).values, (x * 0.5 + 1).prod(d) if x.shape[d] < 50 else x.sum(d),
                      (i > 0).any(d), (i > 0).all(d), i.prod(d) if x.shape[d] < 9 else i.sum(d)]
        return tuple(found)
    agree(run, x, i, rtol=1e-4, atol=2e-5)
    if x.ndim == 3:
        whole(agree(lambda x: (x.amax((0, 2)), x.transpose(0, 2).amin(1), x[:, ::2].amax((0, 1)),
                               x.flip(0).argmax(0)), x))


def test_a_nan_is_the_extreme_and_its_place():
    x = np.array([[1, np.nan, 3, np.nan], [5, 2, -np.inf, 2], [np.inf, 0, -0.0, 1]], np.float32)
    for f in (lambda x: (x.amax(0), x.amin(1), x.max(0).indices, x.min(1).indices, x.max(1).values, x.argmax(0)),):
        for a, b in zip(f(torch.tensor(x)), torch.compile(f, backend="c")(torch.tensor(x))):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        compiled = torch.compile(f, backend="c")
        for _ in range(2):
            found = compiled(torch.tensor(x))
        for a, b in zip(f(torch.tensor(x)), found):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("shape", [(4, 6), (3, 5000), (1, 1), (7,), (2, 3, 4)])
def test_running_sums_and_products(shape):
    rng = np.random.default_rng(4)
    x, i = rng.standard_normal(shape).astype("f"), rng.integers(-3, 3, shape)
    agree(lambda x, i: (x.cumsum(-1), (x * 2).cumsum(-1) * x, i.cumsum(-1), x.cumsum(0),
                        (x * 0.1 + 1).cumprod(-1) if x.shape[-1] < 99 else x, x.cumsum(-1).amax(-1)), x, i, rtol=1e-4)


def test_what_is_joined_turned_and_cut():
    x = np.random.default_rng(5).standard_normal((4, 6)).astype("f")
    whole(agree(lambda x: (torch.stack([x, x * 2]), torch.stack([x, x + 1], -1), torch.cat([x, x * 3], 1), x.roll(1, 0),
                           x.roll((2, -1), (0, 1)), x.tril(), x.triu(1), F.pad(x, (1, 2, 0, 1)), x.flip(1),
                           torch.hstack([x, x]), x.unfold(1, 2, 2) * 1), x))


# ---- 16-bit floats -----------------------------------------------------------------------------------------------
def test_bfloat16_is_rounded_where_eager_runs_round_it():
    x = np.concatenate([SPECIAL, np.random.default_rng(6).standard_normal(300) * 100]).astype("f")
    half = torch.tensor(x).to(torch.bfloat16)
    run = lambda x: (x * 3 + 1, x.exp(), F.gelu(x), x.tanh() - x, torch.where(x > 0, x, x * 0.1), x.clamp(-1, 1),
                     x.abs(), x.float() * 2, (x.float() * 1.0001).to(torch.bfloat16), x.double(), x > 1, x.sum())
    compiled = torch.compile(run, backend="c")
    with np.errstate(all="ignore"):
        for _ in range(2):
            for n, (a, b) in enumerate(zip(run(half), compiled(half))):
                assert a.dtype == b.dtype
                a, b = a.float().numpy(), b.float().numpy()
                close = np.abs(a - b) <= np.abs(a) * 2**-7 if n in (1, 2, 3, 11) else a == b
                assert (close | (np.isnan(a) & np.isnan(b)) | (a == b)).all(), n
    whole(compiled)


def test_autocast_and_bfloat16_gradients():
    torch.manual_seed(0)
    x, w = torch.randn(6, 8), torch.randn(4, 8, requires_grad=True)

    def run(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.linear(x, w).relu().square()
    compiled, found = torch.compile(run, backend="c"), []
    for f in (run, compiled, compiled):
        w.grad = None
        out = f(x, w)
        out.sum().backward()
        found.append((out.detach().float().numpy(), w.grad.numpy()))
    for a, b in zip(found[0] * 2, (*found[1], *found[2])):
        np.testing.assert_allclose(b, a, 2e-2, 1e-2)
