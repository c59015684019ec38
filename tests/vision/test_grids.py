"""Grids and files of images, and the places of `torchvision`."""

import io

import numpy as np
import pytest

import minitorch
from minitorch import transforms as T
from minitorch import vision

Image = pytest.importorskip("PIL.Image", reason="the tests compare with Pillow")

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (9, 7, 3), np.uint8)


def test_make_grid():
    images = minitorch.arange(6.0).reshape(6, 1, 1, 1).expand(6, 1, 2, 3)
    grid = vision.make_grid(images, nrow=4, padding=1, pad_value=9)
    assert grid.shape == (3, 7, 17)
    assert (grid[0, 0] == 9).all() and (grid[:, 1:3, 1:4] == 0).all() and (grid[:, 4:6, 5:8] == 5).all()
    assert (grid[:, 4:6, 9:] == 9).all()
    assert vision.make_grid(images[0]).shape == (3, 2, 3)
    assert vision.make_grid(images[0, 0]).shape == (3, 2, 3)
    assert vision.make_grid(list(images[:2]), padding=0).shape == (3, 2, 6)
    with pytest.raises(TypeError, match="tensor or list of tensors expected"):
        vision.make_grid([1, 2])


def test_make_grid_normalizes():
    images = minitorch.arange(12.0).reshape(2, 1, 2, 3)
    before = images.clone()
    whole = vision.make_grid(images, padding=0, normalize=True)
    assert whole.min() == 0 and whole.max() == 1 and minitorch.equal(images, before)
    each = vision.make_grid(images, padding=0, normalize=True, scale_each=True)
    assert minitorch.equal(each[:, :, :3], each[:, :, 3:])
    given = vision.make_grid(images, padding=0, normalize=True, value_range=(0, 22))
    assert given.max() == 0.5


def test_save_image(tmp_path, monkeypatch):
    image = T.ToTensor()(RGB)
    vision.save_image(image, tmp_path / "a.png")
    assert (np.asarray(Image.open(tmp_path / "a.png")) == RGB).all()
    from minitorch.datasets import vision as data

    monkeypatch.setattr(data, "pillow", lambda: None)
    vision.save_image(image, tmp_path / "b.png")
    assert (np.asarray(Image.open(tmp_path / "b.png")) == RGB).all()
    file = io.BytesIO()
    vision.save_image(minitorch.rand(5, 1, 4, 4), file, format="png", nrow=2)
    assert Image.open(file).size == (14, 20)
    with pytest.raises(RuntimeError, match="without Pillow only PNG"):
        vision.save_image(image, tmp_path / "b.jpg")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_encode_png(channels):
    pixels = RNG.integers(0, 256, (5, 4, channels), np.uint8)
    image = Image.open(io.BytesIO(vision.utils.encode_png(pixels)))
    assert (np.asarray(image).reshape(pixels.shape) == pixels).all()


def test_vision_stands_in_for_torchvision():
    assert vision.transforms is T and vision.utils.make_grid is vision.make_grid
    assert vision.datasets.MNIST.__name__ == "MNIST"
    with pytest.raises(AttributeError, match="nothing"):
        vision.nothing  # noqa: B018
