"""Margin losses, zero where a prediction is right by more than the margin: plain functions, no op definitions."""

from ...core.promotion import require_tensors
from ...core.recording import recorded as R
from ...core.tensor import wrap
from ..define import composite
from ..elementwise.activation import logsigmoid, softplus
from .distance import pairwise_distance
from .loss import reduce_tensor, reduction_of


def hinge(x):
    """``max(x, 0)``, whose gradient at 0 is 1 (that of `relu` is 0)."""
    return x.clamp_min(0)


def positive_part(x):
    """`x` where it is positive, elsewhere 0, at NaN too: PyTorch adds up what is positive."""
    return R.relu(R.where(x == x, x, 0.0))


# ---- pairs -------------------------------------------------------------------------------------------------
@composite(namespace="nn.functional", autocast="float32")
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -target * (input1 - input2) + margin)``, reduced: `target` is 1 if the first ranks higher, else -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    return reduce_tensor(hinge(-target * (input1 - input2) + float(margin)), reduction)


@composite(namespace="nn.functional", autocast="float32")
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """`input` where `target` is 1, ``max(0, margin - input)`` where it is -1, reduced."""
    reduction = reduction_of(size_average, reduce, reduction)
    far = R.where(target != 1, hinge(margin - input), 0.0)
    near = R.where(target != -1, input, 0.0)
    return reduce_tensor(far + near, reduction)


@composite(namespace="nn.functional", autocast="float32")
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``1 - cos(x1, x2)`` where `target` is 1, ``max(0, cos(x1, x2) - margin)`` where it is -1, reduced.

    Shapes: (N, D), (N, D) and (N,), or (D,), (D,) and ().
    """
    reduction = reduction_of(size_average, reduce, reduction)
    n = target.ndim
    if n > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported: got {n}D")
    if not input1.ndim == input2.ndim == n + 1:
        raise RuntimeError(f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    tiny = 1e-12
    products = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = (input1 * input2).sum(-1) / R.sqrt(products)
    loss = R.where(target == 1, 1 - cosine, 0.0) + R.where(target == -1, hinge(cosine - margin), 0.0)
    return reduce_tensor(loss, reduction)


# ---- triplets ----------------------------------------------------------------------------------------------
@composite(namespace="nn.functional", autocast="float32")
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None,
                        reduce=None, reduction="mean"):
    """``max(0, d(a, p) - d(a, n) + margin)`` with the p-norm distance of (N, D), reduced.

    With `swap`, the distance of positive and negative takes the place of d(a, n) where it is smaller. Source: V.
    Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.
    """
    def distance(x, y):
        return pairwise_distance(x, y, p, eps)
    reduction = reduction_of(size_average, reduce, reduction)
    return triplets(anchor, positive, negative, distance, margin, swap, reduction)


@composite(namespace="nn.functional")
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """`triplet_margin_loss` with any ``distance_function(x, y)``; by default `pairwise_distance`."""
    reduction = reduction_of(None, None, reduction)
    return triplets(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def triplets(anchor, positive, negative, distance, margin, swap, reduction):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(f"The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
                           f"{negative.ndim}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = R.minimum(far, distance(positive, negative))
    return reduce_tensor(hinge(margin + near - far), reduction)


def require_long(target):
    """RuntimeError unless class indices are int64."""
    if target.array.dtype != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}: class indices "
                           f"are int64, as in target.long()")


# ---- classes -----------------------------------------------------------------------------------------------
@composite(namespace="nn.functional", autocast="float32")
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``sum over i != y of weight[y] * max(0, margin - x[y] + x[i])^p / C``, reduced; p is 1 or 2.

    Shapes: (N, C) and class indices (N,), or (C,) and ().
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got {weight.ndim}D")
    require_long(target)
    x, rows = as_rows("multi_margin_loss", input, target)
    classes = x.array.shape[1]
    y = target.to(input.device).array.reshape(-1)
    if len(y) != len(x):
        raise RuntimeError(f"inconsistent target size, expected {len(x)} but got {list(target.shape)}")
    if y.size and not (y.min() >= 0 and y.max() < classes):
        raise RuntimeError(f"target out of range: class indices go from 0 to {classes - 1}")
    xp, backend = input.backend.xp, input.backend
    chosen = wrap(y, backend)
    terms = positive_part(margin - x[wrap(xp.arange(len(y)), backend), chosen].unsqueeze(1) + x)
    terms = terms if p == 1 else terms * terms
    terms = terms if weight is None else terms * weight[chosen].unsqueeze(1)
    others = wrap(y[:, None] != xp.arange(classes), backend)
    losses = R.where(others, terms, 0.0).sum(1) / classes
    return reduce_tensor(losses if rows else losses[0], reduction)


def as_rows(name, input, target):
    """(N, C), (C,) or () as (N, C); and whether there are rows in the result."""
    if input.ndim > 2 or (input.ndim == 2 and not input.array.shape[1]) or (input.ndim == 1 and not input.numel()):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)} ({name})")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    return x, input.ndim == 2 or target.ndim > 0


@composite(namespace="nn.functional", autocast="float32")
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``sum over targets j and other classes i of max(0, 1 - (x[j] - x[i])) / C``, reduced.

    Shapes: (N, C) and (N, C), or (C,) and (C,); a row of `target` lists class indices up to the first -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x, _ = as_rows("multilabel_margin_loss", input, target)
    if target.array.shape != input.array.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    require_long(target)
    labels, classes = target.to(input.device).array.reshape(x.array.shape), x.array.shape[1]
    if labels.size and not (labels.min() >= -1 and labels.max() < classes):
        raise RuntimeError(f"target out of range: class indices go from 0 to {classes - 1}, and -1 ends a list")
    xp, backend = input.backend.xp, input.backend
    listed = xp.cumsum(labels < 0, axis=1) == 0                          # (N, C): before the first -1
    is_target = ((labels[:, :, None] == xp.arange(classes)) & listed[:, :, None]).any(1)
    pairs = wrap(listed[:, :, None] & ~is_target[:, None, :], backend)
    chosen = x[wrap(xp.arange(len(labels))[:, None], backend), wrap(labels * listed, backend)]
    terms = positive_part(1 - chosen.unsqueeze(2) + x.unsqueeze(1))             # (N, targets, classes)
    losses = R.where(pairs, terms, 0.0).sum((1, 2)) / classes
    return reduce_tensor(losses if input.ndim == 2 else losses[0], reduction)


@composite(namespace="nn.functional")
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of ``-weight * (t * log(sigmoid(x)) + (1 - t) * log(sigmoid(-x)))``, reduced over (N,)."""
    reduction = reduction_of(size_average, reduce, reduction)
    terms = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    terms = terms if weight is None else terms * weight
    return reduce_tensor(terms.sum(-1) / input.array.shape[-1], reduction)


@composite(namespace="nn.functional", autocast="float32")
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``, reduced; `target` is 1 or -1."""
    require_tensors(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    return reduce_tensor(softplus(-target * input, 1.0, float("inf")), reduction)
