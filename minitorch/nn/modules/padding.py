"""Padding layers for 1, 2 and 3 spatial dimensions.

``padding`` is one int for all sides, or a tuple in ``F.pad``'s order: (left, right), then top and bottom, then front
and back. Inputs are (N, C, *spatial) or (C, *spatial).
"""

from .. import functional as F
from .module import Module
from .utils import ntuple

__all__ = ["ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "ReflectionPad1d",
           "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
           "CircularPad1d", "CircularPad2d", "CircularPad3d"]


class _Pad(Module):
    """A layer that calls ``F.pad`` in its ``mode``.

    Layers of one kind differ in their number of spatial dimensions only, and have the docstring of the kind:
    ``class ReflectionPad2d(_ReflectionPadNd, spatial_dims=2)``.
    """

    mode: str
    spatial_dims: int

    def __init_subclass__(cls, spatial_dims=None, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        if spatial_dims is not None:
            cls.spatial_dims, cls.__doc__ = spatial_dims, cls.__base__.__doc__

    def __init__(self, padding) -> None:
        super().__init__()
        self.padding = ntuple(2 * self.spatial_dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with ``value``."""

    def __init__(self, padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_Pad):
    """Pads with the input mirrored at its edge, the edge itself not repeated."""

    mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Pads with copies of the edge."""

    mode = "replicate"


class _CircularPadNd(_Pad):
    """Pads with the opposite end of the input."""

    mode = "circular"

    def forward(self, input):
        n = self.spatial_dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd, spatial_dims=1):
    pass


class ConstantPad2d(_ConstantPadNd, spatial_dims=2):
    pass


class ConstantPad3d(_ConstantPadNd, spatial_dims=3):
    pass


class _ZeroPad(_ConstantPadNd):
    """Pads with zeros."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads with zeros."""


class ReflectionPad1d(_ReflectionPadNd, spatial_dims=1):
    pass


class ReflectionPad2d(_ReflectionPadNd, spatial_dims=2):
    pass


class ReflectionPad3d(_ReflectionPadNd, spatial_dims=3):
    pass


class ReplicationPad1d(_ReplicationPadNd, spatial_dims=1):
    pass


class ReplicationPad2d(_ReplicationPadNd, spatial_dims=2):
    pass


class ReplicationPad3d(_ReplicationPadNd, spatial_dims=3):
    pass


class CircularPad1d(_CircularPadNd, spatial_dims=1):
    pass


class CircularPad2d(_CircularPadNd, spatial_dims=2):
    pass


class CircularPad3d(_CircularPadNd, spatial_dims=3):
    pass
