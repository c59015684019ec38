"""Special functions, as ``torch.special``: what the op table publishes under that name.
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

def xlog1py(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input^2) * erfc(input)``, which does not underflow."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The normal distribution's function: the area under its density up to `input`."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The normal distribution's quantile: the number whose `ndtr` is `input`; NaN outside [0, 1]."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`, which does not underflow."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input * log(input)``, the entropy's summand: 0 at 0, minus infinity below."""
def zeta(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function, ``sum over k >= 0 of (other + k)^-input``; differentiable in `other`."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) * i0(input)``, which does not overflow."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|input|) * i1(input)``, which does not overflow."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-input))``; to full relative precision also where it is close to 0."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def gammainc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function P(input, other).

    ``1 / Gamma(a) * integral of t^(a-1) exp(-t) from 0 to x`` for a = `input`, x = `other`; differentiable in `other`.
    """
def gammaincc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function: ``1 - igamma(input, other)``, without cancellation."""
def multigammaln(input: Tensor, p: _Number, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    ``p (p - 1) / 4 log(pi) + sum over j < p of lgamma(input - j / 2)``.
    """
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, ``2 / sqrt(pi) * integral of exp(-t^2) from 0 to input``."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, without cancellation."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function is `input`; infinite at -1 and 1, NaN outside."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power `input`."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) - 1``, without cancellation near 0."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, without cancellation near 0."""
def log_softmax(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
def logit(input: Tensor, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``, with `input` clamped to [eps, 1 - eps] first if `eps` is given.

    Without `eps` NaN outside [0, 1].
    """
@overload
def logsumexp(input: Tensor, dim: _Int | Sequence[_Int] | None, keepdim: _bool = False, *, out: Tensor | None = None, keepdims: _bool = ...) -> Tensor:
    """``log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow. An empty sum gives -inf."""
@overload
def logsumexp(input: Tensor, keepdim: _bool = False, *, axis: _Int | Sequence[_Int], out: Tensor | None = None, keepdims: _bool = ...) -> Tensor: ...
def polygamma(n: _Int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of `digamma` at `input`: ``(-1)^(n+1) n! zeta(n + 1, input)``."""
def round(input: Tensor, decimals: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """`input` rounded to `decimals` places (to tens, hundreds, ... if negative), halves to the even neighbour.

    Integers are returned as they are; with `decimals` they are refused.
    """
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi input) / (pi input)``, and 1 at 0."""
def softmax(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first.

    >>> import minitorch
    >>> minitorch.softmax(minitorch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
