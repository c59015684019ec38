"""Op definitions: determinants, their signs and logarithms, of square matrices (..., n, n)."""

import math

from ... import return_types
from ...core.errors import ArrayLinAlgError
from ..define import composite, op
from ..elementwise.complex import is_complex
from .decompositions import check, h, t
from .matrices import eps


@op(dims="* [n n] -> *",
    complex="holomorphic", promotion="any", native=True, namespace="linalg", method=False,
    node_name="LinalgDetBackward0", sample=lambda d: ([d.array((2, 3, 3))], {}),
    A=lambda F, g, A: F.unsqueeze(F.unsqueeze(g, dim=-1), dim=-1) * F.cofactors(A))
def det(F, A):
    """The determinants of square matrices (..., n, n). The gradient exists for singular matrices too.

    >>> import minitorch as torch
    >>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.)
    """
    check("linalg.det", A, square=True)
    return F.xp.linalg.det(A)


@op(dims="* [n n] -> * [n n]",
    complex="holomorphic", promotion="any", native=True, namespace=None,
    input=lambda F, g, input, out: cofactor_slope(F, g, input, out),
    sample=lambda d: ([d.spread_matrix()], {}))
def cofactors(F, input):
    """``det(A) A^-T``, the gradient of the determinant; for nearly singular matrices from singular values:
    ``A = u s v`` gives ``det(u) det(v) conj(u) diag(products of all other s) conj(v)``.
    """
    xp = F.xp
    try:
        a = xp.linalg.inv(input)
        size = xp.abs(input).sum(-1).max(-1, initial=0) * xp.abs(a).sum(-1).max(-1, initial=0)
        if (size < eps[input.dtype.name] ** -0.5).all():
            return xp.linalg.det(input)[..., None, None] * a.swapaxes(-1, -2)
    except ArrayLinAlgError:
        pass
    finite = xp.isfinite(input).all((-2, -1), keepdims=True)           # of other matrices there are none
    u, s, v = xp.linalg.svd(xp.where(finite, input, 0))
    others = xp.repeat(s[..., None, :], s.shape[-1], -2)   # row i: all but the i-th, to be multiplied
    F.diagonal(others, offset=0, dim1=-2, dim2=-1)[...] = 1
    sign = xp.linalg.det(u) * xp.linalg.det(v)
    found = sign[..., None, None] * ((u.conj() * others.prod(-1)[..., None, :]) @ v.conj())
    return xp.where(finite, found, math.nan)


def cofactor_slope(F, g, A, out):
    """With ``C = det(A) A^-T``: ``A^-T <g, C> - C g.T A^-T``."""
    inverse = t(F, F.inv(A, strict=False))
    return inverse * F.sum(g * out, dim=(-2, -1), keepdim=True) - F.matmul(F.matmul(out, t(F, g)), inverse)


@op(dims="* [n n] -> *, *",
    complex="conjugate", name="slogdet", namespace=None, node_name="LinalgSlogdetBackward0", outputs=(True, True),
    joint=lambda F, g, needs, input: (slogdet_slope(F, g, input),),
    sample=lambda d: ([d.spread_matrix()], dict(name="")))
def _slogdet(F, input, *, name):
    """The sign of the determinant and the logarithm of its size."""
    check(name, input, square=True)
    return tuple(F.xp.linalg.slogdet(input))


def slogdet_slope(F, g, A):
    """``(gL - i Im(conj(gS) sign)) A^-H``; the sign of a real determinant has no derivative."""
    scale = g[1]
    if is_complex(A) and g[0] is not None:
        sign = F.slogdet(A, name="")[0]
        turn = F.imag(g[0] * F.conj(sign))                 # - Im(conj(gS) sign)
        scale = F.complex(F.zero(turn) if scale is None else scale, turn)
    return F.zero(A) if scale is None else F.unsqueeze(F.unsqueeze(scale, dim=-1), dim=-1) * h(
        F, F.inv(A, strict=False))


@composite(namespace="linalg", out=True)
def slogdet(A):
    """The signs of the determinants and the logarithms of their sizes, as a named tuple; 0 and -inf if singular."""
    return return_types.linalg_slogdet(*_slogdet(A, "linalg.slogdet"))


@composite(public_name="slogdet", out=True)
def old_slogdet(input):
    """The same as `linalg.slogdet`."""
    return return_types.slogdet(*_slogdet(input, "linalg.slogdet"))


@composite(public_name="det", out=True)
def old_det(input):
    """The determinants of square matrices. The same as `linalg.det`."""
    return det(input)


@composite
def logdet(input):
    """The logarithms of the determinants; -inf for a singular matrix, NaN where a real determinant is negative."""
    sign, log = _slogdet(input, "logdet")
    if is_complex(input):
        return sign.log() + log
    return log.masked_fill(sign < 0, float("nan"))
