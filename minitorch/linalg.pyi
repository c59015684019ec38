"""Linear algebra, as ``torch.linalg``: the functions that `minitorch/ops/linalg` publishes under that name.

Products are in `matmul.py` there, decompositions in `decompositions.py`, what is built on them in `matrices.py`;
norms are in `minitorch/ops/reductions/norms.py`.
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
from .ops.linalg.decompositions import LinAlgError as LinAlgError

_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

def vector_norm(x: Tensor, ord: _Number | _str = 2, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """``sum(|x|^ord) ^ (1 / ord)`` over `dim`; for inf and -inf the extremes of ``|x|``, for 0 how many are not 0.

    Its gradient at a vector of zeros is 0.
    """
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The matrix product of (..., n, k) and (..., k, m): (..., n, m), batched by broadcasting.

    A 1-D `input` is one row, a 1-D `other` one column, and that dimension is not in the result. The dtypes must
    agree. RuntimeError if the shapes do not fit.

    >>> import minitorch as torch
    >>> torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
    tensor([21, 43])
    """
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, multiplied in the order that takes the fewest operations.

    The first may be a vector, taken as a row, the last one, taken as a column.
    """
def vecdot(x: Tensor, y: Tensor, *, dim: _Int = -1, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The sum of products over `dim`, with broadcasting; of complex ones `x` is conjugated."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X of ``A X = B`` (or ``X A = B`` if not `left`) for a triangular `A`: (..., n, n) and (..., n, k).

    Only the `upper` or lower triangle of `A` is read; with `unitriangular` its diagonal counts as ones. A zero on the
    diagonal gives inf or NaN.
    """
def cholesky(A: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mH == A``, or if `upper` L.mH, for Hermitian positive definite A.

    (..., n, n); only one triangle of A is read. LinAlgError if A is not positive definite.
    """
def cholesky_ex(A: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.linalg_cholesky_ex:
    """`cholesky` and, for each matrix, 0 or the order of the first leading minor that is not positive definite.

    The factor of a matrix that is not positive definite is NaN, or LinAlgError with `check_errors`.
    """
def qr(A: Tensor, mode: _str = 'reduced', *, out: Sequence[Tensor] | None = None) -> return_types.linalg_qr:
    """Q, with orthonormal columns, and the upper triangular R with ``A = Q @ R``, as a named tuple.

    (..., m, n) gives (..., m, k) and (..., k, n), k the smaller of m and n; in `mode` "complete" (..., m, m) and
    (..., m, n); in `mode` "r" an empty Q, and no gradient.
    """
def svd(A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: Sequence[Tensor] | None = None) -> return_types.linalg_svd:
    """U, S and Vh with ``A = U @ diag(S) @ Vh``, as a named tuple: S descending, U and Vh orthogonal or unitary.

    (..., m, n) gives (..., m, m), (..., k), (..., n, n), k the smaller of m and n; without `full_matrices` (..., m, k)
    and (..., k, n). Gradients through U and Vh need distinct singular values, and mean something only if the result
    does not depend on the signs (of complex ones the phases) of singular vectors. `driver` has no effect.
    """
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices (..., m, n), descending: (..., k), k the smaller of m and n."""
def eigh(A: Tensor, UPLO: _str = 'L', *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eigh:
    """Eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices (..., n, n), as a named tuple.

    Only the lower ("L") or upper ("U") triangle is read. Gradients through the eigenvectors need distinct eigenvalues.
    """
def eigvalsh(A: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, ascending, of symmetric matrices (..., n, n); one triangle is read. See `eigh`."""
def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig:
    """Eigenvalues (..., n) and eigenvectors, as columns (..., n, n), of square matrices: complex tensors, in no order.

    The eigenvectors have length 1. Gradients through them need distinct eigenvalues, and mean something only if the
    result does not depend on their phases.
    """
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues (..., n) of square matrices (..., n, n): a complex tensor, in no order."""
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first n columns of ``H_1 H_2 ... H_k`` with ``H_i = I - tau_i v_i v_i.H``: the Q that `geqrf` describes.

    (..., m, n) with m >= n >= k and (..., k). ``v_i`` is column i of `A` below the diagonal, with 1 on it and 0 above.
    """
def lu(A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None) -> return_types.linalg_lu:
    """P, L and U with ``A = P @ L @ U``, as a named tuple: a permutation, unit lower and upper triangles.

    (..., m, n) gives (..., m, m), (..., m, k) and (..., k, n), k the smaller of m and n.
    """
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.linalg_lu_factor_ex:
    """L and U in one matrix, the pivots, and for each matrix 0 or the first j (from 1) with ``U[j, j] == 0``."""
def lu_factor(A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None) -> return_types.linalg_lu_factor:
    """L and U in one matrix (..., m, n), and the pivots (..., k), from 1. LinAlgError if U has a zero diagonal."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` if not `left`; A.mH for A if `adjoint`) from `lu_factor`'s LU and pivots."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices (..., n, n). LinAlgError if one is singular.

    >>> import minitorch as torch
    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.linalg_inv_ex:
    """The inverses and for each matrix 0, or the first j (from 1) for which ``U[j, j]`` of its LU decomposition is 0.

    The inverse of a singular matrix is inf, or LinAlgError with `check_errors`.
    """
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The X of ``A X = B`` (or ``X A = B`` if not `left`): (..., n, n) and (..., n, k), or vectors (..., n).

    `B` is taken as vectors if it is 1-D or has the shape of `A` without the last dimension. LinAlgError if a matrix is
    singular.
    """
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.linalg_solve_ex:
    """`solve` and for each matrix 0, or the first j (from 1) for which ``U[j, j]`` of its LU decomposition is 0.

    The solution for a singular matrix is NaN, or LinAlgError with `check_errors`.
    """
def pinv(A: Tensor, rcond: _Number | Tensor | None = None, hermitian: _bool = False, *, atol: _Number | Tensor | None = None, rtol: _Number | Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The pseudo-inverses (Moore-Penrose) of matrices (..., m, n): (..., n, m).

    Singular values up to ``max(atol, rtol * largest)`` count as 0; `atol` is 0 and `rtol` ``max(m, n) * eps`` by
    default (0 if `atol` is given), each a number or a tensor with one for each matrix. `hermitian` takes the
    eigenvalues of a symmetric matrix instead. `rcond` is an old name of `rtol`.
    """
def matrix_rank(A: Tensor, tol: _Number | Tensor | None = None, hermitian: _bool = False, *, atol: _Number | Tensor | None = None, rtol: _Number | Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The number of singular values above ``max(atol, rtol * largest)``, see `pinv`; `tol` is an old name of `atol`."""
def lstsq(input: Tensor, B: Tensor, rcond: _Number | None = None, *, driver: _str | None = None) -> return_types.linalg_lstsq:
    """The X of least ``||A X - B||``, and of least norm among these: (..., m, n) and (..., m, k), or vectors (..., m).

    Returns also the squared residuals (where m > n, all matrices have full rank, and `driver` is not "gelsy"), the
    ranks (unless "gels") and the singular values ("gelsd", "gelss"); empty tensors otherwise. The default driver is
    "gelsy". All are computed from singular values; those up to `rcond` times the
    largest count as 0.
    """
def matrix_norm(A: Tensor, ord: _Number | _str = 'fro', dim: _Int | Sequence[_Int] | None = (-2, -1), keepdim: _bool = False, *, dtype: _dtype | builtins.type[Any] | None = None, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The norms of the matrices in the two dimensions `dim`.

    `ord`: "fro" the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 the largest and smallest
    of these, 1 and -1 the largest and smallest sum of a column, inf and -inf of a row.
    """
def norm(A: Tensor, ord: _Number | _str | None = None, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, dtype: _dtype | builtins.type[Any] | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of a vector or matrix: `vector_norm` over one dimension `dim`, `matrix_norm` over two.

    Without `ord` the root of the sum of squares over `dim`, or over everything. With `ord` and without `dim` the input
    must be 1-D or 2-D.
    """
def cond(A: Tensor, p: _Number | _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition numbers ``norm(A, p) * norm(A^-1, p)``, see `matrix_norm`; `p` is 2 by default."""
def matrix_power(A: Tensor, n: _Int, *, out: Tensor | None = None) -> Tensor:
    """The n-th powers of square matrices, by repeated squaring; negative ones of the inverses."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponentials ``1 + A + A A / 2 + ...`` of square matrices (..., n, n).

    By a Padé approximant of ``A / 2^s``, squared s times (Higham, "The scaling and squaring method for the matrix
    exponential revisited", 2005), in float64.
    """
def tensorinv(A: Tensor, ind: _Int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse for `tensordot`: of a tensor whose first `ind` sizes have the product of the others."""
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The X of ``tensordot(A, X, X.ndim) = B``; `dims` of `A` are moved to the end first."""
def cross(input: Tensor, other: _Operand, *, dim: _Int = -1, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors of length 3 in dimension `dim`; other dimensions broadcast."""
def diagonal(A: Tensor, *, offset: _Int = 0, dim1: _Int = -2, dim2: _Int = -1) -> Tensor:
    """The diagonals of matrices: a view. `torch.diagonal` with other defaults."""
def vander(x: Tensor, N: _Int | None = None) -> Tensor:
    """The powers 0 to N - 1 (by default N is the last size) of the elements, along a new last dimension."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices (..., n, n). The gradient exists for singular matrices too.

    >>> import minitorch as torch
    >>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.)
    """
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_slogdet:
    """The signs of the determinants and the logarithms of their sizes, as a named tuple; 0 and -inf if singular."""
