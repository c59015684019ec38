"""Windows, as ``torch.signal.windows``: what `minitorch/ops/creation/windows.py` publishes under that name."""

from ..core.registry import FUNCTIONS

_found = {name: public.call for (namespace, name), public in FUNCTIONS.items() if namespace == "signal.windows"}
globals().update(_found)
__all__ = list(_found)
