"""Grids beside PyTorch's, bit by bit; `tests/ops/test_grids.py` holds the formulas.

Not here: elements of `arange` and `logspace` that PyTorch computes with a processor's vectors, from
the rounded first one of each vector on, and cosines and Bessel functions of windows, which come from
a vector library.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

some = settings(max_examples=15, deadline=None, database=None, derandomize=True)
numbers = st.integers(-10 ** 6, 10 ** 6).map(lambda n: n / 99991)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])


def same(function, *names):
    """`function` of both libraries, and of its dtypes by name, gives the same bits."""
    a, b = [function(T, *[getattr(T, name) for name in names]) for T in (torch, minitorch)]
    assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
    np.testing.assert_array_equal(a.detach().double().numpy(), b.detach().double().numpy())


@each_dtype
@given(start=numbers, end=numbers, steps=st.integers(0, 300))
@some
def test_linspace(dtype, start, end, steps):
    same(lambda T, d: T.linspace(start, end, steps, dtype=d), dtype)


@each_dtype
@given(start=numbers, step=st.integers(1, 300), n=st.integers(0, 7), back=st.booleans())
@some
def test_arange(dtype, start, step, n, back):
    step = (-step if back else step) / 97
    same(lambda T, d: T.arange(start, start + step * (n - 0.5 if n else 0), step, dtype=d), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(n=st.integers(1, 300), d=st.sampled_from([1.0, 0.3, 44100.0, 1 / 48000]),
       periodic=st.booleans())
@some
def test_frequencies_and_triangles(dtype, n, d, periodic):
    same(lambda T, t: T.fft.fftfreq(n, d, dtype=t), dtype)
    same(lambda T, t: T.fft.rfftfreq(n, d, dtype=t), dtype)
    same(lambda T, t: T.bartlett_window(n, periodic, dtype=t), dtype)
    same(lambda T, t: T.signal.windows.bartlett(n, sym=not periodic, dtype=t), dtype)


@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear", "bicubic", "smooth bilinear",
                                  "smooth bicubic", "nearest", "nearest-exact", "area"])
@given(size=st.integers(1, 40), out=st.integers(1, 60), align=st.booleans(),
       scale=st.sampled_from([None, None, 2.0, 1.7, 0.3]))
@some
def test_weights_of_interpolation(mode, size, out, align, scale):
    """In images with one number each; cubic ones with antialias may be off by a unit or two."""
    name = mode.removeprefix("smooth ")
    n = {"linear": 1, "trilinear": 3}.get(name, 2)
    if scale is not None and int(size * scale) < 1:
        return
    target = dict(size=(1,) * (n - 1) + (out,))
    if scale is not None:
        target = dict(scale_factor=(1.0,) * (n - 1) + (scale,))
    options = dict(mode=name, antialias=mode.startswith("smooth"),
                   align_corners=align if name.endswith(("linear", "cubic")) else None)

    def resized(T):
        images = T.eye(size).reshape(size, 1, *(1,) * (n - 1), size)
        return T.nn.functional.interpolate(images, **target, **options)
    if mode == "smooth bicubic":
        a, b = resized(torch).numpy(), resized(minitorch).numpy()
        np.testing.assert_allclose(a, b, rtol=0, atol=6e-7)
    else:
        same(resized)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(sizes=st.lists(st.integers(1, 40), min_size=2, max_size=3), align=st.booleans())
@some
def test_the_grid_at_the_identity(dtype, sizes, align):
    n = len(sizes)
    same(lambda T, d: T.nn.functional.affine_grid(
        T.eye(n, n + 1, dtype=d)[None], (1, 1, *sizes), align_corners=align), dtype)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@given(height=st.integers(2, 20), width=st.integers(2, 20), align=st.booleans(),
       seed=st.integers(0, 99), padding=st.sampled_from(["zeros", "border", "reflection"]))
@some
def test_the_first_gradients_of_a_spatial_transformer(mode, height, width, align, seed, padding):
    image = np.random.default_rng(seed).standard_normal((1, 2, height, width)).astype("f")

    def gradient(T):
        theta = T.eye(2, 3)[None].requires_grad_()
        grid = T.nn.functional.affine_grid(theta, image.shape, align_corners=align)
        out = T.nn.functional.grid_sample(T.from_numpy(image), grid, mode, padding, align)
        (out * T.arange(out.numel()).reshape(out.shape).cos()).sum().backward()
        return theta.grad.numpy()
    a, b = gradient(torch), gradient(minitorch)
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(a).max())
