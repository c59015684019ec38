"""The error function and its family on raw arrays, which NumPy lacks; the ops are in `special` and `activation`.

All functions take and return arrays of float32 or float64. All others rest on three of them:

- `erf` adds to its value at the nearest multiple of 1/512 (a table) what the integral gains from there to x;
- `tail`, ``exp(x^2) erfc(x)``, is a polynomial in ``(x - 3) / (x + 3)`` over ``1 + 2x``: the form of M. Shepherd and
  J. Laframboise, "Chebyshev approximation of (1+2x) exp(x^2) erfc(x)", 1981, fitted in 40-digit arithmetic;
- the inverses take a formula of S. Winitzki (2008) that is right to 0.2 % and improve it by Newton's method.
"""

import functools
import math

from .series import horner, piecewise

STEPS, REACH = 512, 6                                      # nodes per unit, and where erf has become 1
ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2)


@functools.cache
def nodes(xp, dtype):
    """erf at the multiples of 1/512 from -6 to 6."""
    return xp.asarray([math.erf(i / STEPS) for i in range(-REACH * STEPS, REACH * STEPS + 1)], dtype)


def erf(xp, x):
    """``2 / sqrt(pi) * integral of exp(-t^2) from 0 to x``.

    From the nearest node x0 to x, with ``d = x - x0``, m their middle and ``q = m^2``, the integral of ``exp(-t^2)`` is
    ``d exp(-q) (1 + d^2 (2q - 1) / 12 + d^4 / 160)``: Taylor's series at m, in which odd powers vanish. In single
    precision what follows the 1 is below rounding.
    """
    x = xp.clip(x, -REACH, REACH)
    node = xp.rint(x * STEPS)
    place = (node + REACH * STEPS).astype("int64")
    node *= 1 / STEPS
    d = x - node
    q = d * 0.5
    q += node
    q *= q
    gain = xp.exp(-q)
    gain *= d
    gain *= 2 / ROOT_PI
    if x.itemsize == 8:
        d *= d
        q *= 1 / 6
        q -= 1 / 12
        q += d * (1 / 160)
        q *= d
        q += 1
        gain *= q
    gain += xp.take(nodes(xp, x.dtype), place, mode="clip")
    return gain


# The polynomial of `tail`, lowest power first, by the size of the dtype. Relative errors 5e-17 and 1e-8.
TAIL = {8: (1.2530080582697296, -0.13562110612458111, -0.04756229435345069, 0.1296451587027457, -0.11927366341526784,
            0.0683080273449022, -0.023770514921552247, 0.0025293917936656156, 0.0018886904367616043,
            -0.0007798320215481393, -0.0001051608456435926, 0.0001250981640724874, 4.957208622870267e-06,
            -2.010098568573293e-05, -7.621548574406344e-07, 3.4993019532879996e-06, 4.112434498812321e-07,
            -7.144620295722057e-07, -1.4247477511728202e-07, 2.1159864593666886e-07, -4.520964519539401e-08),
        4: (1.2530080462658038, -0.13562115777522538, -0.04756110620558166, 0.12964674973668613, -0.11929336715396092,
            0.06830205016097596, -0.023655129115753935, 0.0024868680110204304, 0.0016405168232373258,
            -0.0005743200396567353)}


def tail(xp, x):
    """``exp(x^2) erfc(x)`` for ``x >= 1``."""
    return horner((x - 3) / (x + 3), TAIL[x.itemsize]) / (1 + 2 * x)


def exp_square(xp, x, sign):
    """``exp(sign * x^2)``; x in two parts, so that no digits of ``x^2`` are lost to rounding."""
    x = xp.minimum(xp.maximum(x, -30), 30)                 # beyond, it is 0 or infinite
    high = x.astype("float16" if x.itemsize == 4 else "float32").astype(x.dtype)
    return xp.exp(sign * high * high) * xp.exp(sign * (x - high) * (x + high))


def erfc(xp, x):
    """``1 - erf(x)`` without cancellation."""
    return piecewise(xp, (x,), [
        (x > 1, lambda x: tail(xp, xp.minimum(x, 30)) * exp_square(xp, x, -1)),
        (True, lambda x: 1 - erf(xp, x))])


def erfcx(xp, x):
    """``exp(x^2) erfc(x)``, which neither underflows nor cancels for positive x."""
    return piecewise(xp, (x,), [
        (x > 1e100, lambda x: 1 / (x * ROOT_PI)),
        (x > 1, lambda x: tail(xp, x)),
        (True, lambda x: (1 - erf(xp, x)) * exp_square(xp, x, 1))])


def ndtr(xp, x):
    """The normal distribution function."""
    return erfc(xp, x / -ROOT_2) / 2


def log_ndtr(xp, x):
    """The logarithm of the normal distribution function."""
    x = x / ROOT_2
    return piecewise(xp, (x,), [
        (x < -1, lambda x: xp.log(tail(xp, xp.minimum(-x, 1e200)) / 2) - x * x),
        (True, lambda x: xp.log1p(-erfc(xp, x) / 2))])


# ---- inverses ----------------------------------------------------------------------------------------------
def winitzki(xp, logarithm):
    """The x with ``log(1 - erf(x)^2) = logarithm``, to 0.2 %. Source: S. Winitzki, 2008."""
    a = 0.147
    t = 2 / (math.pi * a) + logarithm / 2
    return xp.sqrt(xp.sqrt(t * t - logarithm / a) - t)


def erfinv_near(xp, y):
    """The x with ``erf(x) = y``, for ``|y| <= 0.5``: two of Halley's steps, each triples the number of digits."""
    x = xp.copysign(winitzki(xp, xp.log1p(-y * y)), y)
    for _ in range(2):
        newton = (erf(xp, x) - y) * (ROOT_PI / 2) * xp.exp(x * x)
        x = x - newton / (1 + x * newton)
    return x


def erfcinv(xp, y):
    """The x with ``erfc(x) = y``, for ``0 <= y <= 0.5``: Newton's method for ``log erfc(x)``, nearly a parabola."""
    logarithm = xp.log(y)
    x = winitzki(xp, logarithm + xp.log(2 - y))
    for _ in range(4):
        scaled = erfcx(xp, x)
        x = x + (xp.log(scaled) - x * x - logarithm) * scaled * (ROOT_PI / 2)
    return xp.where(y == 0, math.inf, x)


def erfinv(xp, y):
    """The x with ``erf(x) = y``; NaN outside [-1, 1]."""
    size = xp.abs(y)
    return piecewise(xp, (y,), [
        (size <= 0.5, lambda y: erfinv_near(xp, y)),
        (size <= 1, lambda y: xp.copysign(erfcinv(xp, 1 - xp.abs(y)), y))])


def ndtri(xp, p):
    """The quantile of the normal distribution; NaN outside [0, 1]."""
    middle = (p > 0.25) & (p < 0.75)
    return piecewise(xp, (p,), [
        (middle, lambda p: ROOT_2 * erfinv_near(xp, 2 * p - 1)),
        ((p >= 0) & (p <= 0.25), lambda p: -ROOT_2 * erfcinv(xp, 2 * p)),
        ((p >= 0.75) & (p <= 1), lambda p: ROOT_2 * erfcinv(xp, 2 * (1 - p)))])
