"""Linear algebra: identities that define a result, gradients through symmetric matrices, singular and empty ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t
from minitorch.linalg import LinAlgError
from minitorch.testing import check, gradcheck, gradgradcheck

L = t.linalg
few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 10**6)


def matrix(*shape, seed=0):
    return t.from_numpy(np.random.default_rng(seed).normal(size=shape))


def positive(n, seed=0, batch=()):
    a = matrix(*batch, n, n, seed=seed)
    return a @ a.mT + t.eye(n, dtype=t.float64)


def near(a, b, tol=1e-9):
    b = b.detach().numpy() if isinstance(b, t.Tensor) else b
    np.testing.assert_allclose(a.detach().numpy(), b, rtol=tol, atol=tol)


def shapes(seed, square=False):
    r = np.random.default_rng(seed)
    m, n = r.integers(1, 6, 2)
    return (*r.integers(1, 3, r.integers(0, 3)), m, m if square else n)


# ---- decompositions ----------------------------------------------------------------------------------------
@given(seed=seeds)
@few
def test_qr(seed):
    a = matrix(*shapes(seed), seed=seed)
    for mode in ("reduced", "complete"):
        q, r = L.qr(a, mode)
        near(q @ r, a)
        near(q.mT @ q, np.broadcast_to(np.eye(q.shape[-1]), q.mT.shape[:-2] + (q.shape[-1],) * 2))
        assert (r.tril(-1) == 0).all()
    near(L.qr(a, "r").R, L.qr(a).R)


@given(seed=seeds, full=st.booleans())
@few
def test_svd(seed, full):
    a = matrix(*shapes(seed), seed=seed)
    u, s, vh = L.svd(a, full)
    k = s.shape[-1]
    near(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
    assert u.shape[-1] == (a.shape[-2] if full else k) and (s.diff() <= 0).all() and (s >= 0).all()
    near(L.svdvals(a), s)
    near(t.svd(a)[2], vh[..., :k, :].mT)


@given(seed=seeds, UPLO=st.sampled_from("LU"))
@few
def test_eigh_reads_one_triangle(seed, UPLO):
    a = matrix(*shapes(seed, square=True), seed=seed)
    half = a.tril() if UPLO == "L" else a.triu()
    symmetric = half + half.mT - t.diag_embed(half.diagonal(dim1=-2, dim2=-1))
    values, vectors = L.eigh(a, UPLO)
    near(vectors * values.unsqueeze(-2) @ vectors.mT, symmetric)
    near(L.eigvalsh(a, UPLO), values)


@given(seed=seeds)
@few
def test_lu(seed):
    a = matrix(*shapes(seed), seed=seed)
    p, lower, upper = L.lu(a)
    near(p @ lower @ upper, a)
    assert (lower.triu(1) == 0).all() and (upper.tril(-1) == 0).all() and (lower.abs() <= 1).all()
    packed, pivots = L.lu_factor(a)
    for x, y in zip(t.lu_unpack(packed, pivots), (p, lower, upper)):
        near(x, y)
    assert pivots.dtype is t.int32 and (pivots >= 1).all()


@pytest.mark.parametrize("shape", [(90, 90), (70, 40), (40, 70), (2, 33, 33)])
def test_lu_by_halves(shape):
    a = matrix(*shape)
    p, lower, upper = L.lu(a)
    near(p @ lower @ upper, a)
    if shape[-1] == shape[-2]:
        b = matrix(*shape[:-1], 2, seed=1)
        for adjoint in (False, True):
            x = L.lu_solve(*L.lu_factor(a), b, adjoint=adjoint)
            near((a.mT if adjoint else a) @ x, b, 1e-7)
        near(L.lu_solve(*L.lu_factor(a), b.mT, left=False) @ a, b.mT, 1e-7)


@pytest.mark.parametrize("n", [1, 5, 70])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangular_systems(n, upper, unitriangular):
    a, b = matrix(2, n, n) / n + 2 * t.eye(n, dtype=t.float64), matrix(1, n, 3, seed=1)
    read = (a.triu() if upper else a.tril())
    if unitriangular:
        read = read - t.diag_embed(read.diagonal(dim1=-2, dim2=-1)) + t.eye(n, dtype=t.float64)
    x = L.solve_triangular(a, b, upper=upper, unitriangular=unitriangular)
    near(read @ x, b.expand(2, n, 3))
    y = L.solve_triangular(a, b.mT, upper=upper, left=False, unitriangular=unitriangular)
    near(y @ read, b.mT.expand(2, 3, n))


def test_a_triangle_with_a_zero_on_its_diagonal():
    x = L.solve_triangular(t.tensor([[2.0, 0.0], [1.0, 0.0]]), t.ones(2, 1), upper=False)
    assert x[0].item() == 0.5 and x[1].item() == math.inf


@given(seed=seeds, upper=st.booleans())
@few
def test_cholesky(seed, upper):
    a = positive(3, seed, batch=(2,))
    c = L.cholesky(a, upper=upper)
    near(c.mT @ c if upper else c @ c.mT, a)
    b = matrix(2, 3, 2, seed=seed + 1)
    near(a @ t.cholesky_solve(b, c, upper), b)
    near(t.cholesky_inverse(c, upper), L.inv(a))


def test_householder_products_are_orthogonal():
    v = matrix(5, 3).tril(-1)
    tau = 2 / (1 + v.square().sum(0))
    q = L.householder_product(v, tau)
    near(q.mT @ q, np.eye(3))


def test_eigenvalues_of_a_rotation_are_complex():
    values, vectors = L.eig(t.tensor([[0.0, -1.0], [1.0, 0.0]]))
    assert values.dtype is t.complex64
    np.testing.assert_allclose(sorted(values.numpy(), key=lambda v: v.imag), [-1j, 1j], atol=1e-6)
    assert L.eigvals(t.eye(2, dtype=t.float64)).dtype is t.complex128


# ---- systems, inverses, determinants -----------------------------------------------------------------------
@given(seed=seeds)
@few
def test_solve_and_inverse(seed):
    a = matrix(*shapes(seed, square=True), seed=seed)
    n = a.shape[-1]
    near(a @ L.inv(a), np.broadcast_to(np.eye(n), a.shape), 1e-6)
    b = matrix(*a.shape[:-2], n, 7, seed=seed + 1)
    near(a @ L.solve(a, b), b, 1e-6)
    near(L.solve(a, b.mT, left=False) @ a, b.mT, 1e-6)
    sign, log = L.slogdet(a)
    near(sign * log.exp(), L.det(a))


def test_a_right_hand_side_is_a_vector_or_matrices_by_its_shape():
    a = t.eye(2).expand(2, 2, 2) * t.tensor([1.0, 2.0]).reshape(2, 1, 1)
    assert L.solve(a, t.ones(2, 2)).tolist() == [[1, 1], [0.5, 0.5]]         # one vector for each matrix
    assert L.solve(a, t.ones(2, 1)).shape == (2, 2, 1)
    assert L.solve(a, t.ones(2)).tolist() == [[1, 1], [0.5, 0.5]]


def test_singular_matrices():
    a = t.stack([t.eye(2), t.tensor([[1.0, 2.0], [2.0, 4.0]])])
    with pytest.raises(LinAlgError, match="Batch element 1.*diagonal element 2 is zero"):
        L.inv(a)
    with pytest.raises(RuntimeError, match="Batch element 1.*singular"):
        L.solve(a, t.ones(2, 2))
    with pytest.raises(LinAlgError, match=r"U\[2,2\] is zero"):
        L.lu_factor(a)
    inverse, info = L.inv_ex(a)
    assert info.tolist() == [0, 2] and info.dtype is t.int32
    assert inverse[0].tolist() == [[1, 0], [0, 1]] and inverse[1].isinf().all()
    result, info = L.solve_ex(a, t.ones(2, 2))
    assert info.tolist() == [0, 2] and result[0].tolist() == [1, 1] and result[1].isnan().all()
    assert L.cond(a, 1).tolist() == [1, math.inf] and L.matrix_rank(a).tolist() == [2, 1]
    assert t.logdet(a).tolist() == [0, -math.inf]
    with pytest.raises(LinAlgError, match="leading minor of order 2"):
        L.cholesky(a[1] * t.tensor([[1.0, 1.0], [1.0, 0.5]]))
    factor, info = L.cholesky_ex(t.stack([t.eye(2), -t.eye(2)]))
    assert info.tolist() == [0, 1] and factor[0].tolist() == [[1, 0], [0, 1]] and factor[1].isnan().all()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_determinant_has_a_gradient_at_singular_matrices(rank):
    a = (matrix(3, rank) @ matrix(rank, 3, seed=1)).requires_grad_()
    L.det(a).backward()
    minors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a.detach().numpy(), i, 0), j, 1))
               for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(a.grad.numpy(), minors, atol=1e-9)


@given(seed=seeds, hermitian=st.booleans())
@few
def test_pseudo_inverse(seed, hermitian):
    """The four conditions of Penrose, for matrices of any rank."""
    r = np.random.default_rng(seed)
    m, n, k = r.integers(1, 5, 3)
    a = matrix(2, m, k, seed=seed) @ matrix(2, k, n, seed=seed + 1)
    a = a @ a.mT if hermitian else a
    p = L.pinv(a, hermitian=hermitian, rtol=1e-10)
    for x, y in ((a @ p @ a, a), (p @ a @ p, p), ((a @ p).mT, a @ p), ((p @ a).mT, p @ a)):
        near(x, y, 1e-6 * max(1, p.abs().max().item()))
    assert L.matrix_rank(a, rtol=1e-10).tolist() == [min(m, n, k)] * 2


@given(seed=seeds)
@few
def test_least_squares(seed):
    r = np.random.default_rng(seed)
    m, n = r.integers(1, 6, 2)
    a, b = matrix(m, n, seed=seed), matrix(m, 2, seed=seed + 1)
    found = L.lstsq(a, b, driver="gelsd")
    solution, residuals, rank, s = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
    near(found.solution, solution, 1e-7)
    near(found.singular_values, s)
    assert found.rank.item() == rank
    near(found.residuals, residuals if m > n else np.zeros(0), 1e-7)


# ---- norms, powers -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms(ord):
    a = matrix(3, 2, 4)
    for dim in ((-2, -1), (0, 2), (2, 1), (1, 0)):
        moved = np.moveaxis(a.numpy(), dim, (0, 1))
        wanted = np.array([np.linalg.norm(moved[:, :, i], ord) for i in range(moved.shape[2])])
        near(L.matrix_norm(a, ord, dim), wanted)
        kept = L.matrix_norm(a, ord, dim, keepdim=True)
        assert kept.shape == tuple(1 if d in (dim[0] % 3, dim[1] % 3) else n for d, n in enumerate(a.shape))
        near(kept.ravel(), wanted)
    assert L.norm(a[0], ord).item() == pytest.approx(np.linalg.norm(a[0].numpy(), ord))
    assert L.cond(a[:, :, :2].mT @ a[:, :, :2], ord).shape == (3,)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, -1, -4])
def test_matrix_power(n):
    a = matrix(2, 3, 3)
    near(L.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n), 1e-6)
    assert L.matrix_power(a, n).data_ptr() != a.data_ptr()


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 20.0])
def test_matrix_exp_by_eigenvalues(scale):
    a = positive(4, batch=(2,)) * (scale / 10)
    values, vectors = L.eigh(a)
    near(L.matrix_exp(a), vectors * values.exp().unsqueeze(-2) @ vectors.mT, 1e-8)
    near(L.matrix_exp(a.float()).double(), L.matrix_exp(a), 1e-4)


def test_matrix_exp_of_a_nilpotent_matrix_ends():
    a = t.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]], dtype=t.float64)
    near(L.matrix_exp(a), [[1, 1, 1], [0, 1, 2], [0, 0, 1]])


# ---- tensors, vectors --------------------------------------------------------------------------------------
def test_tensors_as_matrices():
    a, b = matrix(2, 3, 6), matrix(2, 3, seed=1)
    near(t.tensordot(a, L.tensorsolve(a, b), 1), b)
    near(t.tensordot(L.tensorinv(a, ind=2), b, 2), L.tensorsolve(a, b))
    near(L.tensorsolve(a.movedim(2, 0), b, dims=0), L.tensorsolve(a, b))


def test_cross_vander_diagonal():
    a, b = matrix(4, 3), matrix(1, 3, seed=1)
    near(L.cross(a, b), np.cross(a.numpy(), b.numpy()))
    near(t.cross(a.T, b.T), np.cross(a.numpy(), b.numpy()).T)
    near(L.vander(a[0], N=5), np.vander(a[0].numpy(), 5, increasing=True))
    near(t.vander(a[0]), np.vander(a[0].numpy()))
    assert L.diagonal(a, offset=1).data_ptr() == a[0, 1:].data_ptr()


# ---- gradients ---------------------------------------------------------------------------------------------
def passes(function, *inputs):
    inputs = [x.detach().requires_grad_() for x in inputs]
    assert gradcheck(function, inputs) and gradgradcheck(function, inputs, atol=1e-4)


@pytest.mark.parametrize("function", [
    L.cholesky, lambda a: L.cholesky(a, upper=True), lambda a: L.eigh(a)[0], L.eigvalsh,
    lambda a: L.eigh(a)[1].square(), lambda a: L.eigh(a, "U")[1].abs() * L.eigh(a, "U")[0],
    lambda a: L.pinv(a, hermitian=True), lambda a: t.cholesky_inverse(L.cholesky(a)), t.logdet, L.matrix_exp,
    lambda a: L.inv_ex(a)[0], lambda a: L.cond(a, 1)])
def test_gradients_of_symmetric_matrices(function):
    """Perturbed as symmetric matrices, or the derivative does not exist."""
    passes(lambda a: function((a + a.mT) / 2), positive(3, seed=3))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_gradients_of_any_matrices(shape):
    a = matrix(*shape, seed=5)
    passes(lambda x: L.qr(x)[0], a)
    passes(lambda x: L.qr(x)[1], a)
    passes(lambda x: L.svd(x, False)[0].abs() + L.svd(x)[1].unsqueeze(-2), a)
    passes(lambda x: L.svd(x, False)[2].square(), a)
    passes(L.svdvals, a)
    passes(L.pinv, a)
    passes(lambda x: L.lu(x)[1], a)
    passes(lambda x: L.lu(x)[2], a)
    passes(lambda x, b: L.lstsq(x, b).solution, a, matrix(*shape[:-1], 1))
    passes(lambda x: L.matrix_norm(x, "nuc") + L.matrix_norm(x, 2) + L.matrix_norm(x, 1) + L.matrix_norm(x), a)


def test_gradients_of_systems():
    a, b = matrix(2, 3, 3, seed=7), matrix(3, 2)
    passes(L.solve, a, b)
    passes(lambda a, b: L.solve(a, b.mT, left=False), a, matrix(1, 3, 2))
    passes(lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), a, b.expand(2, 3, 2))
    passes(lambda a, b: L.solve_triangular(a, b, upper=True), a + 3 * t.eye(3, dtype=t.float64), b)
    passes(lambda a, b: t.cholesky_solve(b, a.tril()), a[0] + 3 * t.eye(3, dtype=t.float64), b)
    passes(lambda a: L.slogdet(a)[1] + L.det(a) + L.cond(a), a)
    passes(lambda a: L.matrix_power(a, 3) + L.matrix_power(a, -2), a)
    passes(lambda v, tau: L.householder_product(v, tau), matrix(4, 2), matrix(2, seed=1))
    check(L.cross, "2 3, 1 3", examples=2)
    check(L.vander, "3", examples=2)


def test_a_gradient_that_does_not_exist_says_so():
    a = matrix(3, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="mode='r'"):
        L.qr(a, "r")
    with pytest.raises(RuntimeError, match="nrows > ncols"):
        L.qr(a, "complete")[0].sum().backward()


# ---- what is refused, and nothing at all -------------------------------------------------------------------
@pytest.mark.parametrize("call", [L.inv, L.det, L.slogdet, L.cholesky, L.qr, L.svd, L.svdvals, L.matrix_exp, t.logdet])
def test_matrices_of_floats_are_wanted(call):
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        call(t.ones(3))
    with pytest.raises(RuntimeError, match=r"floating point.*int64.*x.float\(\)"):
        call(t.ones(2, 2, dtype=t.int64))
    if call is L.matrix_exp:                               # as PyTorch: products only, no factors
        assert call(t.ones(2, 2, dtype=t.float16)).dtype is t.float16
    else:
        with pytest.raises(RuntimeError, match="Low precision"):
            call(t.ones(2, 2, dtype=t.float16))
    if call not in (L.qr, L.svd, L.svdvals):
        with pytest.raises(RuntimeError, match="must be batches of square matrices, but they are 2 by 3 matrices"):
            call(t.ones(2, 3))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 2, 2), (2, 0, 0)])
def test_empty_matrices(shape):
    a, (m, n) = t.empty(shape), shape[-2:]
    k = min(m, n)
    assert L.svd(a).U.shape == (*shape[:-1], m) and L.svdvals(a).shape == (*shape[:-2], k)
    assert L.qr(a).Q.shape == (*shape[:-1], k) and L.pinv(a).shape == (*shape[:-2], n, m)
    assert L.lu(a).L.shape == (*shape[:-1], k) and L.matrix_rank(a).shape == shape[:-2]
    assert L.matrix_norm(a).shape == shape[:-2]
    if m == n:
        assert L.inv(a).shape == shape and L.matrix_exp(a).shape == shape and L.cholesky(a).shape == shape
        assert L.det(a).tolist() == np.ones(shape[:-2]).tolist()
        assert L.eigh(a).eigenvalues.shape == shape[:-1] and L.solve(a, a).shape == shape


def test_out():
    a = matrix(2, 2)
    out = t.empty(2, 2, dtype=t.float64)
    assert L.inv(a, out=out) is out
    near(out @ a, np.eye(2))
    pair = t.empty(2, 2, dtype=t.float64), t.empty(2, 2, dtype=t.float64)
    found = L.qr(a, out=pair)
    assert found.Q is pair[0]
    near(pair[0] @ pair[1], a)


def test_float32_stays_float32():
    a = positive(3).float()
    for x in (L.inv(a), L.det(a), *L.svd(a), *L.eigh(a), *L.qr(a), L.cholesky(a), L.pinv(a), L.matrix_exp(a),
              *L.lu(a), L.matrix_norm(a, 2), L.cond(a), L.solve(a, a), L.matrix_power(a, -2)):
        assert x.dtype is t.float32


NAN, INF = math.nan, math.inf


def test_a_matrix_of_nan_has_a_gradient_of_nan_beside_others():
    x = t.stack([t.full((3, 3), NAN), t.eye(3), t.diag(t.tensor([2.0, 3.0, 0.0])),
                     t.full((3, 3), INF)]).requires_grad_()
    t.linalg.det(x).sum().backward()
    assert x.grad[0].isnan().all() and x.grad[3].isnan().all() and t.allclose(x.grad[1], t.eye(3))
    assert t.allclose(x.grad[2], t.diag(t.tensor([0.0, 0.0, 6.0])), atol=1e-5)


def test_singular_values_of_nan_are_a_linalg_error():
    x = t.full((2, 2), math.nan)
    for function in (t.linalg.svd, t.linalg.svdvals, t.linalg.pinv, t.linalg.matrix_rank):
        with pytest.raises(t.linalg.LinAlgError, match="failed to converge"):
            function(x)


@pytest.mark.parametrize("dtype", [t.float64, t.complex128])
def test_the_gradient_through_eigenvectors_is_symmetric(dtype):
    t.manual_seed(0)
    x = t.randn(4, 4, dtype=dtype)
    x = (x + x.mH).requires_grad_()
    weight = t.randn(4, 4, dtype=t.float64)
    values, vectors = t.linalg.eigh(x)
    g, = t.autograd.grad((vectors.abs() * weight).sum() + values.pow(2).sum(), x)
    assert t.allclose(g, g.mH)

    def loss(x):
        values, vectors = t.linalg.eigh(x)
        return (vectors.abs() * weight).sum() + values.pow(2).sum()

    step = t.randn(4, 4, dtype=dtype)
    step = (step + step.mH) * 1e-6
    with t.no_grad():
        change = loss(x + step) - loss(x - step)
    assert abs(change - 2 * (g.conj() * step).sum().real) < 1e-9
