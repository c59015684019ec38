"""Op definitions: losses over classes (negative log likelihood, cross entropy).

Other losses are in `loss.py` and `margin.py`.
"""

import functools

from ...core.errors import worded
from ...core.op import Other
from ..creation.create import full_like
from ..define import casting, composite, op
from .loss import REDUCTIONS, reduction_of
from .softmax import _log_softmax, shifted


# ---- shapes, targets, weights ------------------------------------------------------------------------------
def class_dim(shape):
    """The dimension of the classes: 1, or 0 for a single sample (C,)."""
    return 1 if len(shape) > 1 else 0


def check_classes(name, input, target, weight):
    """Shapes (N, C, *) and (N, *), or (C,) and (); integer targets; weights (C,) of the input's dtype."""
    a, t = input.shape, target.shape
    if not a:
        raise RuntimeError(f"{name}: input must have a dimension of classes, got a 0-d tensor")
    found, long, byte = (target.dtype.kind, target.dtype.itemsize), ("i", 8), ("u", 1)
    if found != long and (found != byte or len(a) > 2):    # as PyTorch; `dtype.name` takes 2 us
        raise RuntimeError(f"{name}: expected target dtype to be Long{' or Byte' * (len(a) < 3)}, "
                           f"but got {target.dtype}: class indices are int64, as in target.long(); "
                           f"class probabilities have the shape of the input, {list(a)}")
    wanted = a[:1] + a[2:] if len(a) > 1 else ()
    if t != wanted:
        if len(a) > 1 and t[:1] != a[:1]:
            raise worded(ValueError(f"Expected input batch_size ({a[0]}) to match target batch_size "
                                    f"({t[0] if t else 'none: it is 0-d'})."))
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(t)}")
    if weight is None:
        return
    if weight.shape != (a[class_dim(a)],):
        raise RuntimeError(f"weight tensor should be defined either for all {a[class_dim(a)]} classes or no classes "
                           f"but got weight tensor of shape: {list(weight.shape)}")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}: `weight` must have the "
                           f"dtype of `input`")


def one_target(target):
    """The target (1,) of a single sample (C,) as (); ValueError for a longer one."""
    if target.array.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.array.size}")
    return target.reshape(())


def select_targets(F, target, ignore_index):
    """Targets without those to be ignored (0 instead), and a mask of those that count (None if all do)."""
    if ignore_index < 0:
        low = F.xp.minimum.reduce(target, None) if target.size else 0
        if (F.physical(low).min() if F.depth and target.size else low) >= 0:
            return target, None
    valid = target != ignore_index
    return (target, None) if everywhere(F, valid.all()) else (target * valid, valid)


def everywhere(F, truth):
    """`truth`, a 0-d array; of a batch, whether it is True in all of its elements."""
    return F.physical(truth).all() if F.depth else truth


def pick(F, input, safe):
    """`input` at the target classes."""
    try:
        if safe.size and not everywhere(F, F.xp.minimum.reduce(safe, None) >= 0):
            raise IndexError                               # NumPy would count it from the end
        if input.ndim == 2:
            return input[F.xp.arange(len(safe)), safe]
        dim = class_dim(input.shape)
        return F.xp.take_along_axis(input, F.xp.expand_dims(safe, dim), dim).squeeze(dim)
    except IndexError:
        n = input.shape[class_dim(input.shape)]
        safe = F.physical(safe)
        wrong = safe[(safe < 0) | (safe >= n)].reshape(-1)[0]
        raise IndexError(f"Target {int(wrong)} is out of bounds: class indices go from 0 to {n - 1}") from None


def weights_of(F, weight, safe, valid):
    """The weight of each target, 0 where it does not count; None if all are 1."""
    if weight is None:
        return valid
    return weight[safe] if valid is None else F.masked(weight[safe], valid)


def reduce_classes(F, values, weight, safe, valid, reduction):
    """Weigh the losses of the targets that count, and reduce them; the mean divides by the sum of the weights."""
    if weight is not None:
        values = values * weight[safe]
    if valid is not None:
        values = F.masked(values, valid)
    if reduction == "none":
        return values
    out = F.xp.add.reduce(values, None)
    return out if reduction == "sum" else divide(F, out, weight_sum(F, weight, safe, valid))


def divide(F, x, n):
    """``x / n``, NaN for 0 / 0."""
    if n.__class__ is int:
        return x / n if n else x * F.xp.nan
    return x / n.astype(x.dtype) if F.depth else x / n


def weight_sum(F, weight, safe, valid):
    """The divisor of a mean: the weights of the targets that count, or their number."""
    if weight is None:
        n = safe.size if valid is None else F.xp.count_nonzero(valid)
        return n if F.depth else int(n)
    return F.xp.add.reduce(weights_of(F, weight, safe, valid), None)


# ---- negative log likelihood -------------------------------------------------------------------------------
def class_sample(d, backward=False):
    """Inputs for `nll_loss` and `nll_loss_backward`: at least one target counts."""
    n, c, rest = d.int(1, 3), d.int(2, 4), d.choice([(), (2,)])
    target = d.integers((n, *rest), 0, c - 1)
    target.reshape(-1)[0] = 1
    attrs = dict(ignore_index=d.choice([-100, 0] if target.size > 1 else [-100]), reduction=d.choice(REDUCTIONS))
    x = d.array(target.shape if attrs["reduction"] == "none" else ()) if backward else d.array((n, c, *rest))
    if backward:
        attrs["shape"] = (n, c, *rest)
    return [x, target, d.choice([None, d.array((c,), 0.5, 1.5)])], attrs


@op(dims="n [c] *, n *, [c] -> n * by weighted reduction",
    name="nll_loss", promotion="floating", namespace=None, autocast="float32", sample=class_sample, flat=("input",),
    input=lambda F, g, input_shape, target, weight, ignore_index, reduction: F.nll_loss_backward(
        g, target, weight, ignore_index=ignore_index, reduction=reduction, shape=input_shape))
def _nll_loss(F, input, target: Other, weight: Other = None, *, ignore_index=-100, reduction="mean"):
    """``-weight[target] * input[target]`` for log-probabilities (N, C, *) and class indices (N, *)."""
    check_classes("nll_loss", input, target, weight)
    safe, valid = select_targets(F, target, ignore_index)
    return reduce_classes(F, -pick(F, input, safe), weight, safe, valid, reduction)


def loss_words(reduction):
    """Words for the gradient of a loss and its samples: a mean counts the targets of all."""
    return {"none": ("n *", "n", "*"), "sum": ("", "n", "*"), "mean": ("", "[n]", "[*]")}[reduction]


def nll_backward_dims(reduction):
    grad, n, rest = loss_words(reduction)
    return f"{grad}, {n} {rest}, [c] -> {n} [c] {rest} of shape"


def entropy_backward_dims(reduction):
    grad, n, rest = loss_words(reduction)
    return (f"{grad}, {n} [c] {rest}, {n} {rest}, [c], {n} [c] {rest}, {n} 1 {rest}"
            f" -> {n} [c] {rest}")


@op(dims=nll_backward_dims,
    promotion="floating", namespace=None, sample=lambda d: class_sample(d, backward=True),
    grad=lambda F, g, target, weight, ignore_index, reduction: F.nll_loss(
        g, target, weight, ignore_index=ignore_index, reduction=reduction))
def nll_loss_backward(F, grad, target: Other, weight: Other = None, *, ignore_index=-100, reduction="mean",
                 shape=()):
    """The transpose of `nll_loss`, which is linear: ``-weight[target] * grad`` at the target class, 0 elsewhere."""
    out = F.xp.zeros(shape, grad.dtype)
    add_at_targets(F, out, *target_scale(F, grad, target, weight, ignore_index, reduction))
    return out


def target_scale(F, grad, target, weight, ignore_index, reduction):
    """Minus the derivative of the loss by the log-probability of each target (or of all); and the safe targets."""
    safe, valid = select_targets(F, target, ignore_index)
    if reduction == "mean":
        grad = shared_out(F, grad, weight_sum(F, weight, safe, valid))
    w = weights_of(F, weight, safe, valid)
    return grad if w is None else grad * w, safe


def shared_out(F, grad, n):
    """``grad / n``; 0 where no target counts: there the loss is NaN."""
    if n.__class__ is int:
        return grad / n if n else grad * 0
    n = n.astype(grad.dtype) if F.depth else n
    if everywhere(F, n != 0):
        return grad / n
    return F.xp.where(n != 0, grad / F.xp.where(n != 0, n, 1), grad * 0)


def add_at_targets(F, out, scale, safe):
    """``out[target] -= scale``."""
    if out.ndim == 2:
        out[F.xp.arange(len(safe)), safe] -= scale
    elif out.ndim == 1:
        out[safe] -= scale
    else:
        index = F.xp.expand_dims(safe, 1)
        at = F.xp.take_along_axis(out, index, 1) - (F.xp.expand_dims(scale, 1) if scale.ndim else scale)
        F.xp.put_along_axis(out, index, at, 1)


@composite(namespace="nn.functional")
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """``-weight[target] * input[target]``, reduced: the negative log likelihood.

    `input` are log-probabilities (N, C), (C,) or (N, C, d1, ...), `target` class indices (N,), () or (N, d1, ...).
    Targets equal to `ignore_index` do not count; the mean divides by the sum of the weights of those that do.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.array.ndim == 1 and target.array.ndim == 1:
        target = one_target(target)
    return _nll_loss(input, target, weight, ignore_index, reduction)


# ---- cross entropy -----------------------------------------------------------------------------------------
def cross_entropy_sample(d):
    [grad, target, weight], attrs = class_sample(d, backward=True)
    shape = attrs.pop("shape")
    return [grad, d.array(shape), target, weight, None, None], attrs


@op(dims="n [c] *, n *, [c] -> n * by weighted reduction",
    name="cross_entropy", promotion="floating", namespace=None, node_name="NllLossBackward0", autocast="float32",
    sample=class_sample, keeps=("powers", "totals"),
    restores=("input", "powers", lambda F, powers, totals: F.log(powers / totals)),
    input=lambda F, g, input, target, weight, powers, totals, ignore_index, reduction: F.cross_entropy_backward(
        g, input, target, weight, powers, totals, ignore_index=ignore_index, reduction=reduction))
def _cross_entropy(F, input, target: Other, weight: Other = None, *, ignore_index=-100, reduction="mean"):
    """`nll_loss` of the logarithm of the softmax, in one.

    It keeps the exponentials and their sums, in place of the logits, which may be written to afterwards.
    """
    check_classes("cross_entropy", input, target, weight)
    safe, valid = select_targets(F, target, ignore_index)
    x = shifted(input, class_dim(input.shape))
    powers = F.xp.exp(x)
    totals = F.sum(powers, dim=class_dim(input.shape), keepdim=True)
    values = F.xp.log(totals).reshape(target.shape) - pick(F, x, safe)
    return reduce_classes(F, values, weight, safe, valid, reduction), powers, totals


@op(dims=entropy_backward_dims,
    promotion="floating", namespace=None, sample=cross_entropy_sample,
    grad=lambda F, g, input, target, weight, ignore_index, reduction: F.nll_loss(
        off_mean(F, g, input), target, weight, ignore_index=ignore_index, reduction=reduction),
    input=lambda F, g, grad, input, target, weight, ignore_index, reduction: entropy_curvature(
        F, g, grad, input, target, weight, ignore_index, reduction))
def cross_entropy_backward(F, grad, input, target: Other, weight: Other = None, powers: Other = None,
                           totals: Other = None, *, ignore_index=-100, reduction="mean"):
    """``weight[target] * grad * (softmax(input) - [target])``; or ``powers / totals`` for the softmax."""
    dim = class_dim((powers if input is None else input).shape)
    scale, safe = target_scale(F, grad, target, weight, ignore_index, reduction)
    share = powers / totals if input is None else F.softmax(input, dim=dim)
    out = F.xp.empty(share.shape, share.dtype)             # with room for all elements of a batch
    F.xp.multiply(share, F.xp.expand_dims(scale, dim) if scale.ndim else scale, out=out)
    add_at_targets(F, out, scale, safe)
    return out


def off_mean(F, g, input):
    """`g` less its mean under the softmax of `input`: the derivative of log_softmax in the direction g."""
    dim = class_dim(input.shape)
    return g - F.sum(g * F.softmax(input, dim=dim), dim=dim, keepdim=True)


def entropy_curvature(F, g, grad, input, target, weight, ignore_index, reduction):
    """The gradient of ``h - softmax * sum(h)``, h that of `nll_loss`, by `input`; only the softmax depends on it."""
    dim = class_dim(input.shape)
    h = F.nll_loss_backward(grad, target, weight, ignore_index=ignore_index, reduction=reduction, shape=input.shape)
    return F.softmax_backward(-g * F.sum(h, dim=dim, keepdim=True), F.softmax(input, dim=dim), dim=dim)


@composite(namespace="nn.functional")
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """The negative log likelihood of `target` under the softmax of the logits `input`, reduced.

    `input` is (N, C), (C,) or (N, C, d1, ...). `target` holds class indices (N,), () or (N, d1, ...), or class
    probabilities in the shape of `input`. Index targets equal to `ignore_index` do not count, `weight` (C,) weighs
    classes, and `label_smoothing` mixes that share of the uniform distribution into the target. The mean is over
    the weights of the targets that count; for probabilities over N, d1, ...

    >>> import minitorch
    >>> minitorch.nn.functional.cross_entropy(minitorch.zeros(1, 4), minitorch.tensor([2]))
    tensor(1.3863)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.array.shape == target.array.shape and input.array.ndim:
        return soft_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    if input.array.ndim == 1 and target.array.ndim == 1 and not label_smoothing:
        target = one_target(target)
    if not label_smoothing:
        return _cross_entropy(input, target, weight, ignore_index, reduction)
    return smoothed_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def check_smoothing(label_smoothing):
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")


in_float32 = functools.partial(casting, autocast="float32 on cpu")     # on CUDA PyTorch casts only their parts


def along_classes(weight, input):
    """The class weights in a shape that broadcasts against `input`."""
    return weight if input.ndim < 3 else weight.reshape((-1,) + (1,) * (input.ndim - 2))


@in_float32
def soft_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    """Cross entropy with class probabilities."""
    if not target.is_floating_point():
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    check_smoothing(label_smoothing)
    dim = class_dim(input.shape)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[dim]
    terms = _log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * along_classes(weight, input)
    losses = -terms.sum(dim)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / losses.numel()


@in_float32
def smoothed_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    """Cross entropy with class indices, of whose weight a part goes to all classes evenly."""
    check_smoothing(label_smoothing)
    dim = class_dim(input.shape)
    logs = _log_softmax(input, dim)
    hard = _nll_loss(logs, target, weight, ignore_index, reduction)
    even = (logs if weight is None else logs * along_classes(weight, input)).sum(dim, keepdim=True)
    first = (target == ignore_index) * -100                # of one class, 0, which is that of all targets that count
    divided = reduction == "mean" and weight is not None   # by the weights of the targets that count
    even = _nll_loss(even, first, None, -100, "sum" if divided else reduction)
    if divided:
        even = even / _nll_loss(full_like(logs, -1), target, weight, ignore_index, "sum")
    return hard * (1 - label_smoothing) + even * (label_smoothing / input.shape[dim])
