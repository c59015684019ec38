"""The array API standard's extension ``fft``: `minitorch.fft` with the standard's arguments."""

import minitorch as torch

from ..backends import numpy_names

# the standard's own list
__all__ = ("fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq "
           "rfftn").split()


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


for _name in __all__:
    if numpy_names.class_of(f"fft.{_name}") == "transform":
        globals()[_name] = (along_several if _name.endswith("n") else along_one)(_name)


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
