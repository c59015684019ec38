"""Transforms of images that trained weights expect."""

from .. import Tensor
from ..nn import Module
from ..transforms import functional as F
from ..transforms.functional.kinds import InterpolationMode

__all__ = ["ImageClassification"]


class ImageClassification(Module):
    """Resize the shorter side to `resize_size`, crop the middle to `crop_size`, scale to 0 ... 1, normalise.

    Takes images (C, H, W) or (N, C, H, W), uint8 or floating-point, and Pillow's; returns float32.
    """

    def __init__(self, *, crop_size, resize_size=256, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225),
                 interpolation="bilinear", antialias=True):
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = InterpolationMode(interpolation), antialias

    def forward(self, img):
        """The image as models want it."""
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        if not isinstance(img, Tensor):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img), mean=self.mean, std=self.std)

    def __repr__(self):
        lines = [f"{name}={getattr(self, name)}" for name in ("crop_size", "resize_size", "mean", "std",
                                                               "interpolation")]
        return "\n    ".join([f"{type(self).__name__}(", *lines]) + "\n)"
