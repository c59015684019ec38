"""Rules of losses of classes: without the branches on values that their references have."""

from ....core.errors import worded
from ....ops.nn.cross_entropy import check_classes, class_dim
from ....ops.nn.softmax import shifted
from ..array import lifted, physical
from ..backend import rule


class Targets:
    """The targets of a batch: `safe` is 0 in place of those to be ignored, `weights` is 0 there (None: all are 1)."""

    def __init__(self, F, target, weight, ignore_index, shape):
        self.F, self.dim, self.size = F, class_dim(shape), target.size
        target = lifted(F, target)
        seen = physical(target)
        valid = None if not (seen == ignore_index).any() else target != ignore_index
        self.safe = target if valid is None else F.xp.where(valid, target, 0)
        seen, n = physical(self.safe), shape[self.dim]
        if seen.size and (seen.min() < 0 or seen.max() >= n):
            wrong = int(seen.min() if seen.min() < 0 else seen.max())
            raise worded(IndexError(f"Target {wrong} is out of bounds: class indices go from 0 to {n - 1}"))
        self.weights = weight if weight is None else F.xp.take(weight, self.safe)
        if valid is not None:
            self.weights = F.xp.where(valid, 1.0 if weight is None else self.weights, 0.0)
        self.index, self.valid = F.xp.expand_dims(self.safe, self.dim), valid

    def weighed(self, values):
        """Losses by their weights; those of ignored targets are 0 whatever they were."""
        if self.weights is not None:
            values = values * self.weights.astype(values.dtype)
        return values if self.valid is None else self.F.xp.where(self.valid, values, self.F.xp.zeros((), values.dtype))

    def total(self, dtype):
        """The divisor of a mean."""
        return self.size if self.weights is None else self.weights.astype(dtype).sum()

    def reduced(self, values, reduction):
        if reduction == "none":
            return values
        out, n = values.sum(), self.total(values.dtype)
        return out if reduction == "sum" else out * self.F.xp.nan if n.__class__ is int and not n else out / n

    def scale(self, grad, reduction):
        """Minus the derivative of the loss by the log-probability of each target."""
        if reduction == "mean":
            n = self.total(grad.dtype)
            if n.__class__ is int:
                grad = grad / n if n else grad * 0
            else:
                grad = self.F.xp.where(n != 0, grad / self.F.xp.where(n != 0, n, 1), grad * 0)
        return grad if self.weights is None else grad * self.weights.astype(grad.dtype)

    def picked(self, x):
        return self.F.xp.take_along_axis(x, self.index, self.dim).squeeze(self.dim)

    def subtract(self, out, scale):
        """``out[target] -= scale``."""
        xp = self.F.xp
        scale = xp.broadcast_to(scale, self.safe.shape)
        at = xp.take_along_axis(out, self.index, self.dim) - xp.expand_dims(scale, self.dim)
        xp.put_along_axis(out, self.index, at.astype(out.dtype), self.dim)


@rule("nll_loss")
def nll_loss(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("nll_loss", input, target, weight)
    of = Targets(F, target, weight, ignore_index, input.shape)
    return of.reduced(of.weighed(-of.picked(lifted(F, input))), reduction)


@rule("nll_loss_backward")
def nll_loss_backward(F, grad, target, weight=None, *, ignore_index=-100, reduction="mean", shape=()):
    of = Targets(F, target, weight, ignore_index, shape)
    out = F.xp.zeros(shape, grad.dtype)
    of.subtract(out, of.scale(lifted(F, grad), reduction))
    return out


@rule("cross_entropy")
def cross_entropy(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("cross_entropy", input, target, weight)
    of = Targets(F, target, weight, ignore_index, input.shape)
    x = shifted(lifted(F, input), of.dim)
    powers = F.xp.exp(x)
    totals = F.sum(powers, dim=of.dim, keepdim=True, dtype=None)
    values = F.xp.log(totals).reshape(target.shape) - of.picked(x)
    return of.reduced(of.weighed(values), reduction), powers, totals


@rule("cross_entropy_backward")
def cross_entropy_backward(F, grad, input, target, weight=None, powers=None, totals=None, *, ignore_index=-100,
                           reduction="mean"):
    shape = (powers if input is None else input).shape
    of = Targets(F, target, weight, ignore_index, shape)
    scale = of.scale(lifted(F, grad), reduction)
    share = powers / totals if input is None else F.softmax(input, dim=of.dim)
    scale = F.xp.broadcast_to(scale, of.safe.shape)
    out = F.xp.array(share * F.xp.expand_dims(scale, of.dim))
    of.subtract(out, scale)
    return out
