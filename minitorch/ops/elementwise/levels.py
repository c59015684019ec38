"""How quantiles of the gamma and the beta distribution move with their shapes, on raw arrays of float64.

A random number x that stays at its level, F(x; a) = u, moves by ``dx/da = -(dF/da) / p(x)`` as the shape a grows:
M. Figurnov et al., "Implicit reparameterization gradients", 2018. ``dF/da`` is the integral of
``(log t - E[log t]) p(t)`` up to x or, since the whole integral is zero, minus that from x on. The first integrand is
negative where ``log x < E[log t]`` and the second positive beyond, so on its own side each is free of cancellation. For
small shapes, where an integrand has a pole or a long tail at the end, the terms of the distribution function's series
are differentiated instead.
"""

import functools
import math

from .gamma import digamma
from .series import piecewise

NODES = 80
DEPTH = 40.0                                               # exp(-40) is below rounding


@functools.cache
def fejer():
    """Nodes and weights of a quadrature on [0, 1]: L. Fejér's first rule (1933)."""
    found = []
    for k in range(NODES):
        theta = math.pi * (k + 0.5) / NODES
        weight = 1 - 2 * sum([math.cos(2 * j * theta) / (4 * j * j - 1) for j in range(1, NODES // 2 + 1)])
        found.append(((1 - math.cos(theta)) / 2, weight / NODES))
    return found


def integral(xp, integrand, depth, start):
    """``integrand`` from 0 to where ``depth`` has fallen below -DEPTH, which is looked for from `start` on."""
    end = start
    for _ in range(60):
        short = depth(end) > -DEPTH
        if not short.any():
            break
        end = xp.where(short, 2 * end, end)
    total = xp.zeros(end.shape)
    for node, weight in fejer():
        total += weight * integrand(node * end)
    return total * end


def summed(xp, first, ratio, value):
    """``sum over n of c(n) value(n)`` with ``c(0) = first`` and ``c(n) = c(n - 1) ratio(n)``, until terms vanish."""
    total, c, n = first * value(0), first, 0
    while n < 4000:
        n += 1
        c = c * ratio(n)
        term = c * value(n)
        total = total + term
        if not xp.any(xp.abs(term) > 1e-17 * xp.abs(total)):
            break
    return total


# ---- the gamma distribution --------------------------------------------------------------------------------
def gamma_slope(xp, a, x):
    """The derivative by the shape `a` of the gamma number `x` at its level."""
    return piecewise(xp, (a, x), [
        (~((a > 0) & (x >= 0)), lambda a, x: a * xp.nan),
        (x == 0, lambda a, x: 0 * a),
        ((a <= 8) & (x <= xp.maximum(a, 0.5)), lambda a, x: gamma_series(xp, a, x)),
        (x <= a, lambda a, x: gamma_side(xp, a, x, -1)),
        (True, lambda a, x: gamma_side(xp, a, x, 1))])


def gamma_series(xp, a, x):
    """From ``P(a, x) = sum over n of x^(a+n) exp(-x) / Gamma(a + n + 1)`` (DLMF 8.11.4), term by term."""
    rest = Digamma(xp, a + 1)
    log_x = xp.log(x)
    return summed(xp, x / a, lambda n: x / (a + n), lambda n: rest(n) - log_x)


class Digamma:
    """The digamma function at ``a + n`` for n = 0, 1, 2 ... in turn: ``digamma(a + 1) = digamma(a) + 1 / a``."""

    def __init__(self, xp, a):
        self.a, self.n, self.value = a, 0, digamma(xp, a)

    def __call__(self, n):
        if n > self.n:
            self.value, self.n = self.value + 1 / (self.a + self.n), n
        return self.value


def gamma_side(xp, a, x, side):
    """The integral from x on (`side` 1) or up to x (-1), in v with ``t = x exp(side v)``."""
    level = xp.log(x) - digamma(xp, a)

    def depth(v):
        return side * a * v - x * xp.expm1(side * v)

    start = xp.log1p(DEPTH / x) if side > 0 else DEPTH / a
    return x * integral(xp, lambda v: (side * level + v) * xp.exp(depth(v)), depth, start)


# ---- the beta distribution ---------------------------------------------------------------------------------
def beta_slope(xp, x, a, total):
    """The derivative by the first shape `a` of the beta number `x` at its level, divided by ``1 - x``.

    `total` is the sum of both shapes. A coordinate of a Dirichlet number is a beta number; as its concentration grows
    it moves so, and the others are scaled by what remains.
    """
    b = total - a
    inside = (x > 0) & (x < 1)
    valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    log_x = xp.log(xp.where(inside, x, 0.5))
    up, all_ = digamma(xp, xp.where(valid, a, 1.0)), digamma(xp, xp.where(valid, total, 2.0))
    below = log_x < up - all_
    steep = log_x < up + 1 / xp.where(valid, a, 1.0) - all_
    return piecewise(xp, (x, a, b), [
        (~valid, lambda x, a, b: x * xp.nan),
        (x == 0, lambda x, a, b: 0 * x),
        (x == 1, lambda x, a, b: (digamma(xp, a + b) - digamma(xp, a)) / b),
        ((x <= 0.5) & (a <= 8) & ((b < 1) | steep), lambda x, a, b: beta_lower_series(xp, x, a, b)),
        ((x > 0.5) & (b <= 8) & ((a < 1) | ~below), lambda x, a, b: beta_upper_series(xp, x, a, b)),
        (below, lambda x, a, b: beta_side(xp, x, a, b, -1)),
        (True, lambda x, a, b: beta_side(xp, x, a, b, 1))])


def beta_lower_series(xp, x, a, b):
    """From ``I_x(a, b) = sum of x^(a+n) (1-x)^b Gamma(a+b+n) / (Gamma(b) Gamma(a+n+1))`` (DLMF 8.17.8)."""
    log_x, upper, lower = xp.log(x), Digamma(xp, a + 1), Digamma(xp, a + b)
    return summed(xp, x / a, lambda n: x * (a + b + n - 1) / (a + n), lambda n: upper(n) - lower(n) - log_x)


def beta_upper_series(xp, x, a, b):
    """The same of ``I_(1-x)(b, a)``, which falls short of 1 by ``I_x(a, b)``."""
    log_x, base, lower = xp.log(x), digamma(xp, a), Digamma(xp, a + b)
    return summed(xp, x / b, lambda n: (1 - x) * (a + b + n - 1) / (b + n), lambda n: lower(n) - base + log_x)


def beta_side(xp, x, a, b, side):
    """The integral from x on (`side` 1) or up to x (-1), in v with ``logit(t) = logit(x) + side v``."""
    y = xp.log(x) - xp.log1p(-x)
    level = digamma(xp, a) - digamma(xp, a + b)

    def log_t(v):
        return -xp.logaddexp(0.0, -y - side * v)

    def depth(v):
        """The logarithm of ``(t/x)^a ((1-t)/(1-x))^b``, where ``log(1 - t) = log(t) - logit(t)``."""
        up = log_t(v) - xp.log(x)
        return a * up + b * (up - side * v)

    return x * integral(xp, lambda v: side * (log_t(v) - level) * xp.exp(depth(v)), depth, DEPTH / (a + b))
