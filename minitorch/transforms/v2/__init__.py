"""``torchvision.transforms.v2``: the transforms of v1, and those that v2 adds. An image is a plain tensor."""

from ...core.dtypes import float32
from ...ops.creation.create import empty
from .. import *  # noqa: F403
from .. import __all__ as v1
from ..transforms import _Transform
from . import functional

__all__ = [*v1, "GaussianBlur", "Identity", "RGB", "ToDtype", "ToImage", "functional"]


class Identity(_Transform):
    """The image as it is."""

    def forward(self, inpt):
        return inpt


class ToImage(_Transform):
    """PIL images and arrays as tensors (channels, height, width), without scaling."""

    def forward(self, inpt):
        return functional.to_image(inpt)


class ToDtype(_Transform):
    """Images in another type; with `scale` their range is mapped to that of the type."""

    def __init__(self, dtype, scale=False):
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def forward(self, inpt):
        return functional.to_dtype(inpt, self.dtype or float32, self.scale)


class RGB(_Transform):
    """Three channels for images with one."""

    def forward(self, inpt):
        return functional.grayscale_to_rgb(inpt)


class GaussianBlur(_Transform):
    """A blur by a bell curve whose width is drawn from `sigma`, a pair; see `functional.gaussian_blur`."""

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size = kernel_size
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)

    def forward(self, inpt):
        sigma = empty(1).uniform_(*self.sigma).item()
        return functional.gaussian_blur(inpt, self.kernel_size, [sigma, sigma])
