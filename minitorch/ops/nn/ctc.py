"""Op definitions: connectionist temporal classification.

A. Graves et al., "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data with Recurrent Neural
Networks", 2006. The probability of a label sequence is the sum over all its alignments to T frames, found by a
recursion over frames on the labels with blanks between them; `ctc_forward_step` is one step of it, in logarithms.
"""

from itertools import accumulate

from ...core.op import Other
from ...core.recording import recorded as R
from ...core.tensor import Tensor, wrap
from ..creation.create import full_like, zeros_like
from ..define import composite, op
from .loss import reduction_of

NEVER = -1e30                                              # the logarithm of probability 0, but finite


# ---- one frame ---------------------------------------------------------------------------------------------
@op(dims="* [s] -> * [s]",
    node_name="ShiftStatesBackward0", promotion="same", namespace=None, autocast="float32",
    tangent="transpose",
    input=lambda F, g, by: F.ctc_shift(g, by=-by, fill=0.0),
    sample=lambda d: ([d.array((2, 4))], dict(by=d.choice([-2, -1, 1, 2]), fill=0.5)))
def ctc_shift(F, input, *, by, fill):
    """`input` moved by so many positions along the last dimension, `fill` coming in."""
    out = F.xp.full_like(input, fill)
    if by > 0:
        out[..., by:] = input[..., :-by]
    else:
        out[..., :by] = input[..., -by:]
    return out


def alignment_grad(F, g, alpha, emit, skip, out):
    """Each state's gradient is shared among the three it can be reached from, by their part in the sum."""
    g = F.masked(g, out > NEVER / 2)                       # states that nothing reaches
    z = out - emit
    one, two = F.ctc_shift(alpha, by=1, fill=NEVER), F.ctc_shift(alpha, by=2, fill=NEVER)
    stay, step, jump = g * F.exp(alpha - z), g * F.exp(one - z), F.masked(g * F.exp(two - z), skip)
    return stay + F.ctc_shift(step, by=-1, fill=0.0) + F.ctc_shift(jump, by=-2, fill=0.0)


@op(dims="* [s], * [s], * [s] -> * [s]",
    node_name="AlignmentStepBackward0", promotion="same", namespace=None, alpha=alignment_grad,
    emit=lambda F, g: g,
    sample=lambda d: ([d.array((2, 5)), d.array((2, 5)), d.mask((2, 5))], {}))
def ctc_forward_step(F, alpha, emit, skip: Other):
    """``emit + log(exp(alpha[s]) + exp(alpha[s-1]) + exp(alpha[s-2]))``, the last only where `skip` allows.

    (N, S): the logarithms of the probabilities that the frames so far end in state s.
    """
    xp = F.xp
    one, two = F.ctc_shift(alpha, by=1, fill=NEVER), F.ctc_shift(alpha, by=2, fill=NEVER)
    two = xp.where(skip, two, alpha.dtype.type(NEVER))
    top = xp.maximum(xp.maximum(alpha, one), two)
    out = xp.log(xp.exp(alpha - top) + xp.exp(one - top) + xp.exp(two - top))
    return xp.maximum(out + top + emit, NEVER)


# ---- the loss ----------------------------------------------------------------------------------------------
@composite(namespace="nn.functional", autocast="float32 on cpu")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Minus the log-probability of label sequences, summed over all their alignments.

    `log_probs` are (T, N, C), or (T, C) for one sample, as from log_softmax; `targets` (N, S), or the sequences one
    after the other (sum of lengths,); the lengths tensors, or tuples, of N integers. "mean" divides each loss by its
    target length first. `zero_infinity` turns the infinite losses of targets too long to be aligned, and their
    gradients, into zeros. As in PyTorch the gradient is that of ``log_softmax(log_probs)``.
    """
    reduction = reduction_of(None, None, reduction)
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(f"log_probs must be (T, N, C) or (T, C), got {list(log_probs.shape)}")
    if not log_probs.is_floating_point():
        raise RuntimeError(f"log_probs must be floating point, got {log_probs.dtype}")
    x = log_probs if batched else log_probs.unsqueeze(1)
    frames, n, classes = x.array.shape
    backend, xp = x.backend, x.backend.xp
    times, sizes = lengths(xp, input_lengths, n, "input_lengths"), lengths(xp, target_lengths, n, "target_lengths")
    check_lengths(times, sizes, frames, blank, classes)
    labels = label_rows(targets.array if isinstance(targets, Tensor) else xp.asarray(targets), sizes, batched)
    labels = xp.array(labels, "int64").reshape(n, max(sizes, default=0))
    losses = infinite_or_finite(x, -log_likelihood(x, labels, times, sizes, blank), times, zero_infinity)
    if reduction == "none":
        return losses if batched else losses[0]
    if reduction == "sum":
        return losses.sum()
    return (losses / wrap(xp.array([max(size, 1) for size in sizes], x.array.dtype), backend)).mean()


def lengths(xp, given, n, name):
    """Lengths as a list of N ints."""
    array = given.array if isinstance(given, Tensor) else xp.asarray(given)
    if array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral, got {array.dtype}")
    if array.size != n:
        raise RuntimeError(f"{name} must be of size batch_size: expected {n}, got {list(array.shape)}")
    return array.reshape(-1).tolist()


def check_lengths(times, sizes, frames, blank, classes):
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: 0 to {classes - 1}, got {blank}")
    if times and (max(times) > frames or min(times) < 0):
        raise RuntimeError(f"Expected input_lengths to have value at least 0 and at most {frames}, got {times}")
    if sizes and min(sizes) < 0:
        raise RuntimeError(f"Expected target_lengths to have value at least 0, got {sizes}")


def label_rows(targets, sizes, batched):
    """Targets as lists of one length, padded with zeros."""
    longest = max(sizes, default=0)
    if targets.ndim == 1 and batched:
        if len(targets) < sum(sizes):
            raise RuntimeError(f"Expected {sum(sizes)} targets, the sum of target_lengths, got {len(targets)}")
        labels = targets.tolist()
        rows = [labels[end - size:end] for size, end in zip(sizes, accumulate(sizes))]
    else:
        targets = targets.reshape(len(sizes), -1)
        if targets.shape[1] < longest:
            raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                               f"{targets.shape[1]} for targets")
        rows = [row[:size] for row, size in zip(targets.tolist(), sizes)]
    return [row + [0] * (longest - len(row)) for row in rows]


def log_likelihood(x, labels, times, sizes, blank):
    """The log-probability of each row of `labels`, (N,)."""
    backend, xp = x.backend, x.backend.xp
    n, states = len(labels), 2 * labels.shape[1] + 1
    path = xp.full((n, states), blank)                     # the labels with blanks before, between and after them
    path[:, 1::2] = labels
    skip = xp.zeros(path.shape, bool)                      # a blank between different labels may be left out
    skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    rows = xp.arange(n)
    emit = R.clamp(x[:, wrap(rows[:, None], backend), wrap(path, backend)], NEVER)          # (T, N, S)
    start = xp.full(path.shape, NEVER, x.array.dtype)
    start[:, :1] = 0                                       # before the first frame, at the first blank
    alpha, skip, rows = wrap(start, backend), wrap(skip, backend), wrap(rows, backend)
    same, ends = min(times, default=0) == len(x.array), xp.array(times, "int64")[:, None]
    for t, here in enumerate(emit.unbind(0)[:max(times, default=0)]):
        new = ctc_forward_step(alpha, here, skip)
        alpha = new if same else R.where(wrap(t < ends, backend), new, alpha)
    last = xp.array([2 * size for size in sizes], "int64")
    end = alpha[rows, wrap(last, backend)]
    if not any(sizes):
        return end
    before = R.where(wrap(last > 0, backend), alpha[rows, wrap(xp.maximum(last - 1, 0), backend)], NEVER)
    top = R.maximum(end, before).detach()
    return R.log(R.exp(end - top) + R.exp(before - top)) + top


def infinite_or_finite(x, losses, times, zero_infinity):
    """Losses of impossible alignments as infinity, or as zero without a gradient; and the gradient of log_softmax.

    The derivative by log-probabilities is minus the posterior of each label; PyTorch's adds their exponential, which
    log_softmax's own derivative takes away again. So does this, by adding a zero with that derivative.
    """
    impossible = losses.array > -NEVER / 2
    xp = x.backend.xp
    frames = xp.arange(len(x.array))[:, None, None] < xp.array(times, "int64")[:, None]
    mass = R.where(wrap(frames, x.backend), R.exp(x), 0.0).sum((0, 2))
    losses = losses + (mass - mass.detach())
    if not impossible.any():
        return losses
    instead = zeros_like(losses) if zero_infinity else full_like(losses, float("inf"))
    return R.where(wrap(impossible, x.backend), instead, losses)
