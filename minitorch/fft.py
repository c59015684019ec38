"""Discrete Fourier transforms, as ``torch.fft``: what `minitorch/ops/fft.py` publishes under that name."""

from .core.registry import FUNCTIONS

globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if namespace == "fft"})
__all__ = [name for namespace, name in FUNCTIONS if namespace == "fft"]
