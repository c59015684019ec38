"""Colors, warps, filters and policies of augmentation: a seed gives tensors and PIL images the same pixels."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import transforms as T
from minitorch.transforms import functional as F

Image = pytest.importorskip("PIL.Image", reason="the tests compare with Pillow")
RGB = np.random.default_rng(0).integers(0, 256, (23, 27, 3), np.uint8)


def as_tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def of_both(function, array=RGB, seed=0):
    """The results for a tensor and a PIL image, as arrays (H, W, C)."""
    found = []
    for img in (as_tensor(array), Image.fromarray(array)):
        torch.manual_seed(seed)
        random.seed(seed)
        found.append(function(img))
    assert isinstance(found[0], torch.Tensor) and isinstance(found[1], Image.Image)
    return found[0].numpy().transpose(1, 2, 0), np.asarray(found[1])


COLORS = {
    "brighter": lambda x: F.adjust_brightness(x, 1.7), "contrast": lambda x: F.adjust_contrast(x, 0.4),
    "saturation": lambda x: F.adjust_saturation(x, 1.9), "invert": F.invert, "posterize": lambda x: F.posterize(x, 3),
    "solarize": lambda x: F.solarize(x, 100), "autocontrast": F.autocontrast, "equalize": F.equalize,
    "gamma": lambda x: F.adjust_gamma(x, 0.7, 1.2), "sharper": lambda x: F.adjust_sharpness(x, 2.5),
    "blur": lambda x: F.gaussian_blur(x, [5, 3]), "gray": lambda x: F.rgb_to_grayscale(x, 3),
}


@pytest.mark.parametrize("name", COLORS)
def test_colors_are_pillows(name):
    ours, pillows = of_both(COLORS[name])
    assert ours.dtype == np.uint8 and abs(ours.astype(int) - pillows).max() <= 1
    assert (COLORS[name](RGB) == ours).all()               # arrays are seen as tensors


def test_hue():
    """Pillow has 8 bits for a hue; the identity, the complement and a round trip are exact here."""
    ours, pillows = of_both(lambda x: F.adjust_hue(x, 0.3))
    assert abs(ours.astype(int) - pillows).mean() < 3
    x = torch.rand(3, 9, 7, dtype=torch.float64)
    assert torch.allclose(F.adjust_hue(x, 0.0), x)
    assert torch.allclose(F.adjust_hue(F.adjust_hue(x, 0.4), -0.4), x)
    red = torch.tensor([1.0, 0, 0]).reshape(3, 1, 1)
    assert torch.allclose(F.adjust_hue(red, 1 / 3).flatten(), torch.tensor([0.0, 1, 0]), atol=1e-6)
    assert torch.equal(F.adjust_hue(red.expand(2, 3, 4, 4) * 0 + 0.5, 0.2), torch.full((2, 3, 4, 4), 0.5))


WARPS = {
    "turned": lambda x: F.rotate(x, 90), "turned and larger": lambda x: F.rotate(x, 35, expand=True, fill=7),
    "affine": lambda x: F.affine(x, 20, [2, -1], 0.8, [5, 3], fill=[7]),
    "around a corner": lambda x: F.affine(x, -10, [0, 0], 1.2, 4, center=[0, 0]),
    "from the side": lambda x: F.perspective(x, [[0, 0], [26, 0], [26, 22], [0, 22]],
                                             [[3, 1], [24, 2], [22, 19], [1, 21]], T.InterpolationMode.NEAREST,
                                             fill=[1, 2, 3]),
}


@pytest.mark.parametrize("name", WARPS)
def test_warps_are_pillows(name):
    """But for pixels that lie between two."""
    ours, pillows = of_both(WARPS[name])
    assert ours.shape == pillows.shape and (ours != pillows).any(-1).mean() < 0.03


@given(st.integers(0, 3), st.sampled_from([T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR]))
def test_quarter_turns_are_exact(quarters, mode):
    x = torch.arange(2 * 24.0).reshape(2, 4, 6)
    assert torch.allclose(F.rotate(x, 90.0 * quarters, mode, expand=True), torch.rot90(x, quarters, (1, 2)), atol=1e-4)


def test_moving_by_whole_pixels_fills():
    x = torch.ones(2, 1, 4, 5)
    moved = F.affine(x, 0, [2, 1], 1.0, 0.0, fill=9.0)
    assert moved[..., 1:, 2:].eq(1).all() and moved[..., 0, :].eq(9).all() and moved[..., :, :2].eq(9).all()
    assert torch.equal(F.perspective(x, [[0, 0], [4, 0], [4, 3], [0, 3]], [[0, 0], [4, 0], [4, 3], [0, 3]]).round(), x)
    assert torch.allclose(F.elastic_transform(x, torch.zeros(1, 4, 5, 2)), x)


def test_gradients_go_through():
    """For a float64 image, through every function that is not piecewise constant."""
    x = torch.rand(1, 3, 6, 5, dtype=torch.float64, requires_grad=True)
    bilinear = T.InterpolationMode.BILINEAR
    functions = [
        lambda x: F.adjust_contrast(x, 0.5), lambda x: F.adjust_saturation(x, 0.5), lambda x: F.adjust_hue(x, 0.2),
        lambda x: F.gaussian_blur(x, 3), lambda x: F.adjust_sharpness(x, 0.5), lambda x: F.autocontrast(x * 0.5),
        lambda x: F.rotate(x, 20.0, bilinear, fill=0.5), lambda x: F.affine(x, 5.0, [1, 0], 1.1, 2.0, bilinear),
    ]
    for f in functions:
        assert torch.autograd.gradcheck(f, (x,), atol=1e-4)


def test_blurring_keeps_the_sum_and_is_the_normal_density():
    x = torch.zeros(1, 9, 9)
    x[0, 4, 4] = 1.0
    blurred = F.gaussian_blur(x, 5, 1.0)
    density = torch.exp(-torch.arange(-2.0, 3) ** 2 / 2)
    assert torch.allclose(blurred[0, 2:7, 2:7], torch.outer(density, density) / density.sum() ** 2)
    assert blurred.sum().item() == pytest.approx(1.0)


RANDOM = {
    "jitter": T.ColorJitter(0.4, 0.4, 0.4), "rotation": T.RandomRotation(30, fill=3),
    "affine": T.RandomAffine(20, (0.1, 0.2), (0.7, 1.4), (-5, 5, -3, 3)), "blur": T.GaussianBlur((3, 5), (0.2, 3.0)),
    "perspective": T.RandomPerspective(0.6, 0.9, interpolation=T.InterpolationMode.NEAREST),
    "invert": T.RandomInvert(), "posterize": T.RandomPosterize(3), "solarize": T.RandomSolarize(100),
    "sharper": T.RandomAdjustSharpness(2.0), "autocontrast": T.RandomAutocontrast(), "equalize": T.RandomEqualize(),
    "gray": T.RandomGrayscale(0.5), "randaugment": T.RandAugment(), "trivial": T.TrivialAugmentWide(),
    "elastic": T.ElasticTransform(40.0, 3.0), "augmix": T.AugMix(),
    "crop": T.RandomCrop(30, padding=2, pad_if_needed=True),
    "order": T.RandomOrder([T.RandomHorizontalFlip(), T.ColorJitter(0.2)]),
    "choice": T.RandomChoice([T.RandomVerticalFlip(1.0), T.RandomInvert(1.0)], p=[1, 3]),
    **{policy.value: T.AutoAugment(policy) for policy in T.AutoAugmentPolicy},
}


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_gives_the_same_image(name):
    transform = RANDOM[name]
    assert str(transform).startswith(type(transform).__name__ + "(")
    images = []
    for seed in range(4):
        ours, pillows = of_both(transform, RGB // 2 + 40, seed)
        assert ours.shape == pillows.shape and (abs(ours.astype(int) - pillows) > 2).mean() < 0.05
        images.append(ours.tobytes())
    assert len(set(images)) > 1


def test_policies():
    for policy in T.AutoAugmentPolicy:
        pairs = T.AutoAugment(policy).policies
        assert len(pairs) == 25 and all(len(pair) == 2 and 0 <= p <= 1 for pair in pairs for _, p, _ in pair)
    assert T.AutoAugment().policies[0] == (("Posterize", 0.4, 8), ("Rotate", 0.6, 9))
    x = torch.rand(2, 3, 8, 8)
    for transform in (T.AugMix(), T.TrivialAugmentWide()):
        for seed in range(20):                             # floats as far as their operations go
            torch.manual_seed(seed)
            operations = transform.draw(x)
            text = str(operations)
            if "Posterize" not in text and "Equalize" not in text:
                assert transform.transform(x, operations).shape == x.shape
    with pytest.raises(ValueError, match="severity must be between"):
        T.AugMix(severity=11)


@settings(max_examples=30)
@given(st.integers(0, 2**30), st.sampled_from([0, "random", (1, 2, 3)]))
def test_erasing(seed, value):
    x = torch.full((3, 12, 10), 0.5)
    torch.manual_seed(seed)
    erased = T.RandomErasing(1.0, value=value)(x)
    changed = (erased != x).any(0)
    rows, columns = changed.any(1).nonzero(), changed.any(0).nonzero()
    assert x.eq(0.5).all()
    if len(rows):
        window = erased[:, rows[0, 0]:rows[-1, 0] + 1, columns[0, 0]:columns[-1, 0] + 1]
        assert (window != 0.5).all() and 0.3 <= len(rows) / len(columns) * 1.6 and window[0].numel() <= 0.5 * 120
        if value != "random":
            assert all(plane.eq(v).all() for plane, v in zip(window, value if value else (0, 0, 0), strict=True))


def test_crops_of_corners():
    x = torch.arange(20).reshape(1, 4, 5)
    found = T.FiveCrop(2)(x)
    assert [c.flatten().tolist() for c in found] == [[0, 1, 5, 6], [3, 4, 8, 9], [10, 11, 15, 16], [13, 14, 18, 19],
                                                      [7, 8, 12, 13]]
    assert torch.equal(T.TenCrop(2)(x)[5], found[1].flip(-1)) and len(T.TenCrop(2, True)(x)) == 10
    with pytest.raises(ValueError, match="bigger than input size"):
        F.five_crop(x, 9)


def test_whitening():
    x = torch.rand(2, 1, 2, 2)
    matrix, mean = torch.rand(4, 4), torch.rand(4)
    assert torch.allclose(T.LinearTransformation(matrix, mean)(x).reshape(2, 4), (x.reshape(2, 4) - mean) @ matrix)
    with pytest.raises(ValueError, match="should be square"):
        T.LinearTransformation(torch.rand(4, 3), mean)
    with pytest.raises(ValueError, match="incompatible shape"):
        T.LinearTransformation(matrix, mean)(torch.rand(3, 2, 2))


@pytest.mark.parametrize("make, error, words", [
    (lambda: T.ColorJitter(-1), ValueError, "brightness is a single number, it must be non negative"),
    (lambda: T.ColorJitter(hue=0.7), ValueError, r"hue values should be between \(-0.5, 0.5\)"),
    (lambda: T.RandomRotation(-3), ValueError, "degrees is a single number, it must be positive"),
    (lambda: T.RandomAffine(3, translate=(2, 0)), ValueError, "translation values should be between 0 and 1"),
    (lambda: T.RandomErasing(scale=(0.5, 2)), ValueError, "Scale should be between 0 and 1"),
    (lambda: T.GaussianBlur(4), ValueError, "odd and positive"),
    (lambda: F.adjust_hue(torch.rand(3, 2, 2), 0.6), ValueError, r"is not in \[-0.5, 0.5\]"),
    (lambda: F.equalize(torch.rand(3, 2, 2)), TypeError, "Only torch.uint8"),
    (lambda: F.adjust_contrast(torch.rand(2, 2, 2), 1.0), TypeError, "permitted channel values are"),
    (lambda: F.rotate(torch.rand(3, 4, 4), 5.0, T.InterpolationMode.BICUBIC), ValueError,
     "nearest or bilinear"),
    (lambda: F.rotate(torch.rand(3, 4, 4), 5.0, fill=[1, 2]), ValueError, "cannot broadcast to match"),
    (lambda: F.affine(torch.rand(3, 4, 4), 5.0, [1, 2], 0.0, 0.0), ValueError, "scale should be positive"),
    (lambda: F.perspective(torch.rand(3, 4, 4), [[0, 0]], [[0, 0]]), ValueError, "exactly four corners"),
])
def test_wrong_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()
