"""Neural networks: modules, losses, containers, initial values, utilities. Same names as ``torch.nn``.

The layers are the names that the files of `modules/` list in their ``__all__``. A new file there needs a line here, so
that editors and type checkers see its names.
"""

# ruff: noqa: F401, F403

import importlib

from . import functional, init, modules, parallel, parameter, utils
from .modules.activation import *
from .modules.adaptive import *
from .modules.attention import *
from .modules.container import *
from .modules.conv import *
from .modules.distance import *
from .modules.dropout import *
from .modules.flatten import *
from .modules.fold import *
from .modules.linear import *
from .modules.loss import *
from .modules.module import *
from .modules.norm import *
from .modules.padding import *
from .modules.pixelshuffle import *
from .modules.pooling import *
from .modules.rnn import *
from .modules.sparse import *
from .modules.transformer import *
from .modules.upsampling import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .summary import summary


def __getattr__(name):
    """Modules that few programs use are imported when asked for."""
    if name in ("attention", "common_types", "grad"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
