"""Sums in float32 are as exact as sums in pairs: over any dimensions, in any layout, of millions of numbers.

The yardstick is float64. A sum may be off by a few units in the last place of the sum of magnitudes, however many
numbers it has; `tests/parity/test_exact_sums.py` compares the errors with PyTorch's.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.backends.cpu import sums
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.cpu.tuning import tuning
from minitorch.optim import adafactor
from minitorch.testing.switches import without

F = minitorch.nn.functional
EPS = np.finfo(np.float32).eps
FEW = 8 * EPS                                              # what a sum may be off by, of the sum of magnitudes
some = settings(max_examples=60, deadline=None, derandomize=True, database=None)


# ---- inputs ------------------------------------------------------------------------------------------------
def numbers(kind, shape, rng):
    """float32 numbers on whose sums rounding tells: equal ones, years, noise far from 0, noise."""
    if kind == "equal":
        return np.full(shape, 0.1, "f")
    if kind == "years":
        return rng.integers(2000, 2021, shape).astype("f")
    return (rng.standard_normal(shape) + (10_000 if kind == "offset" else 0)).astype("f")


def laid_out(x, layout, rng):
    """The same shape in another memory layout."""
    if layout == "transposed":
        order = rng.permutation(x.ndim)
        return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    if layout == "cropped":
        wide = np.zeros([n + 3 for n in x.shape], x.dtype)
        inner = wide[tuple([slice(1, n + 1) for n in x.shape])]
        inner[...] = x
        return inner
    if layout == "every second":
        return np.repeat(x, 2, -1)[..., ::2]
    if layout == "backwards":
        return x[::-1]
    if layout == "expanded":
        return np.broadcast_to(x[:1], x.shape)
    return x


shapes = st.sampled_from([(5000,), (3000, 3), (3, 3000), (70, 50, 3), (2, 900, 4), (900, 2, 3), (1, 4000, 1), (257, 9),
                          (2049, 2), (40, 3, 6, 6), (6, 1100), (3, 9001), (65, 2), (200, 200), (7, 5, 3), (33, 33, 2)])
KINDS = ["equal", "years", "offset", "noise"]
LAYOUTS = ["plain", "transposed", "cropped", "every second", "expanded", "backwards"]


# ---- reductions --------------------------------------------------------------------------------------------
@given(shape=shapes, kind=st.sampled_from(KINDS), layout=st.sampled_from(LAYOUTS), seed=st.integers(0, 10**6),
       block=st.sampled_from([tuning.block, None]), keepdim=st.booleans(), data=st.data())
@some
def test_sums_over_any_dimensions_are_exact(shape, kind, layout, seed, block, keepdim, data):
    rng = np.random.default_rng(seed)
    x = laid_out(numbers(kind, shape, rng), layout, rng)
    dims = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(tuple))
    with tuning.changed(block=block):
        found = sums.add_up(cpu, x, data.draw(st.sampled_from([dims, dims[0]])) if len(dims) == 1 else dims, keepdim)
    wide = x.astype("d")
    wanted = wide.sum(dims, keepdims=keepdim)
    assert np.shape(found) == wanted.shape and np.asarray(found).dtype == np.float32
    assert (np.abs(found - wanted) <= FEW * np.abs(wide).sum(dims, keepdims=keepdim)).all()


@given(shape=shapes, kind=st.sampled_from(KINDS), layout=st.sampled_from(LAYOUTS[:-1]), seed=st.integers(0, 10**6),
       data=st.data())
@settings(some, max_examples=40)
def test_reductions_are_exact_along_any_dimension(shape, kind, layout, seed, data):
    rng = np.random.default_rng(seed)
    x = laid_out(numbers(kind, shape, rng), layout, rng)
    dim, wide = data.draw(st.integers(0, len(shape) - 1)), x.astype("d")
    t, size, n = minitorch.from_numpy(x), np.abs(wide).mean(dim), shape[dim]

    def close(found, wanted, scale):
        assert (np.abs(found.numpy() - wanted) <= FEW * scale).all()
    close(t.mean(dim), wide.mean(dim), size)
    close(t.nansum(dim), wide.sum(dim), size * n)
    close(t.norm(1, dim), size * n, size * n)
    for p in (2, 3):
        wanted = (np.abs(wide) ** p).sum(dim) ** (1 / p)
        close(t.norm(p, dim), wanted, wanted)
    close(minitorch.einsum("abcd"[:len(shape)] + "->" + "abcd"[:len(shape)].replace("abcd"[dim], ""), t),
          wide.sum(dim), size * n)
    if n > 1:
        wanted = wide.var(dim, ddof=1)
        close(t.var(dim), wanted, 2 * wanted + 1e-12)
        close(t.std(dim), np.sqrt(wanted), 2 * np.sqrt(wanted) + 1e-12)
    shifted = (wide - wide.max(dim, keepdims=True))
    close(t.softmax(dim), np.exp(shifted) / np.exp(shifted).sum(dim, keepdims=True), 4)
    close((t * 1e-3).logsumexp(dim), np.log(np.exp((x * np.float32(1e-3)).astype("d")).sum(dim)), 1 + np.log(n) + size)


@pytest.mark.parametrize("switch", [None, "sums as products", "blocks"])
def test_a_million_rows_are_summed_exactly(switch):
    years = np.random.default_rng(0).integers(2000, 2021, (1_000_000, 2)).astype("f")
    tenths = np.full((1_000_000, 4), 0.1, "f")
    with without(switch) if switch else tuning.changed():
        t = minitorch.from_numpy(years)
        np.testing.assert_allclose(t.mean(0).numpy(), years.mean(0, dtype="d"), rtol=FEW)
        np.testing.assert_allclose(t.std(0).numpy(), years.std(0, dtype="d", ddof=1), rtol=FEW)
        np.testing.assert_allclose((t + 1e4).var(0).numpy(), (years + 1e4).var(0, dtype="d", ddof=1), rtol=FEW)
        np.testing.assert_allclose(minitorch.from_numpy(tenths).sum(0).numpy(), tenths.sum(0, dtype="d"), rtol=FEW)
        np.testing.assert_allclose(minitorch.full((1_000_000, 4), 0.1, dtype=minitorch.float64).sum(0).numpy(), 1e5,
                                   rtol=1e-14)
        np.testing.assert_allclose(minitorch.from_numpy(tenths).bfloat16().mean(0).float().numpy(), 0.1, rtol=4e-3)


def test_ten_million_numbers():
    x = minitorch.full((10_000_000,), 0.1)
    tenth = float(np.float32(0.1))
    assert abs(x.norm().item() / (tenth * 10 ** 3.5) - 1) < FEW
    assert abs(F.mse_loss(x, minitorch.zeros(1).expand(10_000_000)).item() / tenth ** 2 - 1) < FEW
    np.testing.assert_allclose(x.cumsum(0)[-3:].numpy(), tenth * np.arange(10**7 - 2, 10**7 + 1), rtol=EPS)
    assert abs(x.var().item()) < 1e-12


def test_the_deviation_does_not_feel_the_offset_of_its_numbers():
    """The mean of 1e6 and 1e6 + 1/16 is not a float32."""
    for n in (10, 1000, 100_000):
        x = np.float32(1e6) + np.arange(n).reshape(-1, 2).astype("f") % 4 // 2 / 16
        for dim in (None, 0):
            wanted = x.astype("d").var(dim, ddof=1)
            np.testing.assert_allclose(minitorch.from_numpy(x).var(dim).numpy(), wanted, rtol=FEW)


# ---- running sums ------------------------------------------------------------------------------------------
@given(shape=st.sampled_from([(100,), (40_000,), (300, 7), (3, 40_000, 2), (2, 70, 3)]), seed=st.integers(0, 10**6),
       kind=st.sampled_from(KINDS), data=st.data())
@settings(some, max_examples=25)
def test_running_sums_are_rounded_once(shape, seed, kind, data):
    x = numbers(kind, shape, np.random.default_rng(seed))
    dim, wide = data.draw(st.integers(-len(shape), len(shape) - 1)), x.astype("d")
    t = minitorch.from_numpy(x)
    size = np.abs(wide).cumsum(dim)
    assert (np.abs(t.cumsum(dim).numpy() - wide.cumsum(dim)) <= FEW * size).all()
    near = (1 + wide * 1e-9).astype("f")
    np.testing.assert_allclose(minitorch.from_numpy(near).cumprod(dim).numpy(), near.astype("d").cumprod(dim),
                               rtol=FEW)
    small = (x * np.float32(1e-4))
    wanted = np.logaddexp.accumulate(small.astype("d"), dim)
    np.testing.assert_allclose(minitorch.from_numpy(small).logcumsumexp(dim).numpy(), wanted, rtol=FEW, atol=FEW)


def test_running_sums_of_positive_numbers_never_fall():
    x = np.random.default_rng(0).random(200_000).astype("f") ** 8
    assert (np.diff(minitorch.from_numpy(x).cumsum(0).numpy()) >= 0).all()


# ---- gradients and statistics ------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(3,), (1, 3), (50_000, 1), (2, 1, 3), (1, 1, 1)])
def test_gradients_of_what_was_broadcast_are_exact(shape):
    b = minitorch.zeros(shape, requires_grad=True)
    g = np.full((2, 50_000, 3), 0.1, "f")
    (b + minitorch.zeros(g.shape)).backward(minitorch.from_numpy(g))
    np.testing.assert_allclose(b.grad.numpy(), np.full(shape, 0.1 * g.size / b.numel()), rtol=FEW)
    e = minitorch.zeros(shape, requires_grad=True)
    e.expand(g.shape).backward(minitorch.from_numpy(g))
    np.testing.assert_array_equal(e.grad.numpy(), b.grad.numpy())


def gradients(function, *arrays):
    leaves = [minitorch.from_numpy(x).requires_grad_() for x in arrays]
    function(*leaves).backward()
    return [x.grad.numpy() for x in leaves]


# The operands that gradients of parameters are summed from; those that are products of matrices are BLAS's.
PARAMETERS = {
    "linear": (lambda b: F.linear(minitorch.full((100_000, 3), 0.1, dtype=b.dtype),
                                  minitorch.ones(2, 3, dtype=b.dtype), b).mul(0.1).sum(), (2,)),
    "convolution": (lambda b: F.conv2d(minitorch.full((3000, 1, 6, 6), 0.1, dtype=b.dtype),
                                       minitorch.ones(2, 1, 3, 3, dtype=b.dtype), b).mul(0.1).sum(), (2,)),
    "batch_norm": (lambda w, b: F.batch_norm(minitorch.arange(300_000).reshape(-1, 3).to(w.dtype) % 7, None, None, w,
                                             b, True).mul(0.1).square().sum(), (3,), (3,)),
    "layer_norm": (lambda w, b: F.layer_norm(minitorch.arange(300_000).reshape(-1, 3).to(w.dtype) % 7, (3,), w, b)
                   .mul(0.1).square().sum(), (3,), (3,)),
    "group_norm": (lambda w, b: F.group_norm(minitorch.arange(320_000).reshape(-1, 4, 2).to(w.dtype) % 7, 2, w, b)
                   .mul(0.1).square().sum(), (4,), (4,)),
    "prelu": (lambda w, b: F.prelu(minitorch.full((100_000, 3), -0.1, dtype=w.dtype) + b, w).sum(), (3,), (3,)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_of_parameters_are_exact(name):
    function, *sizes = PARAMETERS[name]
    arrays = [np.full(s, 0.5, "f") for s in sizes]
    for found, wanted in zip(gradients(function, *arrays), gradients(function, *[x.astype("d") for x in arrays])):
        np.testing.assert_allclose(found, wanted, rtol=2 * FEW)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_gradients_of_recurrent_biases_are_exact(kind):
    found = []
    for dtype in (minitorch.float32, minitorch.float64):
        layer = getattr(minitorch.nn, kind)(2, 3).to(dtype)
        for p in layer.parameters():
            minitorch.nn.init.constant_(p, 0.01)
        layer(minitorch.full((4, 20_000, 2), 0.1, dtype=dtype))[0].mul(0.1).sum().backward()
        found.append([layer.bias_ih_l0.grad.numpy(), layer.bias_hh_l0.grad.numpy()])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=2 * FEW)


@pytest.mark.parametrize("shape", [(100_000, 3), (20_000, 3, 4), (3, 4, 90, 90)])
def test_statistics_of_batches_are_exact(shape):
    x = (np.random.default_rng(0).standard_normal(shape) + 1000).astype("f")
    mean, var = minitorch.zeros(shape[1]), minitorch.zeros(shape[1])
    out = F.batch_norm(minitorch.from_numpy(x), mean, var, training=True, momentum=1.0).numpy()
    dims, wide = tuple([d for d in range(x.ndim) if d != 1]), x.astype("d")
    np.testing.assert_allclose(mean.numpy(), wide.mean(dims), rtol=FEW)
    np.testing.assert_allclose(var.numpy(), wide.var(dims, ddof=1), rtol=FEW)
    centred = wide - wide.mean(dims, keepdims=True)
    wanted = centred / np.sqrt(wide.var(dims, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, wanted, atol=1000 * 4 * EPS)


def test_column_means_of_adafactor_are_exact():
    for n in (1, 70, 50_000):
        x = np.full((2, n, 3), 0.1, "f")
        np.testing.assert_allclose(adafactor.mean_of_rows(x), np.full((2, 1, 3), np.float32(0.1)), rtol=4 * FEW)


def test_distances_and_similarities_are_exact():
    x = minitorch.full((200_000, 2), 0.1)
    np.testing.assert_allclose(F.cosine_similarity(x, x + 1, dim=0).numpy(), 1, rtol=2 * FEW)
    np.testing.assert_allclose(F.normalize(x, dim=0).numpy(), 200_000 ** -0.5, rtol=FEW)
    np.testing.assert_allclose(F.adaptive_avg_pool2d(minitorch.full((1, 2, 500, 400), 0.1), 1).numpy(), 0.1, rtol=FEW)


# ---- losses, activations -----------------------------------------------------------------------------------
@pytest.mark.parametrize("offset", [0, 1e4, 1e6, 1e8, -3e38])
@pytest.mark.parametrize("shape", [(200, 3), (2, 3, 5, 5), (3,)])
def test_cross_entropy_does_not_feel_the_offset_of_its_logits(offset, shape):
    z = (np.random.default_rng(1).standard_normal(shape) + offset).astype("f")
    target = minitorch.from_numpy(np.random.default_rng(2).integers(0, 3, [n for d, n in enumerate(shape)
                                                                          if d != (len(shape) > 1)]))
    for weight in (None, minitorch.tensor([1.0, 2.0, 0.5])):
        found = F.cross_entropy(minitorch.from_numpy(z), target, weight)
        wide = F.cross_entropy(minitorch.from_numpy(z).double(), target, None if weight is None else weight.double())
        np.testing.assert_allclose(found.numpy(), wide.numpy(), rtol=FEW, atol=FEW)


def test_cross_entropy_of_rows_far_from_each_other():
    z = np.random.default_rng(1).standard_normal((500, 10)) + np.linspace(-3e4, 3e4, 500)[:, None]
    z = z.astype("f")
    z[3] = -3.4e38
    target = minitorch.arange(500) % 10
    found = F.cross_entropy(minitorch.from_numpy(z), target, reduction="none").numpy()
    wanted = F.cross_entropy(minitorch.from_numpy(z).double(), target, reduction="none").numpy()
    np.testing.assert_allclose(found, wanted, rtol=FEW, atol=FEW)


@pytest.mark.parametrize("n", [1, 5000])
def test_activations_of_numbers_near_the_largest(n):
    big = np.array([1e19, 2e19, 1e30, 3e38, -1e19, -2e19, -1e30, -3e38], "f").repeat(n)
    for approximate in ("tanh", "none"):
        x = minitorch.from_numpy(big).requires_grad_()
        y = F.gelu(x, approximate=approximate)
        y.backward(minitorch.ones_like(y))
        np.testing.assert_array_equal(y.detach().numpy(), np.maximum(big, 0))
        np.testing.assert_array_equal(x.grad.numpy(), big > 0)


def test_silu_keeps_its_digits_far_below_0():
    x = np.linspace(-80, 5, 5000, dtype="f")
    np.testing.assert_allclose(F.silu(minitorch.from_numpy(x)).numpy(), x / (1 + np.exp(-x.astype("d"))), rtol=FEW)
