"""Resizing of tensors gives what PyTorch's ``interpolate`` gives (torchvision's ``resize`` is a call of it)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import transforms as T
from minitorch.transforms import functional as F

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

sizes = st.integers(1, 20)
two = st.integers(2, 20)  # PyTorch 2.13 with antialias repeats the first row where a width is one pixel


@given(sizes, two, sizes, two, st.sampled_from(["bilinear", "bicubic"]), st.booleans())
def test_resize(h, w, height, width, mode, antialias):
    x = np.random.default_rng(h * w).random((2, 3, h, w))
    theirs = torch.nn.functional.interpolate(
        torch.from_numpy(x), (height, width), mode=mode, align_corners=False, antialias=antialias
    )
    mine = F.resize(minitorch.from_numpy(x), (height, width), T.InterpolationMode(mode), antialias=antialias)
    assert np.allclose(mine.numpy(), theirs.numpy(), atol=1e-10)


@given(sizes, sizes, sizes, sizes, st.sampled_from(["nearest", "nearest-exact"]))
def test_resize_nearest(h, w, height, width, mode):
    x = np.arange(h * w, dtype=np.float32).reshape(1, 1, h, w)
    theirs = torch.nn.functional.interpolate(torch.from_numpy(x), (height, width), mode=mode)
    mine = F.resize(minitorch.from_numpy(x), (height, width), T.InterpolationMode(mode))
    assert (mine.numpy() == theirs.numpy()).all()


@given(st.integers(0, 2**40))
def test_the_dice_are_pytorchs(seed):
    def dice(library, crop, flip):
        library.manual_seed(seed)
        return [crop() for _ in range(3)] + [flip() for _ in range(10)]

    mine = dice(
        minitorch,
        lambda: T.RandomCrop.get_params(np.zeros((20, 30)), (5, 6))[:2],
        lambda: bool(T.RandomHorizontalFlip()(np.array([[0, 1]]))[0, 0]),
    )
    theirs = dice(
        torch,
        lambda: (torch.randint(0, 16, (1,)).item(), torch.randint(0, 25, (1,)).item()),
        lambda: (torch.rand(1) < 0.5).item(),
    )
    assert mine == theirs
