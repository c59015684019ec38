"""Reductions of the op registry, over the launches of `arrays/reduce.py`."""

import math

import numpy as np

from ....explain.callers import warn
from ....ops.reductions.extreme import check_not_empty
from ....ops.reductions.reduce import axes
from ....ops.reductions.statistics import settings
from ..arrays.dtypes import kind_of
from ..arrays.reduce import averaged, axes_of, reduce, run
from ..backend import kernel
from .supported import float_input, real_input

INT64 = np.dtype("int64")
NORMS = {2: "euclidean", 1: "total_of_absolutes", 0: "total_of_nonzeros"}


def dims_of(x, dim):
    """The dimensions that `dim` names, checked; None for all."""
    return None if dim is None else axes(x, dim)


def sum_dtype(dtype):
    """The dtype of sums and products: int64 for integers and bools, None for the input's own."""
    return None if kind_of(dtype) == "f" else INT64


@kernel("sum", when=real_input, halves=True)
def sum(F, input, *, dim=None, keepdim=False, dtype=None):
    return reduce(F, "total", input, dims_of(input, dim), sum_dtype(input.dtype), None, keepdim)


@kernel("prod", when=real_input, halves=True)
def prod(F, input, *, dim=None, keepdim=False, dtype=None):
    return reduce(F, "product", input, dims_of(input, dim), sum_dtype(input.dtype), None, keepdim)


@kernel("mean", when=float_input, halves=True)
def mean(F, input, *, dim=None, keepdim=False, dtype=None):
    return averaged(F, "average", input, dims_of(input, dim), keepdim)


@kernel("sum_to", when=real_input, halves=True)
def sum_to(F, input, *, shape):
    lead = input.ndim - len(shape)
    axes = tuple([i for i in range(input.ndim) if i < lead or (shape[i - lead] == 1 and input.shape[i] != 1)])
    return reduce(F, "total", input, axes, sum_dtype(input.dtype)).reshape(shape)


def variance_of(name, op):
    """The kernel of `var` or `std`."""
    def call(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
        dim, correction = settings(dim, unbiased, correction)
        axes = axes_of(dims_of(input, dim), input.ndim)
        if math.prod([input.shape[d] for d in axes]) - correction <= 0:
            warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
                 f"reduction factor (input numel divided by output numel).")
        return averaged(F, op, input, axes, keepdim, correction)
    return call


kernel("var", when=float_input, halves=True)(variance_of("var", "variance"))
kernel("std", when=float_input, halves=True)(variance_of("std", "deviation"))


@kernel("vector_norm", when=lambda F, x, *, ord=2, dim=None, keepdim=False, dtype=None:
        kind_of(x.dtype) == "f" and ord in NORMS, halves=True)
def vector_norm(F, x, *, ord=2, dim=None, keepdim=False, dtype=None):
    return reduce(F, NORMS[ord], x, dims_of(x, dim), None, None, keepdim)


@kernel("logsumexp", when=float_input, halves=True)
def logsumexp(F, input, *, dim, keepdim=False):
    return reduce(F, "log_of_total", input, dims_of(input, dim), None, None, keepdim)


def extreme_of(name, op):
    """The kernel of `amax` or `amin`."""
    def call(F, input, *, dim=(), keepdim=False):
        check_not_empty(name, input, dim)
        return reduce(F, op, input, dims_of(input, dim), None, None, keepdim)
    return call


kernel("amax", when=real_input, halves=True)(extreme_of("amax", "largest"))
kernel("amin", when=real_input, halves=True)(extreme_of("amin", "smallest"))


@kernel("extremum", when=lambda F, input, *, dim, keepdim, name: input.ndim > 0 and real_input(F, input),
        halves=True)
def extremum(F, input, *, dim, keepdim, name):
    value, place = ("largest", "place_of_largest") if name == "argmax" else ("smallest", "place_of_smallest")
    axes = axes_of(dim, input.ndim)
    shape = [1 if d in axes else n for d, n in enumerate(input.shape) if keepdim or d not in axes]
    return tuple([run(F, op, input, axes, dtype).reshape(shape)
                  for op, dtype in ((value, input.dtype), (place, INT64))])
