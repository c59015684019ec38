"""Data sets of images, with the constructors and items of ``torchvision.datasets``.

`Digits` comes with the package; `RenderedDigits` are drawn by a program; `MNIST`, `FashionMNIST`, `KMNIST`, `CIFAR10`
and `CIFAR100` are read from their original files, which ``download=True`` fetches and checks; `ImageFolder` takes
your own pictures. Items are pairs ``(image, label)``. An image is a PIL image where Pillow is
installed, otherwise a uint8 NumPy array of shape (H, W) or (H, W, 3): ``transforms.ToTensor()``
takes both, and gives the same tensor.
"""

from .cifar import CIFAR10, CIFAR100
from .digits import Digits
from .folder import DatasetFolder, FakeData, ImageFolder
from .mnist import KMNIST, MNIST, FashionMNIST
from .rendered import RenderedDigits
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "KMNIST",
    "MNIST",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "RenderedDigits",
    "VisionDataset",
]
