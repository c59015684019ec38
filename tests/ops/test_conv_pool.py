"""Convolution, pooling, padding and resizing: what the derived tests of single rows do not see."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.backends.cpu.backend import cpu
from minitorch.ops.nn.conv import Geometry
from minitorch.ops.nn.windows import reach
from minitorch.testing.strategies import Draw

some = settings(max_examples=60, deadline=None, database=None, derandomize=True)
samples = st.randoms(use_true_random=False)


# ---- convolution (its methods are in test_convolution_methods.py) --------------------------------------------
def test_memory_of_a_large_image_is_a_block():
    """Unfolded at once, this image would take 75 MB."""
    x, w = np.zeros((1, 8, 512, 512), "float32"), np.zeros((1, 8, 3, 3), "float32")
    tracemalloc.start()
    cpu.convolution(x, w, geometry=Geometry((1, 1), (0, 0), (1, 1), 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6


@given(rng=samples)
@some
def test_transposed_convolution_with_output_padding(rng):
    """All sizes that a strided convolution maps to one size come back, and second derivatives fit."""
    d = Draw(rng)
    stride, dilation, kernel, padding = d.int(1, 3), d.int(1, 3), d.int(1, 3), d.int(0, 1)
    extra = d.int(0, max(stride, dilation) - 1)
    x = minitorch.tensor(d.array((2, 2, d.int(2, 4)))).requires_grad_()
    w = minitorch.tensor(d.array((2, 3, kernel))).requires_grad_()
    size = (x.shape[2] - 1) * stride - 2 * padding + reach(kernel, dilation) + extra
    if size < 1:
        return
    out = F.conv_transpose1d(x, w, None, stride, padding, extra, 1, dilation)
    assert out.shape == (2, 3, size)
    gx, gw = minitorch.autograd.grad((out * out).sum(), [x, w], create_graph=True)
    assert gx.shape == x.shape and gw.shape == w.shape
    hx, hw = minitorch.autograd.grad((gx * gx).sum() + (gw * gw).sum(), [x, w])
    assert hx.shape == x.shape and hw.shape == w.shape


@pytest.mark.parametrize("padding, dilation, extra", [(0, 2, 1), (1, 2, 1), (2, 3, 1), (1, 3, 2)])
def test_output_padding_at_stride_one_gives_what_lay_in_the_padding(padding, dilation, extra):
    """The result is the whole sum, cut: `output_padding` cuts less behind, and adds no zeros."""
    x, w = Draw().array((2, 3, 7)), Draw().array((3, 2, 3))
    whole = np.zeros((2, 2, 20))
    for i, k in np.ndindex(7, 3):
        whole[..., i + k * dilation] += x[..., i] @ w[..., k]
    x, w = minitorch.tensor(x), minitorch.tensor(w)
    out = F.conv_transpose1d(x, w, None, 1, padding, extra, 1, dilation)
    np.testing.assert_allclose(out.numpy(), whole[..., padding:padding + out.shape[2]], 1e-5, 1e-5)


def test_memory_order_of_the_input_does_not_matter():
    d = Draw()
    x, w = d.array((2, 3, 6, 7)), d.array((4, 3, 3, 2))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    flipped = np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1]
    geometry = Geometry((2, 1), (1, 0), (1, 2), 1)
    wanted = cpu.convolution(x, w, geometry=geometry)
    for same in (last, flipped, np.asfortranarray(x)):
        found = cpu.convolution(same, w, geometry=geometry)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert found.flags.c_contiguous                    # so that view() works on the result, as in PyTorch


def test_convolution_of_integers_and_of_half_floats():
    x, w = minitorch.arange(16).reshape(1, 1, 4, 4), minitorch.ones(1, 1, 2, 2, dtype=minitorch.int64)
    assert F.conv2d(x, w).tolist() == [[[[10, 14, 18], [26, 30, 34], [42, 46, 50]]]]
    half = minitorch.ones(1, 64, 8, dtype=minitorch.float16) * 0.1
    out = F.conv1d(half, minitorch.ones(1, 64, 8, dtype=minitorch.float16))
    assert out.dtype is minitorch.float16
    assert out.item() == np.float16(64 * 8 * np.float32(np.float16(0.1)))      # summed in float32, rounded once


def test_same_padding_with_an_even_kernel_pads_more_at_the_end():
    out = F.conv1d(minitorch.ones(1, 1, 4), minitorch.ones(1, 1, 2), padding="same")
    assert out.tolist() == [[[2.0, 2.0, 2.0, 1.0]]]


# ---- max pooling -------------------------------------------------------------------------------------------
def test_gradient_of_padded_max_pool_has_the_shape_of_the_input():
    x = minitorch.tensor(Draw().array((2, 3, 7, 6))).requires_grad_()
    F.max_pool2d(x, 3, 2, 1, ceil_mode=True).sum().backward()
    assert x.grad.shape == x.shape


@given(rng=samples)
@some
def test_max_pool_with_and_without_indices(rng):
    """Three ways to the same gradient: by comparison, by index, and window by window."""
    d = Draw(rng)
    kernel, dilation = d.int(1, 3), d.int(1, 2)
    stride, padding, ceil = d.int(1, 3), d.int(0, reach(kernel, dilation) // 2), d.bool()
    x = np.round(d.array((2, 7, 8)) * 2) / 2                       # with many ties
    settings_ = dict(stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil)
    grads = []
    for with_indices in (False, True):
        t = minitorch.tensor(x).requires_grad_()
        found = F.max_pool2d(t, kernel, return_indices=with_indices, **settings_)
        y, indices = found if with_indices else (found, None)
        weights = minitorch.arange(y.numel(), dtype=y.dtype).reshape(y.shape)
        (y * weights).sum().backward()
        grads.append(t.grad.numpy())
    np.testing.assert_array_equal(*grads)
    picked = np.take_along_axis(x.reshape(2, -1), indices.numpy().reshape(2, -1), 1)
    np.testing.assert_array_equal(picked.ravel(), y.detach().numpy().ravel())
    expected = np.zeros_like(x)
    for c, i, j in product(range(2), *map(range, y.shape[1:])):
        rows, columns = ([r for r in range(first, first + kernel * dilation, dilation) if 0 <= r < size]
                         for first, size in ((i * stride - padding, 7), (j * stride - padding, 8)))
        window = x[c][np.ix_(rows, columns)]
        r, s = np.unravel_index(window.argmax(), window.shape)     # the first of equal ones
        expected[c, rows[r], columns[s]] += weights.numpy()[c, i, j]
    np.testing.assert_array_equal(grads[0], expected)


def test_max_pool_of_minus_infinity_does_not_choose_the_padding():
    x = minitorch.full((1, 1, 3), float("-inf")).requires_grad_()
    y, indices = F.max_pool1d(x, 3, 2, 1, return_indices=True)
    assert y.tolist() == [[[float("-inf")] * 2]] and indices.tolist() == [[[0, 1]]]
    F.max_pool1d(x, 3, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[1.0, 1.0, 0.0]]]


def test_max_pool_spreads_nan_and_takes_integers():
    assert np.isnan(F.max_pool1d(minitorch.tensor([[1.0, float("nan"), 3.0, 4.0]]), 2).tolist()[0][0])
    assert F.max_pool1d(minitorch.tensor([[-5, -3, -9]]), 3, 1, 1).tolist() == [[-3, -3, -3]]


def test_unpooling_undoes_pooling():
    x = minitorch.tensor(Draw().distinct((1, 2, 6, 5), 1.0, 9.0))
    y, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(y, indices, 2, output_size=x.shape)
    assert back.shape == x.shape
    np.testing.assert_array_equal(F.max_pool2d(back, 2).numpy(), y.numpy())
    with pytest.raises(ValueError, match="output_size"):
        F.max_unpool2d(y, indices, 2, output_size=(9, 9))


# ---- means -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda x: F.avg_pool2d(x, 1), lambda x: F.max_pool2d(x, 1), lambda x: F.pad(x, (0, 0)),
    lambda x: F.adaptive_avg_pool2d(x, (4, 5)), lambda x: F.interpolate(x, (4, 5)),
    lambda x: F.avg_pool2d(x, 1, divisor_override=7), lambda x: F.pixel_shuffle(x, 1)])
def test_doing_nothing_still_copies(call):
    x = minitorch.ones(1, 1, 4, 5)
    y = call(x)
    assert not np.shares_memory(x.numpy(), y.numpy()) and (x == 1).all()


def test_averages_of_half_floats_do_not_overflow():
    x = minitorch.full((1, 1, 128, 128), 1000.0, dtype=minitorch.float16)
    assert F.adaptive_avg_pool2d(x, 1).item() == 1000 and F.avg_pool2d(x, 128).item() == 1000


@given(rng=samples)
@some
def test_adaptive_windows_by_their_definition(rng):
    d = Draw(rng)
    n, out = d.int(1, 9), d.int(1, 9)
    x = d.array((1, n))
    windows = [x[0, i * n // out:-(-(i + 1) * n // out)] for i in range(out)]
    t = minitorch.tensor(x)
    np.testing.assert_allclose(F.adaptive_avg_pool1d(t, out).numpy()[0], [w.mean() for w in windows])
    np.testing.assert_array_equal(F.adaptive_max_pool1d(t, out).numpy()[0], [w.max() for w in windows])


# ---- resizing and padding ----------------------------------------------------------------------------------
@given(rng=samples)
@settings(some, max_examples=25)
def test_interpolation_is_linear_and_its_gradient_is_its_transpose(rng):
    """Sizes of more than one tile: <y, A x> = <A' y, x>, and a constant image stays constant."""
    d = Draw(rng)
    mode = d.choice(["nearest", "nearest-exact", "linear", "area"])
    n, out = d.int(1, 200), d.int(1, 200)
    align = d.bool() if mode == "linear" else None
    x = minitorch.tensor(d.array((2, 3, n))).requires_grad_()
    y = F.interpolate(x, out, mode=mode, align_corners=align)
    g = minitorch.tensor(d.array(y.shape))
    y.backward(g)
    np.testing.assert_allclose((g * y).sum().item(), (x.grad * x).sum().item(), rtol=1e-9, atol=1e-9)
    ones = F.interpolate(minitorch.ones(1, 1, n), out, mode=mode, align_corners=align)
    np.testing.assert_allclose(ones.numpy(), 1, rtol=1e-6)


def test_grid_of_the_identity_reads_the_image():
    x = minitorch.tensor(Draw().array((1, 2, 4, 5)))
    theta = minitorch.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=minitorch.float64)
    for align in (True, False):
        grid = F.affine_grid(theta, x.shape, align)
        for mode in ("bilinear", "nearest", "bicubic"):
            np.testing.assert_allclose(F.grid_sample(x, grid, mode, "border", align).numpy(), x.numpy(), atol=1e-12)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), 1e30])
def test_places_that_no_index_reaches_read_zero(bad):
    x = minitorch.ones(1, 1, 3, 3)
    grid = minitorch.tensor([[[[bad, 0.0]]]])
    assert F.grid_sample(x, grid, align_corners=False).item() == 0


def test_negative_padding_cuts_in_every_mode():
    x = minitorch.arange(6.0).reshape(1, 1, 6)
    for mode, wanted in dict(constant=[2, 3, 4, 5, 0], reflect=[2, 3, 4, 5, 4], replicate=[2, 3, 4, 5, 5],
                             circular=[2, 3, 4, 5, 2]).items():
        assert F.pad(x, (-2, 1), mode).tolist() == [[wanted]]


@given(rng=samples)
@some
def test_fold_counts_how_often_unfold_reads(rng):
    d = Draw(rng)
    kernel, stride, padding, dilation = d.int(1, 3), d.int(1, 3), d.int(0, 2), d.int(1, 2)
    size = [max(reach(kernel, dilation) - 2 * padding, 1) + d.int(0, 4) for _ in range(2)]
    x = minitorch.tensor(d.array((1, 2, *size)))
    columns = F.unfold(x, kernel, dilation, padding, stride)
    counts = F.fold(minitorch.ones(*columns.shape, dtype=x.dtype), size, kernel, dilation, padding, stride)
    np.testing.assert_allclose(F.fold(columns, size, kernel, dilation, padding, stride).numpy(), (counts * x).numpy())


def test_shuffles_are_undone():
    x = minitorch.arange(2 * 12 * 4 * 6).reshape(2, 12, 4, 6)
    assert (F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2) == x).all()
    assert (F.channel_shuffle(F.channel_shuffle(x, 3), 4) == x).all()


# ---- errors ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call, error, words", [
    (lambda x: F.conv2d(x, minitorch.ones(4, 5, 3, 3)), RuntimeError, "expected input.* to have 5 channels, but got 2"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 9, 9)), RuntimeError, "Kernel size can't be greater"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 3)), RuntimeError, "4D weight"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 3, 3), stride=0), RuntimeError, "stride must be greater than zero"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 3, 3), padding="half"), RuntimeError, "'valid' or 'same'"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 3, 3).double()), RuntimeError, "should be the same"),
    (lambda x: F.conv2d(x, minitorch.ones(4, 2, 3, 3), stride=(1, 2, 3)), RuntimeError, "an int or 2 ints"),
    (lambda x: F.conv2d([1.0], minitorch.ones(4, 2, 3, 3)), TypeError, "must be Tensor"),
    (lambda x: F.max_pool2d(x, 3, padding=2), RuntimeError, "at most half"),
    (lambda x: F.max_pool2d(x, 9), RuntimeError, "too small"),
    (lambda x: F.avg_pool2d(x, 2, divisor_override=0), RuntimeError, "divisor"),
    (lambda x: F.adaptive_avg_pool2d(x[0, 0], 2), ValueError, "at least 3"),
    (lambda x: F.pad(x, (9, 9, 0, 0), "reflect"), RuntimeError, "less than the corresponding input dimension"),
    (lambda x: F.pad(x, (1, 1, 1), "constant"), RuntimeError, "divisible by 2"),
    (lambda x: F.interpolate(x), ValueError, "either size or scale_factor"),
    (lambda x: F.interpolate(x, 3, mode="linear"), NotImplementedError, "needs 3D input"),
    (lambda x: F.interpolate(x, 3, align_corners=True), ValueError, "align_corners"),
    (lambda x: F.fold(x[0], (4, 4), 2), RuntimeError, "divisible by the product of kernel_size"),
    (lambda x: F.pixel_shuffle(x, 2), RuntimeError, "divisible by the square"),
    (lambda x: F.grid_sample(x, minitorch.zeros(1, 2, 2, 3), align_corners=False), RuntimeError, "last dimension"),
])
def test_errors_say_what_was_expected(call, error, words):
    with pytest.raises(error, match=words):
        call(minitorch.ones(1, 2, 5, 5))


def test_bytes_are_resized_in_float32_and_rounded():
    x = minitorch.arange(16).reshape(1, 1, 4, 4)
    wanted = F.interpolate(x.float(), size=(6, 5), mode="bilinear").round()
    found = F.interpolate(x.to(minitorch.uint8), size=(6, 5), mode="bilinear")
    assert found.dtype == minitorch.uint8 and (found.float() == wanted).all()


def test_padding_is_less_than_any_bool_or_integer():
    x = minitorch.zeros(1, 1, 5)
    for dtype in (minitorch.bool, minitorch.uint8, minitorch.int32):
        assert not F.max_pool1d(x.to(dtype), 3, 2, 1).any()
    indices = F.max_pool1d(minitorch.ones(1, 1, 1), 2, 2, 1, 2, return_indices=True)[1]
    assert indices.item() == 0                             # of a window without any element of the input


def test_padding_modes_with_no_padding():
    x = minitorch.arange(16.0).reshape(1, 1, 4, 4)
    for mode in ("zeros", "reflect", "circular", "replicate"):
        layer = nn.Conv2d(1, 1, 3, padding="valid", padding_mode=mode, bias=False)
        nn.init.ones_(layer.weight)
        assert layer(x).tolist() == [[[[45, 54], [81, 90]]]]


def test_output_padding_is_used_unless_a_size_is_asked_for():
    layer, x = nn.ConvTranspose2d(1, 1, 3, stride=2, output_padding=1), minitorch.ones(1, 1, 3, 3)
    assert layer(x).shape == (1, 1, 8, 8) and layer(x, output_size=(7, 7)).shape == (1, 1, 7, 7)


nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_touches_only_the_windows_that_hold_it(bad):
    x = minitorch.arange(7.0).reshape(1, 1, 7)
    clean = F.adaptive_avg_pool1d(x, 3)
    x[0, 0, 0] = bad
    assert F.adaptive_avg_pool1d(x, 3)[0, 0, 1:].tolist() == clean[0, 0, 1:].tolist()
    image = minitorch.ones(1, 1, 9, 9)
    image[0, 0, 8, 8] = bad
    for out in (F.adaptive_avg_pool2d(image, 4), F.interpolate(image, size=(6, 6), mode="bilinear"),
                F.interpolate(image, size=(4, 4), mode="bilinear", antialias=True),
                F.interpolate(image, size=(7, 7), mode="bicubic")):
        assert out[0, 0, 0].isfinite().all() and not out[0, 0, -1, -1].isfinite()
        assert minitorch.allclose(out[0, 0, 0], minitorch.ones(1))


@pytest.mark.parametrize("size", [(4, 4), (5, 6)])
@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1),
                                  lambda x: F.max_pool2d(x, 2, 1), lambda x: F.adaptive_max_pool2d(x, (2, 2))])
@pytest.mark.parametrize("bad", [nan, inf])
def test_a_gradient_of_max_pooling_reaches_the_place_of_the_maximum_only(pool, size, bad):
    x = minitorch.arange(float(size[0] * size[1])).view(1, 1, *size).requires_grad_()
    y = pool(x)
    g = minitorch.ones(y.shape)
    g[0, 0, 0, 0] = bad
    y.backward(g)
    expected = [y[0, 0, 0, 0].item()]
    assert x.detach()[~x.grad.isfinite()].tolist() == expected


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.adaptive_max_pool2d(x, (1, 1)),
                                  lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
                                  lambda x: F.max_pool2d(minitorch.cat([x, x], 3), 2)[..., :1]])
def test_the_last_nan_of_a_window_is_its_maximum(pool):
    x = minitorch.tensor([[[[nan, 1.0], [nan, 2.0]]]], requires_grad=True)
    y = pool(x)
    assert y.isnan().all()
    y.sum().backward()
    assert x.grad.tolist() == [[[[0, 0], [1, 0]]]]


def leaf(data):
    return minitorch.tensor(data, dtype=minitorch.float64, requires_grad=True)


def test_D_8_pooling_with_padding_and_dilation():
    x = -minitorch.rand(1, 1, 8, 8, dtype=minitorch.float64) - 1
    x.requires_grad_()
    y = F.max_pool2d(x, 3, stride=2, padding=1)
    assert (y < 0).all() and all((x == v).any() for v in y.flatten()), "padding never wins, values are not touched"
    y.sum().backward()
    assert x.grad.shape == (1, 1, 8, 8) and x.grad.sum() == y.numel()
    z = minitorch.arange(25.0).reshape(1, 1, 5, 5)
    assert F.max_pool2d(z, 2, stride=1, dilation=3).tolist() == [[[[18, 19], [23, 24]]]]
    assert F.conv2d(z, minitorch.ones(1, 1, 2, 2), dilation=4).item() == 0 + 4 + 20 + 24


def test_D_10_max_pooling_uses_the_incoming_gradient():
    x = leaf(np.arange(16.0).reshape(1, 1, 4, 4))
    F.max_pool2d(x, 2).backward(minitorch.tensor([[[[1.0, 2], [3, 4]]]], dtype=minitorch.float64))
    assert x.grad[x.grad != 0].tolist() == [1, 2, 3, 4]


def test_D_11_convolution_gradients_have_the_shape_of_the_input():
    x, w = leaf(np.ones((1, 1, 5, 5))), leaf(np.ones((1, 1, 3, 3)))
    F.conv2d(x, w, padding=1).sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape and x.grad[0, 0, 2, 2] == 9 and x.grad[0, 0, 0, 0] == 4
    assert minitorch.allclose(F.log_softmax(x, 3).exp(), F.softmax(x, 3))
