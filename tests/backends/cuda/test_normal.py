"""gelu, silu and sigmoid on the device to the bounds that `normal.cuh` states, from tail to tail."""

import math

import numpy as np
import pytest

from tests.backends.cuda.kernel_checks import DTYPES, close, device, put, rounding, smallest

ROOT = math.sqrt(2 / math.pi)
EDGES = [0.0, -0.0, 1e-30, -1e-30, 40.0, -40.0, math.inf, -math.inf, math.nan]
distribution = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


def numbers(dtype):
    return np.concatenate([np.linspace(-15, 15, 6007), EDGES]).astype(DTYPES[dtype])


def computed(name, *arrays, **attrs):
    found = device.kernels[name](device, *map(put, arrays), **attrs)
    return device.to_host(found[0] if isinstance(found, tuple) else found)


def allowed(kind, wanted, steps, short=0.0):
    """`steps` roundings of float32, the short polynomial's error in 16 bits, and what storing rounds or flushes."""
    dtype = DTYPES[kind]
    relative = 2.0**-24 * steps + (short if dtype.itemsize == 2 else 0) + 1.01 * rounding(dtype)
    return relative * np.abs(np.nan_to_num(wanted, posinf=0, neginf=0)) + smallest(dtype) + 2.0**-115


def exponent(x):
    """2 w of gelu by tanh: x / (1 + exp(-2 w))."""
    return 2 * ROOT * (x + 0.044715 * x**3)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_forward(dtype):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        wide = x.astype("f8")
        reach = np.minimum(np.nan_to_num(abs(exponent(wide)), nan=0), 200)
        exact, tanh = wide * distribution(wide), wide / (1 + np.exp(-exponent(wide)))
        logistic = 1 / (1 + np.exp(-wide))
    half = DTYPES[dtype].itemsize == 2
    close(computed("gelu", x), exact, allowed(dtype, exact, 120 if half else 12, 2.0**-14.5))
    close(computed("gelu", x, approximate="tanh"), tanh, allowed(dtype, tanh, 8 + 4 * reach))
    close(computed("sigmoid", x), logistic, allowed(dtype, logistic, 30 if half else 5))
    with np.errstate(invalid="ignore"):
        logistic *= wide
    close(computed("silu", x), logistic, allowed(dtype, logistic, 30 if half else 6))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_backward(dtype):
    """Where two terms of a slope cancel, the bound is of the terms."""
    x, g = numbers(dtype)[:-3], np.ones(1, DTYPES[dtype])
    wide = x.astype("f8")
    g = np.broadcast_to(g, x.shape).copy()
    below, bell = distribution(wide), np.exp(-wide**2 / 2) / math.sqrt(2 * math.pi)
    exact = below + wide * bell
    found = computed("gelu_backward", g, x)
    close(found, exact, allowed(dtype, exact, 3) + 2.0**-24 * 120 * (below * (wide < 0) + abs(wide) * bell))
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-exponent(wide)))
    term = abs(wide) * gate * 2 * ROOT * (1 + 3 * 0.044715 * wide**2)
    tanh = gate + np.sign(wide) * term * (1 - gate)
    reach = np.minimum(abs(exponent(wide)), 200)
    bound = allowed(dtype, tanh, 3) + 2.0**-24 * (4 * term * (wide > 0) + (8 + 4 * reach) * (gate + term * (1 - gate)))
    close(computed("gelu_backward", g, x, approximate="tanh"), tanh, bound)


def test_the_tail_keeps_its_digits():
    """Where 1 + erf(x) has none left: one of PyTorch's deviations that is not copied."""
    x = np.array([-4.0, -6.0, -9.0, -12.0], "f4")
    wanted = x * distribution(x.astype("f8"))
    assert (abs(computed("gelu", x) / wanted - 1) < 12 * 2.0**-24).all()


def test_float64():
    """Relative to the terms: 2^-53 of the exponents, which reach 113 and 200, and some roundings."""
    x = np.linspace(-15, 15, 301)
    below, bell = distribution(x), np.exp(-x**2 / 2) / math.sqrt(2 * math.pi)
    close(computed("gelu", x), x * below, 2.0**-52 * (8 + x**2) * abs(x * below))
    close(computed("gelu_backward", np.ones_like(x), x), below + x * bell, 2.0**-52 * (8 + x**2) * (
        below + abs(x) * bell))
    gate, steep = 1 / (1 + np.exp(-exponent(x))), 2 * ROOT * (1 + 3 * 0.044715 * x**2)
    term = x * gate * (1 - gate) * steep
    bound = 2.0**-52 * ((16 + 2 * abs(exponent(x))) * (gate + abs(term)) + abs(x) * gate * steep)      # of 1 - gate
    close(computed("gelu_backward", np.ones_like(x), x, approximate="tanh"), gate + term, bound)
