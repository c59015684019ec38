"""Reductions on the CPU: sums as products with ones, which BLAS computes several times as fast as NumPy adds.

All array calls go through ``F.xp``, as the compiler runs `sum`, `mean` and `sum_to` on
arrays that record them.
"""

from ...ops.reductions.reduce import axes, check_floating, count
from ...ops.reductions.statistics import degrees_of_freedom
from ...ops.shapes.shape import count as size_of
from .backend import kernel
from .blocks import column_sums, is_matrix, row_sums
from .tuning import tuning


def add_up(F, x, dim, keepdim):
    """The sum over `dim` of floats.

    Over the first or the last dimension of many contiguous numbers it is a product with ones, three times as fast; not
    over more than 8,192, as NumPy adds long rows in pairs, which is more exact.
    """
    n = x.ndim
    many = dim.__class__ is int and n > 1 and x.size >= 2048
    if many and F.block is not None and tuning.sums_as_products and is_matrix(x):
        if dim in (-1, n - 1) and x.shape[-1] <= 8192:
            out = row_sums(F.xp, x.reshape(-1, x.shape[-1]))
            return out.reshape(*x.shape[:-1], 1) if keepdim else out if n == 2 else out.reshape(x.shape[:-1])
        if dim in (0, -n) and len(x) <= 8192:
            out = column_sums(F.xp, x.reshape(len(x), -1))
            return out.reshape(1, *x.shape[1:]) if keepdim else out if n == 2 else out.reshape(x.shape[1:])
    return F.xp.add.reduce(x, dim, None, None, keepdim)


def sum_sample(d):
    return [d.array(d.choice([(90, 100), (30, 7, 40)]))], dict(dim=d.choice([None, 0, -1, (0, 1)]), keepdim=d.bool())


@kernel("sum", sample=sum_sample)
def sum(F, input, *, dim=None, keepdim=False, dtype=None):
    kept = None if input.dtype.kind in "fcV" else "int64"
    if dim is not None:
        dim = axes(input, dim)
    elif not keepdim and kept is None:                     # into an array, as the sum of all would come as a number
        return F.xp.add.reduce(input, None, None, F.xp.empty((), input.dtype), False)
    return F.xp.add.reduce(input, dim, kept, None, keepdim) if kept else add_up(F, input, dim, keepdim)


@kernel("mean", sample=sum_sample)
def mean(F, input, *, dim=None, keepdim=False, dtype=None):
    if input.dtype.kind not in "fcV":
        check_floating(input)
    if dim is not None:
        dim = axes(input, dim)
    total = add_up(F, input, dim, keepdim)
    n = count(input.shape, dim)
    if total.__class__ is F.ndarray:
        total /= n if n else float("nan")
        return total
    return total / total.dtype.type(n) if n else total * float("nan")


@kernel("sum_to", sample=lambda d: ([d.array((90, 10, 12))], dict(shape=d.choice([(12,), (10, 12), (10, 1)]))))
def sum_to(F, input, *, shape):
    """A product with ones where only leading dimensions are summed."""
    if input.itemsize == 2:
        return F.reference.sum_to(input, shape=shape)
    lead = input.ndim - len(shape)
    if lead and shape and input.shape[lead:] == shape and tuning.sums_as_products and is_matrix(input):
        if len(shape) == 1:
            return column_sums(F.xp, input.reshape(-1, *shape))
        return column_sums(F.xp, input.reshape(-1, size_of(shape))).reshape(shape)
    dims = tuple([i for i in range(input.ndim) if i < lead or (shape[i - lead] == 1 and input.shape[i] != 1)])
    kept = None if input.dtype.kind in "fcV" else "int64"
    return F.xp.add.reduce(input, dims, kept, keepdims=True).reshape(shape)


# ---- sums of squares ---------------------------------------------------------------------------------------
def sum_of_squares(xp, x, dim, keepdim):
    """The sum of ``x * x`` over `dim`: along rows a product of matrices, which needs no array of squares."""
    if dim.__class__ is int and x.ndim and dim in (-1, x.ndim - 1) and x.strides[-1] == x.itemsize and x.shape[-1] > 16:
        out = (x[..., None, :] @ x[..., None])[..., 0]
        return out if keepdim else out[..., 0]
    return xp.add.reduce(x * x, dim, None, None, keepdim)


def variance(F, name, input, dim, unbiased, keepdim, correction):
    dim, n, freedom = degrees_of_freedom(name, input, dim, unbiased, correction)
    total = F.xp.add.reduce(input, dim, None, None, True)
    total /= n or 1
    out = sum_of_squares(F.xp, input - total, dim, keepdim)
    return out / out.dtype.type(freedom)


@kernel("var", sample=sum_sample)
def var(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    return variance(F, "var", input, dim, unbiased, keepdim, correction)


@kernel("std", sample=sum_sample)
def std(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    return F.xp.sqrt(variance(F, "std", input, dim, unbiased, keepdim, correction))


@kernel("vector_norm", sample=sum_sample)
def vector_norm(F, x, *, ord=2, dim=None, keepdim=False, dtype=None):
    """The Euclidean norm as a product; the others are the reference's."""
    if ord != 2 or x.dtype.kind not in "fcV":
        return F.reference.vector_norm(x, ord=ord, dim=dim, keepdim=keepdim)
    dim = axes(x, dim)
    if dim is None and not keepdim and x.flags.forc:
        flat = x.ravel("K")
        return F.xp.sqrt(F.xp.dot(flat, flat))
    return F.xp.sqrt(sum_of_squares(F.xp, x, dim, keepdim))
