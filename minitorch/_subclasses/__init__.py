"""PyTorch's fake tensors, which have a shape and no values: there are none here; device "meta" serves the purpose."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
