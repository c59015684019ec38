"""``torch._tensor``: the module in which PyTorch has `Tensor`."""

from ..core.tensor import Tensor

__all__ = ["Tensor"]
