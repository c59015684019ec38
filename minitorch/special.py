"""Special functions, as ``torch.special``: what the op table publishes under that name."""

from .core.registry import FUNCTIONS

globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if namespace == "special"})
__all__ = [name for namespace, name in FUNCTIONS if namespace == "special"]
