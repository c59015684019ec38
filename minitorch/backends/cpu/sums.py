"""Sums of floats as exact as sums in pairs, over any dimensions of arrays in any layout. Helpers of kernels.

NumPy adds along the innermost dimension of memory in pairs, but over all others one row after the other: a million
rows of float32 lose one digit in a hundred. Here a long dimension is cut into a few parts of equal length, which are
added element by element; what is left is cut again, down to `SHORT`. So of n numbers each takes part in
``SHORT log(n) / log(SHORT)`` additions at most, and the memory is still read once and in order.

Products with ones do the same additions by BLAS, several times as fast, on contiguous float32 and float64. Where
``F.block`` is None, all is done in calls that the compiler can record (see `minitorch/compiler/trace.py`).
"""

import functools
from math import inf, prod

from .blocks import is_matrix, ones
from .tuning import tuning

SHORT = 32                     # rows that NumPy may add one after the other
PARTS = 64                     # rows that BLAS may: it adds several at a time; and NumPy where the array is small
FEW, SOME = 256, 2048          # up to so many rows are added at once, or FEW at a time, without being cut
LONG = 8192                    # longer rows are left to NumPy, which adds them in pairs
WIDTH = 512                    # numbers of a row that are added at once
DOTS = 1 << 14                 # numbers that a product of two rows may add
PRODUCTS = 1 << 17             # products that fit in a level-2 cache


# ---- matrices, by BLAS -------------------------------------------------------------------------------------
def row_sums(xp, rows):
    """(N, D) to (N,): the sums over D of contiguous float32 or float64."""
    width = rows.shape[1]
    if width <= WIDTH:
        return xp.dot(rows, ones(xp, width, rows.dtype))
    parts = equal_parts(width)
    if parts:
        return xp.dot(xp.dot(rows.reshape(-1, width // parts), ones(xp, width // parts, rows.dtype)).reshape(-1, parts),
                      ones(xp, parts, rows.dtype))
    whole = width // WIDTH * WIDTH
    parts = rows[:, :whole].reshape(len(rows), -1, WIDTH)
    out = row_sums(xp, xp.matmul(parts, ones(xp, WIDTH, rows.dtype)))
    return out + xp.matmul(rows[:, whole:], ones(xp, width - whole, rows.dtype))


def row_means(xp, width, dtype):
    """A function for the means of the rows of matrices (N, `width`), made once for many blocks of rows."""
    parts = 1 if width <= 2 * WIDTH else equal_parts(width)
    if parts is None:
        return lambda rows: row_sums(xp, rows) / width
    share, rest = ones(xp, width // parts, dtype) / width, ones(xp, parts, dtype)
    if parts == 1:
        return lambda rows: xp.dot(rows, share)
    return lambda rows: xp.dot(xp.dot(rows.reshape(-1, len(share)), share).reshape(-1, parts), rest)


@functools.lru_cache(maxsize=64)
def equal_parts(width):
    """How many parts of at most `WIDTH` make `width`; None if not a few equal ones do."""
    return next((n for n in range(-(-width // WIDTH), 33) if width % n == 0), None)


def column_sums(xp, rows):
    """(N, D) to (D,): the sums over N of contiguous float32 or float64."""
    n = len(rows)
    if n <= FEW:
        return rows.T.dot(ones(xp, n, rows.dtype))
    many = n > SOME
    parts = PARTS if many else -(-n // (FEW if rows.shape[1] % 4 == 0 else PARTS))      # columns that are not among
    # four neighbours are added one row after the other
    size = n // parts
    whole = parts * size
    if many:                                               # the first rows of all parts, the second ones ...
        out = xp.dot(ones(xp, parts, rows.dtype), rows[:whole].reshape(parts, -1)).reshape(size, -1)
    else:
        out = xp.matmul(ones(xp, size, rows.dtype), rows[:whole].reshape(parts, size, -1))
    out = column_sums(xp, out)
    return out if n == whole else out + column_sums(xp, rows[whole:])


def row_dots(xp, a, b):
    """(..., D) twice to (...,): the sums over D of ``a * b``; long rows in parts."""
    width = a.shape[-1]
    if width <= DOTS:
        return xp.vecdot(a, b)
    whole = width // DOTS * DOTS
    first, second = [x[..., :whole].reshape(*x.shape[:-1], whole // DOTS, DOTS) for x in (a, b)]
    out = xp.add.reduce(xp.vecdot(first, second), -1)
    return out if width == whole else out + xp.vecdot(a[..., whole:], b[..., whole:])


def column_dots(F, a, b):
    """(N, D) twice to (D,): the sums over N of ``a * b``."""
    xp, (n, width) = F.xp, a.shape
    if n * width <= LONG:
        return rows_added(F, a * b)
    if width >= SHORT:                                     # some rows at a time without an array of products
        part = n // SHORT
        whole = part * SHORT
        first, second = [x[:whole].reshape(part, SHORT, width) for x in (a, b)]
        out = column_sums(xp, xp.einsum("nkd,nkd->nd", first, second))
        return out if n == whole else out + xp.einsum("kd,kd->d", a[whole:], b[whole:])
    step = max(1, PRODUCTS // width)
    return column_sums(xp, xp.stack([rows_added(F, a[i:i + step] * b[i:i + step]) for i in range(0, n, step)]))


def rows_added(F, rows):
    """(N, D) to (D,): as `column_sums`, of any numbers in any layout."""
    return column_sums(F.xp, rows) if is_matrix(rows) else add_up(F, rows, 0, False)


# ---- any dimensions ----------------------------------------------------------------------------------------
def add_up(F, x, dim, keepdim):
    """The sum of floats or complex numbers over `dim`: one dimension, several, or all (None)."""
    if dim.__class__ is int:
        n = x.ndim
        if n > 1 and (x.size >= 2048 or len(x) > PARTS) and (
                F.block is not None and tuning.sums_as_products and is_matrix(x)):
            if dim in (-1, n - 1) and x.shape[-1] <= LONG:
                out = row_sums(F.xp, x.reshape(-1, x.shape[-1]))
                return out.reshape(*x.shape[:-1], 1) if keepdim else out if n == 2 else out.reshape(x.shape[:-1])
            if dim in (0, -n):
                out = column_sums(F.xp, x.reshape(len(x), -1))
                return out.reshape(1, *x.shape[1:]) if keepdim else out if n == 2 else out.reshape(x.shape[1:])
        if x.size > 2 * PARTS and -n <= dim < n and x.shape[dim] > PARTS and x.strides[dim] != x.itemsize:
            return along_several(F, x, (dim,), keepdim)
    elif dim is not None and x.size > SHORT:
        return along_several(F, x, dim, keepdim)
    return F.xp.add.reduce(x, dim, None, None, keepdim)    # over all dimensions NumPy adds in pairs in any layout


def along_several(F, x, dims, keepdim):
    """`add_up` along `dims` of an array in any layout."""
    found = plan(x.shape, x.strides, x.itemsize, dims)
    if found is None:
        return F.xp.add.reduce(x, dims, None, None, keepdim)
    order, shape, summed, kept, back, whole = found
    y = x if order is None else x.transpose(order)
    y = y if shape is None else y.reshape(shape)
    for d in summed:
        y = along(F, y, d)
    y = y.reshape(kept)
    y = y if back is None else y.transpose(back)
    return y.reshape(whole) if keepdim else y


@functools.lru_cache(maxsize=4096)
def plan(shape, strides, itemsize, dims):
    """How an array is summed along `dims`; None if NumPy does it well: in pairs, or of few numbers.

    The order of its dimensions in memory (None: that of the array); the shape to see it in then, neighbours made one
    where there are no gaps in memory (None: as it is); the dimensions to sum, the last first; the shape of the result,
    the order of its dimensions as they were (None: the same), and its shape with all dimensions.
    """
    ndim = len(shape)
    dims = {d % ndim for d in dims}
    order, dense = memory_order(shape, strides, itemsize)
    sizes, gone = [], []
    for d in order:
        if gone and gone[-1] == (d in dims) and (dense or shape[d] == 1):
            sizes[-1] *= shape[d]
        else:
            sizes.append(shape[d])
            gone.append(d in dims)
    summed = [i for i, g in enumerate(gone) if g]
    in_pairs = sizes[-1] if gone[-1] else 1
    if prod([sizes[i] for i in summed]) <= SHORT * in_pairs:
        return None
    kept = [d for d in order if d not in dims]
    back = sorted(range(len(kept)), key=kept.__getitem__)
    return (None if order == list(range(ndim)) else order, sizes if len(sizes) < ndim else None, summed[::-1],
            [shape[d] for d in kept], None if kept == sorted(kept) else back,
            [1 if d in dims else n for d, n in enumerate(shape)])


def memory_order(shape, strides, itemsize):
    """The dimensions of an array from slowest to fastest, and whether it has no gaps in memory."""
    def step(d):
        return -abs(strides[d]) if shape[d] > 1 and strides[d] else -inf
    order = sorted(range(len(shape)), key=step)
    dense, expected = True, itemsize
    for d in reversed(order):
        dense = dense and (shape[d] == 1 or strides[d] == expected)
        expected *= shape[d]
    return order, dense


def along(F, y, d):
    """The sum along dimension `d` of an array whose dimensions are in the order of memory."""
    n, add = y.shape[d], F.xp.add
    if F.block is not None and tuning.sums_as_products and is_matrix(y) and d == 0 and y.ndim > 1:
        return column_sums(F.xp, y.reshape(n, -1)).reshape(y.shape[1:])
    if n <= SHORT or d == y.ndim - 1:                      # NumPy adds the innermost in pairs
        return add.reduce(y, d)
    part, before = n // SHORT, (slice(None),) * d
    whole = part * SHORT
    parts = y[before + (slice(0, whole),)].reshape(*y.shape[:d], SHORT, part, *y.shape[d + 1:])
    out = along(F, add.reduce(parts, d), d)
    return out if n == whole else out + add.reduce(y[before + (slice(whole, n),)], d)
