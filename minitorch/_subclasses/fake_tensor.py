"""Names that libraries import to ask whether a tensor is a fake one: none is."""

from ..core.tensor import Tensor

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


class FakeTensor(Tensor):
    """The class of fake tensors, which no tensor is of; NotImplementedError for who makes one."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("there are no fake tensors: device='meta' computes shapes without values")


class FakeTensorMode:
    """NotImplementedError: in PyTorch, a block in which tensors are fake."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("there are no fake tensors: `with torch.device('meta'):` computes shapes without "
                                  "values")


def is_fake(x):
    """False: no tensor is fake."""
    return False
