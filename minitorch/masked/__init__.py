"""``torch.masked``: tensors some of whose elements do not count.

>>> import minitorch as torch
>>> from minitorch.masked import masked_tensor
>>> data = torch.tensor([[1., 2., 3.], [4., 5., 6.]])
>>> mask = torch.tensor([[True, False, True], [False, False, False]])
>>> masked_tensor(data, mask).mean(1)
MaskedTensor(
  [  2.0000,       --]
)
>>> torch.masked.softmax(data, 1, mask=mask)[0]
tensor([0.1192, 0.0000, 0.8808])

`docs/nested.md` is the page on them.
"""

from ._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .maskedtensor.core import MaskedTensor, check, is_masked_tensor, masked

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
           "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm",
           "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


def masked_tensor(data, mask, requires_grad=False):
    """A `MaskedTensor`, a leaf, of copies of `data` and `mask` (bools of the same shape, True where elements count)."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """A `MaskedTensor` of a copy of `data` through which gradients flow to it."""
    check(data, mask)
    return masked(data.clone(), mask.clone())
