"""Reductions on the CPU, by the sums of `sums.py`.

All array calls go through ``F.xp``, as the compiler runs `sum`, `mean` and `sum_to` on
arrays that record them.
"""

from ...core.arrays import is_floating
from ...ops.reductions.reduce import axes, check_floating, count
from ...ops.reductions.statistics import degrees_of_freedom
from ...ops.reductions.statistics import variance as by_reference
from ...ops.shapes.shape import count as size_of
from .backend import kernel
from .blocks import is_matrix
from .sums import DOTS, add_up, column_sums, row_dots
from .tuning import tuning


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
    lead, products = input.ndim - len(shape), tuning.sums_as_products and F.block is not None
    if lead and shape and input.shape[lead:] == shape and products and is_matrix(input):
        if len(shape) == 1:
            return column_sums(F.xp, input.reshape(-1, *shape))
        return column_sums(F.xp, input.reshape(-1, size_of(shape))).reshape(shape)
    dims = tuple([i for i in range(input.ndim) if i < lead or (shape[i - lead] == 1 and input.shape[i] != 1)])
    exact = input.dtype.kind not in "fcV"
    total = F.xp.add.reduce(input, dims, "int64", keepdims=True) if exact else add_up(F, input, dims, True)
    return total.reshape(shape)


# ---- sums of squares ---------------------------------------------------------------------------------------
def sum_of_squares(F, x, dim, keepdim):
    """The sum of ``x * x`` over `dim`: along rows as products of rows, which need no array of squares."""
    if dim.__class__ is int and x.ndim and dim in (-1, x.ndim - 1) and x.strides[-1] == x.itemsize and x.shape[-1] > 16:
        out = row_dots(F.xp, x, x)
        return out[..., None] if keepdim else out
    if dim is None and not keepdim and x.size > DOTS and x.flags.c_contiguous:
        return row_dots(F.xp, x.reshape(-1), x.reshape(-1))
    return add_up(F, x * x, dim, keepdim)


SMALL = 4096                   # elements that are as fast in float64


def variance(F, name, input, dim, unbiased, keepdim, correction):
    """In two passes, in float64 if there are few elements, which is then the result's dtype.

    Otherwise the mean is rounded, which the second pass mends: the deviations from it do not add
    up to 0.
    """
    dim, n, freedom = degrees_of_freedom(name, input, dim, unbiased, correction)
    xp = F.xp
    if input.dtype.kind == "c":
        return by_reference(F, name, input, dim, None, keepdim, n - freedom)
    if input.size <= SMALL:
        return in_two_passes(xp, input.astype("d"), dim, n, freedom, keepdim)
    total = add_up(F, input, dim, True)
    total /= n
    d = input - total
    rest = add_up(F, d, dim, keepdim)
    squares = sum_of_squares(F, d, dim, keepdim)
    if F.block is not None and leaves_range(xp, squares):
        return in_two_passes(xp, input.astype("d"), dim, n, freedom, keepdim)
    return (squares - rest * rest / input.dtype.type(n)) / input.dtype.type(freedom)


def leaves_range(xp, squares):
    """True if a sum of squares is infinite, NaN, or so small that squares were rounded to 0."""
    info = xp.finfo(squares.dtype)
    return not bool(xp.all((squares > info.tiny / info.eps) & (squares < info.max)))


def in_two_passes(xp, d, dim, n, freedom, keepdim):
    """The variance of `d`, a float64 array that is used up."""
    total = xp.add.reduce(d, dim, None, None, True)
    total /= n or 1
    d -= total
    d *= d
    total = xp.add.reduce(d, dim, None, None, keepdim)
    total /= freedom
    return total


@kernel("var", sample=sum_sample)
def var(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    found = variance(F, "var", input, dim, unbiased, keepdim, correction)
    return found.astype(input.dtype) if input.dtype.kind != "c" else found


@kernel("std", sample=sum_sample)
def std(F, input, *, dim=None, unbiased=None, keepdim=False, correction=None):
    """The root is taken before the result is rounded to float32: squares leave its range first."""
    found = F.xp.sqrt(variance(F, "std", input, dim, unbiased, keepdim, correction))
    return found.astype(input.dtype) if input.dtype.kind != "c" else found


NO_SUMS = (0, float("inf"), -float("inf"))


def norm_sample(d):
    inputs, attrs = sum_sample(d)
    return inputs, dict(attrs, ord=d.choice([2, 1, 3]))


def has_nan(xp, x):
    """True if an element is NaN: by the maximum of all, NumPy's fastest test."""
    return bool(is_floating(x.dtype) and x.size and xp.isnan(xp.maximum.reduce(x, None)))


@kernel("attains", sample=lambda d: ([d.integers((4, 3), 0, 2), d.integers((4, 1), 0, 2)], {}))
def attains(F, input, value):
    return F.reference.attains(input, value) if has_nan(F.xp, value) else input == value


@kernel("vector_norm", sample=norm_sample)
def vector_norm(F, x, *, ord=2, dim=None, keepdim=False, dtype=None):
    """The Euclidean norm as a product; norms that are not sums are the reference's."""
    if ord in NO_SUMS or x.dtype.kind not in "fV" or not x.size:
        return F.reference.vector_norm(x, ord=ord, dim=dim, keepdim=keepdim)
    dim = axes(x, dim)
    if ord != 2:
        size = F.xp.abs(x)
        if ord == 1:
            return add_up(F, size, dim, keepdim)
        return add_up(F, size ** ord, dim, keepdim) ** (1 / ord)
    if dim is None and not keepdim and x.flags.forc:
        flat = x.ravel("K")
        return F.xp.sqrt(F.xp.dot(flat, flat) if flat.size <= DOTS else row_dots(F.xp, flat, flat))
    return F.xp.sqrt(sum_of_squares(F, x, dim, keepdim))
