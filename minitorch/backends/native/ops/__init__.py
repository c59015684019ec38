"""All native kernels: importing this enters them. Their C is in ``src``; nothing is compiled before it is called."""

from . import activation, loss, normalise, recurrent, softmax, stepping

__all__ = ["activation", "loss", "normalise", "recurrent", "softmax", "stepping"]
