"""Convolution in C: products of numbers where they lie, and Winograd's tiles, each against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.backends import native
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.cpu.tuning import tuning
from minitorch.ops.nn.conv import Geometry
from minitorch.ops.nn.windows import reach
from minitorch.testing.strategies import Draw
from tests.backends.cpu.test_convolution_methods import drawn, naive, results

if native.reason() is not None:
    pytest.skip(f"native kernels need a compiler: {native.reason()}", allow_module_level=True)

from minitorch.backends.native import eager, ops, parts  # noqa: E402

some = settings(max_examples=30, deadline=None, database=None, derandomize=True)
samples = st.randoms(use_true_random=False)


@pytest.fixture(autouse=True, scope="module")
def on():
    """Native kernels, for arrays of any size."""
    least, eager.limits.least = eager.limits.least, 1
    with native.enabled():
        yield
    eager.limits.least = least


def any_case(d):
    """Input, weight and geometry of a convolution of 1 to 3 dimensions."""
    n, groups = d.int(1, 3), d.choice([1, 1, 2])
    kernel, dilation = [d.int(1, 4) for _ in range(n)], [d.int(1, 3) for _ in range(n)]
    padding, stride = [d.int(0, 4) for _ in range(n)], [d.int(1, 3) for _ in range(n)]
    size = [max(reach(k, e) - 2 * p, 1) + d.int(0, 9 if n < 3 else 4) for k, e, p in zip(kernel, dilation, padding)]
    x = d.array((d.int(1, 3), groups * d.choice([1, 3, 9]), *size))
    w = d.array((groups * d.choice([8, 13, 33]), x.shape[1] // groups, *kernel))
    return x, w, Geometry(tuple(stride), tuple(padding), tuple(dilation), groups)


def tiled_case(d):
    """One for Winograd's tiles."""
    padding = d.int(0, 4), d.int(0, 4)
    x = d.array((d.int(1, 7), d.choice([16, 19, 33]), *[max(6 - 2 * p, 1) + d.int(0, 9) for p in padding]))
    return x, d.array((d.choice([16, 24, 35]), x.shape[1], 3, 3)), Geometry((1, 1), padding, (1, 1), 1)


def check(d, x, w, geometry, dtype):
    wanted = naive(x, w, geometry)
    x, w, y = x.astype(dtype), w.astype(dtype), d.array(wanted.shape).astype(dtype)
    bias = d.choice([None, d.array((len(w),)).astype(dtype)])
    out = cpu.convolution(x, w, bias, geometry=geometry)
    room = dict(rtol=1e-9, atol=1e-9) if dtype == "float64" else dict(rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(out, wanted + (0 if bias is None else bias.reshape(-1, *(1,) * (x.ndim - 2))), **room)
    for name, args, size in (("input", (y, w), x.shape[2:]), ("weight", (x, y), w.shape[2:])):
        name = f"convolution_backward_{name}"
        np.testing.assert_allclose(getattr(cpu, name)(*args, geometry=geometry, size=size),
                                   getattr(cpu.reference, name)(*[a.astype("d") for a in args], geometry=geometry,
                                                                size=size), **room)


@pytest.fixture
def called(monkeypatch):
    """The functions of C that were called."""
    found, original = [], eager.compiled

    def noted(file, name, *rest):
        found.append(name)
        return original(file, name, *rest)
    monkeypatch.setattr(eager, "compiled", noted)
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(rng=samples)
@some
def test_convolutions_are_the_definition_and_so_are_both_gradients(dtype, rng):
    d = Draw(rng)
    check(d, *any_case(d), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("room", [1 << 16, 1 << 11], ids=["blocks of images", "blocks of tiles"])
@given(rng=samples)
@some
def test_tiles_are_the_definition_and_so_are_both_gradients(dtype, room, rng):
    d = Draw(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ops.winograd, "ROOM", room)
        patch.setattr(ops.winograd, "FEWEST", 3)
        check(d, *tiled_case(d), dtype)


def test_each_case_goes_where_it_should(called):
    x, w, g, arguments = drawn("winograd")
    results(x, w, g, arguments)
    assert {"winograd", "winograd_weight"} <= set(called) and "convolve" not in called
    called.clear()
    results(x[:, :8], w[:, :8], g, arguments)
    assert {"convolve", "weigh"} <= set(called) and "winograd" not in called
    called.clear()
    results(x, w, g, arguments, "channels")                # the user's choice of a method of NumPy's
    assert not called


@pytest.mark.parametrize("value", [1e7, np.inf, np.nan])
@pytest.mark.parametrize("where", ["x", "w", "g"])
def test_one_large_or_missing_number_stays_in_its_windows(where, value, called):
    x, w, g, arguments = drawn("winograd")
    with native.enabled(False):
        before = results(x, w, g, arguments, "channels")
    dict(x=x, w=w, g=g)[where][0, 0, 1, 1] = value
    found = results(x, w, g, arguments)
    assert "convolve" in called or "weigh" in called
    with native.enabled(False):
        plain = results(x, w, g, arguments, "channels")
    for a, b, c in zip(found, plain, before):
        far = b == c                                       # what does not depend on that number
        np.testing.assert_allclose(a[far], b[far], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))


@pytest.mark.parametrize("spike", [1, 30, 150])
def test_the_error_of_tiles_is_bounded(spike):
    """As that of NumPy's methods: see cpu/test_convolution_methods.py."""
    for seed in range(2):
        x, w, g, arguments = drawn("winograd", seed)
        x[0, 0, 9, 9] *= spike
        with native.enabled(False):
            wide = results(x.astype("d"), w.astype("d"), g.astype("d"), arguments)
        found = results(x, w, g, arguments)
        for a, b, source, size in zip(found[:2], wide, (x, g), (np.abs(w).sum((1, 2, 3)), np.abs(w).sum((0, 2, 3)))):
            bound = 4 * 2.0 ** -24 * np.abs(source).max((1, 2, 3))[:, None] * size
            assert (np.abs(a - b).max((2, 3)) <= bound).all()
        bound = 4 * 2.0 ** -24 * np.abs(x).max() * np.abs(g).sum((0, 2, 3))
        assert (np.abs(found[2] - wide[2]).max((1, 2, 3)) <= bound).all()


@pytest.mark.parametrize("channels", [5, 32], ids=["products", "tiles"])
def test_one_thread_and_two_give_the_same_bits(channels, monkeypatch):
    monkeypatch.setattr(parts, "ENOUGH", 500)
    d = Draw()
    x, w, found = d.array((9, channels, 11, 8)).astype("f"), d.array((32, channels, 3, 3)).astype("f"), []
    y, geometry = d.array((9, 32, 11, 8)).astype("f"), Geometry((1, 1), (1, 1), (1, 1), 1)
    for n in (1, 2):
        with tuning.changed(threads=n):
            found.append([cpu.convolution(x, w, geometry=geometry),
                          cpu.convolution_backward_input(y, w, geometry=geometry, size=(11, 8)),
                          cpu.convolution_backward_weight(x, y, geometry=geometry, size=(3, 3))])
    for a, b in zip(*found):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("shape", [(0, 3, 9, 9), (2, 0, 9, 9), (2, 3, 3, 9)], ids=str)
def test_nothing_to_convolve(shape):
    x, w = minitorch.ones(*shape), minitorch.ones(8, shape[1], 3, 3)
    y = minitorch.nn.functional.conv2d(x, w)
    assert y.shape == (shape[0], 8, shape[2] - 2, 7) and (y == 9 * shape[1]).all()
