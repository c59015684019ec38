"""Modified Bessel functions of the first kind on raw arrays of float64; the ops are in `special`.

Up to 20 the power series, whose terms are all positive; beyond, the asymptotic expansion, whose smallest term there is
below 1e-17. Source: F. Olver et al., NIST Digital Library of Mathematical Functions, 10.25.2 and 10.40.1.
"""

import math

from .series import horner, piecewise

SWITCH = 20.0


def power_series(order):
    """Coefficients of ``I(x) / (x/2)^order`` in powers of ``(x/2)^2``: 1 / (k! (k + order)!)."""
    return tuple(1 / (math.factorial(k) * math.factorial(k + order)) for k in range(46))


def asymptotic_series(order):
    """Coefficients of ``sqrt(2 pi x) exp(-x) I(x)`` in powers of 1/x."""
    found = [1.0]
    for k in range(1, 31):
        found.append(-found[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return tuple(found)


POWER, ASYMPTOTIC = {n: power_series(n) for n in (0, 1)}, {n: asymptotic_series(n) for n in (0, 1)}


def scaled(xp, x, order):
    """``exp(-x) I(x)`` of order 0 or 1, for ``x >= 0``."""
    return piecewise(xp, (x,), [
        (x <= SWITCH, lambda x: xp.exp(-x) * horner(x * x / 4, POWER[order]) * (x / 2) ** order),
        (x > SWITCH, lambda x: horner(1 / x, ASYMPTOTIC[order]) / (4 * xp.sqrt(2 * math.pi * (x / 16))))])


def i0e(xp, x):
    """``exp(-|x|) I0(x)``."""
    return scaled(xp, xp.abs(x), 0)


def i1e(xp, x):
    """``exp(-|x|) I1(x)``."""
    return xp.sign(x) * scaled(xp, xp.abs(x), 1)


def i0(xp, x):
    """The modified Bessel function of order 0."""
    return unscaled(xp, x, i0e)


def i1(xp, x):
    """The modified Bessel function of order 1."""
    return unscaled(xp, x, i1e)


def unscaled(xp, x, function):
    half = xp.exp(xp.abs(x) / 2)                           # in two factors: exp(x) overflows before the product
    return half * function(xp, x) * half
