"""The windows of ``torch.signal.windows``: `M` weights that fall off towards both ends. No op definitions.

`sym` False gives the first weights of the window that is one longer, as a Fourier transform wants them. Below, n is
M - 1, or M for these, and k = 0 ... M - 1, at places that are rounded as PyTorch's. ValueError for a
negative `M` and for dtypes
other than float32 and float64; the default dtype if none is given. F. J. Harris, "On the use of windows for harmonic
analysis with the discrete Fourier transform", Proceedings of the IEEE 66 (1978); J. F. Kaiser and R. W. Schafer (1980);
A. H. Nuttall, "Some windows with very good sidelobe behavior" (1981).
"""

import math

from ...core.dtypes import get_default_dtype
from ..define import composite
from ..elementwise.special import i0
from .create import linspace, ones
from .windows import exact


def made(name, formula, M, sym, dtype, device, requires_grad, single=True):
    """``formula(M, n, places)``, which asks for places ``places(first, last)`` at equal distances.

    `single`: a window of one weight is 1, whatever the formula.
    """
    dtype = get_default_dtype() if dtype is None else dtype
    if dtype.name not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if M < (2 if single else 1):
        weights = ones(M, dtype=dtype, device=device)
    else:
        weights = formula(M, M - 1 if sym or M < 2 else M,
                          lambda first, last: linspace(first, last, M, dtype=dtype, device=device))
    return weights.requires_grad_(requires_grad)


def cosines(a):
    """The formula ``a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n) - ...``."""
    def formula(M, n, places):
        angle = places(0, (M - 1) * (2 * math.pi / n))
        terms = [exact(i * angle, "cos") * ((-1) ** i * w) for i, w in enumerate(a)]
        return sum(terms[1:], terms[0])
    return formula


@composite(namespace="signal.windows")
def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Bartlett window, a triangle: ``1 - |2 k / n - 1|``."""
    def formula(M, n, places):
        return 1 - places(-1, -1 + (M - 1) * (2 / n)).abs()
    return made("bartlett", formula, M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Blackman window: `general_cosine` with ``a = [0.42, 0.5, 0.08]``."""
    return made("blackman", cosines([0.42, 0.5, 0.08]), M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The cosine window: ``sin(pi (k + 0.5) / (n + 1))``."""
    def formula(M, n, places):
        step = math.pi / (n + 1)
        return exact(places(0.5 * step, (0.5 + (M - 1)) * step), "sin")
    return made("cosine", formula, M, sym, dtype, device, requires_grad, False)


@composite(namespace="signal.windows")
def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The exponential window: ``exp(-|k - center| / tau)``; `center` is n / 2, and can be given only if not `sym`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(M, n, places):
        middle = n / 2 if center is None else center
        return exact(-places(-middle * (1 / tau), (-middle + (M - 1)) * (1 / tau)).abs(), "exp")
    return made("exponential", formula, M, sym, dtype, device, requires_grad, False)


@composite(namespace="signal.windows")
def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Gaussian window: ``exp(-((k - n / 2) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def formula(M, n, places):
        step = 1 / (std * math.sqrt(2))
        return exact(-places(-n / 2 * step, (-n / 2 + (M - 1)) * step) ** 2, "exp")
    return made("gaussian", formula, M, sym, dtype, device, requires_grad, False)


@composite(namespace="signal.windows")
def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A sum of cosines: ``a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n) - ...``."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return made("general_cosine", cosines(list(a)), M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The general Hamming window: ``alpha - (1 - alpha) cos(2 pi k / n)``."""
    return made("general_hamming", cosines([alpha, 1 - alpha]), M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Hamming window: ``0.54 - 0.46 cos(2 pi k / n)``."""
    return made("hamming", cosines([0.54, 0.46]), M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Hann window: ``0.5 - 0.5 cos(2 pi k / n)``."""
    return made("hann", cosines([0.5, 0.5]), M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Kaiser window: ``i0(beta sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(M, n, places):
        k = places(-beta, min(beta, -beta + (M - 1) * (2.0 * beta / n)))
        return i0((beta * beta - k ** 2).sqrt()) / i0(k.new_full((), beta))
    return made("kaiser", formula, M, sym, dtype, device, requires_grad)


@composite(namespace="signal.windows")
def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The minimum 4-term Blackman-Harris window according to Nuttall: `general_cosine` with four terms."""
    return made("nuttall", cosines([0.3635819, 0.4891775, 0.1365995, 0.0106411]), M, sym, dtype, device, requires_grad)
