"""The functions of neural networks, as ``torch.nn.functional``: what the op table publishes under that name.

Each is defined, with its derivative, in one file of `minitorch/ops`: activation, softmax, loss, norm, conv, pool ...
"""

from ..core.registry import FUNCTIONS

globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items()
                  if namespace == "nn.functional"})
__all__ = [name for namespace, name in FUNCTIONS if namespace == "nn.functional"]
