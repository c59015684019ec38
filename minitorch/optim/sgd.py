"""Gradient descent: `SGD` with momentum, and `ASGD`, which averages its path."""

from typing import NamedTuple

from .flat import Elementwise, has_kernel
from .optimizer import check_implementation, check_lr, check_not_negative

__all__ = ["SGD", "ASGD"]


class SGDCoefficients(NamedTuple):
    """Coefficients of one step of `sgd`; `weight` is 1 - dampening, 1 in the first step."""

    lr: float
    momentum: float
    weight: float
    nesterov: bool


@has_kernel("sgd")
def sgd(xp, p, g, states, scratch, c):
    """One step of gradient descent::

        b <- momentum b + (1 - dampening) g         (in the first step: b <- g)
        p <- p - lr b                               nesterov: p <- p - lr (g + momentum b)

    Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, in the form
    that PyTorch chose: the learning rate multiplies the velocity, not the gradient.
    """
    s, = scratch
    step = g
    if states:
        b, = states
        xp.multiply(b, c.momentum, b)
        xp.add(b, g if c.weight == 1 else xp.multiply(g, c.weight, s), b)
        step = b
        if c.nesterov:
            step = xp.add(g, xp.multiply(b, c.momentum, s), s)
    xp.subtract(p, xp.multiply(step, c.lr, s), p)


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum if wanted: see `sgd` for the formula.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate, a number or a tensor of one element.
        momentum: how much of the last step is kept, 0 for none.
        dampening: how much of the gradient is held back from the momentum.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        nesterov: look ahead along the momentum; needs a momentum and no dampening.
        maximize: go uphill.
        foreach, fused: accepted, without effect (`Elementwise`). differentiable: must be False.

    ValueError for a negative `lr`, `momentum` or `weight_decay`.

    >>> import minitorch
    >>> w = minitorch.tensor([3.0], requires_grad=True)
    >>> optimizer = minitorch.optim.SGD([w], lr=0.5)
    >>> loss = (w * w).sum()
    >>> loss.backward()
    >>> optimizer.step()
    >>> w.item()
    0.0
    """

    rule = staticmethod(sgd)
    decay = "l2"
    counters = ()

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_implementation(foreach, fused, differentiable)
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, foreach=foreach,
                                      differentiable=differentiable, fused=fused))

    def slots(self, group):
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    def coefficients(self, group, fresh):
        weight = 1.0 if fresh else 1.0 - group["dampening"]
        return (), SGDCoefficients(float(group["lr"]), float(group["momentum"]), weight, bool(group["nesterov"]))


class ASGDCoefficients(NamedTuple):
    """Coefficients of one step of `asgd`; `shrink` is 1 - lambd eta."""

    shrink: float
    eta: float
    mu: float


def asgd(xp, p, g, states, scratch, c):
    """One step of averaged gradient descent: `ax` is the mean of the path after step `t0`::

        p  <- (1 - lambd eta) p - eta g
        ax <- ax + mu (p - ax)                      mu = 1 until step t0, then 1 / (t - t0)

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J. Control Optim. 1992.
    """
    ax, = states
    s, = scratch
    xp.multiply(p, c.shrink, p)
    xp.subtract(p, xp.multiply(g, c.eta, s), p)
    if c.mu == 1:
        ax[...] = p
    else:
        xp.subtract(p, ax, s)
        xp.add(ax, xp.multiply(s, c.mu, s), ax)


class ASGD(Elementwise):
    """Averaged stochastic gradient descent: see `asgd`; the average is ``optimizer.state[p]["ax"]``.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: the first learning rate; in step t it is ``lr / (1 + lambd lr t) ** alpha``.
        lambd: decay of the parameters and of the learning rate. alpha: power of the latter.
        t0: the step at which averaging starts.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(asgd)
    decay = "l2"
    counters = ("step", "eta", "mu")

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay,
                                      foreach=foreach, maximize=maximize, differentiable=differentiable,
                                      capturable=capturable))

    def slots(self, group):
        return {"ax": 0.0}

    def first(self, group, counter):
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}[counter]

    def coefficients(self, group, fresh, step, eta, mu):
        step += 1
        lr, lambd = float(group["lr"]), group["lambd"]
        after = step, lr / (1 + lambd * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"])
        return after, ASGDCoefficients(shrink=1 - lambd * eta, eta=eta, mu=mu)
