"""Windows of signal processing: weights that fall off towards both ends. No op definitions.

All take a length, and `periodic`: the first weights of a symmetric window that is one longer, as a Fourier transform
wants them, rather than a symmetric window. The dtype is the default one if none is given. RuntimeError for a negative
length and for a dtype that is not floating-point. The formulas, k = 0 ... n, are those in F. J. Harris, "On the use of
windows for harmonic analysis with the discrete Fourier transform", Proceedings of the IEEE 66 (1978).
"""

import math

from ...core.dtypes import get_default_dtype
from ..define import composite
from ..elementwise.compare import where
from ..elementwise.special import i0
from .create import arange, empty, ones


def made(name, formula, window_length, periodic, dtype, device, requires_grad):
    """``formula(k, n)`` at the places k of a window."""
    dtype = get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if window_length < 2:
        weights = (ones if window_length else empty)(window_length, dtype=dtype, device=device)
    else:
        places = arange(window_length, dtype=dtype, device=device)
        weights = formula(places, window_length if periodic else window_length - 1)
    return weights.requires_grad_(requires_grad)


@composite(method=False)
def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False):
    """The Hann window, ``0.5 - 0.5 * cos(2 pi k / n)``."""
    return made("hann_window", cosine(0.5, 0.5), window_length, periodic, dtype, device, requires_grad)


@composite(method=False)
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None,
                   pin_memory=False, requires_grad=False):
    """The Hamming window, ``alpha - beta * cos(2 pi k / n)``."""
    return made("hamming_window", cosine(alpha, beta), window_length, periodic, dtype, device, requires_grad)


def cosine(alpha, beta):
    return lambda k, n: exact(k * (2 * math.pi / n), "cos") * -beta + alpha


def exact(x, name):
    """A function of `x`, rounded once to its dtype as the C library's; vector libraries differ."""
    return getattr(x.double(), name)().to(x.dtype)


@composite(method=False)
def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                    requires_grad=False):
    """The Blackman window, ``0.42 - 0.5 * cos(2 pi k / n) + 0.08 * cos(4 pi k / n)``."""
    def formula(k, n):
        angle = k * (math.pi / n)
        return exact(angle * 4, "cos") * 0.08 - exact(angle * 2, "cos") * 0.5 + 0.42
    return made("blackman_window", formula, window_length, periodic, dtype, device, requires_grad)


@composite(method=False)
def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False,
                    requires_grad=False):
    """The Bartlett window, a triangle: ``1 - |2 k / n - 1|``."""
    return made("bartlett_window", triangle, window_length, periodic, dtype, device, requires_grad)


def triangle(k, n):
    x = k * (2 / n)
    return where(k > n // 2, 2 - x, x)


@composite(method=False)
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
                  requires_grad=False):
    """The Kaiser window, ``i0(beta * sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)``."""
    return made("kaiser_window", bessel(beta), window_length, periodic, dtype, device, requires_grad)


def bessel(beta):
    def formula(k, n):
        half = k.new_full((), n / 2)
        top = k.new_full((), beta)
        return i0(top * (1 - ((k - half) / half) ** 2).sqrt()) / i0(top)
    return formula
