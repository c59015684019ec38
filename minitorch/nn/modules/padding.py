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
    """A layer that calls ``F.pad`` in its ``mode``."""

    mode: str
    spatial_dims: int

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


class ConstantPad1d(_ConstantPadNd):
    __doc__ = _ConstantPadNd.__doc__
    spatial_dims = 1


class ConstantPad2d(_ConstantPadNd):
    __doc__ = _ConstantPadNd.__doc__
    spatial_dims = 2


class ConstantPad3d(_ConstantPadNd):
    __doc__ = _ConstantPadNd.__doc__
    spatial_dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pads with zeros."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pads with zeros."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pads with zeros."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    __doc__ = _ReflectionPadNd.__doc__
    spatial_dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    __doc__ = _ReflectionPadNd.__doc__
    spatial_dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    __doc__ = _ReflectionPadNd.__doc__
    spatial_dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    __doc__ = _ReplicationPadNd.__doc__
    spatial_dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    __doc__ = _ReplicationPadNd.__doc__
    spatial_dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    __doc__ = _ReplicationPadNd.__doc__
    spatial_dims = 3


class CircularPad1d(_CircularPadNd):
    __doc__ = _CircularPadNd.__doc__
    spatial_dims = 1


class CircularPad2d(_CircularPadNd):
    __doc__ = _CircularPadNd.__doc__
    spatial_dims = 2


class CircularPad3d(_CircularPadNd):
    __doc__ = _CircularPadNd.__doc__
    spatial_dims = 3
