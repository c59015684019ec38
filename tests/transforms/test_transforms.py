"""Image transforms on tensors, NumPy arrays and PIL images."""


import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch import transforms as T
from minitorch.transforms import functional as F
from minitorch.transforms.functional.sizes import _weights as weights_of
from minitorch.transforms.functional.windows import _border_indices as border_indices

Image = pytest.importorskip("PIL.Image", reason="the tests compare with Pillow")

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (9, 7, 3), np.uint8)
GRAY = RNG.integers(0, 256, (9, 7), np.uint8)


def as_tensor(array):
    return minitorch.from_numpy(array if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1)))


def all_kinds(function, array):
    """The results for a tensor, an array and a PIL image, as arrays; they must be of the kind of the argument."""
    x, a, p = function(as_tensor(array)), function(array), function(Image.fromarray(array))
    assert isinstance(x, minitorch.Tensor) and type(a) is np.ndarray and isinstance(p, Image.Image)
    x = x.numpy()
    return x if x.ndim == 2 else x.transpose(1, 2, 0), a, np.asarray(p)


def check_all_equal(function, expected, array):
    for result in all_kinds(function, array):
        assert result.dtype == expected.dtype and result.shape == expected.shape and (result == expected).all()


@pytest.mark.parametrize("array", [RGB, GRAY], ids=["rgb", "gray"])
def test_windows_and_flips_agree_on_all_kinds(array):
    check_all_equal(F.hflip, array[:, ::-1], array)
    check_all_equal(F.vflip, array[::-1], array)
    check_all_equal(lambda img: F.crop(img, 2, 1, 4, 3), array[2:6, 1:4], array)
    check_all_equal(T.CenterCrop((4, 3)), array[2:6, 2:5], array)
    inside = np.zeros((11, 12, *array.shape[2:]), np.uint8)
    inside[1:10, 2:9] = array
    check_all_equal(T.CenterCrop((11, 12)), inside, array)
    outside = np.zeros((5, 5, *array.shape[2:]), np.uint8)
    outside[2:, 1:] = array[:3, :4]
    check_all_equal(lambda img: F.crop(img, -2, -1, 5, 5), outside, array)
    check_all_equal(lambda img: F.crop(img, 20, 20, 5, 5), np.zeros_like(outside), array)


@pytest.mark.parametrize("array", [RGB, GRAY], ids=["rgb", "gray"])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("padding", [2, (1, 3), (1, 2, 3, 0), [4]])
def test_padding_is_numpys(array, mode, padding):
    sides = [padding] if isinstance(padding, int) else list(padding)
    left, top, right, bottom = sides * (4 // len(sides))
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
    more = {"constant_values": 5} if mode == "constant" else {}
    check_all_equal(T.Pad(padding, 5, mode), np.pad(array, widths, mode=mode, **more), array)


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["edge", "symmetric", "reflect"]), st.integers(7, 9))
def test_border_indices_are_numpys(before, after, mode, n):
    assert (border_indices(n, before, after, mode) == np.pad(np.arange(n), (before, after), mode=mode)).all()


def test_padding_errors():
    with pytest.raises(ValueError, match="1, 2, or 4 element tuple, not a 3 element"):
        T.Pad((1, 2, 3))
    with pytest.raises(ValueError, match="Padding mode should be either"):
        T.Pad(1, padding_mode="wrap")
    with pytest.raises(TypeError, match="inappropriate padding"):
        T.Pad("1")
    with pytest.raises(RuntimeError, match="reflect padding should be less"):
        F.pad(as_tensor(GRAY), 9, padding_mode="reflect")


@pytest.mark.parametrize("size", [(18, 14), (5, 4), 3, 20, (9, 7)])
@pytest.mark.parametrize("mode", [T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC])
def test_resize_agrees_with_pillow(size, mode):
    for array in (RGB // 4 + 96, GRAY // 4 + 96):  # in the middle, for Pillow cuts off overshoots after each direction
        x, a, p = all_kinds(T.Resize(size, mode), array)
        assert x.shape == p.shape and (x == a).all()
        assert abs(x.astype(int) - p.astype(int)).max() <= 1  # Pillow computes in fixed point


def test_resize_sizes_and_errors():
    x = as_tensor(RGB)
    assert T.Resize(14)(x).shape == (3, 18, 14)
    assert T.Resize([14])(x).shape == (3, 18, 14)
    assert T.Resize(14, max_size=16)(x).shape == (3, 16, 12)
    assert T.Resize((4, 5))(x[0]).shape == (4, 5)
    assert T.Resize((4, 5))(x.expand(2, 2, 3, 9, 7)).shape == (2, 2, 3, 4, 5)
    assert T.Resize((9, 7))(x) is x
    with pytest.raises(ValueError, match="must be strictly greater"):
        T.Resize(14, max_size=14)(x)
    with pytest.raises(ValueError, match="max_size should only be passed"):
        T.Resize((1, 2), max_size=5)(x)
    with pytest.raises(ValueError, match="1 or 2 values"):
        T.Resize((1, 2, 3))
    with pytest.raises(ValueError, match="for PIL images only"):
        T.Resize(3, T.InterpolationMode.LANCZOS)(x)


def test_resize_lets_gradients_through():
    x = minitorch.rand(1, 6, 6, requires_grad=True)
    T.Resize(3)(x).sum().backward()
    assert abs(x.grad.sum().item() - 9) < 1e-5


@given(st.integers(1, 30), st.integers(1, 30), st.sampled_from(["bilinear", "bicubic"]), st.booleans())
def test_resizing_weights_sum_to_one(n, m, mode, antialias):
    weights = weights_of(n, m, mode, antialias)
    assert weights.shape == (m, n) and np.allclose(weights.sum(1), 1)
    assert np.allclose(weights_of(n, n, mode, antialias), np.eye(n))


# To and from tensors


def test_to_tensor():
    for pic in (RGB, Image.fromarray(RGB)):
        x = T.ToTensor()(pic)
        assert x.dtype == minitorch.float32 and x.shape == (3, 9, 7) and x.is_contiguous()
        assert (x.numpy() == RGB.transpose(2, 0, 1).astype(np.float32) / np.float32(255)).all()
    for pic in (GRAY, GRAY[:, :, None], Image.fromarray(GRAY)):
        assert T.ToTensor()(pic).shape == (1, 9, 7)
    assert T.ToTensor()(GRAY.astype(np.float64)).dtype == minitorch.float64
    assert T.ToTensor()(GRAY[::-1, ::-1]).shape == (1, 9, 7)
    assert np.unique(T.ToTensor()(Image.fromarray(GRAY > 99)).numpy()).tolist() == [0, 1]
    assert T.ToTensor()(Image.fromarray(GRAY.astype(np.int32))).dtype == minitorch.int32
    shared = np.zeros((2, 2), np.float32)
    T.ToTensor()(shared).add_(1)
    assert (shared == 0).all()
    with pytest.raises(TypeError, match="pic should be PIL Image or ndarray"):
        T.ToTensor()([1, 2])
    with pytest.raises(ValueError, match="2/3 dimensional. Got 1 dimensions"):
        T.ToTensor()(np.zeros(3))


def test_pil_to_tensor_and_back():
    x = T.PILToTensor()(Image.fromarray(RGB))
    assert x.dtype == minitorch.uint8 and (x.numpy() == RGB.transpose(2, 0, 1)).all()
    with pytest.raises(TypeError, match="pic should be PIL Image"):
        T.PILToTensor()(RGB)
    for array, mode in ((RGB, "RGB"), (GRAY, "L"), (GRAY.astype(np.int32), "I"), (GRAY.astype(np.float32), "F")):
        image = T.ToPILImage()(array)
        assert image.mode == mode and (np.asarray(image) == array).all()
    assert (np.asarray(T.ToPILImage()(as_tensor(RGB))) == RGB).all()
    assert (np.asarray(T.ToPILImage()(T.ToTensor()(RGB))) == RGB).all()
    assert T.ToPILImage("HSV")(RGB).mode == "HSV"
    assert T.ToPILImage("F")(minitorch.rand(1, 3, 3)).mode == "F"


@pytest.mark.parametrize(
    ("pic", "mode", "error", "message"),
    [
        ([1], None, TypeError, "should be Tensor or ndarray"),
        (np.zeros(3), None, ValueError, "2/3 dimensional"),
        (np.zeros((2, 2, 5), np.uint8), None, ValueError, "> 4 channels. Got 5"),
        (np.zeros((2, 2, 3), np.float32), None, TypeError, "is not supported"),
        (RGB, "L", ValueError, "Incorrect mode"),
    ],
)
def test_to_pil_image_errors(pic, mode, error, message):
    with pytest.raises(error, match=message):
        T.ToPILImage(mode)(pic)


def test_normalize():
    x = minitorch.rand(3, 4, 5)
    mean, std = [0.1, 0.2, 0.3], (0.5, 0.6, 0.7)
    want = (x.numpy() - np.float32(mean)[:, None, None]) / np.float32(std)[:, None, None]
    assert np.allclose(T.Normalize(mean, std)(x).numpy(), want, atol=1e-6)
    assert np.allclose(T.Normalize(mean, std)(x.unsqueeze(0)).numpy()[0], want, atol=1e-6)
    y = x.clone()
    assert T.Normalize(mean, std, inplace=True)(y) is y and np.allclose(y.numpy(), want, atol=1e-6)
    with pytest.raises(TypeError, match="should be a float tensor. Got"):
        T.Normalize(mean, std)(as_tensor(RGB))
    with pytest.raises(TypeError, match="should be Tensor Image"):
        T.Normalize(mean, std)(RGB)
    with pytest.raises(ValueError, match="size \\(..., C, H, W\\)"):
        T.Normalize(mean, std)(x[0])
    with pytest.raises(ValueError, match="leading to division by zero"):
        T.Normalize(mean, [1, 1, 1e-60])(x)


def test_convert_image_dtype():
    x = as_tensor(GRAY)
    assert minitorch.equal(T.ConvertImageDtype(minitorch.uint8)(x), x)
    as_float = T.ConvertImageDtype(minitorch.float32)(x)
    assert as_float.max() <= 1 and minitorch.equal(T.ConvertImageDtype(minitorch.uint8)(as_float), x)
    wide = T.ConvertImageDtype(minitorch.int32)(x)
    assert wide.dtype == minitorch.int32 and minitorch.equal(T.ConvertImageDtype(minitorch.uint8)(wide), x)
    assert T.ConvertImageDtype(minitorch.float64)(as_float).dtype == minitorch.float64
    with pytest.raises(RuntimeError, match="cannot be performed safely"):
        T.ConvertImageDtype(minitorch.int32)(as_float)


def test_grayscale():
    weights = (RGB @ [0.2989, 0.587, 0.114]).astype(int)
    for result in all_kinds(T.Grayscale(), RGB):
        assert abs(result.reshape(9, 7).astype(int) - weights).max() <= 1
    for result in all_kinds(T.Grayscale(3), RGB):
        assert result.shape == (9, 7, 3) and (result[..., 0] == result[..., 2]).all()
    with pytest.raises(TypeError, match="channel values are 1 or 3"):
        T.Grayscale()(minitorch.zeros(2, 4, 4))
    with pytest.raises(ValueError, match="either 1 or 3"):
        T.Grayscale(2)(minitorch.zeros(3, 4, 4))


# Chance


def test_random_crop():
    minitorch.manual_seed(0)
    crop = T.RandomCrop((4, 3))
    seen = set()
    for _ in range(200):
        piece = crop(GRAY)
        assert piece.shape == (4, 3)
        seen.add(piece.tobytes())
    assert len(seen) == 6 * 5
    assert T.RandomCrop(9, pad_if_needed=True)(as_tensor(RGB)).shape == (3, 9, 9)
    assert T.RandomCrop((9, 7))(GRAY).tolist() == GRAY.tolist()
    assert T.RandomCrop(7, padding=4, padding_mode="reflect")(Image.fromarray(RGB)).size == (7, 7)
    with pytest.raises(ValueError, match=r"Required crop size \(10, 3\) is larger than input image size \(9, 7\)"):
        T.RandomCrop((10, 3))(GRAY)


def test_a_seed_gives_the_same_augmentation_for_every_kind_of_image():
    chain = T.Compose([T.RandomCrop(5, padding=2), T.RandomHorizontalFlip(), T.RandomVerticalFlip(0.3)])

    def seeded(img):
        minitorch.manual_seed(9)
        return chain(img)

    x, a, p = all_kinds(seeded, RGB)
    assert (x == a).all() and (a == p).all()


def test_probabilities():
    minitorch.manual_seed(0)
    assert minitorch.equal(T.RandomHorizontalFlip(0)(as_tensor(GRAY)), as_tensor(GRAY))
    assert minitorch.equal(T.RandomHorizontalFlip(1)(as_tensor(GRAY)), as_tensor(GRAY).flip(-1))
    flips = sum(bool((T.RandomHorizontalFlip(0.25)(GRAY) != GRAY).any()) for _ in range(1000))
    assert 200 < flips < 300
    assert T.RandomApply([T.Lambda(lambda img: 1)], p=1.0)(0) == 1
    assert T.RandomApply([T.Lambda(lambda img: 1)], p=0.0)(0) == 0


def test_random_resized_crop():
    minitorch.manual_seed(0)
    assert T.RandomResizedCrop(6)(as_tensor(RGB)).shape == (3, 6, 6)
    assert T.RandomResizedCrop((6, 5))(Image.fromarray(RGB)).size == (5, 6)
    for _ in range(50):
        top, left, h, w = T.RandomResizedCrop.get_params(RGB, (0.2, 0.8), (0.5, 2))
        assert 0 <= top <= 9 - h and 0 <= left <= 7 - w and h > 0 and w > 0
    assert T.RandomResizedCrop.get_params(np.zeros((100, 2)), (1, 1), (1, 1)) == (49, 0, 2, 2)


# Composition and printing


def test_compose_and_modules():
    chain = T.Compose([T.Resize(4), T.ToTensor(), T.Lambda(lambda x: x * 2)])
    assert chain(Image.fromarray(RGB)).shape == (3, 5, 4)
    assert nn.Sequential(T.CenterCrop(4), T.Grayscale())(as_tensor(RGB)).shape == (1, 4, 4)
    with pytest.raises(TypeError, match="lambd should be callable"):
        T.Lambda(3)


def test_reprs():
    chain = T.Compose([
        T.Resize(32), T.CenterCrop(4), T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.Pad(1), T.Grayscale(),
        T.ToTensor(), T.Normalize((0.5,), (0.5,)), T.Lambda(abs), T.ToPILImage(), T.RandomResizedCrop(8),
        T.RandomApply([T.ToTensor()]),
    ])  # fmt: skip
    assert repr(chain).splitlines() == [
        "Compose(",
        "    Resize(size=32, interpolation=bilinear, max_size=None, antialias=True)",
        "    CenterCrop(size=(4, 4))",
        "    RandomCrop(size=(32, 32), padding=4)",
        "    RandomHorizontalFlip(p=0.5)",
        "    Pad(padding=1, fill=0, padding_mode=constant)",
        "    Grayscale(num_output_channels=1)",
        "    ToTensor()",
        "    Normalize(mean=(0.5,), std=(0.5,))",
        "    Lambda()",
        "    ToPILImage()",
        "    RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, "
        "antialias=True)",
        "    RandomApply(",
        "    p=0.5",
        "    ToTensor()",
        ")",
        ")",
    ]
