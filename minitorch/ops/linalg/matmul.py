"""Op definitions: matrix products (matmul, its strict forms, sums of products, outer products, chains).

`einsum` is in `einsum.py`, affine maps in `linear.py`. The derivatives of ``out = a @ b`` are ``g @ b.T`` for ``a`` and
``a.T @ g`` for ``b``; the rest of their code is about vectors, batches and speed.
"""

from ...core.errors import worded
from ...core.promotion import require_tensors
from ...core.tensor import Tensor
from ..define import composite, op, publish
from ..elementwise.arithmetic import is_known, mul
from ..older import older
from ..reductions.norms import per_length, vector_norm
from ..shapes.shape import count, expand, permute, reshape, unsqueeze
from ..shapes.view import dim_of
from .products import product_mismatch


# ---- the product -------------------------------------------------------------------------------------------
def name_of_product(node):
    """PyTorch's name for the last step of a product, which depends on the number of dimensions."""
    return {0: "DotBackward0", 1: "MvBackward0", 2: "MmBackward0"}.get(len(node.shape), "UnsafeViewBackward0")


@op(complex="holomorphic", layout="contiguous", promotion="same", refuses="b", xp_name="matmul",
    dims="* n? k, * k m? -> * n? m?", node_name=name_of_product,
    autocast="lower", inline=True, mismatch=product_mismatch,
    input=lambda F, g, other: matmul_left(F, g, other),
    other=lambda F, g, input, other_shape: matmul_right(F, g, input, other_shape))
def matmul(F, input, other):
    """The matrix product of (..., n, k) and (..., k, m): (..., n, m), batched by broadcasting.

    A 1-D `input` is one row, a 1-D `other` one column, and that dimension is not in the result. The dtypes must
    agree. RuntimeError if the shapes do not fit.

    >>> import minitorch as torch
    >>> torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
    tensor([21, 43])
    """


def matmul_left(F, g, other):
    if other.ndim == 1:
        return F.unsqueeze(g, dim=-1) * other if g.ndim else g * other
    if g.ndim < other.ndim:                                # (k), (..., k, m): one row for every batch
        return F.reshape(F.gemm(other, F.unsqueeze(g, dim=-1)), shape=other.shape[:-1])
    if other.ndim == 2 and g.ndim > 2:                     # one product of tall matrices instead of many small ones
        product = F.gemm(rows_of(F, g), F.transpose(other, dim0=0, dim1=1))
        return F.reshape(product, shape=(*g.shape[:-1], other.shape[0]))
    return F.gemm(g, F.transpose(other, dim0=-1, dim1=-2))


def matmul_right(F, g, input, shape):
    if input.ndim == 1:
        return F.unsqueeze(input, dim=-1) * F.unsqueeze(g, dim=-2) if len(shape) > 1 else g * input
    if len(shape) == 1:
        return F.reshape(F.gemm(F.reshape(g, shape=(1, count(g.shape))), rows_of(F, input)), shape=shape)
    if len(shape) == 2 and g.ndim > 2:
        input, g = rows_of(F, input), rows_of(F, g)
    return F.gemm(F.transpose(input, dim0=-1, dim1=-2), g)


def rows_of(F, x):
    """All rows of a batch of matrices as one matrix."""
    return F.reshape(x, shape=(count(x.shape[:-1]), x.shape[-1])) if x.ndim > 2 else x


@op(dims="* n k, * k m -> * n m", complex="holomorphic", promotion="same", namespace=None,
    input=lambda F, g, other: F.gemm(g, F.transpose(other, dim0=-1, dim1=-2)),
    other=lambda F, g, input: F.gemm(F.transpose(input, dim0=-1, dim1=-2), g))
def gemm(F, input, other):
    """`matmul` of matrices, for gradients, where operands come transposed."""
    return F.xp.matmul(input, other)


publish(matmul, "matmul", namespace="linalg")


# ---- products of tensors of fixed dimensions ---------------------------------------------------------------
def check_dims(x, n, words):
    if x.ndim != n:
        raise worded(RuntimeError(f"{words}, got {x.ndim}-D tensor of shape {list(x.shape)}"))


@op(dims="n k, k m -> n m", complex="holomorphic", promotion="same", refuses="b", autocast="lower",
    mismatch=product_mismatch,
    input=lambda F, g, mat2: F.gemm(g, F.transpose(mat2, dim0=0, dim1=1)),
    mat2=lambda F, g, input: F.gemm(F.transpose(input, dim0=0, dim1=1), g))
def mm(F, input, mat2):
    """The product of two matrices: (n, k), (k, m) -> (n, m). No broadcasting; see `matmul`."""
    check_dims(input, 2, "self must be a matrix")
    check_dims(mat2, 2, "mat2 must be a matrix")
    return F.xp.dot(input, mat2)


@op(dims="b n k, b k m -> b n m", complex="holomorphic", promotion="same", refuses="b",
    autocast="lower", mismatch=product_mismatch,
    input=lambda F, g, mat2: F.gemm(g, F.transpose(mat2, dim0=1, dim1=2)),
    mat2=lambda F, g, input: F.gemm(F.transpose(input, dim0=1, dim1=2), g))
def bmm(F, input, mat2):
    """The products of two batches of matrices: (b, n, k), (b, k, m) -> (b, n, m). No broadcasting; see `matmul`."""
    check_dims(input, 3, "batch1 must be a 3D tensor")
    check_dims(mat2, 3, "batch2 must be a 3D tensor")
    b, _, k = input.shape
    if mat2.shape[:2] != (b, k):
        raise worded(RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: "
                                  f"{list(mat2.shape[:2])}."))
    return F.xp.matmul(input, mat2)


@op(dims="n k, k -> n", complex="holomorphic", promotion="same", refuses="b",
    autocast="lower on cuda",
    input=lambda F, g, vec: F.unsqueeze(g, dim=-1) * vec,
    vec=lambda F, g, input: F.mv(F.transpose(input, dim0=0, dim1=1), g))
def mv(F, input, vec):
    """The product of a matrix and a vector: (n, k), (k) -> (n)."""
    if input.ndim != 2 or vec.ndim != 1:
        raise worded(RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}"))
    if input.shape[1] != vec.shape[0]:
        raise worded(RuntimeError(f"size mismatch, got input ({len(input)}), mat ({input.shape[0]}x{input.shape[1]}), "
                                  f"vec ({vec.shape[0]})"))
    return F.xp.dot(input, vec)


@op(dims="k, k ->", complex="holomorphic", promotion="same", refuses="b",
    autocast="promote on cuda",
    input=lambda F, g, tensor: g * tensor,
    tensor=lambda F, g, input: g * input)
def dot(F, input, tensor):
    """The sum of products of two vectors of one length, as a 0-d tensor."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise worded(RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors"))
    if input.shape != tensor.shape:
        raise worded(RuntimeError(f"inconsistent tensor size, expected tensor {list(input.shape)} and src "
                                  f"{list(tensor.shape)} to have the same number of elements"))
    return F.xp.dot(input, tensor)


@op(dims="k, k ->", complex="conjugate", promotion="same", refuses="b",
    autocast="promote on cuda",
    input=lambda F, g, other: F.conj(g) * other,
    other=lambda F, g, input: g * input)
def vdot(F, input, other):
    """The sum of products of two vectors of one length, as a 0-d tensor; of complex ones `input` is conjugated."""
    return F.dot(F.xp.conj(input) if input.dtype.kind == "c" else input, other)


# ---- beta * input + alpha * product ------------------------------------------------------------------------
@op(dims="+ n m, n k, k m -> n m",
    older=True, complex="holomorphic", promotion="same", refuses="b", autocast="lower", inplace=True,
    inline=True, sample=lambda d: (
        [d.array(d.choice([(2, 3), (3,), (2, 1), ()])), d.array((2, 4)), d.array((4, 3))], dict(beta=0.5, alpha=2)),
    input=lambda F, g, beta: g * beta,
    mat1=lambda F, g, mat2, alpha: F.gemm(g, F.transpose(mat2, dim0=0, dim1=1)) * alpha,
    mat2=lambda F, g, mat1, alpha: F.gemm(F.transpose(mat1, dim0=0, dim1=1), g) * alpha)
def addmm(F, input, mat1, mat2, *, beta: float = 1, alpha: float = 1):
    """``beta * input + alpha * mat1 @ mat2``: (n, k), (k, m), and an `input` that broadcasts to (n, m).

    With ``beta=0`` the values of `input` do not matter, not even NaN.
    """
    check_matrices(mat1, mat2)
    out = F.xp.dot(mat1, mat2)
    if not is_known(alpha, 1):
        out *= scalar(alpha, out.dtype)
    if beta != 0:
        out += input if beta == 1 else input * scalar(beta, out.dtype)
    return out


def check_matrices(mat1, mat2):
    """Raise RuntimeError unless two arrays are matrices that can be multiplied."""
    check_dims(mat1, 2, "mat1 must be a matrix")
    check_dims(mat2, 2, "mat2 must be a matrix")
    if mat1.shape[1] != mat2.shape[0]:
        raise worded(RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x{mat1.shape[1]} and "
                                  f"{mat2.shape[0]}x{mat2.shape[1]})"))


def scalar(x, dtype):
    return int(x) if dtype.kind in "iu" else bool(x) if dtype.kind == "b" else x


def plus(input, product, beta, alpha):
    """``beta * input + alpha * product`` in the shape of the product."""
    dtype = product.array.dtype
    product = product if is_known(alpha, 1) else product * scalar(alpha, dtype)
    try:
        input = expand(input, product.array.shape)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: input must broadcast to the product") from None
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * scalar(beta, dtype))


@composite(inplace=True, out="exact", autocast="lower on cuda")
@older
def addmv(input, mat, vec, *, beta: float = 1, alpha: float = 1):
    """``beta * input + alpha * mat @ vec``: (n, k), (k), and an `input` that broadcasts to (n)."""
    return plus(input, mv(mat, vec), beta, alpha)


@composite(inplace=True, out="exact", autocast="lower")
@older
def addbmm(input, batch1, batch2, *, beta: float = 1, alpha: float = 1):
    """``beta * input + alpha * (batch1 @ batch2).sum(0)``: (b, n, k), (b, k, m), `input` broadcasts to (n, m)."""
    return plus(input, bmm(batch1, batch2).sum(0), beta, alpha)


@composite(inplace=True, out="exact", autocast="lower")
@older
def baddbmm(input, batch1, batch2, *, beta: float = 1, alpha: float = 1):
    """``beta * input + alpha * batch1 @ batch2``: (b, n, k), (b, k, m), `input` broadcasts to (b, n, m)."""
    return plus(input, bmm(batch1, batch2), beta, alpha)


@composite(inplace=True, out=True, autocast="lower on cuda")
@older
def addr(input, vec1, vec2, *, beta: float = 1, alpha: float = 1):
    """``beta * input + alpha * outer(vec1, vec2)``: (n), (m), and an `input` that broadcasts to (n, m)."""
    return plus(input, outer_product("addr", vec1, vec2), beta, alpha)


# ---- outer and inner products ------------------------------------------------------------------------------
def outer_product(name, a, b):
    for x, argument in ((a, "self" if name == "outer" else "vec1"), (b, "vec2")):
        if x.array.ndim != 1:
            raise RuntimeError(f"{name}: Expected 1-D argument {argument}, but got {x.array.ndim}-D")
    return mul(unsqueeze(a, -1), b)


@composite(out=True, aliases=("ger",))
def outer(input, vec2):
    """All products of an element of `input` and one of `vec2`: (n), (m) -> (n, m)."""
    return outer_product("outer", input, vec2)


@composite(out="exact")
def inner(input, other):
    """Sums of products over the last dimensions: (..., k), (***, k) -> (..., ***). A number multiplies."""
    a, b = input.array, other.array
    if a.dtype != b.dtype:
        raise RuntimeError(f"inner(): both inputs should have same dtype, got {input.dtype} and {other.dtype}")
    if not a.ndim or not b.ndim:
        return mul(input, other)
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(a.shape)} and {list(b.shape)}")
    return dot(input, other) if a.ndim == b.ndim == 1 else tensordot(input, other, ([-1], [-1]))


@composite(out="exact", autocast="promote on cuda")
def tensordot(a, b, dims=2):
    """Sums of products over `dims`: so many last ones of `a` and first ones of `b`, or a pair of lists of dimensions.

    The result has the remaining dimensions of `a`, then those of `b`.
    """
    left, right = contracted_dims(a, b, dims)
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(f"tensordot(): both inputs should have same dtype, got {a.dtype} and {b.dtype}")
    for i, j in zip(left, right):
        m, n = a.array.shape[i], b.array.shape[j]
        if m != n and 1 not in (m, n):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m} in dim {i} and second has "
                               f"size {n} in dim {j}")
        a, b = a.sum(i, True) if n == 1 and m != 1 else a, b.sum(j, True) if m == 1 and n != 1 else b
    free_a = [i for i in range(a.array.ndim) if i not in left]
    free_b = [j for j in range(b.array.ndim) if j not in right]
    sizes_a, sizes_b = [a.array.shape[i] for i in free_a], [b.array.shape[j] for j in free_b]
    k = count([a.array.shape[i] for i in left])
    out = mm(reshape(permute(a, (*free_a, *left)), (count(sizes_a), k)),
             reshape(permute(b, (*right, *free_b)), (k, count(sizes_b))))
    return reshape(out, (*sizes_a, *sizes_b))


def contracted_dims(a, b, dims):
    """The dimensions over which `tensordot` sums, of `a` and of `b`."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.array.ndim, b.array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.array.ndim - dims, a.array.ndim)), list(range(dims))
    left, right = [[d] if isinstance(d, int) else list(d) for d in dims]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    return [dim_of(a, d) for d in left], [dim_of(b, d) for d in right]


@composite(out=True)
def kron(input, other):
    """The Kronecker product: every element of `input` times the whole of `other`, as blocks."""
    n = max(input.array.ndim, other.array.ndim)
    a = (1,) * (n - input.array.ndim) + input.array.shape
    b = (1,) * (n - other.array.ndim) + other.array.shape
    spread_a = reshape(input, [k for size in a for k in (size, 1)])
    spread_b = reshape(other, [k for size in b for k in (1, size)])
    return reshape(mul(spread_a, spread_b), tuple([i * j for i, j in zip(a, b)]))


# ---- chains ------------------------------------------------------------------------------------------------
@composite(namespace="linalg", out="exact", autocast="lower")
def multi_dot(tensors):
    """The product of two or more matrices, multiplied in the order that takes the fewest operations.

    The first may be a vector, taken as a row, the last one, taken as a column.
    """
    tensors = list(tensors)
    last = len(tensors) - 1
    if last < 1:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, t in enumerate(tensors):
        if t.array.ndim != 2 and not (i in (0, last) and t.array.ndim == 1):
            raise RuntimeError(f"multi_dot(): tensor {i} must be {'1D or ' if i in (0, last) else ''}2D but got "
                               f"{t.array.ndim}D")
        if t.array.dtype != tensors[0].array.dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have the same dtype but tensor 0 is "
                               f"{tensors[0].dtype} and tensor {i} {t.dtype}")
    row, column = tensors[0].array.ndim == 1, tensors[-1].array.ndim == 1
    tensors[0] = unsqueeze(tensors[0], 0) if row else tensors[0]
    tensors[-1] = unsqueeze(tensors[-1], 1) if column else tensors[-1]
    for i in range(last):
        a, b = tensors[i].array.shape, tensors[i + 1].array.shape
        if a[1] != b[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a)} and {list(b)} cannot be "
                               f"multiplied")
    out = product_of(tensors, best_splits([t.array.shape for t in tensors]), 0, last)
    return reshape(out, out.array.shape[row:2 - column])


def best_splits(shapes):
    """The best split of each chain i..j of matrices, by dynamic programming over their costs n * k * m."""
    cost, split = {}, {}
    for i in range(len(shapes) - 1, -1, -1):
        cost[i, i] = 0
        for j in range(i + 1, len(shapes)):
            n, m = shapes[i][0], shapes[j][1]
            cost[i, j], split[i, j] = min([(cost[i, k] + cost[k + 1, j] + n * shapes[k][1] * m, k)
                                           for k in range(i, j)])
    return split


def product_of(tensors, split, i, j):
    if i == j:
        return tensors[i]
    k = split[i, j]
    return mm(product_of(tensors, split, i, k), product_of(tensors, split, k + 1, j))


@composite(method=False, autocast="lower")
def chain_matmul(*matrices, out=None):
    """The product of matrices, in the order that takes the fewest operations. See `linalg.multi_dot`."""
    matrices = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    if len(matrices) == 1:
        require_tensors(*matrices)
        return matrices[0]
    return multi_dot(matrices, out=out)


@composite(namespace="linalg", out="exact", autocast="lower")
def vecdot(x, y, *, dim=-1):
    """The sum of products over `dim`, with broadcasting; of complex ones `x` is conjugated."""
    if x.array.dtype != y.array.dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype} and "
                           f"y of type {y.dtype} instead")
    if x.array.dtype.kind in "iub":
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype}")
    return mul(x.conj(), y).sum(dim)


# ---- distances ---------------------------------------------------------------------------------------------
@composite(method=False, autocast="float32")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between all rows of (..., P, M) and all of (..., R, M): (..., P, R).

    Where P or R exceeds 25 Euclidean distances come from a matrix product, unless `compute_mode` is
    "donot_use_mm_for_euclid_dist"; "use_mm_for_euclid_dist" takes it always.
    """
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode: one of {', '.join(modes)}")
    for x, name in ((x1, "X1"), (x2, "X2")):
        if x.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.array.ndim}D")
        if x.array.dtype.kind in "iubc":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    a, b = x1.array.shape, x2.array.shape
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if p == 2:
        by_product = compute_mode == modes[1] or compute_mode == modes[0] and (a[-2] > 25 or b[-2] > 25)
        return euclidean_dist(x1, x2, by_product)
    return vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1)


@op(dims="* n [d], * m [d] -> * n m",
    layout="contiguous", namespace=None, promotion="same", node_name="CdistBackward0",
    input=lambda F, g, input, other, out: distance_slope(F, per_length(F, g, out), input, other),
    other=lambda F, g, input, other, out: distance_slope(
        F, F.transpose(per_length(F, g, out), dim0=-1, dim1=-2), other, input),
    sample=lambda d: ([d.array((3, 2), 1, 2), d.array((4, 2), -2, 0)], dict(by_product=d.bool())))
def euclidean_dist(F, input, other, *, by_product):
    """The Euclidean distances of rows; `by_product` from ``|x|^2 + |y|^2 - 2 x.y``. The gradient at 0 is 0."""
    xp = F.xp
    if not by_product:
        step = input[..., :, None, :] - other[..., None, :, :]
        return xp.sqrt(xp.einsum("...i,...i->...", step, step))
    a, b = [F.sum(x * x, dim=-1) for x in (input, other)]
    a, b = a[..., :, None], b[..., None, :]
    return xp.sqrt(xp.maximum(a + b - 2.0 * xp.matmul(input, other.swapaxes(-1, -2)), 0.0))


def distance_slope(F, weight, x, y):
    """The sum over j of ``weight[i, j] * (x[i] - y[j])``."""
    return x * F.sum(weight, dim=-1, keepdim=True) - F.matmul(weight, y)
