"""Decompositions of low rank by random projection; plain functions of other ops.

N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review 53 (2011), algorithms 4.4
and 5.1.
"""

from ..creation.random import randn
from ..define import composite
from .decompositions import qr, svd


def basis(A, q, niter, M):
    """A matrix of `q` orthonormal columns whose span nearly holds that of ``A - M``, after `niter` power iterations."""
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = qr(product(A, M, start))[0]
    for _ in range(niter):
        Q = qr(product(A.mH, None if M is None else M.mH, Q))[0]
        Q = qr(product(A, M, Q))[0]
    return Q


def product(A, M, x):
    return A @ x if M is None else A @ x - M @ x


@composite(method=False)
def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) of the `q` largest singular values of ``A - M``, nearly: ``A - M`` is about ``U @ diag(S) @ V.mH``.

    `A`: (..., m, n); `M` of the same shape or that broadcasts to it; `niter` power iterations make it more exact.
    """
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    if m < n:
        A, M = A.mH, None if M is None else M.mH
    Q = basis(A, q, niter, M)
    small = product(Q.mH, None, A) if M is None else Q.mH @ (A - M)
    U, S, Vh = svd(small, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


@composite(method=False)
def pca_lowrank(A, q=None, center=True, niter=2):
    """The `q` (default min(6, m, n)) first principal components of the rows of `A`, (..., m, n): (U, S, V).

    The columns of V are the directions, ``S**2 / (m - 1)`` the variances along them; `center` subtracts the means of
    the columns first. ValueError for a `q` outside 0 ... min(m, n) or a negative `niter`.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
