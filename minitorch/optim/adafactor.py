"""`Adafactor`: an adaptive method that keeps, of each matrix, the mean squares of its rows and columns only."""

from math import isqrt, sqrt

import numpy as np

from ..core.device import host
from ..core.graph import bump_version
from ..core.tensor import Tensor, wrap
from ..host.type_info import finfo
from .chunks import working_dtype
from .optimizer import OneByOne, counter_type, require

__all__ = ["Adafactor"]


class Adafactor(OneByOne):
    """Adafactor, in the form that PyTorch chose: see `adafactor` for the formula.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: the largest step relative to the size of a parameter; it falls with ``1 / sqrt(t)`` where that is less.
        beta2_decay: the mean squares forget with rate ``t ** beta2_decay``; not positive.
        eps: (least mean of the row factors, by default the machine epsilon; least size of a parameter).
        d: updates whose root mean square is larger are scaled down to it; at least 1.
        weight_decay: p shrinks by ``lr * weight_decay * p``.
        foreach: without effect. maximize: go uphill.

    State of a parameter: ``step`` and ``row_var``, ``col_var``; for vectors and numbers ``variance``.
    Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018.
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(0.0 <= lr, f"Learning rate should be >= 0 but is: {lr}")
        require(0.0 >= beta2_decay, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        require(eps[0] is None or 0.0 <= eps[0], f"epsilon1 should be >= 0 but is: {eps[0]}")
        require(0.0 <= eps[1], f"epsilon2 should be >= 0 but is: {eps[1]}")
        require(1.0 <= d, f"Clipping threshold d should be >= 1 but is: {d}")
        require(0.0 <= weight_decay, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      foreach=foreach, maximize=maximize))

    def __setstate__(self, state):
        super().__setstate__(state)
        for entries in self.state.values():                # old versions kept the count as a number
            if entries and not isinstance(entries["step"], Tensor):
                entries["step"] = wrap(np.array(entries["step"], counter_type()), host())

    def _update(self, group, p):
        """One step of one parameter."""
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state, xp, g = self.state[p], p.backend.xp, p.grad.array
        if not state:
            state["step"] = wrap(np.zeros((), counter_type()), host())
            for name, shape in factors(g.shape).items():
                state[name] = wrap(xp.zeros(shape, g.dtype), p.backend)
        step = state["step"].array
        step += 1
        lr, (least, smallest) = float(group["lr"]), group["eps"]
        if least is None:
            least = finfo(p.dtype).eps
        wide = working_dtype(p.array.dtype)
        memory = [p.array, *(state[name].array for name in factors(g.shape))]
        work = [a.astype(wide, copy=False) for a in memory]
        g = (-g if group["maximize"] else g).astype(wide, copy=False)
        adafactor(xp, work[0], g, work[1:], step.item(), lr, group["beta2_decay"], group["weight_decay"], least,
                  smallest, group["d"])
        for a, new in zip(memory, work):
            if new is not a:
                a[...] = new
        bump_version(p, "Adafactor.step")


def factors(shape):
    """The names and shapes of what is remembered of a gradient of this shape."""
    if len(shape) > 1:
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
    return {"variance": shape}


def rms(xp, x):
    """The root of the mean square."""
    return float(xp.linalg.norm(x)) / sqrt(max(x.size, 1))


def mean_of_rows(x):
    """The mean over the last dimension but one, kept as size 1; of many rows in two steps, as NumPy adds row by row."""
    n = x.shape[-2]
    step = isqrt(n)
    if step < 8:
        return x.mean(-2, keepdims=True)
    whole = n // step * step
    total = x[..., :whole, :].reshape(*x.shape[:-2], -1, step, x.shape[-1]).sum(-2).sum(-2, keepdims=True)
    if whole < n:
        total += x[..., whole:, :].sum(-2, keepdims=True)
    return total / n


def adafactor(xp, p, g, means, t, lr, beta2_decay, weight_decay, least, smallest, d):
    """One step of Adafactor on the last two dimensions, in place::

        w = t^beta2_decay
        r <- (1 - w) r + w mean(g^2, over a row)                c <- (1 - w) c + w mean(g^2, over a column)
        v = r c / max(mean(r), least)                           vectors: v <- (1 - w) v + w g^2
        u = g / sqrt(max(v, least^2))
        a = min(lr, 1 / sqrt(t)) max(smallest, rms(p))
        p <- (1 - lr weight_decay) p - a u / max(1, rms(u) / d)
    """
    size = max(smallest, rms(xp, p))
    if weight_decay != 0:
        p *= 1 - lr * weight_decay
    w, square = t**beta2_decay, g * g
    if len(means) == 2:
        r, c = means
        r += w * (square.mean(-1, keepdims=True) - r)
        c += w * (mean_of_rows(square) - c)
        v = r * c
        v /= xp.maximum(r.mean(-2, keepdims=True), least)
    else:
        v, = means
        v += w * (square - v)
    u = g / xp.sqrt(xp.maximum(v, least * least))
    u *= size * min(lr, 1 / sqrt(t)) / max(1.0, rms(xp, u) / d)
    p -= u
