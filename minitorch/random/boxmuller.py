"""Box-Muller in float32, rounded as PyTorch's x86 kernel rounds it, so that ``randn`` agrees bit for bit.

PyTorch fills a float32 tensor of 16 or more normal numbers with AVX2 code whose logarithm, sine and cosine are
the single-precision polynomials of the Cephes library (S. Moshier), and whose multiply-adds are fused: ``a*b + c``
rounded once. NumPy has no fused multiply-add, but float64 gives one: the product of two float32 numbers is exact
there, so adding in float64 and rounding the sum to float32 rounds (but for about one case in 2**29) once. Where the
product is exact in float32 too, plain float32 arithmetic does.

Each half of the transform takes one of 2**24 inputs. All of them were compared with a compiled copy of the kernel's
arithmetic; none differs.
"""

import numpy as np

__all__ = ["box_muller", "multiply_add"]

f32 = np.float32


def rounded(*coefficients):
    """Coefficients as float64 numbers with float32 values."""
    return tuple(float(f32(c)) for c in coefficients)


# log(1 + x) = x - x**2/2 + x**3 * P(x), for sqrt(1/2) - 1 <= x <= sqrt(2) - 1; highest power first.
LOG = rounded(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
              -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
# log(2) in two parts. The first has so few digits that its product with an exponent is exact.
LOG2_HIGH, LOG2_LOW = f32(0.693359375), f32(-2.12194440e-4)

# sin(x) = x + x**3 * S(x**2) and cos(x) = 1 - x**2/2 + x**4 * C(x**2), for -pi/4 <= x <= pi/4.
SIN = rounded(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = rounded(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# pi/4 in three parts. The products of the first two with a number up to 8 are exact.
QUARTER_PI = f32(0.78515625), f32(2.4187564849853515625e-4), f32(3.77489497744594108e-8)


def multiply_add(a, b, c):
    """``a * b + c`` rounded once to float32, for a float32 array `a`, float64 `b` of float32 values, float32 `c`."""
    product = a.astype(np.float64)
    product *= b
    product += c
    return product.astype(f32)


def polynomial(coefficients, x):
    """Horner's rule, one rounding a step, for a float64 array ``x`` of float32 values."""
    y, narrow = x * coefficients[0], np.empty(x.shape, f32)
    for c in coefficients[1:-1]:
        y += c
        np.copyto(narrow, y, casting="same_kind")
        np.copyto(y, narrow)
        y *= x
    y += coefficients[-1]
    return y.astype(f32)


def box_muller(uniform):
    """Turn float32 numbers in [0, 1), a multiple of 16 of them, into as many standard normal ones.

    Of each 16, the first eight give the radius and the last eight the angle of eight pairs; a pair's members lie
    eight apart.
    """
    uniform = uniform.reshape(-1, 2, 8)
    length = radius(f32(1) - uniform[:, 0])
    cosine, sine = cos_sin(uniform[:, 1])
    normal = np.empty_like(uniform)
    np.multiply(length, cosine, out=normal[:, 0])
    np.multiply(length, sine, out=normal[:, 1])
    return normal.reshape(-1)


def radius(u):
    """``sqrt(-2 * log(u))`` of a float32 array in (0, 1]."""
    bits = u.view(np.int32)
    mantissa = ((bits & 0x007FFFFF) | 0x3F000000).view(f32)  # u = mantissa * 2**exponent, 1/2 <= mantissa < 1
    small = mantissa < f32(0.5**0.5)  # doubled, so that x lies about zero
    exponent = ((bits >> 23) - (126 + small)).astype(f32)
    x = mantissa - f32(1)
    x += mantissa * small

    x64, square = x.astype(np.float64), x * x
    y = polynomial(LOG, x64)
    y *= x
    y = multiply_add(y, square.astype(np.float64), exponent * LOG2_LOW)
    square *= f32(0.5)
    y -= square
    y += x
    y += exponent * LOG2_HIGH
    y *= f32(-2)
    return np.sqrt(y, out=y)


def cos_sin(u):
    """Cosine and sine of ``2 * pi * u`` for a float32 array in [0, 1)."""
    theta = u * f32(2 * np.pi)
    octant = ((theta * f32(4 / np.pi)).astype(np.int32) + 1) & ~1  # 0, 2, 4, 6 or 8: twice the nearest quarter turn
    turns = octant.astype(f32)
    theta -= turns * QUARTER_PI[0]
    theta -= turns * QUARTER_PI[1]
    x = multiply_add(turns, -float(QUARTER_PI[2]), theta)  # theta less the quarter turns

    square = x * x
    square64 = square.astype(np.float64)
    cos = polynomial(COS, square64)
    cos *= square
    cos = multiply_add(cos, square64, square * f32(-0.5))
    cos += f32(1)
    sin = polynomial(SIN, square64)
    sin *= square
    sin = multiply_add(sin, x.astype(np.float64), x)

    swap = (octant & 2).astype(bool)
    cosine, sine = np.where(swap, sin, cos), np.where(swap, cos, sin)
    cosine.view(np.int32)[...] ^= ((octant + 2) & 4) << 29  # negative after one and two quarter turns
    sine.view(np.int32)[...] ^= (octant & 4) << 29  # after two and three
    return cosine, sine
