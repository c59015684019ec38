"""Files: PyTorch's ``.pt`` format, both ways and without PyTorch; safetensors and ``.npz`` beside it.

``save`` and ``load`` are in `saving` and `loading`. A ``.pt`` file is an uncompressed zip archive (`archive`) that
holds a pickle and the storages that the pickle refers to; `unpickler` reads the pickle without running code, `names`
says what it may refer to, and `tensors` takes tensors apart and puts them together, for `pickle` and `copy.deepcopy`
too. `legacy` is PyTorch's format before 1.6.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from ..core.device import device
from .formats import load_file, load_npz, save_file, save_npz
from .loading import load
from .names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import save
from .tensors import deepcopy_tensor, reduce_tensor

__all__ = ["save", "load", "add_safe_globals", "get_safe_globals", "clear_safe_globals", "safe_globals", "save_file",
           "load_file", "MAP_LOCATION", "save_npz", "load_npz", "deepcopy_tensor", "reduce_tensor"]

DEFAULT_PROTOCOL = 2       # of pickles, as `save` has it: what PyTorch's loader reads
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | device | str | dict[str, str] | None     # for annotations
