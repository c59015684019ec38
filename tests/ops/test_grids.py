"""Numbers at equal distances, and what is sampled at them: PyTorch's bits, by exact formulas.

The last bit of a grid says on which side of a pixel a sample lies, and so which gradient it has.
Expectations are fractions, rounded where PyTorch rounds; `tests/parity/test_grids.py` compares with
PyTorch where it is installed.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as T
from minitorch.host.data import fused
from minitorch.nn.functional import affine_grid, grid_sample, interpolate
from minitorch.ops.nn.resize import Taps

some = settings(max_examples=40, deadline=None, database=None, derandomize=True)
numbers = st.integers(-10 ** 6, 10 ** 6).map(lambda n: n / 99991)
DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def rounded(x, dtype):
    """A fraction as a number of `dtype`, rounded once: to the nearest of the neighbours of its double."""
    middle = dtype(float(x))
    near = [np.nextafter(middle, dtype(-np.inf)), middle, np.nextafter(middle, dtype(np.inf))]
    return min(near, key=lambda v: (abs(Fraction(float(v)) - x), int(v.view(f"i{v.itemsize}")) & 1))


@given(a=st.floats(-10, 10), b=numbers,
       c=st.floats(-10, 10).filter(lambda x: x == 0 or abs(x) > 1e-200))
@some
def test_a_product_and_its_sum_are_rounded_once(a, b, c):
    assert fused(a, b, c) == rounded(Fraction(a) * Fraction(b) + Fraction(c), np.float64)


@pytest.mark.parametrize("name", ["float32", "float64"])
@given(start=numbers, end=numbers, steps=st.integers(2, 60))
@some
def test_linspace_counts_from_both_ends_in_its_dtype(name, start, end, steps):
    dtype = DTYPES[name]
    start, end = dtype(start), dtype(end)
    step = Fraction(float((end - start) / dtype(steps - 1)))
    first, last = Fraction(float(start)), Fraction(float(end))
    wanted = [first + step * i if i < steps // 2 else last - step * (steps - 1 - i)
              for i in range(steps)]
    found = T.linspace(float(start), float(end), steps, dtype=getattr(T, name)).numpy()
    assert found.tolist() == [rounded(x, dtype) for x in wanted]


@given(start=numbers, end=numbers, steps=st.integers(2, 60))
@some
def test_linspace_of_16_bits_rounds_each_operation(start, end, steps):
    half = np.float16
    start, end, i = half(start), half(end), np.arange(steps).astype(half)
    step = (end - start) / half(steps - 1)
    wanted = np.where(np.arange(steps) < steps // 2, start + step * i, end - step * i[::-1])
    assert (T.linspace(float(start), float(end), steps, dtype=T.float16).numpy() == wanted).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
@given(start=numbers, step=st.integers(1, 300).map(lambda n: n / 97), n=st.integers(1, 40),
       back=st.booleans())
@some
def test_arange_of_floats_is_rounded_once(name, start, step, n, back):
    step = -step if back else step
    found = T.arange(start, start + step * (n - 0.5), step, dtype=getattr(T, name)).numpy()
    doubles = [rounded(Fraction(start) + i * Fraction(step), np.float64) for i in range(n)]
    assert found.tolist() == np.array(doubles).astype(DTYPES[name]).tolist()


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_grid_at_the_identity_is_a_row_of_centers(name, align):
    dtype = DTYPES[name]
    for size in (1, 2, 3, 7, 14, 20, 33, 64):
        theta = T.eye(2, 3, dtype=getattr(T, name))[None]
        grid = affine_grid(theta, (1, 1, 3, size), align_corners=align)
        row = T.linspace(-1, 1, size, dtype=theta.dtype).numpy() if size > 1 else np.zeros(1, dtype)
        wanted = row if align else row * dtype(size - 1) / dtype(size)
        assert (grid[0, 1, :, 0].numpy() == wanted).all()


# The gradients of `theta` of a spatial transformer at the identity, from PyTorch 2.13: rows of
# doubles would put samples on the other side of pixels.
@pytest.mark.parametrize("size", [(14, 12), (15, 14), (9, 13)], ids=str)
def test_a_spatial_transformer_starts_where_pytorch_starts(size):
    height, width = size
    image = T.arange(height * width, dtype=T.float32).reshape(1, 1, height, width) % 7
    theta = T.eye(2, 3)[None].requires_grad_()
    grid = affine_grid(theta, image.shape, align_corners=False)
    grid_sample(image, grid, align_corners=False).square().sum().backward()
    np.testing.assert_allclose(theta.grad.numpy().ravel(), GRADIENTS[size], rtol=1e-4, atol=1e-2)


GRADIENTS = {
    (14, 12): [-3920.0, -384.0, -4032.0, -287.0, -1658.001, -13243.998],
    (15, 14): [-5880.0, -0.0, -8820.0, 0.0, -5096.0, -0.0],
    (9, 13): [-3578.0, -153.111, -2860.0, 48.461, -2942.0, -1799.999],
}


# ---- interpolation ---------------------------------------------------------------------------------
@given(size=st.integers(1, 40), out=st.integers(1, 60), align=st.booleans(),
       scale=st.sampled_from([None, 1.7, 0.3]))
@some
def test_weights_of_interpolation_are_those_of_float32(size, out, align, scale):
    f = np.float32
    step = f(1 / scale) if scale else f(size) / f(out)
    if align:
        step = f(size - 1) / f(out - 1) if out > 1 else f(0)
    step = Fraction(float(step))
    place, weight = Taps("linear", size, out, scale, align).table(np, np.dtype("float32"))
    for i in range(out):
        center = step * i if align else step * (i + Fraction(1, 2)) - Fraction(1, 2)
        x = max(rounded(center, f), f(0))
        first = min(int(x), size - 1)
        rest = min(max(x - f(first), f(0)), f(1))
        assert place[i].tolist() == [first, min(first + 1, size - 1)]
        assert weight[i].tolist() == [float(f(1) - rest), float(rest)]
    image = T.eye(size).reshape(size, 1, size)
    if scale is None:                                      # and images are weighed by them
        found = interpolate(image, out, mode="linear", align_corners=align).reshape(size, -1).T
        dense = np.zeros((out, size), "f")
        np.add.at(dense, (np.arange(out)[:, None], place), weight.astype("f"))
        assert (found.numpy() == dense).all()


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
def test_cosines_of_windows_are_rounded_once(name):
    """Within one unit in the last place of the formula in float64, at places in float32."""
    for n in (7, 64, 479):
        found, exact = getattr(T, name)(n).numpy(), getattr(T, name)(n, dtype=T.float64).numpy()
        assert np.abs(found - exact).max() < 4e-7 * max(1, n / 64)


@pytest.mark.parametrize("n", [1, 2, 9, 10, 479])
def test_frequencies_are_whole_numbers_times_a_factor(n):
    for d in (1.0, 0.3, 1 / 48000):
        factor = np.float32(1 / (n * d))
        whole = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]).astype("f")
        assert (T.fft.fftfreq(n, d).numpy() == whole * factor).all()
        assert (T.fft.rfftfreq(n, d).numpy() == np.arange(n // 2 + 1).astype("f") * factor).all()


def test_triangles_and_powers():
    k = np.arange(9, dtype="f") * np.float32(2 / 9)
    assert (T.bartlett_window(9).numpy() == np.where(np.arange(9) > 4, 2 - k, k)).all()
    x = np.array([0.3, -1.7, 2.1], "f")
    powers = np.cumprod(np.repeat(x[:, None].astype("d"), 6, 1), 1).astype("f")
    assert (T.vander(T.from_numpy(x), 7, increasing=True)[:, 1:].numpy() == powers).all()
    x = T.from_numpy(x)
    assert (T.vander(x).numpy()[:, ::-1] == T.linalg.vander(x).numpy()).all()


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_the_nearest_pixel_gives_the_grid_a_gradient_of_zeros(padding_mode):
    """A step is flat: the gradient is 0, and not missing, also where the grid alone asks for one."""
    grid = T.tensor([[[[-0.4, 3.0], [0.2, -5.0]]]], requires_grad=True)
    image = T.arange(6.0).reshape(1, 1, 2, 3)
    out = grid_sample(image, grid, "nearest", padding_mode, align_corners=True)
    out.sum().backward()
    assert grid.grad.tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]
