"""``nn.modules``, where PyTorch keeps the files of its layers, for programs that import from there.

Nothing is defined here: every name is that of a file of ``minitorch.nn``.
"""

# ruff: noqa: I001

import sys

from .. import (activation, adaptive, attention, common, containers, conv, distance, dropout, flatten, fold, lazy,
                linear, loss, module, norm, padding, pixelshuffle, pooling, rnn, sparse, transformer, upsampling)

_FILES = dict(
    activation=activation, adaptive=adaptive, batchnorm=norm, channelshuffle=pixelshuffle, container=containers,
    conv=conv, distance=distance, dropout=dropout, flatten=flatten, fold=fold, instancenorm=norm, lazy=lazy,
    linear=linear, loss=loss, module=module, normalization=norm, padding=padding, pixelshuffle=pixelshuffle,
    pooling=pooling, rnn=rnn, sparse=sparse, transformer=transformer, upsampling=upsampling, utils=common)

vars(activation).update(MultiheadAttention=attention.MultiheadAttention)        # PyTorch keeps it there
sys.modules.update({f"{__name__}.{name}": file for name, file in _FILES.items()})
globals().update(_FILES)


def __getattr__(name):
    """The public classes, as ``nn`` has them."""
    from .. import __dict__ as names
    found = names.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
