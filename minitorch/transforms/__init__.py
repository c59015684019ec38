"""Transforms of images, spelt as in ``torchvision.transforms`` (v1): the classes here, the functions in `functional`.

Each takes a tensor of shape (..., C, H, W) or (..., H, W), a PIL image, or a NumPy array of shape (H, W) or (H, W, C),
and returns one of the same kind; NumPy arrays are an addition to what torchvision takes. Random transforms draw from
minitorch's default generator what torchvision draws from PyTorch's, so a seed gives the same images. `v2` takes several
images and nested samples at a time.
"""

import importlib

from .autoaugment import (
    AugMix,
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    TrivialAugmentWide,
)
from .colors import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from .functional.kinds import InterpolationMode
from .transforms import (
    Compose,
    ConvertImageDtype,
    Lambda,
    LinearTransformation,
    Normalize,
    PILToTensor,
    RandomApply,
    RandomChoice,
    RandomOrder,
    ToPILImage,
    ToTensor,
)
from .warps import (
    ElasticTransform,
    RandomAffine,
    RandomPerspective,
    RandomRotation,
)
from .windows import (
    CenterCrop,
    FiveCrop,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    TenCrop,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
]


def __getattr__(name):
    if name in ("tv_tensors", "v2"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
