"""``torch.types``: names for annotations."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from ..core.device import device as _device
from ..core.dtypes import dtype as _dtype  # noqa: F401
from ..core.storage import layout as _layout  # noqa: F401
from ..core.tensor import Size as _Size
from ..core.tensor import Tensor
from ..ops.shapes.memory import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
_float: TypeAlias = builtins.float
_int: TypeAlias = builtins.int
_symint: TypeAlias = builtins.int
_size: TypeAlias = _Size | list[builtins.int] | tuple[builtins.int, ...]
_dispatchkey: TypeAlias = str
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any

# Where PyTorch has a Union or a tuple programs may ask for its items, so it is the same kind of object here.
Number: TypeAlias = Union[builtins.int, builtins.float, builtins.bool]                                 # noqa: UP007
_Number = (builtins.int, builtins.float, builtins.bool)
Device: TypeAlias = Union[_device, str, builtins.int, None]                                            # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]                                          # noqa: UP007
Storage: TypeAlias = Union[TypedStorage, UntypedStorage]                                               # noqa: UP007
PySymType: TypeAlias = Union[builtins.int, builtins.float, builtins.bool]                              # noqa: UP007
