"""The gamma function's family on raw arrays of float64, which NumPy lacks; the ops are in `special`.

All rest on three expansions, from F. Olver et al., NIST Digital Library of Mathematical Functions (DLMF):
Stirling's for large arguments (5.11), Taylor's at 2 for small ones (5.7.3), Euler and Maclaurin's for the zeta
function (25.11.5). Their coefficients are Bernoulli numbers and values of the zeta function, computed here.
"""

import functools
import math

from .erf import erfc
from .series import horner, piecewise

EULER = 0.5772156649015329
HALF_LOG_2PI = 0.9189385332046727


# The Bernoulli numbers of even index from 2 on (DLMF 24.2), and the coefficients of each expansion.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
             854513 / 138, -236364091 / 2730)
STIRLING = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:10], 1))
DIGAMMA = tuple(-b / (2 * k) for k, b in enumerate(BERNOULLI[:10], 1))
MACLAURIN = tuple(b / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1))


# ---- the zeta function of Hurwitz --------------------------------------------------------------------------
def zeta(xp, s, q):
    """``sum over k >= 0 of (q + k)^-s`` for s > 1; infinite at s = 1 and where a term is; NaN for smaller s."""
    whole_q, whole_s = q == xp.floor(q), s == xp.floor(s)
    bad = xp.isnan(s) | xp.isnan(q) | (s < 1)
    return piecewise(xp, (s, q), [
        (bad, lambda s, q: s * xp.nan),
        (s == 1, lambda s, q: xp.full(s.shape, xp.inf)),
        ((q <= 0) & whole_q, lambda s, q: xp.full(s.shape, xp.inf)),
        ((q <= 0) & ~whole_s, lambda s, q: s * xp.nan),
        (q < 0, lambda s, q: zeta_below_0(xp, s, q)),
        (True, lambda s, q: zeta_sum(xp, s, q))])


def zeta_below_0(xp, s, q):
    """For q < 0 and whole s: many terms below 0 are, but for the sign, those of another zeta function."""
    if xp.all(q > -20):
        return zeta_sum(xp, s, q)
    f = q - xp.floor(q)
    return zeta_sum(xp, s, f) + (1 - 2 * (s % 2)) * (zeta_sum(xp, s, 1 - f) - zeta_sum(xp, s, 1 - q))


def zeta_sum(xp, s, q):
    """The first terms one by one, until ``q + k >= s + 10``, and the rest by Euler and Maclaurin's formula."""
    total, a = xp.zeros(q.shape), q
    active = a < s + 10
    while active.any():
        term = power_of_inverse(a, s)
        total += term * active
        a = a + active
        active &= (a < s + 10) & (xp.abs(term) > 1e-18 * xp.abs(total))
    integral = power_of_inverse(a, s - 1)
    power = integral / a
    total += integral / (s - 1) + 0.5 * power
    factor = power / a * s                                 # a^-(s+1) s, then a^-(s+3) s (s+1) (s+2), ...
    squared = 1 / (a * a)
    for k, c in enumerate(MACLAURIN):
        total += factor * c
        factor = factor * squared * ((s + 2 * k + 1) * (s + 2 * k + 2))
    return total


def power_of_inverse(a, s):
    """``a^-s``; for a small whole number s by multiplication, which is much faster."""
    if s.__class__ is not int or s > 16:
        return a ** -s
    inverse = 1 / a
    power = inverse * inverse if s > 1 else inverse
    for _ in range(s - 2):
        power = power * inverse
    return power


@functools.cache
def at_2(xp):
    """Coefficients of ``lgamma(2 + t) / t``: 1 - gamma, (zeta(2) - 1) / 2, -(zeta(3) - 1) / 3, ... (DLMF 5.7.3)"""
    zetas = zeta(xp, xp.arange(2.0, 31.0), xp.full(29, 2.0)).tolist()
    return (1 - EULER, *[(-1) ** k * z / k for k, z in enumerate(zetas, 2)])


# ---- the logarithm of the gamma function -------------------------------------------------------------------
def lgamma(xp, x):
    """``log |Gamma(x)|``."""
    return piecewise(xp, (x,), [
        ((x == 0) | xp.isinf(x) | (x < 0) & (x == xp.rint(x)), lambda x: xp.full(x.shape, xp.inf)),
        (x >= 8, lambda x: stirling(xp, x)),
        (x > 0, lambda x: lgamma_small(xp, x)),
        (x < 0, lambda x: lgamma_reflected(xp, x))])


def stirling(xp, x):
    """Stirling's series, for ``x >= 8``."""
    return (x - 0.5) * xp.log(x) - x + HALF_LOG_2PI + stirling_rest(x)


def stirling_rest(x):
    """Logarithm of the factorial over ``sqrt(2 pi x) (x / e)^x``: 1/(12x) - 1/(360x^3) + ..."""
    return horner(1 / (x * x), STIRLING) / x


def lgamma_small(xp, x):
    """From Taylor's series at 2, to which x in (0, 8) is brought by ``Gamma(x + 1) = x Gamma(x)``."""
    t = x - 2
    product = xp.ones(x.shape)
    for _ in range(6):
        large = t >= 0.5
        product *= xp.where(large, t + 1, 1)
        t -= large
    down = xp.where(x < 0.5, x * (x + 1), xp.where(x < 1.5, x, 1))
    t = xp.where(x < 0.5, x, xp.where(x < 1.5, x - 1, t))
    return t * horner(t, at_2(xp)) + xp.log(product) - xp.log(down)


def lgamma_reflected(xp, x):
    """``Gamma(x) Gamma(-x) = -pi / (x sin(pi x))``, for ``x < 0``."""
    sine = xp.abs(xp.sin(math.pi * (x - xp.rint(x))))
    return math.log(math.pi) - xp.log(-x) - xp.log(sine) - lgamma(xp, -x)


# ---- its derivatives ---------------------------------------------------------------------------------------
def digamma(xp, x):
    """The derivative of `lgamma`; NaN at negative integers, infinite at 0 with the sign that leaves 0."""
    return piecewise(xp, (x,), [
        (x == 0, lambda x: xp.copysign(xp.inf, -x)),
        (x == xp.inf, xp.positive),
        (xp.abs(x) < 1e-300, lambda x: -1 / x),            # two terms would overflow, with opposite signs
        (x > 0, lambda x: digamma_positive(xp, x)),
        (x != xp.rint(x), lambda x: (digamma_positive(xp, -x) - 1 / x
                                     - math.pi / xp.tan(math.pi * (x - xp.rint(x)))))])


def digamma_positive(xp, x):
    total, x = xp.zeros(x.shape), x.copy()
    for _ in range(10):
        small = x < 10
        total -= xp.where(small, 1 / x, 0)
        x += small
    return total + xp.log(x) - 0.5 / x + horner(1 / (x * x), DIGAMMA) / (x * x)


def polygamma(xp, x, n):
    """The n-th derivative of `digamma`: ``(-1)^(n+1) n! zeta(n + 1, x)``."""
    if n == 0:
        return digamma(xp, x)
    factor = (-1) ** (n + 1) * math.gamma(n + 1)
    return factor * piecewise(xp, (x,), [
        ((x == xp.inf) & (n > 1), lambda x: x * xp.nan),     # as PyTorch has it, though the limit is 0
        (x > 0, lambda x: zeta_sum(xp, n + 1, x)),
        (x != xp.floor(x), lambda x: zeta_below_0(xp, n + 1, x)),
        (x <= 0, lambda x: xp.full(x.shape, xp.inf))])


# ---- the incomplete gamma functions ------------------------------------------------------------------------
def igamma(xp, a, x):
    """``1 / Gamma(a) * integral of t^(a-1) exp(-t) from 0 to x``."""
    return incomplete(xp, a, x, lower=True)


def igammac(xp, a, x):
    """``1 - igamma(a, x)`` without cancellation."""
    return incomplete(xp, a, x, lower=False)


def incomplete(xp, a, x, lower):
    """Below or above x, whichever is easier, and 1 minus it for the other.

    Below: the series DLMF 8.11.4; above: the continued fraction 8.9.2, for small x the series 8.7.3; for
    large a both by the uniform expansion 8.12.3.
    """
    def constant(p):
        return lambda a, x: xp.full(x.shape, p)

    def of(f, is_lower):
        return lambda a, x: f(xp, a, x) if is_lower == lower else 1 - f(xp, a, x)

    small = (x <= 1.1) & (a < xp.where(x <= 0.5, -0.4 / xp.log(x), 0.75 * x))
    return piecewise(xp, (a, x), [
        ((x < 0) | (a < 0) | (xp.isinf(a) & xp.isinf(x)) | ((a == 0) & ~(x > 0)), constant(math.nan)),
        ((a == 0) | (xp.isinf(x) & (x > 0)), constant(1.0 if lower else 0.0)),
        ((x == 0) | xp.isinf(a), constant(0.0 if lower else 1.0)),
        (a > 1e5, lambda a, x: uniform(xp, a, x, -1 if lower else 1)),
        (small, of(small_series, False)),
        (x <= a + 1, of(series, True)),
        (x > a + 1, of(fraction, False))])


def front(xp, a, x):
    """``x^a exp(-x) / Gamma(a + 1)``, for large a from Stirling's series, so that a log(a) does not cancel."""
    t = (x - a) / a
    depth = a * (xp.where(xp.abs(t) < 0.5, xp.log1p(t), xp.log(x / a)) - t)
    large = xp.exp(depth - stirling_rest(xp.maximum(a, 8))) / xp.sqrt(2 * math.pi * a)
    return xp.where(a > 10, large, xp.exp(a * xp.log(x) - x - lgamma(xp, a + 1)))


def series(xp, a, x):
    """The part below x: ``front * (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...)``."""
    total, term, n = xp.ones(x.shape), xp.ones(x.shape), 0
    while xp.any(term > 1e-17 * total):
        n += 1
        term = term * x / (a + n)
        total += term
    return total * front(xp, a, x)


def small_series(xp, a, x):
    """The part above a small x: 1 less ``x^a / Gamma(a + 1)``, in logarithms, less the rest of the series."""
    total, term = xp.zeros(x.shape), xp.ones(x.shape)
    for n in range(1, 25):
        term = term * -x / n
        total += term / (a + n)
    whole = a * xp.log(x) - lgamma_at_1(xp, a)
    return -xp.expm1(whole) - xp.exp(whole) * a * total


def lgamma_at_1(xp, a):
    """``lgamma(1 + a)`` without rounding ``1 + a``, for ``0 < a <= 1.1``."""
    return xp.where(a < 0.5, a * horner(a, at_2(xp)) - xp.log1p(a), lgamma(xp, 1 + a))


def fraction(xp, a, x):
    """The part above x by Lentz's method: ``front * a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))``."""
    b = x + 1 - a
    c, d = xp.full(x.shape, 1e300), 1 / b
    total, n = d.copy(), 0
    change = c
    while xp.any(xp.abs(change - 1) > 1e-15) and n < 10000:
        n += 1
        b = b + 2
        top = n * (a - n)
        d = 1 / (top * d + b)
        c = b + top / c
        change = c * d
        total = total * change
    return total * front(xp, a, x) * a


def uniform(xp, a, x, side):
    """The part above x (`side` 1) or below it (-1) for large a, nearly a normal distribution's. Source: DLMF 8.12."""
    t = (x - a) / a
    half = xp.where(xp.abs(t) < 1e-2, t * t * horner(t, [(-1.0) ** k / (k + 2) for k in range(9)]), t - xp.log1p(t))
    eta = xp.copysign(xp.sqrt(2 * half), t)
    rest = horner(eta, (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600))
    rest += horner(eta, (-1 / 540, -1 / 288, 1 / 378)) / a
    rest *= xp.exp(-a * half) / xp.sqrt(2 * math.pi * a)
    rest = xp.where(xp.abs(eta) < 0.5, rest, 0)            # beyond, the exponential is 0
    return erfc(xp, side * eta * xp.sqrt(a / 2)) / 2 + side * rest
