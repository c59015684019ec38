"""Each method of computing a convolution against its definition, and the choice between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn.functional as F
from minitorch.autograd.api import grad
from minitorch.backends import convolution_method
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.cpu.convolution import (
    choice,
    depthwise,
    fft,
    im2col,
    kernels,
    level,
    methods,
    rows,
    side_by_side,
    winograd,
)
from minitorch.backends.cpu.convolution.methods import METHODS, Problem, choose
from minitorch.ops.nn.conv import Geometry
from minitorch.ops.nn.windows import reach
from minitorch.testing.strategies import Draw

each_method = pytest.mark.parametrize("method", METHODS)
some = settings(max_examples=40, deadline=None, database=None, derandomize=True)
samples = st.randoms(use_true_random=False)


def naive(x, w, geometry):
    """Convolution as it is defined, one output place at a time."""
    stride, padding, dilation, groups = geometry
    n, size = len(stride), geometry.out_size(x.shape[2:], w.shape[2:])
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    out = np.zeros((len(x), len(w), *size))
    for place in np.ndindex(*size):
        window = x[(slice(None), slice(None), *[slice(i * s, i * s + reach(k, d), d) for i, s, k, d in
                                                zip(place, stride, w.shape[2:], dilation)])]
        for g in range(groups):
            o, c = len(w) // groups, w.shape[1]
            axes = list(range(1, n + 2))
            out[(slice(None), slice(g * o, g * o + o), *place)] = np.tensordot(
                window[:, g * c:g * c + c], w[g * o:g * o + o], (axes, axes))
    return out


def problem(task, x, w, geometry):
    out = geometry.out_size(x.shape[2:], w.shape[2:])
    return Problem(task, len(x), x.shape[1], len(w), x.shape[2:], w.shape[2:], out, geometry, x.dtype)


def draw_case(d, method):
    """Input, weight and geometry of a convolution of 1 to 3 dimensions that the method can do."""
    n = 2 if method == "winograd" else d.int(1, 3)
    groups = d.choice([1, 1, 2, 3])
    channels, outputs = d.choice([1, 1, 2, 5, 16]) * groups, d.int(1, 4) * groups
    if method == "depthwise":
        groups = channels = d.int(2, 6)
        outputs = channels * d.int(1, 2)
    kernel, dilation = [d.int(1, 4) for _ in range(n)], [d.int(1, 2) for _ in range(n)]
    padding = [d.int(0, 4) for _ in range(n)]
    stride = [d.int(1, 3) for _ in range(n)] if d.bool() else [1] * n
    if method == "winograd":
        kernel, stride, dilation, channels, groups = [3, 3], [1, 1], [1, 1], channels // groups, 1
    if method == "fft":
        stride = [1] * n
    if method in ("pixels", "images"):
        channels, groups = channels // groups, 1
    size = [max(reach(k, e) - 2 * p, 1) + d.int(0, 6) for k, e, p in zip(kernel, dilation, padding)]
    x = d.array((d.int(1, 5), channels, *size))
    w = d.array((outputs, channels // groups, *kernel))
    return x, w, Geometry(tuple(stride), tuple(padding), tuple(dilation), groups)


@each_method
@pytest.mark.parametrize("block", [None, 1 << 9], ids=["one block", "many blocks"])
@given(rng=samples)
@some
def test_each_method_is_the_definition_and_its_gradients_are_transposes(method, block, rng):
    x, w, geometry = draw_case(Draw(rng), method)
    wanted = naive(x, w, geometry)
    with pytest.MonkeyPatch.context() as patch, convolution_method(method):
        for module in (im2col, depthwise, rows, fft, side_by_side, winograd) if block else ():
            patch.setattr(module, "BLOCK", block // 32 if module is winograd else block)
        if method == "rows" and x.ndim > 3 and geometry.dilation[0] > 1 < w.shape[2]:
            assert choose(problem("forward", x, w, geometry)) != method        # it declines
        else:
            assert choose(problem("forward", x, w, geometry)) == method
        out = cpu.convolution(x, w, geometry=geometry)
        np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-9)
        y = Draw(rng).array(out.shape)
        dx = cpu.convolution_backward_input(y, w, geometry=geometry, size=x.shape[2:])
        dw = cpu.convolution_backward_weight(x, y, geometry=geometry, size=w.shape[2:])
    # <y, conv(x, w)> is linear in x and in w, so both gradients must give it back.
    total = np.vdot(y, wanted)
    np.testing.assert_allclose([np.vdot(x, dx), np.vdot(w, dw)], total, rtol=1e-8, atol=1e-8)
    assert dx.shape == x.shape and dw.shape == w.shape


@each_method
def test_second_derivatives_by_each_method(method):
    d = Draw()
    groups = 4 if method == "depthwise" else 1
    x, w, b = [minitorch.tensor(d.array(s)).requires_grad_() for s in ((2, 4, 6, 5), (4, 4 // groups, 3, 3), (4,))]

    def derivatives():
        y = F.conv2d(x, w, b, padding=1, groups=groups)
        first = grad((y ** 3).sum(), [x, w, b], create_graph=True)
        return [*first, *grad(sum((g ** 2).sum() for g in first), [x, w, b])]
    with convolution_method("channels"):
        wanted = derivatives()
    with convolution_method(method):
        found = derivatives()
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)


@each_method
def test_any_memory_order_and_a_bias(method):
    d = Draw()
    groups = 4 if method == "depthwise" else 1
    x, w, bias = d.array((2, 4, 9, 7)), d.array((8, 4 // groups, 3, 3)), d.array((8,))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    turned = np.ascontiguousarray(w[..., ::-1, ::-1])[..., ::-1, ::-1]
    geometry = Geometry((1, 1), (1, 1), (1, 1), groups)
    wanted = naive(x, w, geometry) + bias.reshape(-1, 1, 1)
    with convolution_method(method):
        for same, weight in ((last, w), (x, turned), (np.asfortranarray(x), np.asfortranarray(w))):
            found = cpu.convolution(same, weight, bias, geometry=geometry)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
            assert found.flags.c_contiguous                # so that view() works on the result, as in PyTorch


@pytest.mark.parametrize("method", ["rows", "winograd", "fft"])
def test_float32_is_as_exact_as_the_plain_sum_within_a_few_roundings(method):
    d = Draw()
    x, w = d.array((4, 32, 16, 16)), d.array((32, 32, 3, 3))
    geometry = Geometry((1, 1), (1, 1), (1, 1), 1)
    wanted = cpu.convolution(x, w, geometry=geometry)
    with convolution_method(method):
        found = cpu.convolution(x.astype("float32"), w.astype("float32"), geometry=geometry)
    assert found.dtype == np.float32
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 2e-6 * np.sqrt(np.mean(wanted ** 2))


CHOICES = [
    ("winograd", (32, 64, 32, 32), (64, 64, 3, 3), 1, 1, 1),
    ("rows", (32, 16, 32, 32), (16, 16, 3, 3), 1, 1, 1),
    ("channels", (32, 64, 32, 32), (64, 64, 1, 1), 0, 1, 1),
    ("pixels", (32, 32, 16, 16), (64, 32, 3, 3), 1, 1, 2),
    ("images", (8, 512, 2, 2), (512, 512, 3, 3), 1, 1, 1),
    ("fft", (8, 16, 64, 64), (16, 16, 31, 31), 15, 1, 1),
    ("depthwise", (4, 64, 14, 14), (64, 1, 3, 3), 1, 64, 2),
]


@pytest.mark.parametrize("wanted, x, w, padding, groups, stride", CHOICES, ids=[c[0] for c in CHOICES])
def test_the_choice(wanted, x, w, padding, groups, stride):
    geometry = Geometry((stride, stride), (padding, padding), (1, 1), groups)
    out = geometry.out_size(x[2:], w[2:])
    p = Problem("forward", x[0], x[1], w[0], x[2:], w[2:], out, geometry, np.dtype("float32"))
    costs = {name: cost(p) for name, cost in METHODS.items()}
    assert choose(p) == wanted, costs
    assert all(c is None or c > 0 for c in costs.values())


def test_spectra_that_would_not_fit_are_not_made():
    geometry = Geometry((1, 1), (15, 15), (1, 1), 1)
    p = Problem("forward", 8, 512, 512, (64, 64), (31, 31), (64, 64), geometry, np.dtype("float32"))
    with convolution_method("fft"):
        assert choose(p) != "fft" and choose(p._replace(channels=16, outputs=16)) == "fft"


@given(rng=samples)
@some
def test_integers_take_a_method_that_is_exact(rng):
    d = Draw(rng)
    x, w = np.arange(2 * 3 * 49).reshape(2, 3, 7, 7), np.arange(4 * 3 * 9).reshape(4, 3, 3, 3)
    geometry = Geometry((1, 1), (d.int(0, 2),) * 2, (1, 1), 1)
    for method in METHODS:
        with convolution_method(method):
            assert (cpu.convolution(x, w, geometry=geometry) == naive(x, w, geometry)).all()


def test_every_method_can_be_asked_for_by_name():
    assert choice.NAMES == tuple(METHODS)


def test_the_context_can_be_nested_and_refuses_unknown_names():
    x, w = np.ones((1, 1, 8, 8)), np.ones((1, 1, 3, 3))
    p = problem("forward", x, w, Geometry((1, 1), (0, 0), (1, 1), 1))
    default = choose(p)
    with convolution_method("fft"):
        with convolution_method("winograd"):
            assert choose(p) == "winograd"
        with convolution_method(None):
            assert choose(p) == default
        assert choose(p) == "fft"
    assert choose(p) == default
    with pytest.raises(ValueError, match="unknown convolution method 'direct': expected one of c"):
        with convolution_method("direct"):
            pass


def test_matrices_of_winograd_convolve_exactly():
    """The one-dimensional formula gives the plain sum for polynomials' coefficients."""
    d = Draw()
    b, g, a = winograd.toom_cook(winograd.POINTS)
    x, w = d.array((6,)), d.array((3,))
    np.testing.assert_allclose(a.T @ ((g @ w) * (b @ x)), np.correlate(x, w), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", range(1, 200))
def test_lengths_of_transforms(n):
    m = fft.fast(n)
    assert n <= m <= 1.25 * n + 1 and (30 ** 10) % m == 0


def test_every_cost_is_used():
    used = open(methods.__file__).read()
    assert all(used.count(f'COSTS["{name}"]') for name in methods.COSTS)


# ---- numbers that must not be mixed --------------------------------------------------------------------------
# Convolutions (input, weight) that the named method would take, and their arguments.
MIXED = {"fft": ((1, 2, 48, 48), (2, 2, 25, 25), dict(padding=12)),
         "winograd": ((1, 64, 32, 32), (64, 64, 3, 3), dict(padding=1)),
         "depthwise": ((2, 64, 40, 40), (64, 1, 3, 3), dict(padding=1, stride=2, groups=64))}
each_mixing = pytest.mark.parametrize("method", MIXED)


def drawn(method, seed=0):
    rng = np.random.default_rng(seed)
    shape, kernel, arguments = MIXED[method]
    x, w = [rng.standard_normal(s).astype("f") for s in (shape, kernel)]
    size = [n // arguments.get("stride", 1) for n in shape[2:]]
    return x, w, rng.standard_normal((shape[0], kernel[0], *size)).astype("f"), arguments


def results(x, w, g, arguments, method=None):
    """The convolution and both gradients."""
    x, w = [minitorch.from_numpy(v.copy()).requires_grad_() for v in (x, w)]
    with convolution_method(method):
        y = F.conv2d(x, w, **arguments)
        y.backward(minitorch.from_numpy(g.copy()))
    return [v.detach().numpy() for v in (y, x.grad, w.grad)]


@each_mixing
def test_the_mixing_methods_are_chosen_for_level_numbers(method, monkeypatch):
    taken = []
    for table in (kernels.FORWARD, kernels.WEIGHT):
        f = table[method]
        monkeypatch.setitem(table, method, lambda *args, f=f: (taken.append(method), f(*args)))
    x, w, _, arguments = drawn(method)
    F.conv2d(minitorch.from_numpy(x), minitorch.from_numpy(w), **arguments)
    assert taken == [method]
    x[0, 0, 5, 5] = np.nan
    F.conv2d(minitorch.from_numpy(x), minitorch.from_numpy(w), **arguments)
    assert taken == [method]                               # another one took it


@each_mixing
@pytest.mark.parametrize("value", [1e7, np.inf, np.nan])
@pytest.mark.parametrize("where", ["x", "g"])
def test_one_large_or_missing_number_stays_in_its_windows(method, value, where):
    x, w, g, arguments = drawn(method)
    before = results(x, w, g, arguments, "channels")
    (x if where == "x" else g)[0, 0, 12, 12] = value
    found = results(x, w, g, arguments)
    plain = results(x, w, g, arguments, "channels")
    for a, b, c in zip(found, plain, before):
        far = b == c                                       # what does not depend on that number
        np.testing.assert_allclose(a[far], b[far], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))


@pytest.mark.parametrize("method", ["fft", "winograd"])
@pytest.mark.parametrize("spike", [1, 30, 150])
def test_the_error_of_mixing_methods_is_bounded(method, spike):
    """By 4 u max|x| sum|w|: what `level.py` and docs/differences_from_pytorch.md promise."""
    for seed in range(3):
        x, w, g, arguments = drawn(method, seed)
        x[0, 0, 9, 9] *= spike
        wide = results(x.astype("d"), w.astype("d"), g.astype("d"), arguments)
        found = results(x, w, g, arguments, method)
        weights = np.abs(w).sum((1, 2, 3)), np.abs(w).sum((0, 2, 3)), None
        sources = x, g, None
        for a, b, source, size in zip(found[:2], wide, sources, weights):
            bound = 4 * 2.0 ** -24 * np.abs(source).max((1, 2, 3))[:, None] * size
            assert (np.abs(a - b).max((2, 3)) <= bound).all()
        bound = 4 * 2.0 ** -24 * np.abs(x).max() * np.abs(g).sum((0, 2, 3))
        assert (np.abs(found[2] - wide[2]).max((1, 2, 3)) <= bound).all()


def test_levels_are_those_of_each_image():
    x = np.random.default_rng(0).standard_normal((3, 2, 40, 40)).astype("f")
    x *= np.array([1e-9, 1, 1e9], "f").reshape(3, 1, 1, 1)
    assert level.levels(cpu, x).level
    for i in range(3):
        y = x.copy()
        y[i, 1, 3, 3] = 1000 * np.abs(x[i]).max()
        assert not level.levels(cpu, y).level
    assert level.levels(cpu, np.zeros((2, 3, 1), "f")).level
    assert not level.levels(cpu, np.full((2, 3, 1), 2e38, "f")).level
    assert level.is_finite(cpu, x) and not level.is_finite(cpu, np.array([1, -np.inf], "f"))
