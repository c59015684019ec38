"""Transforms of samples, as ``torchvision.transforms.v2``: images with their masks, boxes and points, in any nesting.

>>> import minitorch as torch
>>> from minitorch.transforms import tv_tensors, v2
>>> flip = v2.RandomHorizontalFlip(p=1.0)
>>> box = tv_tensors.BoundingBoxes([[0, 0, 2, 1]], format="XYXY", canvas_size=(4, 4))
>>> image, target = flip(tv_tensors.Image(torch.rand(3, 4, 4)), {"boxes": box, "label": 3})
>>> target["boxes"].tolist(), target["label"]
([[2, 0, 4, 1]], 3)
"""

from ..autoaugment import AutoAugmentPolicy
from ..functional.kinds import InterpolationMode
from . import functional
from .boxes import (
    ClampBoundingBoxes,
    ClampKeyPoints,
    ConvertBoundingBoxFormat,
    SanitizeBoundingBoxes,
    SanitizeKeyPoints,
    SetClampingMode,
)
from .colors import (
    JPEG,
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
from .containers import (
    Compose,
    Identity,
    Lambda,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from .conversion import (
    RGB,
    ConvertImageDtype,
    GaussianNoise,
    LinearTransformation,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToPILImage,
    ToPureTensor,
    ToTensor,
    UniformTemporalSubsample,
)
from .detection import (
    RandomChannelPermutation,
    RandomIoUCrop,
    RandomPhotometricDistort,
    RandomResize,
    RandomShortestSize,
    RandomZoomOut,
    ScaleJitter,
)
from .geometry import (
    CenterCrop,
    ElasticTransform,
    FiveCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    TenCrop,
)
from .mixing import (
    CutMix,
    MixUp,
)
from .policies import (
    AugMix,
    AutoAugment,
    RandAugment,
    TrivialAugmentWide,
)
from .transform import (
    Transform,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ColorJitter",
    "Compose",
    "ConvertBoundingBoxFormat",
    "ConvertImageDtype",
    "CutMix",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "Identity",
    "JPEG",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "MixUp",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RGB",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SetClampingMode",
    "ScaleJitter",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "UniformTemporalSubsample",
    "functional",
]
