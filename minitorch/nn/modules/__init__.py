"""``nn.modules``: the layers, one file for each kind, under PyTorch's names of these files.

Where PyTorch spreads a kind over several files (``batchnorm``, ``instancenorm``, ``normalization``), all of their names
lead to the one file here. What a file lists in its ``__all__`` is in ``nn`` too.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

from . import activation, attention, norm, pixelshuffle

FILES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
ALIASES = dict(batchnorm=norm, channelshuffle=pixelshuffle, instancenorm=norm, normalization=norm)

sys.modules.update({f"{__name__}.{name}": file for name, file in ALIASES.items()})
globals().update(ALIASES)
vars(activation).update(MultiheadAttention=attention.MultiheadAttention)        # PyTorch keeps it there


def __getattr__(name):
    """The public classes, as ``nn`` has them."""
    for file in FILES:
        found = vars(file).get(name)
        if isinstance(found, type) and found.__module__ == file.__name__ and hasattr(file, "__all__"):
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
