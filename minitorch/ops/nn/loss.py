"""Op definitions: losses between predictions and targets. Losses over classes are in `cross_entropy.py`, margins in
`margin.py`.

`reduction` is "mean" (the default), "sum" or "none". `size_average` and `reduce` are PyTorch's old spelling of it,
deprecated there and here. Definitions have the reduction built in, so that the most common losses are one node.
"""

import math

from ...core.dtypes import promote_types
from ...core.errors import worded
from ...core.op import Other
from ...core.promotion import require_floating, require_tensors
from ...core.recording import recorded as R
from ...core.tensor import Tensor
from ...explain.callers import warn
from ..creation.create import full_like
from ..define import composite, op
from ..shapes.shape import count

REDUCTIONS = ("none", "mean", "sum")


# ---- reductions --------------------------------------------------------------------------------------------
def reduction_of(size_average, reduce, reduction):
    """The reduction that the arguments mean, checked."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'mean', 'sum' or 'none'")
    return reduction


def reduced(F, values, reduction):
    """All values, their sum or their mean, on raw arrays."""
    if reduction == "none":
        return values
    out = F.xp.add.reduce(values, None)
    return out if reduction == "sum" else out / values.size if values.size else out * F.xp.nan


def expand_grad(g, reduction, shape):
    """The gradient of each value, given that of the reduced result."""
    return g * (1 / max(count(shape), 1)) if reduction == "mean" else g


def check_sizes(name, input, target):
    """Refuse a broadcast that is hardly ever meant: one that is larger than both, such as (N, 1) against (N,).

    PyTorch warns of every broadcast; here one that only stretches `target` (or `input`) to the other gives the
    warning, and one that makes every pair of their elements the error.
    """
    a, b = input.array.shape, target.array.shape
    if a == b:
        return
    both = input.backend.xp.broadcast_shapes(a, b) if fit(a, b) else None
    if both is not None and both not in (a, b):
        raise ValueError(f"{name}: an input of shape {list(a)} and a target of shape {list(b)} would broadcast to "
                         f"{list(both)}, every element of one against every element of the other. Give both one "
                         f"shape, as in target.reshape(input.shape) or input.squeeze(-1)")
    warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This "
         f"will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.")


def fit(a, b):
    """True if two shapes broadcast against each other."""
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def require_same_size(name, input, target):
    if input.array.shape != target.array.shape:
        raise ValueError(f"{name}: target size ({target.shape}) must be the same as input size ({input.shape}), for "
                         f"example by target.reshape(input.shape)")


# ---- differences -------------------------------------------------------------------------------------------
@op(dims="* by reduction",
    name="mse_loss", promotion="common", namespace=None, autocast="float32",
    input=lambda F, g, input, target, reduction: squared_slope(g, input, target, reduction),
    target=lambda F, g, input, target, reduction: -squared_slope(g, input, target, reduction),
    sample=lambda d: ([d.array(s) for s in d.broadcastable(2)], dict(reduction=d.choice(REDUCTIONS))))
def _mse_loss(F, input, target, *, reduction):
    """``(input - target) ** 2``."""
    difference = float_difference("mse_loss", input, target)
    return reduced(F, difference * difference, reduction)


def float_difference(name, input, target):
    difference = input - target
    if difference.dtype.kind in "iub":
        require_floating(name, difference)
    return difference


def squared_slope(g, input, target, reduction):
    difference = input - target
    return expand_grad(g * 2, reduction, difference.shape) * difference


def bent_sample(d, **attrs):
    """Inputs whose differences keep away from the kinks at -1, 0 and 1."""
    input = d.distinct((2, 3))
    difference = d.distinct((2, 3), 0.1, 0.8) * d.choice([-1, 1, 3])
    return [input, input + difference], dict(reduction=d.choice(REDUCTIONS), **attrs)


@op(dims="* by reduction",
    name="l1_loss", promotion="common", namespace=None, node_name="AbsBackward0", autocast="float32",
    sample=bent_sample, keeps=("difference",), flat=("input", "target"),
    input=lambda F, g, difference, reduction: absolute_slope(F, g, difference, reduction),
    target=lambda F, g, difference, reduction: -absolute_slope(F, g, difference, reduction))
def _l1_loss(F, input, target, *, reduction):
    """``|input - target|``."""
    difference = F.xp.asarray(float_difference("l1_loss", input, target))      # kept, so an array also of 0 dimensions
    return reduced(F, F.xp.abs(difference), reduction), difference


def absolute_slope(F, g, difference, reduction):
    return expand_grad(g, reduction, difference.shape) * F.sign(difference)


@op(dims="* by reduction",
    name="smooth_l1_loss", promotion="common", namespace=None, node_name="HuberLossBackward0", autocast="float32",
    sample=lambda d: bent_sample(d, delta=1.0, scale=d.choice([1.0, 0.5])),
    input=lambda F, g, input, target, reduction, delta, scale: bent_slope(
        F, g, input, target, reduction, delta, scale),
    target=lambda F, g, input, target, reduction, delta, scale: -bent_slope(
        F, g, input, target, reduction, delta, scale))
def _smooth_l1_loss(F, input, target, *, reduction, delta: float, scale: float):
    """``scale`` times: ``d^2 / 2`` where ``|d| <= delta``, elsewhere ``delta (|d| - delta / 2)``; d the difference."""
    size = F.xp.abs(float_difference("huber_loss", input, target))
    near = F.xp.minimum(size, delta)
    return reduced(F, near * (size - near * 0.5) * scale, reduction)


def bent_slope(F, g, input, target, reduction, delta, scale):
    difference = input - target
    slope = F.hardtanh(difference, min_val=-delta, max_val=delta)
    return expand_grad(g * scale, reduction, difference.shape) * slope


def difference_loss(name, error, input, target, size_average, reduce, reduction, weight=None, **attrs):
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(size_average, reduce, reduction)
    if input.array.shape != target.array.shape:
        check_sizes(name, input, target)
        if input.dtype is not target.dtype:                # broadcast first, a number of no dimensions counts fully
            dtype = promote_types(input.dtype, target.dtype)
            input, target = input.to(dtype), target.to(dtype)
    if weight is None:
        return error(input, target, reduction=reduction, **attrs)
    if weight.array.shape != input.array.shape:
        raise ValueError(f"Weights and input must have the same size: got {list(weight.shape)} and "
                         f"{list(input.shape)}")
    values = error(input, target, reduction="none", **attrs) * weight
    if reduction == "none":
        return values
    return values.sum() if reduction == "sum" else values.sum() / weight.sum()


@composite(namespace="nn.functional")
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``weight * (input - target) ** 2``, reduced; a weighted mean divides by the sum of the weights.

    `input` and `target` have one shape. A target that merely broadcasts gives a warning, as in PyTorch. Shapes such
    as (N, 1) against (N,), which make every pair of elements, raise ValueError: deliberately stricter than PyTorch.
    """
    return difference_loss("mse_loss", _mse_loss, input, target, size_average, reduce, reduction, weight)


@composite(namespace="nn.functional")
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``weight * |input - target|``, reduced; shapes and weights as in `mse_loss`."""
    error = complex_l1_loss if "c" in (input.array.dtype.kind, target.array.dtype.kind) else _l1_loss
    return difference_loss("l1_loss", error, input, target, size_average, reduce, reduction, weight)


def complex_l1_loss(input, target, *, reduction):
    """As `_l1_loss`: the sizes of complex numbers have second derivatives."""
    size = (input - target).abs()
    return size if reduction == "none" else size.sum() if reduction == "sum" else size.mean()


@composite(namespace="nn.functional")
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """``d^2 / (2 beta)`` where ``|d| < beta``, elsewhere ``|d| - beta / 2``, reduced; ``d = input - target``.

    Shapes as in `mse_loss`. With `beta` 0 it is `l1_loss`. Source: R. Girshick, "Fast R-CNN", 2015.
    """
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta: got {beta}")
    if beta == 0:
        return difference_loss("smooth_l1_loss", _l1_loss, input, target, size_average, reduce, reduction)
    return difference_loss("smooth_l1_loss", _smooth_l1_loss, input, target, size_average, reduce, reduction,
                           delta=beta, scale=1 / beta)


@composite(namespace="nn.functional")
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """``d^2 / 2`` where ``|d| < delta``, elsewhere ``delta (|d| - delta / 2)``, times `weight`, reduced.

    ``d = input - target``; shapes as in `mse_loss`; the mean is over all elements, weighted or not. Source: P. Huber,
    "Robust Estimation of a Location Parameter", 1964.
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta: got {delta}")
    if weight is None:
        return difference_loss("huber_loss", _smooth_l1_loss, input, target, None, None, reduction, delta=delta,
                               scale=1.0)
    values = difference_loss("huber_loss", _smooth_l1_loss, input, target, None, None, "none", weight, delta=delta,
                             scale=1.0)
    return reduce_tensor(values, reduction)


# ---- binary classification ---------------------------------------------------------------------------------
@op(dims="* by reduction",
    name="binary_cross_entropy_with_logits", promotion="common", namespace=None,
    autocast="float32",
    input=lambda F, g, input, target, weight, pos_weight, reduction: logits_slope(
        F, g, input, target, weight, pos_weight, reduction),
    target=lambda F, g, input, target, weight, pos_weight, reduction: target_slope(
        F, g, input, target, weight, pos_weight, reduction),
    sample=lambda d: ([d.array((2, 3)), d.array((2, 3), 0, 1), d.choice([None, d.array((3,), 0.5, 2)]),
                       d.choice([None, d.array((3,), 0.5, 2)])], dict(reduction=d.choice(REDUCTIONS))))
def _binary_cross_entropy_with_logits(F, input, target, weight: Other = None, pos_weight: Other = None, *,
                                      reduction="mean"):
    """``-weight * (pos_weight * target * log(p) + (1 - target) * log(1 - p))``, p the sigmoid of `input`.

    Computed as ``(1 - target) input + softplus(-input)``, the latter times ``1 + (pos_weight - 1) target``.
    """
    xp = F.xp
    softplus = xp.log1p(xp.exp(-xp.abs(input))) - xp.minimum(input, 0)
    if pos_weight is not None:
        softplus *= 1 + (pos_weight - 1) * target
    values = (1 - target) * input + softplus
    return reduced(F, values if weight is None else values * weight, reduction)


def logits_slope(F, g, input, target, weight, pos_weight, reduction):
    """``sigmoid(input) - target``, with a `pos_weight` the same with the positive term weighted."""
    p = F.sigmoid(input)
    slope = p - target if pos_weight is None else (1 - target) * p - pos_weight * target * (1 - p)
    return expand_grad(g, reduction, slope.shape) * (slope if weight is None else slope * weight)


def target_slope(F, g, input, target, weight, pos_weight, reduction):
    slope = -input
    if pos_weight is not None:
        slope = slope - (pos_weight - 1) * F.log(F.sigmoid(input))
    slope = slope + target * 0.0
    return expand_grad(g, reduction, slope.shape) * (slope if weight is None else slope * weight)


@composite(namespace="nn.functional")
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """The binary cross entropy of ``sigmoid(input)`` and `target`, without overflow.

    `weight` multiplies each element's loss, `pos_weight` the term of the positive class; both broadcast.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    require_same_size("binary_cross_entropy_with_logits", input, target)
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def require_probabilities(name, array):
    """RuntimeError if an element lies outside of 0 to 1, or is not a number."""
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        hint = ("these are probabilities; for logits there is binary_cross_entropy_with_logits"
                if name == "input" else "these are probabilities, as in target.clamp(0, 1)")
        raise worded(RuntimeError(f"all elements of {name} should be between 0 and 1: {hint}"))


@op(dims="* by reduction",
    name="binary_cross_entropy", promotion="common", namespace=None,
    autocast="float32",
    input=lambda F, g, input, target, weight, reduction: probability_slope(F, g, input, target, weight, reduction),
    target=lambda F, g, input, weight, reduction: expand_grad(
        g if weight is None else g * weight, reduction, input.shape) * (F.log(1 - input) - F.log(input)),
    sample=lambda d: ([d.array((2, 3), 0.1, 0.9), d.array((2, 3), 0, 1), d.choice([None, d.array((2, 3), 0.5, 2)])],
                      dict(reduction=d.choice(REDUCTIONS))))
def _binary_cross_entropy(F, input, target, weight: Other = None, *, reduction="mean"):
    """``-weight * (target * log(input) + (1 - target) * log(1 - input))``, each logarithm at least -100."""
    xp = F.xp
    for name, array in (("input", input), ("target", target)):
        require_probabilities(name, array)
    values = (target - 1) * xp.maximum(xp.log1p(-input), -100) - target * xp.maximum(xp.log(input), -100)
    return reduced(F, values if weight is None else values * weight, reduction)


def probability_slope(F, g, input, target, weight, reduction):
    """``(input - target) / (input (1 - input))``."""
    slope = (input - target) / F.clamp((1 - input) * input, 1e-12)
    return expand_grad(g, reduction, slope.shape) * (slope if weight is None else slope * weight)


@composite(namespace="nn.functional")
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``-weight * (target * log(input) + (1 - target) * log(1 - input))`` for probabilities, reduced.

    `input` and `target` have one shape, `weight` broadcasts to it. Logarithms are at least -100.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    require_same_size("binary_cross_entropy", input, target)
    if weight is not None and weight.array.shape != input.array.shape:
        weight = broadcast_weight(weight, input)
    return _binary_cross_entropy(input, target, weight, reduction)


def broadcast_weight(weight, input):
    """`weight` in the shape of `input`."""
    try:
        return weight.expand(input.array.shape)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: weight must broadcast to input") from None


# ---- distributions -----------------------------------------------------------------------------------------
def reduce_tensor(values, reduction):
    """All values, their sum or their mean, on tensors."""
    return values if reduction == "none" else values.sum() if reduction == "sum" else values.mean()


@op(dims="*",
    name="kl_div", promotion="common", namespace=None, autocast="float32",
    input=lambda F, g, target: -g * target,
    target=lambda F, g, input, target: g * (F.log(target) + 1 - input),
    sample=lambda d: ([d.array(s := d.shape()), d.array(s, 0.1, 1)], {}))
def _kl_div(F, input, target):
    """``target * (log(target) - input)``, 0 times log(0) being 0."""
    logs = F.xp.log(F.xp.where(target == 0, 1, target))
    return target * (logs - input)


@composite(namespace="nn.functional", autocast="float32")
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence ``target * (log(target) - input)``, `input` being log-probabilities.

    With `log_target`, `target` are log-probabilities too. Reductions: also "batchmean", the sum over the number of
    rows, which is the divergence's definition; "mean" divides by the number of elements, and warns.
    """
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if reduction == "batchmean":
        values = kl_terms(input, target, log_target).sum()
        return values / input.array.shape[0] if input.array.ndim else values
    reduction = reduction_of(size_average, reduce, reduction)
    if reduction == "mean":
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
             "'batchmean' divides only by the batch size, and aligns with the KL div math definition.")
    return reduce_tensor(kl_terms(input, target, log_target), reduction)


def kl_terms(input, target, log_target):
    return R.exp(target) * (target - input) if log_target else _kl_div(input, target)


@composite(namespace="nn.functional", autocast="float32")
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
                     reduction="mean"):
    """Negative log likelihood of a Poisson distribution: ``exp(input) - target * input``, reduced.

    If not `log_input`: ``input - target * log(input + eps)``. `full` adds Stirling's approximation of
    ``log(target!)``, ``target log(target) - target + log(2 pi target) / 2``, where the target is greater than 1.
    """
    require_tensors(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    loss = R.exp(input) - target * input if log_input else input - target * R.log(input + eps)
    if full:
        stirling = target * R.log(target) - target + 0.5 * R.log(2 * math.pi * target)
        loss = loss + R.where(target > 1, stirling, 0.0)
    return reduce_tensor(loss, reduction)


@composite(namespace="nn.functional")
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log likelihood of normal distributions: ``(log(var) + (input - target)^2 / var) / 2``, reduced.

    The variance, a number or a tensor in the shape of `input`, of it without the last dimension or with one of size
    1, is raised to `eps` where it is smaller; its gradient is not affected by that. `full` adds ``log(2 pi) / 2``.
    Source: D. Nix and A. Weigend, "Estimating the mean and variance of the target probability distribution", 1994.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    if not isinstance(var, Tensor):
        var = full_like(input, var)
    if var.array.size and var.array.min() < 0:
        raise ValueError("var has negative entry/entries")
    a, v = input.array.shape, var.array.shape
    if v != a:
        if a[:-1] == v:
            var = var.unsqueeze(-1)
        elif len(v) != len(a) or [n for m, n in zip(a, v) if m != n] != [1]:
            raise ValueError(f"var is of incorrect size: {list(v)} for an input of shape {list(a)}")
    raised = var.detach().clamp_min(eps)
    var = var + (raised - var.detach())
    loss = 0.5 * (R.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_tensor(loss, reduction)
