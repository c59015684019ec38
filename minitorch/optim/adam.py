"""The Adam family: running means of the gradient and of its square. `Adam AdamW NAdam RAdam Adamax`."""

from math import sqrt
from typing import NamedTuple

from ..core.tensor import Tensor
from .flat import Elementwise, add_square, has_kernel, lerp
from .optimizer import check_betas, check_implementation, check_lr, check_not_negative, counter_type, require

__all__ = ["Adam", "AdamW", "NAdam", "RAdam", "Adamax"]


class AdamCoefficients(NamedTuple):
    """Coefficients of one step of `adam`; `eps` and `lr` have the corrections in them."""

    weight1: float
    beta2: float
    weight2: float
    eps: float
    lr: float


@has_kernel("adam")
def adam(xp, p, g, states, scratch, c):
    """One step of Adam::

        m <- beta1 m + (1 - beta1) g                running mean of the gradient
        v <- beta2 v + (1 - beta2) g^2              and of its square; both begin at 0, hence the corrections:
        p <- p - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)

    With amsgrad, the largest v so far takes the place of v in the last line. Kingma and Ba, "Adam", ICLR 2015;
    Reddi et al., "On the convergence of Adam and beyond", ICLR 2018. The corrections are folded into lr and eps.
    """
    m, v, *largest = states
    s, = scratch
    lerp(xp, m, g, c.weight1, s)
    add_square(xp, v, g, c.beta2, c.weight2, s)
    if largest:
        v = xp.maximum(largest[0], v, out=largest[0])
    xp.sqrt(v, s)
    xp.add(s, c.eps, s)
    xp.divide(m, s, s)
    xp.multiply(s, c.lr, s)
    xp.subtract(p, s, p)


def chosen(self, group):
    """`Elementwise.decay_of` where the option `decoupled_weight_decay` chooses."""
    return "decoupled" if group.get("decoupled_weight_decay") else "l2"


class Adam(Elementwise):
    """Adam: steps of a size that hardly depends on the size of the gradients. See `adam` for the formula.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate, a number or a tensor of one element.
        betas: decay rates of the two running means, in [0, 1).
        eps: added to the denominator.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        amsgrad: divide by the largest mean square so far.
        maximize: go uphill.
        decoupled_weight_decay: instead shrink p by ``lr * weight_decay * p``, as `AdamW` does.
        foreach, fused, capturable: accepted, without effect (`Elementwise`). differentiable: must be False.

    State of a parameter: ``step``, ``exp_avg``, ``exp_avg_sq`` and with amsgrad ``max_exp_avg_sq``.
    """

    rule = staticmethod(adam)
    decay = "l2"
    decay_of = chosen

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_lr(lr)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        check_tensor_options(lr, betas, foreach and not capturable)
        check_implementation(foreach, fused, differentiable)
        super().__init__(params, dict(lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def slots(self, group):
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    def coefficients(self, group, fresh, step):
        step += 1
        beta1, beta2 = map(float, group["betas"])
        correction = sqrt(1 - beta2**step)
        lr = float(group["lr"]) * correction / (1 - beta1**step)
        return (step,), AdamCoefficients(1 - beta1, beta2, 1 - beta2, group["eps"] * correction, lr)


def check_tensor_options(lr, betas, foreach):
    """PyTorch's rules on tensors among Adam's options."""
    require(not (foreach and isinstance(lr, Tensor)),
            "lr as a Tensor is not supported for capturable=False and foreach=True")
    kinds = [isinstance(beta, Tensor) for beta in betas]
    require(kinds == [True, True] or all(isinstance(beta, float) for beta in betas),
            f"betas must be either both floats or both Tensors, got {betas[0]!r} and {betas[1]!r}")
    for i, beta in enumerate(betas):
        if kinds[i]:
            require(not foreach, f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            require(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")


class AdamW(Adam):
    """Adam with decoupled weight decay: before the step, p shrinks by ``lr * weight_decay * p``.

    Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019. Arguments and state as for `Adam`;
    the default `weight_decay` is 0.01.
    """

    decay = "decoupled"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:                    # also in the state of an Adam
            group["decoupled_weight_decay"] = True


class NAdamCoefficients(NamedTuple):
    """Coefficients of one step of `nadam`; `correction` is that of sqrt(v)."""

    weight1: float
    beta2: float
    weight2: float
    correction: float
    eps: float
    lr_g: float
    lr_m: float


@has_kernel("nadam")
def nadam(xp, p, g, states, scratch, c):
    """One step of Adam with Nesterov's look-ahead::

        m, v as in Adam
        p <- p - (lr_g g + lr_m m) / (sqrt(v / (1 - beta2^t)) + eps)
        lr_g = lr (1 - mu_t) / (1 - mu_1 ... mu_t)
        lr_m = lr mu_(t+1) / (1 - mu_1 ... mu_(t+1))
        mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)

    Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop 2016.
    """
    m, v = states
    s, u = scratch
    lerp(xp, m, g, c.weight1, s)
    add_square(xp, v, g, c.beta2, c.weight2, s)
    xp.sqrt(v, s)
    xp.multiply(s, c.correction, s)
    xp.add(s, c.eps, s)
    for weight, direction in (c.lr_g, g), (c.lr_m, m):
        xp.multiply(direction, weight, u)
        xp.divide(u, s, u)
        xp.subtract(p, u, p)


class NAdam(Elementwise):
    """Adam with Nesterov momentum: see `nadam`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate. betas: decay rates of the running means. eps: added to the denominator.
        weight_decay: adds ``weight_decay * p`` to the gradient; if `decoupled_weight_decay`, shrinks p instead.
        momentum_decay: how fast the momentum grows towards beta1.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(nadam)
    decay = "l2"
    decay_of = chosen
    scratch = 2
    counters = ("step", "mu_product")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):
        check_lr(lr)
        check_not_negative(epsilon=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable))

    def slots(self, group):
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def first(self, group, counter):
        return 1.0 if counter == "mu_product" else 0.0

    def coefficients(self, group, fresh, step, mu_product):
        step += 1
        beta1, beta2 = map(float, group["betas"])
        lr, decay, number = float(group["lr"]), group["momentum_decay"], counter_type().type
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
        mu_product = float(number(mu_product) * number(mu))        # rounded as the tensor that keeps it
        return (step, mu_product), NAdamCoefficients(
            1 - beta1, beta2, 1 - beta2, correction=1 / sqrt(1 - beta2**step), eps=float(group["eps"]),
            lr_g=lr * (1 - mu) / (1 - mu_product), lr_m=lr * mu_next / (1 - mu_product * mu_next))


class RAdamCoefficients(NamedTuple):
    """Coefficients of one step of `radam`; `lr` has the corrections in it, and r."""

    weight1: float
    beta2: float
    weight2: float
    eps: float
    lr: float
    rectified: bool


@has_kernel("radam")
def radam(xp, p, g, states, scratch, c):
    """One step of Adam that does without v as long as it rests on too few steps::

        m, v as in Adam
        p <- p - lr / (1 - beta1^t) m                                       while rho <= 5
        p <- p - lr / (1 - beta1^t) r m sqrt(1 - beta2^t) / (sqrt(v) + eps)  afterwards
        rho = rho_inf - 2 t beta2^t / (1 - beta2^t),   rho_inf = 2 / (1 - beta2) - 1
        r^2 = (rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho)

    Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020. Unlike the paper, eps is
    added to the root of v itself, as in PyTorch.
    """
    m, v = states
    s, = scratch
    lerp(xp, m, g, c.weight1, s)
    add_square(xp, v, g, c.beta2, c.weight2, s)
    if c.rectified:
        xp.sqrt(v, s)
        xp.add(s, c.eps, s)
        xp.divide(m, s, s)
        xp.multiply(s, c.lr, s)
    else:
        xp.multiply(m, c.lr, s)
    xp.subtract(p, s, p)


class RAdam(Elementwise):
    """Rectified Adam: see `radam`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate. betas: decay rates of the running means. eps: added to the denominator.
        weight_decay: adds ``weight_decay * p`` to the gradient; if `decoupled_weight_decay`, shrinks p instead.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(radam)
    decay = "l2"
    decay_of = chosen

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def slots(self, group):
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def coefficients(self, group, fresh, step):
        step += 1
        beta1, beta2 = map(float, group["betas"])
        lr, correction = float(group["lr"]) / (1 - beta1**step), 1 - beta2**step
        limit = 2 / (1 - beta2) - 1                                # rho_inf
        rho = limit - 2 * step * beta2**step / correction
        rectified = rho > 5
        if rectified:
            r = sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
            lr *= r * sqrt(correction)
        return (step,), RAdamCoefficients(1 - beta1, beta2, 1 - beta2, float(group["eps"]), lr, rectified)


class AdamaxCoefficients(NamedTuple):
    """Coefficients of one step of `adamax`; `lr` is lr / (1 - beta1^t)."""

    weight1: float
    beta2: float
    eps: float
    lr: float


@has_kernel("adamax")
def adamax(xp, p, g, states, scratch, c):
    """One step of Adam with the largest of the recent gradients in place of their mean square::

        m as in Adam
        u <- max(beta2 u, |g| + eps)
        p <- p - lr / (1 - beta1^t) m / u

    Kingma and Ba, "Adam", ICLR 2015, section 7.1; eps as in PyTorch.
    """
    m, u = states
    s, = scratch
    lerp(xp, m, g, c.weight1, s)
    xp.multiply(u, c.beta2, u)
    xp.absolute(g, s)
    xp.add(s, c.eps, s)
    xp.maximum(u, s, out=u)
    xp.divide(m, u, s)
    xp.multiply(s, c.lr, s)
    xp.subtract(p, s, p)


class Adamax(Elementwise):
    """Adam with the infinity norm: see `adamax`.

    Args:
        params: tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate. betas: decay rates of the mean and of the maximum. eps: added to each ``|g|``.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        maximize: go uphill. foreach, capturable: without effect. differentiable: must be False.
    """

    rule = staticmethod(adamax)
    decay = "l2"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def slots(self, group):
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def coefficients(self, group, fresh, step):
        step += 1
        beta1, beta2 = map(float, group["betas"])
        lr = float(group["lr"]) / (1 - beta1**step)
        return (step,), AdamaxCoefficients(1 - beta1, beta2, float(group["eps"]), lr)
