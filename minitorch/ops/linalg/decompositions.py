"""Op definitions: Cholesky, QR, SVD, eigenvalues, Householder products; and the triangular systems that their
derivatives need. LU is in `lu.py`, functions built on all of these are in `matrices.py`.

The derivatives are batched over leading dimensions. Sources: Giles, "An extended collection of matrix derivative
results" (2008); Townsend, "Differentiating the singular value decomposition" (2016); Walter and Lehmann, "Algorithmic
differentiation of linear algebra functions" (2010), for QR; Boeddeker et al., "On the computation of complex-valued
gradients with application to statistically optimum beamforming" (2017), for complex matrices and `eig`.
"""

from itertools import product

from ... import return_types
from ...core.arrays import is_floating, is_inexact
from ...core.errors import ArrayLinAlgError, worded
from ...core.grad_mode import grad_mode
from ...core.tensor import wrap
from ..creation.create import zero
from ..define import composite, op
from ..elementwise.compare import where
from ..elementwise.complex import complex_type, is_complex
from ..shapes.join import cat, tril
from .matmul import matmul


class LinAlgError(RuntimeError):
    """A matrix for which the result does not exist: singular, or not positive definite."""


# ---- checks and shorthands ---------------------------------------------------------------------------------
def check(name, x, square=False):
    """RuntimeError unless `x` is a (square) matrix of floats, or a batch of them."""
    if x.ndim < 2:
        raise worded(RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions, got {x.ndim}."))
    if not is_inexact(x.dtype) or x.itemsize < 4:
        wrong = "Low precision dtypes not supported" if is_floating(x.dtype) else \
            "Expected a floating point or complex tensor as input"
        raise worded(RuntimeError(f"{name}: {wrong}. Got {x.dtype}: convert it, as in x.float()"))
    if square and x.shape[-1] != x.shape[-2]:
        raise worded(RuntimeError(f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by "
                                  f"{x.shape[-1]} matrices"))


def incompatible(name, a, b, left):
    return RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                        f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")


def t(F, x):
    """The transposes of a batch of matrices."""
    return F.transpose(x, dim0=-1, dim1=-2)


def h(F, x):
    """The conjugate transposes of a batch of matrices."""
    return F.conj(F.transpose(x, dim0=-1, dim1=-2))


def diag(F, x):
    """Diagonal matrices with the last dimension of `x` on the diagonal."""
    n = x.shape[-1]
    return F.diagonal_backward(x, shape=(*x.shape[:-1], n, n), offset=0, dim1=-2, dim2=-1)


def cut(F, x, rows=None, columns=None):
    """The first `rows` rows and `columns` columns."""
    return F.slice(x, index=(Ellipsis, slice(rows), slice(columns)))


def each(batch, function):
    """`function` of each matrix of a batch, with its index; stops where it returns something."""
    for index in product(*map(range, batch.shape[:-2])):
        found = function(batch[index])
        if found:
            return f"(Batch element {', '.join(map(str, index))}): " if index else "", found
    return None


# ---- triangular systems ------------------------------------------------------------------------------------
@op(dims="* [n n], * [n] m -> * [n] m",
    complex="holomorphic", layout="contiguous",
    name="solve_triangular", namespace=None, promotion="same", node_name="LinalgSolveTriangularBackward0",
    joint=lambda F, g, needs, A, out, upper, unitriangular: triangular_grads(F, g, A, out, upper, unitriangular),
    sample=lambda d: ([d.dominant_matrix(), d.array((3, 2))], dict(upper=d.bool(), unitriangular=d.bool())))
def _solve_triangular(F, A, B, *, upper, unitriangular):
    """The X of ``A X = B`` for the upper or lower triangle of `A`, with ones on its diagonal if `unitriangular`."""
    xp = F.xp
    A = xp.triu(A) if upper else xp.tril(A)
    if unitriangular:
        A = A - (xp.diagonal(A, 0, -2, -1)[..., None, :] - 1.0) * xp.eye(A.shape[-1], dtype=A.dtype)
    if upper:                                              # in reverse order it is a lower one
        return substitute(xp, A[..., ::-1, ::-1], B[..., ::-1, :])[..., ::-1, :]
    return substitute(xp, A, B)


def triangular_grads(F, g, A, out, upper, unitriangular):
    """``B' = A.T^-1 g`` and the triangle of ``A' = -B' X.T``."""
    b = F.solve_triangular(t(F, A), g, upper=not upper, unitriangular=unitriangular)
    a = -F.matmul(b, t(F, out))
    return (F.triu(a, diagonal=int(unitriangular)) if upper else F.tril(a, diagonal=-int(unitriangular))), b


def substitute(xp, a, b):
    """Forward substitution for lower triangles: halves by recursion, so that nearly all the work is in products."""
    n = a.shape[-1]
    if n <= 32:
        try:
            return xp.linalg.solve(a, b)
        except ArrayLinAlgError:                           # a zero on the diagonal: infinite, as in PyTorch
            return substitute_rows(xp, a, b)
    h = n // 2
    top = substitute(xp, a[..., :h, :h], b[..., :h, :])
    bottom = substitute(xp, a[..., h:, h:], b[..., h:, :] - a[..., h:, :h] @ top)
    return xp.concatenate([top, bottom], -2)


def substitute_rows(xp, a, b):
    shape = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = xp.broadcast_to(b, (*shape, *b.shape[-2:])).copy()
    for i in range(a.shape[-1]):
        rest = out[..., i, :] - (a[..., i, None, :i] @ out[..., :i, :])[..., 0, :]
        out[..., i, :] = rest / a[..., i, i, None]
    return out


@composite(namespace="linalg", out="exact")
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """The X of ``A X = B`` (or ``X A = B`` if not `left`) for a triangular `A`: (..., n, n) and (..., n, k).

    Only the `upper` or lower triangle of `A` is read; with `unitriangular` its diagonal counts as ones. A zero on the
    diagonal gives inf or NaN.
    """
    a, b = A.array, B.array
    for x, name in ((a, "A"), (b, "B")):
        if x.ndim < 2:
            raise RuntimeError(f"linalg.solve_triangular: The input tensor {name} must have at least 2 dimensions.")
    if a.dtype != b.dtype:
        raise RuntimeError(f"linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type "
                           f"{A.dtype} and B of type {B.dtype} instead")
    if a.dtype.kind in "iub":
        raise NotImplementedError(f'"triangular_solve" not implemented for \'{A.dtype}\': convert it, as in x.float()')
    check("linalg.solve_triangular", a, square=True)
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise incompatible("linalg.solve_triangular", a, b, left)
    if left:
        return _solve_triangular(A, B, upper, unitriangular)
    return _solve_triangular(A.mT, B.mT, not upper, unitriangular).mT


@composite(autocast="float32 on cpu")
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """The X of ``A X = b`` (or ``A.T X = b``) for a triangular `A`, and `A` itself. See `linalg.solve_triangular`."""
    for x in (b, A):
        check("triangular_solve", x.array)
    if A.array.shape[-1] != b.array.shape[-2] or A.array.shape[-1] != A.array.shape[-2]:
        raise RuntimeError(f"triangular_solve: Incompatible matrix sizes: each A matrix is {A.array.shape[-2]} by "
                           f"{A.array.shape[-1]} but each b matrix is {b.array.shape[-2]} by {b.array.shape[-1]}")
    a = A.mT if transpose else A
    found = solve_triangular(a, b, upper=bool(upper) != bool(transpose), unitriangular=unitriangular)
    shape = (*found.array.shape[:-2], *A.array.shape[-2:])
    return return_types.triangular_solve(found, A.expand(shape).clone())


# ---- Cholesky ----------------------------------------------------------------------------------------------
@op(dims="* [n n] -> * [n n]",
    complex="conjugate", name="cholesky", namespace=None, node_name="LinalgCholeskyExBackward0",
    input=lambda F, g, out: cholesky_slope(F, g, out),
    sample=lambda d: ([d.array((2, 1, 1), 0.5, 2.0)], dict(name="")))   # larger ones: tests/ops/test_linalg.py
def _cholesky(F, input, *, name):
    """The lower triangular L with ``L @ L.mH == A``; reads the lower triangle of A, which must be positive definite."""
    check(name, input, square=True)
    try:
        out = F.xp.linalg.cholesky(input)
        if input.size:                    # NaN, which LAPACKs treat differently, spreads to the end
            last = out[..., -1, -1]
            if last != last if out.ndim == 2 else (last != last).any():
                raise ArrayLinAlgError
        return out
    except ArrayLinAlgError:
        batch, order = each(input, lambda a: first_bad_minor(F.xp, a))
        raise worded(LinAlgError(
            f"{name}: {batch}The factorization could not be completed because the input is not positive-definite (the "
            f"leading minor of order {order} is not positive-definite).")) from None


def cholesky_slope(F, g, L):
    """``L^-H P L^-1`` with P Hermitian, of lower triangle half that of ``L.H g``, its diagonal halved again."""
    half = F.solve_triangular(h(F, L), halved(F, F.tril, -1, F.matmul(h(F, L), g)), upper=True, unitriangular=False)
    return h(F, F.solve_triangular(h(F, L), h(F, half), upper=True, unitriangular=False)) * 0.5


def halved(F, triangle, beyond, x):
    """The Hermitian matrix with one triangle of `x`, of whose diagonal the real part counts."""
    x = (triangle(x, diagonal=0) + triangle(x, diagonal=beyond)) * 0.5
    return x + h(F, x)


def first_bad_minor(xp, a):
    """The order of the first leading minor that is not positive definite, or 0."""
    for k in range(1, len(a) + 1):
        try:
            if xp.isnan(xp.linalg.cholesky(a[:k, :k])[-1, -1]):
                return k
        except ArrayLinAlgError:
            return k
    return 0


def factor(A, upper, name):
    return _cholesky(A.mH, name).mH if upper else _cholesky(A, name)


@composite(namespace="linalg", out="exact", autocast="float32 on cpu")
def cholesky(A, *, upper=False):
    """The lower triangular L with ``L @ L.mH == A``, or if `upper` L.mH, for Hermitian positive definite A.

    (..., n, n); only one triangle of A is read. LinAlgError if A is not positive definite.
    """
    check("linalg.cholesky", A.array, square=True)
    return factor(A, upper, "linalg.cholesky")


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def cholesky_ex(A, *, upper=False, check_errors=False):
    """`cholesky` and, for each matrix, 0 or the order of the first leading minor that is not positive definite.

    The factor of a matrix that is not positive definite is NaN, or LinAlgError with `check_errors`.
    """
    check("linalg.cholesky_ex", A.array, square=True)
    xp, d = A.backend.xp, A.array
    info = xp.zeros(d.shape[:-2], "int32")
    try:
        L = factor(A, upper, "linalg.cholesky_ex")
    except LinAlgError:
        if check_errors:
            raise
        for index in product(*map(range, info.shape)):
            info[index] = first_bad_minor(xp, d[index].conj().T if upper else d[index])
        bad = wrap((info > 0)[..., None, None], A.backend)
        unit = wrap(xp.eye(d.shape[-1], dtype=d.dtype), A.backend)
        L = factor(where(bad, unit, A), upper, "linalg.cholesky_ex").masked_fill(bad, float("nan"))
    return return_types.linalg_cholesky_ex(L, wrap(info, A.backend))


@composite(out=True, autocast="float32 on cpu")
def cholesky_inverse(input, upper=False):
    """The inverse of the matrix with Cholesky factor `input`: ``(L @ L.mH)^-1``, or ``(U.mH @ U)^-1`` if `upper`."""
    check("cholesky_inverse", input.array, square=True)
    n = input.array.shape[-1]
    unit = wrap(input.backend.xp.eye(n, dtype=input.array.dtype), input.backend)
    return cholesky_solve(unit.expand(input.array.shape), input, upper)


@composite(out=True, autocast="float32 on cpu")
def cholesky_solve(input, L, upper=False):
    """The X of ``A X = input`` for the A with Cholesky factor `L` (or upper factor): (..., n, k), (..., n, n).

    Only the triangle of `L` is read, and only there it has a gradient (PyTorch gives the other one a gradient too).
    """
    b, a = input.array, L.array
    for x, name in ((b, "b"), (a, "u")):
        if x.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"cholesky_solve: A must be batches of square matrices, but they are {a.shape[-2]} by "
                           f"{a.shape[-1]} matrices")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a.shape[-1]} by "
                           f"{a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}")
    first, second = (L.mH, L) if upper else (L, L.mH)
    half = solve_triangular(first, input, upper=False)
    return solve_triangular(second, half, upper=True)


@composite(public_name="cholesky", out=True, autocast="float32 on cpu")
def old_cholesky(input, upper=False):
    """The Cholesky factor of a symmetric positive definite matrix. See `linalg.cholesky`."""
    return factor(input, upper, "cholesky")


# ---- QR ----------------------------------------------------------------------------------------------------
def qr_dims(complete):
    return ("* [n m] -> * [n n], * [n m]" if complete
            else "* [n m] -> * [n] k=min(n, m), * k=min(n, m) [m]")


@op(dims=qr_dims,
    complex="conjugate", name="qr", namespace=None, node_name="LinalgQrBackward0",
    outputs=(True, True),
    joint=lambda F, g, needs, out, complete: (qr_slope(F, g, out, complete),),
    sample=lambda d: ([d.spread_matrix()[:, :d.int(2, 3)]], dict(complete=False)))
def _qr(F, input, *, complete):
    """Q and R of matrices with at least as many rows as columns; Q square if `complete`."""
    return tuple(F.xp.linalg.qr(input, "complete" if complete else "reduced"))


def qr_slope(F, g, out, complete):
    """``(gQ + Q S) R^-H`` with S Hermitian, of upper triangle ``gR R.H - Q.H gQ`` (Walter and Lehmann)."""
    (gq, gr), (q, r) = g, out
    if complete and q.shape[-1] > r.shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    if gq is None:
        m = F.matmul(gr, h(F, r))
    else:
        m = -F.matmul(h(F, q), gq) + (0.0 if gr is None else F.matmul(gr, h(F, r)))
    right = F.matmul(q, halved(F, F.triu, 1, m))
    right = right if gq is None else right + gq
    return h(F, F.solve_triangular(r, h(F, right), upper=True, unitriangular=False))


def qr_of(A, mode, name):
    check(name, A.array)
    m, n = A.array.shape[-2:]
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           f"'complete'")
    if mode == "r":
        if A.needs_grad or A.backend.level:
            raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
                               "use linalg.qr(A, mode='reduced')")
        r = A.backend.xp.linalg.qr(A.array, "r")
        return wrap(A.backend.xp.empty(0, A.array.dtype), A.backend), wrap(r, A.backend)
    if m >= n:
        return _qr(A, mode == "complete")
    q, r = _qr(A[..., :m], False)                          # a wide one: the rest of R is Q.H times the rest of A
    return q, cat([r, matmul(q.mH, A[..., m:])], -1)


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def qr(A, mode="reduced"):
    """Q, with orthonormal columns, and the upper triangular R with ``A = Q @ R``, as a named tuple.

    (..., m, n) gives (..., m, k) and (..., k, n), k the smaller of m and n; in `mode` "complete" (..., m, m) and
    (..., m, n); in `mode` "r" an empty Q, and no gradient.
    """
    return return_types.linalg_qr(*qr_of(A, mode, "linalg.qr"))


@composite(public_name="qr", out=True, autocast="float32 on cpu")
def old_qr(input, some=True):
    """Q and R with ``input = Q @ R``; Q square if not `some`. See `linalg.qr`."""
    return return_types.qr(*qr_of(input, "reduced" if some else "complete", "qr"))


# ---- singular values ---------------------------------------------------------------------------------------
def converged(svd, input, *options):
    """``svd(input, *options)``; LinAlgError in PyTorch's words where it finds no end."""
    try:
        return svd(input, *options)
    except ArrayLinAlgError:
        raise worded(LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix contained "
                                 "non-finite values or has too many repeated singular values.")) from None


def svd_dims(full):
    return ("* [n m] -> * [n n], * k=min(n, m), * [m m]" if full
            else "* [n m] -> * [n] k=min(n, m), * k=min(n, m), * k=min(n, m) [m]")


@op(dims=svd_dims,
    complex="conjugate", name="svd", namespace=None, node_name="LinalgSvdBackward0",
    outputs=(True, True, True),
    joint=lambda F, g, needs, out: (svd_slope(F, g, out),),
    sample=lambda d: ([d.spread_matrix()[:d.int(2, 3)]], dict(full=False)))
def _svd(F, input, *, full):
    """U, S and Vh."""
    if not input.size:
        return empty_svd(F.xp, input, full)
    return tuple(converged(F.xp.linalg.svd, input, full))


def empty_svd(xp, x, full):
    m, n = x.shape[-2:]
    k = min(m, n)
    u, v = [xp.broadcast_to(xp.eye(i, dtype=x.dtype), (*x.shape[:-2], i, i)).copy() for i in (m, n)]
    s = xp.zeros((*x.shape[:-2], k), x.real.dtype)
    return (u, s, v) if full else (u[..., :k], s, v[..., :k, :])


def svd_slope(F, g, out):
    """The gradient from those of U, S and Vh (Townsend); for U and V only the first singular vectors count."""
    (gu, gs, gv), (u, s, v) = g, out
    k = s.shape[-1]
    if u.shape[-1] > k:
        u, gu = cut(F, u, columns=k), None if gu is None else cut(F, gu, columns=k)
    if v.shape[-2] > k:
        v, gv = cut(F, v, rows=k), None if gv is None else cut(F, gv, rows=k)
    across, down = F.unsqueeze(s, dim=-2), F.unsqueeze(s, dim=-1)
    if gu is None and gv is None:
        return F.matmul(u * F.unsqueeze(gs, dim=-2), v)
    gap = across * across - down * down
    gap = F.masked_fill(gap, gap == 0, 1.0)
    inner = 0.0 if gs is None else diag(F, gs)
    rest = 0.0
    if gu is not None:
        x = F.matmul(h(F, u), gu)
        inner = inner + (x - h(F, x)) / gap * across
        if gv is not None and is_complex(u):               # the phase, which U and V share
            inner = inner + diag(F, phase(F, x) / s)
        if u.shape[-2] > k:
            rest = rest + F.matmul((gu - F.matmul(u, x)) / across, v)
    if gv is not None:
        x = F.matmul(v, h(F, gv))
        inner = inner + down * ((x - h(F, x)) / gap)
        if v.shape[-1] > k:
            rest = rest + F.matmul(u, (gv - F.matmul(h(F, x), v)) / down)
    return F.matmul(F.matmul(u, inner), v) + rest


def phase(F, x):
    """The imaginary part of the diagonal, times i."""
    x = F.diagonal(x, offset=0, dim1=-2, dim2=-1)
    return (x - F.conj(x)) * 0.5


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def svd(A, full_matrices=True, *, driver=None):
    """U, S and Vh with ``A = U @ diag(S) @ Vh``, as a named tuple: S descending, U and Vh orthogonal or unitary.

    (..., m, n) gives (..., m, m), (..., k), (..., n, n), k the smaller of m and n; without `full_matrices` (..., m, k)
    and (..., k, n). Gradients through U and Vh need distinct singular values, and mean something only if the result
    does not depend on the signs (of complex ones the phases) of singular vectors. `driver` has no effect.
    """
    check("linalg.svd", A.array)
    return return_types.linalg_svd(*_svd(A, bool(full_matrices)))


@composite(public_name="svd", out=True, autocast="float32 on cpu")
def old_svd(input, some=True, compute_uv=True):
    """U, S and V (not its transpose) with ``input = U @ diag(S) @ V.mH``. See `linalg.svd`."""
    check("svd", input.array)
    if not compute_uv:
        s, (m, n) = svdvals(input), input.array.shape[-2:]
        zeros = [wrap(input.backend.xp.zeros((*input.array.shape[:-2], i, i), input.array.dtype), input.backend)
                 for i in (m, n)]
        return return_types.svd(zeros[0], s, zeros[1])
    u, s, vh = _svd(input, not some)
    return return_types.svd(u, s, vh.mH)


@op(dims="* [n m] -> * k=min(n, m)",
    complex="conjugate", name="svdvals", namespace=None, node_name="LinalgSvdBackward0",
    input=lambda F, g, input: svd_slope(F, (None, g, None), F.svd(input, full=False)),
    sample=lambda d: ([d.spread_matrix()[:d.int(2, 3)]], {}))
def _svdvals(F, input):
    """S alone."""
    if not input.size:
        return empty_svd(F.xp, input, False)[1]
    return converged(F.xp.linalg.svd, input, False, False)


@composite(namespace="linalg", out="exact", autocast="float32 on cpu")
def svdvals(A, *, driver=None):
    """The singular values of matrices (..., m, n), descending: (..., k), k the smaller of m and n."""
    check("linalg.svd", A.array)
    return _svdvals(A)


# ---- eigenvalues of symmetric matrices ---------------------------------------------------------------------
@op(dims="* [n n] -> * [n], * [n n]",
    complex="conjugate", name="eigh", namespace=None, node_name="LinalgEighBackward0", outputs=(True, True),
    joint=lambda F, g, needs, out: (eigh_slope(F, g, out),),
    sample=lambda d: ([d.array((2, 1, 1))], dict(lower="L")))   # larger ones: tests/ops/test_linalg.py
def _eigh(F, input, *, lower):
    """Eigenvalues, ascending, and eigenvectors, as columns."""
    return tuple(F.xp.linalg.eigh(input, lower))


def eigh_slope(F, g, out):
    """``V (diag(gL) + skew(V.H gV) / (L_j - L_i)) V.H``, ``skew(x) = (x - x.H) / 2``: symmetric, as the input is."""
    (gl, gv), (values, vectors) = g, out
    if gv is None:
        return F.matmul(vectors * F.unsqueeze(gl, dim=-2), h(F, vectors))
    gap = F.unsqueeze(values, dim=-2) - F.unsqueeze(values, dim=-1)
    turned = F.matmul(h(F, vectors), gv)
    inner = (turned - h(F, turned)) / F.masked_fill(2 * gap, gap == 0, float("inf"))
    inner = inner if gl is None else inner + diag(F, gl)
    return F.matmul(F.matmul(vectors, inner), h(F, vectors))


def check_symmetric(name, x, UPLO):
    if x.ndim >= 2 and x.shape[-1] == x.shape[-2] and x.dtype.kind in "iub":
        raise NotImplementedError(f'"{name}" not implemented for \'{x.dtype}\': convert it, as in x.float()')
    check(name, x, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def eigh(A, UPLO="L"):
    """Eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices (..., n, n), as a named tuple.

    Only the lower ("L") or upper ("U") triangle is read. Gradients through the eigenvectors need distinct eigenvalues.
    """
    check_symmetric("linalg.eigh", A.array, UPLO)
    return return_types.linalg_eigh(*_eigh(A, UPLO.upper()))


@op(dims="* [n n] -> * [n]",
    complex="conjugate", name="eigvalsh", namespace=None, node_name="LinalgEighBackward0",
    input=lambda F, g, input, lower: eigh_slope(F, (g, None), F.eigh(input, lower=lower)),
    sample=lambda d: ([d.array((2, 1, 1))], dict(lower="L")))
def _eigvalsh(F, input, *, lower):
    """The eigenvalues alone."""
    return F.xp.linalg.eigvalsh(input, lower)


@composite(namespace="linalg", out="exact", autocast="float32 on cpu")
def eigvalsh(A, UPLO="L"):
    """The eigenvalues, ascending, of symmetric matrices (..., n, n); one triangle is read. See `eigh`."""
    check_symmetric("linalg.eigvalsh", A.array, UPLO)
    return _eigvalsh(A, UPLO.upper())


# ---- eigenvalues of any matrix: complex --------------------------------------------------------------------
@op(dims="* [n n] -> * [n], * [n n]",
    name="eig", namespace=None, node_name="LinalgEigBackward0", outputs=(True, True),
    complex="conjugate",
    joint=lambda F, g, needs, out, input_dtype: (F.to(eig_slope(F, g, out), dtype=input_dtype),),
    sample=lambda d: ([d.array((2, 1, 1))], {}))           # larger ones: tests/autograd/test_complex.py
def _eig(F, input):
    """Eigenvalues and eigenvectors of length 1, as columns."""
    values, vectors = F.xp.linalg.eig(input)
    return values.astype(complex_type(input.dtype)), vectors.astype(complex_type(input.dtype))


def eig_slope(F, g, out):
    """``V^-H (diag(gL) + (V.H gV - V.H V diag(Re(V.H gV))) / conj(L_j - L_i)) V.H``: vectors have length 1."""
    (gl, gv), (values, vectors) = g, out
    adjoint = h(F, vectors)
    if gv is None:
        return F.solve(adjoint, F.unsqueeze(gl, dim=-1) * adjoint, strict=False)
    gap = F.conj(F.unsqueeze(values, dim=-2) - F.unsqueeze(values, dim=-1))
    x = F.matmul(adjoint, gv)
    along = F.real(F.diagonal(x, offset=0, dim1=-2, dim2=-1))
    x = x - F.matmul(adjoint, vectors) * F.unsqueeze(along, dim=-2)
    inner = x / F.masked_fill(gap, gap == 0, float("inf"))
    inner = inner if gl is None else inner + diag(F, gl)
    return F.solve(adjoint, F.matmul(inner, adjoint), strict=False)


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def eig(A):
    """Eigenvalues (..., n) and eigenvectors, as columns (..., n, n), of square matrices: complex tensors, in no order.

    The eigenvectors have length 1. Gradients through them need distinct eigenvalues, and mean something only if the
    result does not depend on their phases.
    """
    check("linalg.eig", A.array, square=True)
    return return_types.linalg_eig(*_eig(A))


@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def eigvals(A):
    """The eigenvalues (..., n) of square matrices (..., n, n): a complex tensor, in no order."""
    check("linalg.eigvals", A.array, square=True)
    if grad_mode.levels or A.needs_grad and grad_mode.enabled:   # the derivative needs the vectors
        return _eig(A)[0]
    return wrap(A.backend.xp.linalg.eigvals(A.array).astype(complex_type(A.array.dtype)), A.backend)


# ---- Householder reflections -------------------------------------------------------------------------------
@composite(namespace="linalg", out=True, autocast="float32 on cpu")
def householder_product(A, tau):
    """The first n columns of ``H_1 H_2 ... H_k`` with ``H_i = I - tau_i v_i v_i.H``: the Q that `geqrf` describes.

    (..., m, n) with m >= n >= k and (..., k). ``v_i`` is column i of `A` below the diagonal, with 1 on it and 0 above.
    """
    a, shape = A.array, A.array.shape
    check("linalg.householder_product", a)
    k = tau.array.shape[-1]
    if shape[-2] < shape[-1]:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
                           "input.shape[-1]")
    if shape[-1] < k:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to "
                           "tau.shape[-1]")
    if tau.array.shape[:-1] != shape[:-2]:
        raise RuntimeError(f"torch.linalg.householder_product: Expected batch dimensions of tau to be equal to "
                           f"input.shape[:-2], but got {list(tau.array.shape[:-1])}")
    if a.dtype != tau.array.dtype:
        raise RuntimeError(f"torch.linalg.householder_product: tau dtype {tau.dtype} does not match input dtype "
                           f"{A.dtype}")
    unit = wrap(A.backend.xp.eye(*shape[-2:], dtype=a.dtype), A.backend)
    v = tril(A, -1) + unit
    q = unit.expand(shape) if k else unit + zero(A)
    for i in reversed(range(k)):
        column = v[..., i:i + 1]
        q = q - tau[..., i, None, None] * matmul(column, matmul(column.mH, q))
    return q


@composite(autocast="float32 on cpu")
def orgqr(input, input2):
    """The same as `linalg.householder_product`."""
    return householder_product(input, input2)
