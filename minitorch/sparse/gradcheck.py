"""Gradient checks of functions of sparse tensors."""

from functools import partial

__all__ = ["as_sparse_gradcheck"]


def as_sparse_gradcheck(gradcheck):
    """A decorator of `gradcheck` for functions of sparse tensors, which `minitorch.autograd.gradcheck` takes itself."""
    def check(func, inputs, **kwargs):
        return gradcheck(func, inputs, **kwargs)
    check.masked = partial(check, masked=True)
    return check

