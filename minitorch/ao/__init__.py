"""``torch.ao``: PyTorch's namespace of quantisation; here are the marks that models carry (`quantization`)."""

from . import quantization

__all__ = ["quantization"]
