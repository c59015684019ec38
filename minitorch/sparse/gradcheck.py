"""Gradient checks of functions of sparse tensors."""

from functools import partial

from .functions import build, coalesce, pick, values_of
from .tensor import SparseTensor

__all__ = ["as_sparse_gradcheck", "by_values"]


def as_sparse_gradcheck(gradcheck):
    """A decorator of `gradcheck` for functions of sparse tensors; `minitorch.autograd.gradcheck` takes them without.

    The result has an attribute `masked`, the same with ``masked=True``.
    """
    def check(func, inputs, **kwargs):
        return gradcheck(func, inputs, **kwargs)
    check.masked = partial(check, masked=True)
    return check


def by_values(func, inputs, masked):
    """`func` as one of dense tensors, and these: the values of sparse inputs, or without `masked` all elements."""
    patterns, given = [], []
    for x in inputs:
        pattern = None
        if isinstance(x, SparseTensor):
            x = coalesce(x.detach()) if not x.array.pattern.once else x.detach().requires_grad_(x.needs_grad)
            pattern = x.array.pattern if masked else x.array.pattern.everywhere()
            values = values_of(x.detach()) if masked else x.detach().to_dense()
            x = values.clone().requires_grad_(x.needs_grad)
        patterns.append(pattern)
        given.append(x)

    def of_values(*values):
        out = func(*[x if p is None else build(x if masked else pick(x, p), p) for x, p in zip(values, patterns)])
        several = isinstance(out, (tuple, list))
        found = [x.to_dense(masked_grad=masked) for x in (out if several else [out])]
        return tuple(found) if several else found[0]
    return of_values, tuple(given)
