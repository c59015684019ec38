"""`Digits`: 1,797 small images of handwritten digits, in the package itself (source:
`digits.txt`)."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import Tensor, float32, from_numpy
from .vision import ImagesInMemory


class DigitImages(ImagesInMemory):
    """The base of sets of digits, whose images have values up to `brightest`."""

    classes = [str(digit) for digit in range(10)]
    brightest = 255

    def tensors(self) -> tuple[Tensor, Tensor]:
        """All images as float32 (N, 1, H, W) with values 0 to 1, and the labels: ready for a `TensorDataset`."""
        return self.data.unsqueeze(1).to(float32) / self.brightest, self.targets


class Digits(DigitImages):
    """The UCI handwritten digits (E. Alpaydin and C. Kaynak, CC BY 4.0): 8x8 images of 0 to 9. Nothing is downloaded.

    root, download: taken as by the other data sets, and not used.
    train: True for the 1,442 images of the training part, False for the 355 of the test part, None for all 1,797. Of
        each digit every fifth image, in the order of the original file, belongs to the test part. The same thirteen
        people wrote the images of both parts, so the test says nothing about a stranger's hand.

    ``data`` is uint8 (N, 8, 8) with values 0 to 16, not to 255: ``ToTensor()`` gives numbers up to 16/255, while
    `tensors` gives numbers up to 1. ``targets`` is int64 (N,).

    >>> len(Digits()), len(Digits(train=False))
    (1442, 355)
    """

    brightest = 16

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        train: bool | None = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.train = train
        with np.load(Path(__file__).with_name("digits.npz")) as file:
            images, labels = file["images"], file["labels"]
        if train is not None:
            chosen = _is_test(labels) != train
            images, labels = images[chosen], labels[chosen]
        self.data = from_numpy(images)
        self.targets = from_numpy(labels.astype(np.int64))

    def extra_repr(self) -> str:
        return "Split: " + ("All" if self.train is None else "Train" if self.train else "Test")


def _is_test(labels: np.ndarray) -> np.ndarray:
    """True for every fifth image of each digit."""
    chosen = np.zeros(len(labels), bool)
    for digit in range(10):
        chosen[np.flatnonzero(labels == digit)[4::5]] = True
    return chosen
