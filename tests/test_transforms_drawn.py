"""Colours and geometry of images, and the random transforms that draw them."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import transforms as T
from minitorch.transforms import functional as F
from minitorch.transforms.colours import _hsv_of, _rgb_of

some = settings(max_examples=30, deadline=None, database=None, derandomize=True)


def picture(shape=(3, 6, 6), dtype="uint8", seed=0):
    x = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return minitorch.from_numpy(x if dtype == "uint8" else (x / 255).astype(dtype))


def same(a, b):
    assert a.shape == b.shape and a.dtype is b.dtype
    assert minitorch.allclose(a.double(), b.double(), atol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_quarter_turns_move_pixels(dtype, turns):
    x = picture(dtype=dtype)
    for mode in (T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR):
        same(F.rotate(x, 90 * turns, mode), x.rot90(turns, (-2, -1)))
    wide = picture((2, 3, 4, 6), dtype)
    same(F.rotate(wide, 90 * turns, expand=True), wide.rot90(turns, (-2, -1)))


@some
@given(x=st.integers(-3, 3), y=st.integers(-3, 3), fill=st.sampled_from([None, 0, 9]))
def test_affine_moves_by_pixels(x, y, fill):
    img = picture((1, 5, 6))
    wanted = np.full((1, 5, 6), fill or 0, np.uint8)
    for i in range(5):
        for j in range(6):
            if 0 <= i - y < 5 and 0 <= j - x < 6:
                wanted[0, i, j] = img[0, i - y, j - x]
    assert F.affine(img, 0, (x, y), 1.0, 0, fill=fill).tolist() == wanted.tolist()


def test_geometry_has_derivatives_and_names_bad_arguments():
    x = picture(dtype="float64").requires_grad_()
    F.rotate(x, 90).sum().backward()
    assert (x.grad == 1).all()
    for call, error in ((lambda: F.affine(x, 0, (0, 0), 0.0, 0), "scale should be positive"),
                        (lambda: F.affine(x, 0, (0,), 1.0, 0), "length 2"),
                        (lambda: F.rotate(x, 5, T.InterpolationMode.BICUBIC), "unsupported with Tensor"),
                        (lambda: T.RandomAffine(5, translate=(2, 0)), "between 0 and 1"),
                        (lambda: T.RandomRotation(-3), "must be positive"),
                        (lambda: T.RandomErasing(value="none"), "random"),
                        (lambda: T.GaussianBlur(4), "odd"),
                        (lambda: T.ColorJitter(hue=0.7), "between"),
                        (lambda: F.adjust_brightness(x, -1), "non-negative"),
                        (lambda: F.five_crop(x, 99), "bigger than input")):
        with pytest.raises(ValueError, match=error):
            call()
    with pytest.raises(TypeError, match="uint8"):
        F.posterize(x, 3)


@some
@given(seed=st.integers(0, 1000))
def test_hues_lead_back_to_colours(seed):
    x = picture((3, 4, 5), "float64", seed)
    same(_rgb_of(*_hsv_of(x)), x)
    same(F.adjust_hue(F.adjust_hue(x, 0.3), -0.3), x)


def test_colours():
    x = picture(dtype="float64")
    same(F.adjust_brightness(x, 0.5), x / 2)
    same(F.adjust_saturation(x, 0.0), F.rgb_to_grayscale(x, 3))
    same(F.adjust_contrast(x, 0.0), F.rgb_to_grayscale(x).mean().expand_as(x))
    same(F.adjust_gamma(x, 2.0), x**2)
    same(F.invert(F.invert(x)), x)
    same(F.solarize(x, 0.5), minitorch.where(x >= 0.5, 1 - x, x))
    assert (F.posterize(picture(), 2) % 64 == 0).all()
    stretched = F.autocontrast(picture())
    assert stretched.amax((1, 2)).tolist() == [255] * 3 and stretched.amin((1, 2)).tolist() == [0] * 3
    levels = F.equalize(picture((1, 64, 64)).clamp(100, 150)).reshape(-1).float()
    assert 90 < levels.mean().item() < 170 and levels.min().item() == 0
    same(F.gaussian_blur(minitorch.ones(3, 5, 5), 3), minitorch.ones(3, 5, 5))


def test_pillow_and_tensors_agree():
    pytest.importorskip("PIL")
    x = picture((3, 8, 8))
    img = F.to_pil_image(x)
    for name, args, tolerance in (("rotate", (90,), 0), ("invert", (), 0), ("posterize", (3,), 0), ("equalize", (), 0),
                                  ("adjust_brightness", (0.7,), 1), ("adjust_saturation", (0.6,), 3),
                                  ("adjust_contrast", (0.5,), 2), ("adjust_gamma", (0.7,), 1),
                                  ("affine", (0, (2, 1), 1.0, 0), 0), ("autocontrast", (), 1)):
        function = getattr(F, name)
        apart = F.pil_to_tensor(function(img, *args)).int() - function(x, *args).int()
        assert apart.abs().max() <= tolerance, name


def test_drawn_transforms_repeat_with_the_seed_and_print():
    x = picture(dtype="float32")
    for transform, text in (
            (T.RandomRotation(30),
             "RandomRotation(degrees=[-30.0, 30.0], interpolation=nearest, expand=False, fill=0)"),
            (T.RandomAffine(5, (0.1, 0.2), shear=4),
             "RandomAffine(degrees=[-5.0, 5.0], translate=(0.1, 0.2), shear=[-4.0, 4.0])"),
            (T.ColorJitter(0.1, hue=0.2), "ColorJitter(brightness=(0.9, 1.1), contrast=None, saturation=None, "
                                          "hue=(-0.2, 0.2))"),
            (T.RandomErasing(1.0),
             "RandomErasing(p=1.0, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)"),
            (T.RandomGrayscale(1.0), "RandomGrayscale(p=1.0)"),
            (T.RandomPosterize(3, 0.0), "RandomPosterize(bits=3,p=0.0)"),
            (T.GaussianBlur(3), "GaussianBlur(kernel_size=(3, 3), sigma=(0.1, 2.0))")):
        assert repr(transform) == text
        minitorch.manual_seed(4)
        first = transform(x)
        minitorch.manual_seed(4)
        assert minitorch.equal(first, transform(x)) and first.shape == x.shape


def test_choices_and_orders_are_python_s():
    double, more = T.Lambda(lambda x: 2 * x), T.Lambda(lambda x: x + 1)
    random.seed(0)
    assert {T.RandomChoice([double, more])(5) for _ in range(20)} == {10, 6}
    assert {T.RandomOrder([double, more])(5) for _ in range(20)} == {11, 12}
    assert T.RandomChoice([double, more], p=[1, 0])(5) == 10


def test_crops_and_whitening():
    x = picture(dtype="float32")
    five = T.FiveCrop(2)(x)
    same(five[1], x[:, :2, -2:])
    same(five[4], x[:, 2:4, 2:4])
    same(T.TenCrop(2)(x)[5], x.flip(-1)[:, :2, :2])
    matrix = minitorch.eye(108) * 2
    same(T.LinearTransformation(matrix, minitorch.zeros(108))(x), 2 * x)
    same(F.erase(x, 1, 2, 3, 1, minitorch.tensor(0.0))[:, 1:4, 2], minitorch.zeros(3, 3))
