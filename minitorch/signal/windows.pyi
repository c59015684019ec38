"""Windows, as ``torch.signal.windows``: what `minitorch/ops/creation/windows.py` publishes under that name.
"""
# Generated from the op registry by `python docs/build_stubs.py`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
from .. import return_types
from ..core.device import device as _device
from ..core.dtypes import dtype as _dtype
from ..ops.shapes.memory import TypedStorage as _TypedStorage
from ..ops.shapes.memory import UntypedStorage as _UntypedStorage
from ..core.storage import layout as _layout
from ..core.storage import memory_format as _memory_format
from ..random.generator import Generator as _Generator
from ..core.tensor import Size, Tensor

_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

def bartlett(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Bartlett window, a triangle: ``1 - |2 k / n - 1|``."""
def blackman(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Blackman window: `general_cosine` with ``a = [0.42, 0.5, 0.08]``."""
def cosine(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The cosine window: ``sin(pi (k + 0.5) / (n + 1))``."""
def exponential(M: Any, *, center: Any = None, tau: Any = 1.0, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The exponential window: ``exp(-|k - center| / tau)``; `center` is n / 2, and can be given only if not `sym`."""
def gaussian(M: Any, *, std: _Number = 1.0, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Gaussian window: ``exp(-((k - n / 2) / std) ** 2 / 2)``."""
def general_cosine(M: Any, *, a: Tensor, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """A sum of cosines: ``a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n) - ...``."""
def general_hamming(M: Any, *, alpha: _Number = 0.54, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The general Hamming window: ``alpha - (1 - alpha) cos(2 pi k / n)``."""
def hamming(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Hamming window: ``0.54 - 0.46 cos(2 pi k / n)``."""
def hann(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Hann window: ``0.5 - 0.5 cos(2 pi k / n)``."""
def kaiser(M: Any, *, beta: _Number = 12.0, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The Kaiser window: ``i0(beta sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)``."""
def nuttall(M: Any, *, sym: Any = True, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The minimum 4-term Blackman-Harris window according to Nuttall: `general_cosine` with four terms."""
