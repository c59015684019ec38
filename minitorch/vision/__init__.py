"""Images: what programs find in torchvision.

`models` (torchvision's constructors, names and state_dict keys, so that its weights load), `ops` (boxes, regions of
interest, layers of these models), `io` (pictures in files), `utils` (grids of pictures); with
`minitorch.datasets` and `minitorch.transforms`.
"""

import importlib

from .. import datasets, transforms  # noqa: F401  (torchvision has them)
from . import utils
from .utils import make_grid, save_image

__all__ = ["io", "make_grid", "models", "ops", "save_image", "utils"]
__version__ = "0.28.0"                                     # the torchvision that PyTorch 2.13 goes with


def __getattr__(name):
    if name in ("io", "models", "ops"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "tv_tensors":
        return transforms.tv_tensors
    raise AttributeError(f"module 'minitorch.vision' has no attribute {name!r}: there are io, models, ops and utils, "
                         f"datasets and transforms")


def __dir__():
    return [*__all__, "datasets", "transforms"]
