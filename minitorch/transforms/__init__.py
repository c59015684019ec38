"""Transforms of images, spelt as in ``torchvision.transforms`` (v1): the classes here, the functions in `functional`.

Each takes a tensor of shape (..., C, H, W) or (..., H, W), a PIL image, or a NumPy array of shape (H, W) or (H, W, C),
and returns one of the same kind; NumPy arrays are an addition to what torchvision takes. Random transforms draw from
minitorch's default generator what torchvision draws from PyTorch's, so a seed gives the same crops and flips.
"""

from .functional import InterpolationMode
from .transforms import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    RandomApply,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    ToPILImage,
    ToTensor,
)

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
]
