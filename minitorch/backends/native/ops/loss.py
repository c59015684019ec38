"""Cross entropy of rows of logits: one pass forward, one backward."""

import numpy as np

from ....ops.nn.cross_entropy import check_classes, reduce_classes, select_targets, target_scale
from ..eager import kernel, limits, plain, shared


def many_rows(d):
    return [d.array((90, 100)), d.integers((90,), 0, 99), d.choice([None, d.array((100,), 0.5, 1.5)])], dict(
        ignore_index=d.choice([-100, 5]), reduction=d.choice(["mean", "sum", "none"]))


def many_gradients(d):
    [x, target, weight], attrs = many_rows(d)
    powers = np.exp(x)
    grad = d.array((90,) if attrs["reduction"] == "none" else ())
    return [grad, np.log(powers / powers.sum(1, keepdims=True)), target, weight, powers, powers.sum(1, keepdims=True)
            ], attrs


def of_classes(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    return (plain(input, weight) and input.ndim == 2 and target.__class__ is np.ndarray and target.dtype.char == "l"
            and target.shape == input.shape[:1] and target.flags.c_contiguous
            and in_range(target, ignore_index, input.shape[1]))


def in_range(target, ignore_index, classes):
    """True if all targets are classes, or ignored: for others, NumPy's kernel raises the error."""
    if 0 <= target.min() and target.max() < classes:
        return True
    counts = target[target != ignore_index]
    return not counts.size or 0 <= counts.min() and counts.max() < classes


@kernel("cross_entropy", when=of_classes, sample=many_rows)
def cross_entropy(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("cross_entropy", input, target, weight)
    safe, valid = select_targets(F, target, ignore_index)
    rows, d = input.shape
    powers, totals, losses = (np.empty(shape, input.dtype) for shape in ((rows, d), (rows, 1), rows))
    shared("rows", "cross_entropy", input, "pppppll", input, safe, powers, totals, losses, rows, d)
    return reduce_classes(F, losses, weight, safe, valid, reduction), powers, totals


def of_kept(F, grad, input, target, weight=None, powers=None, totals=None, *, ignore_index=-100, reduction="mean"):
    return (powers is not None and powers.size >= limits.least and totals is not None
            and of_classes(F, powers, target, weight, ignore_index=ignore_index) and plain(powers, totals, grad))


@kernel("cross_entropy_backward", when=of_kept, sample=many_gradients)
def cross_entropy_backward(F, grad, input, target, weight=None, powers=None, totals=None, *, ignore_index=-100,
                           reduction="mean"):
    scale, safe = target_scale(F, grad, target, weight, ignore_index, reduction)
    scale = np.ascontiguousarray(scale, powers.dtype)
    out = np.empty(powers.shape, powers.dtype)
    rows, d = powers.shape
    shared("rows", "cross_entropy_backward", powers, "pppplpll", powers, totals, safe, scale, int(scale.size == rows),
           out, rows, d)
    return out
