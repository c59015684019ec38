"""A learning rate for each element: `Adagrad Adadelta RMSprop`, from squared gradients, and `Rprop`, from signs."""

from typing import NamedTuple

from .flat import Elementwise, add_square, has_kernel, lerp
from .optimizer import check_implementation, check_lr, check_not_negative, require

__all__ = ["Adagrad", "Adadelta", "RMSprop", "Rprop"]


class AdagradCoefficients(NamedTuple):
    """Coefficients of one step of `adagrad`; `lr` has decayed already."""

    eps: float
    lr: float


@has_kernel("adagrad")
def adagrad(xp, p, g, states, scratch, c):
    """One step of Adagrad::

        v <- v + g^2
        p <- p - lr / (1 + (t - 1) lr_decay) g / (sqrt(v) + eps)

    Duchi et al., "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 2011.
    """
    v, = states
    s, u = scratch
    xp.multiply(g, g, s)
    xp.add(v, s, v)
    xp.sqrt(v, s)
    xp.add(s, c.eps, s)
    xp.multiply(g, c.lr, u)
    xp.divide(u, s, u)
    xp.subtract(p, u, p)


class Adagrad(Elementwise):
    """Adagrad: elements that have seen large gradients learn slower. See `adagrad`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate. lr_decay: how fast it falls.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        initial_accumulator_value: where the sum of squares begins. eps: added to the denominator.
        maximize: go uphill. foreach, fused: without effect. differentiable: must be False.

    Unlike in other optimisers the state exists from the start.
    """

    rule = staticmethod(adagrad)
    decay = "l2"
    scratch = 2

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *, maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay,
                           initial_accumulator_value=initial_accumulator_value, epsilon=eps)
        check_implementation(foreach, fused, differentiable)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            self._create(group, group["params"], self.slots(group))

    def slots(self, group):
        return {"sum": self.defaults["initial_accumulator_value"]}

    def coefficients(self, group, fresh, step):
        step += 1
        lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        return (step,), AdagradCoefficients(float(group["eps"]), lr)

    def share_memory(self):
        """Move the sums to memory that other processes can share (``Tensor.share_memory_``)."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()


class AdadeltaCoefficients(NamedTuple):
    """Coefficients of one step of `adadelta`; `weight` is 1 - rho."""

    rho: float
    weight: float
    eps: float
    lr: float


@has_kernel("adadelta")
def adadelta(xp, p, g, states, scratch, c):
    """One step of Adadelta::

        v <- rho v + (1 - rho) g^2
        d  = sqrt(a + eps) / sqrt(v + eps) g        a: running mean of d^2
        a <- rho a + (1 - rho) d^2
        p <- p - lr d

    Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1; its learning rate is 1.
    """
    v, a = states
    d, s = scratch
    add_square(xp, v, g, c.rho, c.weight, s)
    xp.add(a, c.eps, d)
    xp.sqrt(d, d)
    xp.add(v, c.eps, s)
    xp.sqrt(s, s)
    xp.divide(d, s, d)
    xp.multiply(d, g, d)
    add_square(xp, a, d, c.rho, c.weight, s)
    xp.multiply(d, c.lr, d)
    xp.subtract(p, d, p)


class Adadelta(Elementwise):
    """Adadelta: steps in the units of the parameters, with hardly a learning rate to choose. See `adadelta`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: factor of the steps. rho: decay rate of the running means, in [0, 1]. eps: added under the roots.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(adadelta)
    decay = "l2"
    scratch = 2

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):
        check_lr(lr)
        require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}, expected 0 <= rho <= 1")
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def slots(self, group):
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def coefficients(self, group, fresh, step):
        rho = float(group["rho"])
        return (step + 1,), AdadeltaCoefficients(rho, 1 - rho, float(group["eps"]), float(group["lr"]))


class RMSpropCoefficients(NamedTuple):
    """Coefficients of one step of `rmsprop`; `weight` is 1 - alpha."""

    alpha: float
    weight: float
    eps: float
    lr: float
    momentum: float
    centered: bool


@has_kernel("rmsprop")
def rmsprop(xp, p, g, states, scratch, c):
    """One step of RMSprop::

        v <- alpha v + (1 - alpha) g^2
        d  = sqrt(v) + eps                          centered: sqrt(v - a^2) + eps, a the running mean of g
        p <- p - lr g / d                           with momentum: b <- momentum b + g / d,  p <- p - lr b

    Hinton, lecture 6e of "Neural networks for machine learning", 2012; centered: Graves, "Generating sequences
    with recurrent neural networks", 2013, equations 38 to 45.
    """
    v, *rest = states
    s, u = scratch
    add_square(xp, v, g, c.alpha, c.weight, s)
    if c.centered:
        a = rest[-1]
        lerp(xp, a, g, c.weight, s)
        xp.multiply(a, a, s)
        xp.subtract(v, s, s)
        xp.sqrt(s, s)
    else:
        xp.sqrt(v, s)
    xp.add(s, c.eps, s)
    step = xp.divide(g, s, s)
    if c.momentum > 0:
        b = rest[0]
        xp.multiply(b, c.momentum, b)
        step = xp.add(b, s, b)
    xp.multiply(step, c.lr, u)
    xp.subtract(p, u, p)


class RMSprop(Elementwise):
    """RMSprop: the gradient divided by the root of its recent mean square. See `rmsprop`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate. alpha: decay rate of the running means. eps: added to the denominator.
        weight_decay: adds ``weight_decay * p`` to the gradient. momentum: how much of the last step is kept.
        centered: divide by the standard deviation of the gradient instead.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(rmsprop)
    decay = "l2"
    scratch = 2

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        check_lr(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, capturable=capturable, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable))

    def slots(self, group):
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return dict.fromkeys(names, 0.0)

    def coefficients(self, group, fresh, step):
        alpha = float(group["alpha"])
        return (step + 1,), RMSpropCoefficients(alpha, 1 - alpha, float(group["eps"]), float(group["lr"]),
                                                float(group["momentum"]), bool(group["centered"]))


class RpropCoefficients(NamedTuple):
    """Coefficients of one step of `rprop`: the factors of the step sizes, and their limits."""

    eta_minus: float
    eta_plus: float
    smallest: float
    largest: float


@has_kernel("rprop")
def rprop(xp, p, g, states, scratch, c):
    """One step of resilient backpropagation, which looks at the signs of the gradients only::

        step_size <- eta_plus step_size             where g prev > 0, up to the largest step size
        step_size <- eta_minus step_size            where g prev < 0, down to the smallest; there also g <- 0
        p <- p - sign(g) step_size
        prev <- g

    Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm",
    ICNN 1993, in the variant that forgets the gradient after a change of sign.
    """
    prev, step_size = states
    s, = scratch
    xp.multiply(g, prev, s)
    turned = s < 0
    xp.multiply(step_size, xp.where(turned, c.eta_minus, xp.where(s > 0, c.eta_plus, 1)), step_size)
    xp.clip(step_size, c.smallest, c.largest, out=step_size)
    prev[...] = g
    prev[turned] = 0
    s[...] = prev > 0                                      # the sign, 0 for NaN: one bad gradient moves nothing
    s -= prev < 0
    xp.multiply(s, step_size, s)
    xp.subtract(p, s, p)


class Rprop(Elementwise):
    """Resilient backpropagation, for gradients of whole data sets: see `rprop`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: the first step size. etas: the factors of its changes, ``0 < etas[0] < 1 < etas[1]``.
        step_sizes: the smallest and the largest step.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(rprop)
    decay = None

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_lr(lr)
        require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}, expected one between 0 "
                                               f"and 1 and one above 1")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def slots(self, group):
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def coefficients(self, group, fresh, step):
        return (step + 1,), RpropCoefficients(*map(float, group["etas"]), *map(float, group["step_sizes"]))
