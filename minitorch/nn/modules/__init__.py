"""``nn.modules``: the layers, one file for each kind, under PyTorch's names of these files.

Where PyTorch spreads a kind over several files (``batchnorm``, ``instancenorm``, ``normalization``), all of their names
lead to the one file here.
"""

# ruff: noqa: F401

import sys

from . import (
    activation,
    adaptive,
    attention,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    lazy,
    linear,
    loss,
    module,
    norm,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)

ALIASES = dict(batchnorm=norm, channelshuffle=pixelshuffle, instancenorm=norm, normalization=norm)
KINDS = (activation, adaptive, attention, container, conv, distance, dropout, flatten, fold, linear, loss, module, norm,
         padding, pixelshuffle, pooling, rnn, sparse, transformer, upsampling)

sys.modules.update({f"{__name__}.{name}": file for name, file in ALIASES.items()})
globals().update(ALIASES)
vars(activation).update(MultiheadAttention=attention.MultiheadAttention)        # PyTorch keeps it there


def __getattr__(name):
    """The public classes, as ``nn`` has them."""
    for file in KINDS:
        found = vars(file).get(name)
        if isinstance(found, type) and found.__module__ == file.__name__:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
