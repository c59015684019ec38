"""Losses of pairs of numbers: one launch for the values, one for their sum or mean, and no look at them by the host.

Values of 16-bit floats stay float32 until they are added up.
"""

import numpy as np

from ....core.arrays import is_half
from ....ops.nn.loss import require_probabilities
from ..arrays.launch import launch
from ..arrays.reduce import reduce
from ..backend import kernel
from .supported import floats

__all__ = []

FLOAT = np.dtype("float32")


def paired(F, input, target, weight=None, pos_weight=None, **attrs):
    """Predicate: arrays of floats of one dtype, no weight of the positive class."""
    return floats(F, input, target) and isinstance(target, F.ndarray) and pos_weight is None and (
        weight is None or weight.dtype == input.dtype)


def loss(F, functor, input, target, reduction, weight=None, numbers=()):
    """The loss of each pair, times `weight`, reduced."""
    dtype = input.dtype
    values = launch(F, functor, (input, target), FLOAT if is_half(dtype) else dtype, dtype,
                    numbers=(*numbers, 0, 0)[:2])
    if weight is not None:
        values = values * weight.astype(values.dtype, copy=False)
    if reduction == "none":
        return values.astype(dtype, copy=False)
    return reduce(F, "total" if reduction == "sum" else "average", values, dtype=dtype, n=float(values.size))


@kernel("mse_loss", when=paired, halves=True)
def mse_loss(F, input, target, *, reduction):
    return loss(F, "squared_difference", input, target, reduction)


@kernel("smooth_l1_loss", when=paired, halves=True)
def smooth_l1_loss(F, input, target, *, reduction, delta, scale):
    return loss(F, "bent_difference", input, target, reduction, numbers=(delta, scale))


@kernel("binary_cross_entropy_with_logits", when=paired, halves=True)
def binary_cross_entropy_with_logits(F, input, target, weight=None, pos_weight=None, *, reduction="mean"):
    return loss(F, "log_loss_of_logit", input, target, reduction, weight)


@kernel("binary_cross_entropy", when=paired, halves=True)
def binary_cross_entropy(F, input, target, weight=None, *, reduction="mean"):
    """A GPU is not asked whether all elements are probabilities: inputs that are none give NaN."""
    F.machine.look(input, lambda values: require_probabilities("input", values))
    F.machine.look(target, lambda values: require_probabilities("target", values))
    return loss(F, "log_loss", input, target, reduction, weight)
