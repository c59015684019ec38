"""Op definitions: the LU decomposition ``A = P @ L @ U`` with partial pivoting, packed as in LAPACK, and systems.

NumPy solves by LU but does not show it, so the elimination is written here: by recursion on halves of the columns, in
which nearly all the work is matrix products (Toledo, "Locality of reference in LU decomposition", 1997).
"""

from ... import return_types
from ...core.errors import not_implemented, worded
from ...core.op import Other
from ...core.tensor import wrap
from ..define import composite, method, op
from ..shapes.join import tril, triu
from ..shapes.shape import count
from .decompositions import LinAlgError, _solve_triangular, check, cut, incompatible, substitute, t


# ---- elimination -------------------------------------------------------------------------------------------
def eliminate(xp, a, pivots):
    """Replace the matrices `a` (B, m, n), in place, by L and U in one; `pivots` (B, k): the row swapped with row j."""
    k = min(a.shape[1:])
    if k <= 16:
        return eliminate_columns(xp, a, pivots)
    h = k // 2
    left, right = a[:, :, :h], a[:, :, h:]
    eliminate(xp, left, pivots[:, :h])
    right[...] = rows_in(xp, right, order_of(xp, pivots[:, :h], a.shape[1]))
    right[:, :h] = substitute(xp, unit_lower(xp, left[:, :h]), right[:, :h])
    right[:, h:] -= left[:, h:] @ right[:, :h]
    eliminate(xp, right[:, h:], pivots[:, h:])
    left[:, h:] = rows_in(xp, left[:, h:], order_of(xp, pivots[:, h:], a.shape[1] - h))
    pivots[:, h:] += h


def eliminate_columns(xp, a, pivots):
    """Column by column: bring the largest element up, divide by it, subtract multiples of its row."""
    each = xp.arange(len(a))
    for j in range(pivots.shape[1]):
        column = a[:, j:, j]                               # complex ones by the sum of their parts, as LAPACK does
        size = xp.abs(column) if a.dtype.kind != "c" else xp.abs(column.real) + xp.abs(column.imag)
        p = xp.argmax(size, 1) + j
        pivots[:, j] = p
        a[each, j], a[each, p] = a[each, p], a[each, j]
        pivot = a[:, j, j]
        below = a[:, j + 1:, j]
        below /= xp.where(pivot == 0, 1, pivot)[:, None]
        a[:, j + 1:, j + 1:] -= below[:, :, None] * a[:, j, None, j + 1:]


def order_of(xp, pivots, m):
    """The order of `m` rows after the swaps, (B, m): row i of the result was row ``order[i]``."""
    order = xp.broadcast_to(xp.arange(m), (len(pivots), m)).copy()
    each = xp.arange(len(pivots))
    for j in range(pivots.shape[1]):
        p = pivots[:, j]
        order[each, j], order[each, p] = order[each, p], order[each, j]
    return order


def rows_in(xp, x, order):
    return xp.take_along_axis(x, order[:, :, None], 1)


def unit_lower(xp, a):
    return xp.tril(a, -1) + xp.eye(a.shape[-1], dtype=a.dtype)


# ---- the op definitions ----------------------------------------------------------------------------------------------
@op(dims="* [n m] -> * [n m], * k=min(n, m), *",
    complex="holomorphic", promotion="any", native=True, name="lu_factor", namespace=None,
    node_name="LinalgLuFactorExBackward0", outputs=(True, False, False),
    joint=lambda F, g, needs, out: (lu_slope(F, g[0], out[0], out[1]),),
    sample=lambda d: ([d.spread_matrix()[:d.int(2, 3), :d.int(2, 3)]], dict(name="linalg.lu")))
def _lu_factor(F, input, *, name):
    """L below the diagonal and U, in one; the pivots (from 1, int32); and 0 or the first j with ``U[j, j] == 0``."""
    if input.ndim >= 2 and input.dtype.kind in "iub":
        raise worded(not_implemented(name, input.dtype))
    check(name, input)
    xp, (*batch, m, n) = F.xp, input.shape
    k = min(m, n)
    a = input.copy().reshape(count(batch), m, n)
    pivots = xp.zeros((len(a), k), "int64")
    eliminate(xp, a, pivots)
    zero = xp.diagonal(a, 0, 1, 2) == 0
    info = xp.where(zero.any(1), zero.argmax(1) + 1 if k else 0, 0)
    return (a.reshape(input.shape), (pivots + 1).astype("int32").reshape(*batch, k),
            info.astype("int32").reshape(tuple(batch)))


def lu_slope(F, g, lu, pivots):
    """The gradient of A from that of L and U in one.

    For square matrices ``P L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T``. Further rows are ``L2 = A2 U^-1``, further
    columns ``U2 = L^-1 A2``.
    """
    m, n = lu.shape[-2:]
    k = min(m, n)
    square, gs = cut(F, lu, k, k), cut(F, g, k, k)
    u = F.triu(square, diagonal=0)
    gl, gu = F.tril(gs, diagonal=-1), F.triu(gs, diagonal=0)
    more = None
    if m > k:
        low, glow = [F.slice(x, index=(Ellipsis, slice(k, None), slice(None))) for x in (lu, g)]
        more = t(F, F.solve_triangular(u, t(F, glow), upper=True, unitriangular=False))
        gu = gu - F.triu(F.matmul(t(F, low), more), diagonal=0)
    if n > k:
        right, gright = [F.slice(x, index=(Ellipsis, slice(k, None))) for x in (lu, g)]
        more = F.solve_triangular(t(F, square), gright, upper=True, unitriangular=True)
        gl = gl - F.tril(F.matmul(more, t(F, right)), diagonal=-1)
    lower = F.tril(F.matmul(lower_transposed(F, square), gl), diagonal=-1)
    inner = lower + F.triu(F.matmul(gu, t(F, u)), diagonal=0)
    half = F.solve_triangular(t(F, square), inner, upper=True, unitriangular=True)
    a = t(F, F.solve_triangular(u, t(F, half), upper=True, unitriangular=False))
    if more is not None:
        axis = a.ndim - (2 if m > k else 1)
        a = F.cat(a, more, dim=axis)
    return F.swap_rows(a, pivots, back=True)


def lower_transposed(F, lu):
    """The transpose of L, which is stored without its diagonal of ones."""
    return F.unit_diagonal(F.triu(t(F, lu), diagonal=1))


@op(dims="* [n m] -> * [n m]",
    namespace=None, input=lambda F, g: F.triu(g, diagonal=1) + F.tril(g, diagonal=-1),
    tangent="transpose",
    sample=lambda d: ([d.array((2, 3, 3))], {}))
def unit_diagonal(F, input):
    """A copy with ones on the diagonal."""
    out = input.copy()
    F.diagonal(out, offset=0, dim1=-2, dim2=-1)[...] = 1
    return out


@op(dims="* [n] m, * [k] -> * [n] m",
    namespace=None, input=lambda F, g, pivots, back: F.swap_rows(g, pivots, back=not back),
    sample=lambda d: ([d.array((2, 3, 2)), d.integers((2, 2), 2, 3)], dict(back=d.bool())))
def swap_rows(F, input, pivots: Other, *, back):
    """The rows of `input` after the swaps that `pivots` tells (row j with row ``pivots[j] - 1``), or before them."""
    xp, (*batch, m, n) = F.xp, input.shape
    batch = xp.broadcast_shapes(tuple(batch), pivots.shape[:-1])
    x = xp.broadcast_to(input, (*batch, m, n)).reshape(count(batch), m, n)
    swaps = xp.broadcast_to(pivots, (*batch, pivots.shape[-1])).reshape(len(x), pivots.shape[-1])
    order = order_of(xp, swaps.astype("int64") - 1, m)
    order = xp.argsort(order, axis=1) if back else order
    return rows_in(xp, x, order).reshape((*batch, m, n))


# ---- public ------------------------------------------------------------------------------------------------
def factors(A, pivot, name):
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")
    return _lu_factor(A, name)


@composite(namespace="linalg", out=True)
def lu(A, *, pivot=True):
    """P, L and U with ``A = P @ L @ U``, as a named tuple: a permutation, unit lower and upper triangles.

    (..., m, n) gives (..., m, m), (..., m, k) and (..., k, n), k the smaller of m and n.
    """
    packed, pivots, _ = factors(A, pivot, "linalg.lu_factor")
    return return_types.linalg_lu(*unpack(packed, pivots))


@composite(namespace="linalg", out=True)
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """L and U in one matrix, the pivots, and for each matrix 0 or the first j (from 1) with ``U[j, j] == 0``."""
    packed, pivots, info = factors(A, pivot, "linalg.lu_factor_ex")
    if check_errors:
        check_info(info.array, "torch.linalg.lu_factor_ex")
    return return_types.linalg_lu_factor_ex(packed, pivots, info)


@composite(namespace="linalg", out=True)
def lu_factor(A, *, pivot=True):
    """L and U in one matrix (..., m, n), and the pivots (..., k), from 1. LinAlgError if U has a zero diagonal."""
    packed, pivots, info = factors(A, pivot, "linalg.lu_factor")
    check_info(info.array, "torch.linalg.lu_factor")
    return return_types.linalg_lu_factor(packed, pivots)


def check_info(info, name):
    if info.any():
        j = info[info > 0].flat[0]
        raise LinAlgError(f"{name}: U[{j},{j}] is zero and using it on lu_solve would result in a division by zero. If "
                          f"you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                          f"linalg.lu_factor_ex(A, pivot)")


def unpack(packed, pivots):
    """P, L and U as matrices."""
    xp, (*batch, m, n) = packed.backend.xp, packed.array.shape
    k = min(m, n)
    lower, upper = tril(packed[..., :k], -1), triu(packed[..., :k, :])
    unit = wrap(xp.broadcast_to(xp.eye(m, dtype=packed.array.dtype), (*batch, m, m)), packed.backend)
    return swap_rows(unit, pivots, True), lower + unit[..., :k], upper


@composite
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U as matrices, from what `linalg.lu_factor` returns; empty tensors for what is not asked for."""
    if LU_pivots.array.dtype != "int32":
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype: the "
                           "output of torch.linalg.lu_factor")
    P, L, U = unpack(LU_data, LU_pivots)
    empty = wrap(LU_data.backend.xp.empty(0, LU_data.array.dtype), LU_data.backend)
    return return_types.lu_unpack(P if unpack_pivots else empty, *((L, U) if unpack_data else (empty, empty)))


@composite(namespace="linalg", out=True, public_name="lu_solve")
def solve_by_lu(LU, pivots, B, *, left=True, adjoint=False):
    """The X of ``A X = B`` (``X A = B`` if not `left`; A.mH for A if `adjoint`) from `lu_factor`'s LU and pivots."""
    a, b = LU.array, B.array
    if b.ndim < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    if pivots.array.dtype != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check("linalg.lu_solve", a, square=True)
    if a.dtype != b.dtype:
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
                           f"{LU.dtype} and B of type {B.dtype} instead")
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise incompatible("linalg.lu_solve", a, b, left)
    if pivots.array.shape != a.shape[:-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if not left:
        return solve_by_lu(LU, pivots, B.mH, adjoint=not adjoint).mH
    if adjoint:
        half = _solve_triangular(LU.mH, B, False, False)
        return swap_rows(_solve_triangular(LU.mH, half, True, True), pivots, True)
    half = _solve_triangular(LU, swap_rows(B, pivots, False), False, True)
    return _solve_triangular(LU, half, True, False)


@composite(out=True)
def lu_solve(b, LU_data, LU_pivots):
    """The X of ``A X = b`` from what `linalg.lu_factor` returns for A. See `linalg.lu_solve`."""
    return solve_by_lu(LU_data, LU_pivots, b)


@composite(public_name="lu", method=False, autocast="float32 on cpu")
def old_lu(A, pivot=True, get_infos=False, out=None):
    """L and U in one, the pivots, and with `get_infos` also the infos. See `linalg.lu_factor_ex`."""
    packed, pivots, info = factors(A, pivot, "lu")
    return return_types.linalg_lu_factor_ex(packed, pivots, info) if get_infos else (packed, pivots)


@method(name="lu")
def lu_method(self, pivot=True, get_infos=False):
    """L and U in one, and the pivots. See `linalg.lu_factor_ex`."""
    return old_lu(self, pivot, get_infos)
