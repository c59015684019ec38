"""The array API standard's extension ``fft``: `minitorch.fft` with the standard's arguments."""

import minitorch as torch

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq", *ONE, *SEVERAL]


def __dir__():
    return sorted(__all__)


def along_one(name):
    def call(x, /, *, n=None, axis=-1, norm="backward"):
        return getattr(torch.fft, name)(x, n, axis, norm)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.fft.{name}` along `axis`."
    return call


def along_several(name):
    def call(x, /, *, s=None, axes=None, norm="backward"):
        return getattr(torch.fft, name)(x, s, axes, norm)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.fft.{name}` along `axes`, by default all, or the last ones if `s` says the sizes."
    return call


globals().update({name: along_one(name) for name in ONE})
globals().update({name: along_several(name) for name in SEVERAL})


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of `fft`."""
    return torch.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of `rfft`."""
    return torch.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """The frequency 0 in the middle."""
    return torch.fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`."""
    return torch.fft.ifftshift(x, axes)
