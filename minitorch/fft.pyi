"""Discrete Fourier transforms, as ``torch.fft``: what `minitorch/ops/fft.py` publishes under that name.
"""
# Generated from the op registry by `python docs/build_stubs.py`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
from . import return_types
from .core.device import device as _device
from .core.dtypes import dtype as _dtype
from .ops.shapes.memory import TypedStorage as _TypedStorage
from .ops.shapes.memory import UntypedStorage as _UntypedStorage
from .core.storage import layout as _layout
from .core.storage import memory_format as _memory_format
from .random.generator import Generator as _Generator
from .core.tensor import Size, Tensor

_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

def fft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The discrete Fourier transform: ``X[k] = sum_j x[j] exp(-2 pi i j k / n)``. Along `dim`, with `n` points."""
def ifft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse of `fft`. Along `dim`, with `n` points."""
def rfft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of a real tensor; the others are their conjugates. Along `dim`, with `n` points."""
def irfft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse of `rfft`: a real tensor, of 2 (m - 1) points by default. Along `dim`, with `n` points."""
def hfft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """`fft` of a tensor with ``x[-j] = conj(x[j])``, given by its first half: a real tensor. Along `dim`, with `n` points."""
def ihfft(input: Tensor, n: _Int | None = None, dim: _Int = -1, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse of `hfft`: the first half of the inverse transform of a real tensor. Along `dim`, with `n` points."""
def fft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The discrete Fourier transform in several dimensions. Along the two dimensions `dim`."""
def ifft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse discrete Fourier transform in several dimensions. Along the two dimensions `dim`."""
def rfft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The transform of a real tensor: half of the last of the dimensions. Along the two dimensions `dim`."""
def irfft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse transform of what `rfft` gives: a real tensor. Along the two dimensions `dim`."""
def hfft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The transform of a tensor with conjugate symmetry: a real tensor. Along the two dimensions `dim`."""
def ihfft2(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse of `hfft`: half of the last of the dimensions. Along the two dimensions `dim`."""
def fftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The discrete Fourier transform in several dimensions. Along `dim`, all by default."""
def ifftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse discrete Fourier transform in several dimensions. Along `dim`, all by default."""
def rfftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The transform of a real tensor: half of the last of the dimensions. Along `dim`, all by default."""
def irfftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse transform of what `rfft` gives: a real tensor. Along `dim`, all by default."""
def hfftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The transform of a tensor with conjugate symmetry: a real tensor. Along `dim`, all by default."""
def ihfftn(input: Tensor, s: _Int | Sequence[_Int] | None = None, dim: _Int | Sequence[_Int] | None = None, norm: _str | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The inverse of `hfft`: half of the last of the dimensions. Along `dim`, all by default."""
def fftfreq(n: _Int, d: _Number = 1.0, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The frequencies of the elements of `fft`: 0, 1, ..., -2, -1, divided by ``n d``. For `n` samples, `d` apart."""
def rfftfreq(n: _Int, d: _Number = 1.0, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """The frequencies of the elements of `rfft`: 0, 1, ..., n // 2, divided by ``n d``. For `n` samples, `d` apart."""
def fftshift(input: Tensor, dim: _Int | Sequence[_Int] | None = None) -> Tensor:
    """`input` with frequency 0 in the middle instead of at the beginning, along `dim` (all by default)."""
def ifftshift(input: Tensor, dim: _Int | Sequence[_Int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
