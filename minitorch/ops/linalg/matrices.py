"""Op definitions: inverses, systems of equations, norms and powers of matrices.

Matrices are the last two dimensions; all functions take batches of them. The decompositions are in `decompositions.py`
and `lu.py`, determinants in `determinants.py`, products in `matmul.py`, norms of vectors in `norms.py`.
"""

import builtins

from ... import return_types
from ...core.arrays import is_inexact
from ...core.dtypes import float32, float64
from ...core.errors import ArrayLinAlgError, worded
from ...core.tensor import Tensor, wrap
from ...explain.callers import warn
from ...explain.failures import different_sizes, mismatch
from ..creation.create import zero
from ..define import composite, op
from ..reductions.norms import vector_norm
from ..shapes.join import cat
from ..shapes.shape import count, reshape
from ..shapes.view import diagonal as any_diagonal
from ..shapes.view import dim_of, movedim
from .decompositions import LinAlgError, check, converged, each, h, incompatible, svdvals, t
from .lu import _lu_factor
from .matmul import matmul

INF = float("inf")
eps = {"float32": 2.0 ** -23, "float64": 2.0 ** -52, "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}


# ---- inverses ----------------------------------------------------------------------------------------------
@op(dims="* [n n] -> * [n n]",
    complex="holomorphic", promotion="any", native=True, name="inv", namespace=None, node_name="LinalgInvExBackward0",
    input=lambda F, g, out: -F.matmul(F.matmul(t(F, out), g), t(F, out)),
    sample=lambda d: ([d.spread_matrix()], dict(strict=True)))
def _inv(F, input, *, strict):
    """The inverses; for a singular matrix LinAlgError if `strict`, else inf."""
    check("linalg.inv", input, square=True)
    try:
        return F.xp.linalg.inv(input)
    except ArrayLinAlgError:
        if not strict:
            return without_singular(F, input, lambda a, bad: F.xp.where(bad, INF, F.xp.linalg.inv(a)).astype(a.dtype))
        batch, j = each(input, lambda a: int(lu_info(F, a)))
        raise worded(LinAlgError(f"linalg.inv: {batch}The diagonal element {j} is zero, the inversion could not be "
                                 f"completed because the input matrix is singular.")) from None


def lu_info(F, a):
    return F.lu_factor(a, name="")[2]


def without_singular(F, a, function):
    """``function(a, bad)`` of the matrices with the singular ones, marked by `bad`, replaced by the unit matrix."""
    bad = (lu_info(F, a) > 0)[..., None, None]
    return function(F.xp.where(bad, F.xp.eye(a.shape[-1], dtype=a.dtype), a), bad)


@composite(namespace="linalg", out="exact", autocast="float32 on cpu")
def inv(A):
    """The inverses of square matrices (..., n, n). LinAlgError if one is singular.

    >>> import minitorch as torch
    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv(A, True)


@composite(out="exact", autocast="float32 on cpu")
def inverse(input):
    """The inverses of square matrices. The same as `linalg.inv`."""
    return _inv(input, True)


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def inv_ex(A, *, check_errors=False):
    """The inverses and for each matrix 0, or the first j (from 1) for which ``U[j, j]`` of its LU decomposition is 0.

    The inverse of a singular matrix is inf, or LinAlgError with `check_errors`.
    """
    check("linalg.inv_ex", A.array, square=True)
    return return_types.linalg_inv_ex(*with_info(A, check_errors, lambda strict: _inv(A, strict)))


def with_info(A, check_errors, function):
    """The result of ``function(strict)``, and for each matrix 0 or where its LU decomposition has a zero."""
    try:
        out = function(True)
        info = wrap(A.backend.xp.zeros(A.array.shape[:-2], "int32"), A.backend)
    except LinAlgError:
        if check_errors:
            raise
        out, info = function(False), _lu_factor(A.detach(), "")[2]
    return out, info


# ---- systems of equations ----------------------------------------------------------------------------------
@op(dims="* [n n], * [n] m -> * [n] m",
    complex="holomorphic", name="solve", namespace=None, promotion="same", node_name="LinalgSolveExBackward0",
    joint=lambda F, g, needs, A, out: solve_grads(F, g, A, out),
    sample=lambda d: ([d.spread_matrix(), d.array((3, 2))], dict(strict=True)))
def _solve(F, A, B, *, strict):
    """The X of ``A X = B``; for a singular matrix LinAlgError if `strict`, else NaN."""
    try:
        return F.xp.linalg.solve(A, B)
    except ArrayLinAlgError:
        if not strict:
            return without_singular(
                F, A, lambda a, bad: F.xp.where(bad, float("nan"), F.xp.linalg.solve(a, B)).astype(B.dtype))
        batch, _ = each(A, lambda a: int(lu_info(F, a)))
        raise worded(LinAlgError(f"torch.linalg.solve: {batch}The solver failed because the input matrix is "
                                 f"singular.")) from None


def solve_grads(F, g, A, out):
    """``B' = A.T^-1 g`` and ``A' = -B' X.T``."""
    b = F.solve(t(F, A), g, strict=False)
    return -F.matmul(b, t(F, out)), b


def solved(name, A, B, left, strict):
    a, b = A.array, B.array
    check(name, a, square=True)
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype} and B of "
                           f"type {B.dtype} instead")
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vector:
        B = B.unsqueeze(-1)
        b = B.array
        if not left:
            raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False")
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise incompatible(name, a, b, left)
    out = _solve(A, B, strict) if left else _solve(A.mT, B.mT, strict).mT
    return out.squeeze(-1) if vector else out


@composite(namespace="linalg", out="exact", autocast="float32 on cpu")
def solve(A, B, *, left=True):
    """The X of ``A X = B`` (or ``X A = B`` if not `left`): (..., n, n) and (..., n, k), or vectors (..., n).

    `B` is taken as vectors if it is 1-D or has the shape of `A` without the last dimension. LinAlgError if a matrix is
    singular.
    """
    return solved("linalg.solve", A, B, left, True)


@composite(namespace="linalg", out=True)
def solve_ex(A, B, *, left=True, check_errors=False):
    """`solve` and for each matrix 0, or the first j (from 1) for which ``U[j, j]`` of its LU decomposition is 0.

    The solution for a singular matrix is NaN, or LinAlgError with `check_errors`.
    """
    return return_types.linalg_solve_ex(*with_info(A, check_errors, lambda strict: solved(
        "linalg.solve_ex", A, B, left, strict)))


# ---- pseudo-inverses, ranks, least squares -----------------------------------------------------------------
@op(dims="* [n m] -> * [m n]",
    complex="conjugate", name="pinv", namespace=None, node_name="LinalgPinvBackward0",
    input=lambda F, g, input, out: pinv_slope(F, g, input, out),
    sample=lambda d: ([d.spread_matrix()[:d.int(2, 3), :d.int(2, 3)]], dict(atol=None, rtol=None, hermitian=False)))
def _pinv(F, input, *, atol, rtol, hermitian):
    """From the singular values (or eigenvalues, if `hermitian`) above ``max(atol, rtol * largest)``."""
    xp = F.xp
    if not input.size:
        return xp.zeros((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)
    if hermitian:
        s, u = xp.linalg.eigh(input)
        v = u
    else:
        u, s, v = converged(xp.linalg.svd, input, False)
        v = v.conj().swapaxes(-1, -2)
    kept = xp.abs(s) > threshold(xp, xp.abs(s), atol, rtol, input)
    s = xp.where(kept, 1.0 / xp.where(kept, s, 1.0), 0.0).astype(s.dtype)
    return (v * s[..., None, :]) @ u.conj().swapaxes(-1, -2)


def threshold(xp, s, atol, rtol, x):
    """The bound below which singular values count as 0; by default the largest, times the size, times the precision."""
    if rtol is None:
        by_default = atol is None or (not hasattr(atol, "dtype") and atol == 0)
        rtol = max(x.shape[-2:]) * eps[x.dtype.name] * (1.0 if by_default else xp.where(xp.asarray(atol) > 0, 0.0, 1.0))
    atol, rtol = [xp.asarray(0.0 if tol is None else tol)[..., None] for tol in (atol, rtol)]
    return xp.maximum(atol, rtol * s.max(-1, initial=0)[..., None])


def pinv_slope(F, g, A, P):
    """``-P.H g P.H + (1 - A P) g.H P P.H + P.H P g.H (1 - P A)`` (Golub and Pereyra, 1973)."""
    gt, pt = h(F, g), h(F, P)
    first = F.matmul(F.matmul(gt, P), pt)
    second = F.matmul(F.matmul(pt, P), gt)
    return (first - F.matmul(A, F.matmul(P, first)) + second - F.matmul(F.matmul(second, P), A)
            - F.matmul(F.matmul(pt, g), pt))


def tolerance(x):
    return x.array if isinstance(x, Tensor) else x


@composite(namespace="linalg", out=True, autocast="off")
def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverses (Moore-Penrose) of matrices (..., m, n): (..., n, m).

    Singular values up to ``max(atol, rtol * largest)`` count as 0; `atol` is 0 and `rtol` ``max(m, n) * eps`` by
    default (0 if `atol` is given), each a number or a tensor with one for each matrix. `hermitian` takes the
    eigenvalues of a symmetric matrix instead. `rcond` is an old name of `rtol`.
    """
    if A.array.ndim < 2 or not is_inexact(A.array.dtype):
        raise RuntimeError(f"linalg.pinv({A.dtype}{list(A.shape)}): expected a tensor with 2 or more dimensions of "
                           f"float, double, cfloat or cdouble types")
    check("linalg.pinv", A.array, square=hermitian)
    return _pinv(A, tolerance(atol), tolerance(rcond if rtol is None else rtol), bool(hermitian))


@composite(autocast="float32 on cpu")
def pinverse(input, rcond=1e-15):
    """The pseudo-inverses of matrices. See `linalg.pinv`."""
    return pinv(input, rcond)


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values above ``max(atol, rtol * largest)``, see `pinv`; `tol` is an old name of `atol`."""
    x, xp = A.array, A.backend.xp
    check("linalg.matrix_rank", x, square=hermitian)
    if not x.size:
        return wrap(xp.zeros(x.shape[:-2], "int64"), A.backend)
    s = xp.abs(xp.linalg.eigvalsh(x)) if hermitian else converged(xp.linalg.svd, x, False, False)
    if tol is not None:
        atol, rtol = tol, 0.0
    kept = s > threshold(xp, s, tolerance(atol), tolerance(rtol), x)
    return wrap(kept.sum(-1), A.backend)


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@composite(namespace="linalg", autocast="float32 on cpu")
def lstsq(input, B, rcond=None, *, driver=None):
    """The X of least ``||A X - B||``, and of least norm among these: (..., m, n) and (..., m, k), or vectors (..., m).

    Returns also the squared residuals (where m > n, all matrices have full rank, and `driver` is not "gelsy"), the
    ranks (unless "gels") and the singular values ("gelsd", "gelss"); empty tensors otherwise. The default driver is
    "gelsy". All are computed from singular values; those up to `rcond` times the
    largest count as 0.
    """
    a, b, xp = input.array, B.array, input.backend.xp
    check("torch.linalg.lstsq", a)
    driver = driver or "gelsy"
    if driver not in DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
                           f"{driver}")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.dtype != b.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{input.dtype} and other's dtype {B.dtype}")
    vector = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]
    if b.shape[-1 if vector else -2] != a.shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2}): "
                           f"{a.shape[-2]} and {b.shape[-1 if vector else -2]}")
    rhs = B.unsqueeze(-1) if vector else B
    X = matmul(pinv(input, rtol=rcond), rhs)
    rank = matrix_rank(input.detach(), rtol=rcond)
    empty = wrap(xp.empty(0, a.real.dtype), input.backend)
    m, n = a.shape[-2:]
    residuals = X.real.reshape(-1)[:0]
    if m > n and driver != "gelsy" and bool((rank.array == n).all()):
        residuals = (matmul(input, X) - rhs).abs().square().sum(-2)
    return return_types.linalg_lstsq(
        X.squeeze(-1) if vector else X, residuals, rank if driver != "gels" else empty.long(),
        svdvals(input.detach()) if driver in DRIVERS[2:] else empty)


# ---- norms -------------------------------------------------------------------------------------------------
@composite(namespace="linalg", out="exact", autocast="float32 on cuda")
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norms of the matrices in the two dimensions `dim`.

    `ord`: "fro" the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 the largest and smallest
    of these, 1 and -1 the largest and smallest sum of a column, inf and -inf of a row.
    """
    if A.array.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not is_inexact(A.array.dtype):
        raise RuntimeError(f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype}")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    row, column = [dim_of(A, d) for d in dim]
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord not in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    A = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return vector_norm(A, 2, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(movedim(A, (row, column), (-2, -1)))
        out = s.sum(-1) if ord == "nuc" else extreme(s, -1, ord > 0)
    else:
        first, second = (row, column) if ord in (1, -1) else (column, row)
        out = extreme(vector_norm(A, 1, first, True).squeeze(first), second - (second > first), ord > 0)
    if keepdim:
        for d in sorted((row, column)):
            out = out.unsqueeze(d)
    return out


def extreme(x, dim, largest):
    """The largest or smallest along `dim`; of nothing 0."""
    if x.array.shape[dim] == 0 and x.array.size == 0:
        return x.sum(dim)
    return x.amax(dim) if largest else x.amin(dim)


@composite(namespace="linalg", out="exact")
def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector or matrix: `vector_norm` over one dimension `dim`, `matrix_norm` over two.

    Without `ord` the root of the sum of squares over `dim`, or over everything. With `ord` and without `dim` the input
    must be 1-D or 2-D.
    """
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype)
    if dims is None and A.array.ndim not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{A.array.ndim}D.")
    if dims is None:
        dims = (-2, -1) if A.array.ndim == 2 or isinstance(ord, str) else (-1,)
    if isinstance(ord, str) or len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if len(dims) != 1:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    return vector_norm(A, ord, dims, keepdim, dtype)


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def cond(A, p=None):
    """The condition numbers ``norm(A, p) * norm(A^-1, p)``, see `matrix_norm`; `p` is 2 by default."""
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, INF, -INF):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        s = svdvals(A)
        if not s.array.shape[-1]:
            return s.sum(-1)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    check(f"linalg.cond(ord={p})", A.array, square=True)
    inverse, info = inv_ex(A)
    bad = info > 0
    inverse = inverse.masked_fill(bad[..., None, None], 0.0)
    return (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(bad, INF)


# ---- powers ------------------------------------------------------------------------------------------------
@composite(namespace="linalg", out="exact")
def matrix_power(A, n):
    """The n-th powers of square matrices, by repeated squaring; negative ones of the inverses."""
    if not isinstance(n, int):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if A.array.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if A.array.shape[-1] != A.array.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but they are "
                           f"{A.array.shape[-2]} by {A.array.shape[-1]} matrices")
    if n == 0:
        return zero(A) + wrap(A.backend.xp.eye(A.array.shape[-1], dtype=A.array.dtype), A.backend)
    base, out, n = (inv(A) if n < 0 else A), None, builtins.abs(n)
    while n:
        if n % 2:
            out = base if out is None else matmul(out, base)
        n //= 2
        base = matmul(base, base) if n else base
    return out.clone() if out is A else out


@composite(public_name="matrix_power", out=True)
def old_matrix_power(input, n):
    """The n-th powers of square matrices. The same as `linalg.matrix_power`."""
    return matrix_power(input, n)


@op(dims="* [n n] -> * [n n]",
    namespace="linalg", method=False, promotion="any", node_name="LinalgMatrixExpBackward0", complex="holomorphic",
    A=lambda F, g, A: exp_slope(F, g, A),
    sample=lambda d: ([d.array((d.int(2, 3),) * 2) * d.choice([0.1, 2.0])], {}))
def matrix_exp(F, A):
    """The exponentials ``1 + A + A A / 2 + ...`` of square matrices (..., n, n).

    By a Padé approximant of ``A / 2^s``, squared s times (Higham, "The scaling and squaring method for the matrix
    exponential revisited", 2005), in float64.
    """
    check("linalg.matrix_exp", A, square=True)
    xp = F.xp
    a = A.astype("complex128" if A.dtype.kind == "c" else "float64")
    size = xp.abs(a).sum(-2).max(-1, initial=0)[..., None, None]
    size = xp.where(xp.isfinite(size), size, 1.0)
    steps = xp.ceil(xp.log2(xp.maximum(size / 5.37, 1.0)))
    a = a / 2.0 ** steps
    unit = xp.eye(a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    b = PADE
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * unit)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * unit
    out = xp.linalg.solve(even - odd, even + odd)
    for i in range(int(steps.max(initial=0))):
        out = xp.where(steps > i, out @ out, out)
    return out.astype(A.dtype)


PADE = [64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0]


def exp_slope(F, g, A):
    """The derivative at A.T in direction g: the upper right block of the exponential of ``[[A.T, g], [0, A.T]]``."""
    n, a = A.shape[-1], t(F, A)
    top = F.cat(a, g, dim=A.ndim - 1)
    bottom = F.cat(g * 0.0, a, dim=A.ndim - 1)
    whole = F.matrix_exp(F.cat(top, bottom, dim=A.ndim - 2))
    return F.slice(whole, index=(Ellipsis, slice(n), slice(n, None)))


@composite(public_name="matrix_exp")
def old_matrix_exp(input):
    """The exponentials of square matrices. The same as `linalg.matrix_exp`."""
    return matrix_exp(input)


# ---- tensors as matrices -----------------------------------------------------------------------------------
@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def tensorinv(A, ind=2):
    """The inverse for `tensordot`: of a tensor whose first `ind` sizes have the product of the others."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = A.array.shape[:ind], A.array.shape[ind:]
    if count(first) != count(rest):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                           f"prod(self.shape[:ind]), but got {count(rest)} != {count(first)}")
    return reshape(inv(reshape(A, (count(first), count(rest)))), (*rest, *first))


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def tensorsolve(A, B, dims=None):
    """The X of ``tensordot(A, X, X.ndim) = B``; `dims` of `A` are moved to the end first."""
    if dims is not None:
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        A = movedim(A, dims, tuple(range(A.array.ndim - len(dims), A.array.ndim)))
    n = B.array.ndim
    first, rest = A.array.shape[:n], A.array.shape[n:]
    if count(first) != count(rest) or count(first) != B.array.size:
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {count(rest)} != {count(first)}")
    return reshape(solve(reshape(A, (count(first), count(rest))), reshape(B, (-1,))), rest)


# ---- vectors and diagonals ---------------------------------------------------------------------------------
@op(dims="* [dim], * [dim] -> * [dim]",
    complex="holomorphic", layout="contiguous", name="cross", namespace=None, promotion="same",
    node_name="LinalgCrossBackward0",
    autocast="promote on cuda",
    input=lambda F, g, other, dim: F.cross(other, g, dim=dim),
    other=lambda F, g, input, dim: F.cross(g, input, dim=dim),
    sample=lambda d: ([d.array((3, 2)), d.array(d.choice([(3, 2), (3, 1)]))], dict(dim=0)))
def _cross(F, input, other, *, dim):
    """The vectors perpendicular to both, of length ``|a| |b| sin(angle)``."""
    (a, b, c), (x, y, z) = F.xp.moveaxis(input, dim, 0), F.xp.moveaxis(other, dim, 0)
    return F.xp.stack([b * z - c * y, c * x - a * z, a * y - b * x], dim)


@composite(namespace="linalg", out="exact")
def cross(input, other, *, dim=-1):
    """The cross products of vectors of length 3 in dimension `dim`; other dimensions broadcast."""
    a, b = input.array.shape, other.array.shape
    if len(a) != len(b):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = dim_of(input, dim)
    if a[d:d + 1] != (3,) or b[d:d + 1] != (3,):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {list(a)} and {list(b)}")
    return _cross(input, other, d - len(a))


@composite(public_name="cross", out=True)
def old_cross(input, other, dim=None):
    """The cross products of vectors of length 3 in dimension `dim`, by default the first of that size."""
    if dim is None:
        if mismatch(input.array.shape, other.array.shape):
            raise RuntimeError(different_sizes(input.array.shape, other.array.shape))
        shape = input.backend.xp.broadcast_shapes(input.array.shape, other.array.shape)
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
        warn("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
             "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree "
             "with that of linalg.cross in a future release.")
    return cross(input, other, dim=dim)


@composite(namespace="linalg")
def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices: a view. `torch.diagonal` with other defaults."""
    return any_diagonal(A, offset, dim1, dim2)


@composite(namespace="linalg")
def vander(x, N=None):
    """The powers 0 to N - 1 (by default N is the last size) of the elements, along a new last dimension."""
    N = x.array.shape[-1] if N is None and x.array.ndim else 1 if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x.array.ndim else x.unsqueeze(0)
    columns = x.unsqueeze(-1).expand(*x.shape, N - 1)
    columns = columns.cumprod(-1, dtype=float64 if x.dtype is float32 else None).to(columns.dtype)
    ones = wrap(x.backend.xp.ones((*x.shape, 1), columns.array.dtype), x.backend)
    return cat([ones, columns], -1)


@composite(public_name="vander", method=False)
def old_vander(x, N=None, increasing=False):
    """The powers of the elements of a vector, as columns: N - 1 down to 0, or 0 to N - 1 if `increasing`."""
    if x.array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    N = len(x) if N is None else N
    powers = vander(x, N) if N > 1 else x.new_ones((len(x), N))
    return powers if increasing else powers.flip(1)
