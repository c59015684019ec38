"""Mean 0 and variance 1 over some dimensions, and the product with the Jacobian, for all kernels of normalisations.

Every array is seen as (A, B, D), with the sums taken over A and D: rows (1, B, D) for layer_norm, images (N, C, H W)
or, if memory is channels-last, (N H W, C, 1) for batch_norm. Sums are products with ones, by BLAS: NumPy's own are
several times slower.
"""

from ...ops.nn.standardise import batch_dims, count_over, kept_shape
from ...ops.shapes.shape import count
from .backend import kernel
from .blocks import in_row_blocks
from .sums import column_dots, column_sums, row_dots, row_means, row_sums


# ---- arrays as (A, B, D) -----------------------------------------------------------------------------------
def folding(x, dims):
    """The order of dimensions, and the sizes (A, B, D), in which to see `x`."""
    n, shape = x.ndim, x.shape
    order = tuple(range(n))
    if dims == order[n - len(dims):]:
        return order, (1, count(shape[:n - len(dims)]), count_over(shape, dims))
    if dims == batch_dims(n):
        last = (0, *range(2, n), 1)
        if n == 2 or (not x.flags.c_contiguous and x.transpose(last).flags.c_contiguous):
            return last, (count_over(shape, dims), shape[1], 1)
        return order, (shape[0], shape[1], count(shape[2:]))
    rest = tuple([d for d in order if d not in dims])
    return rest + dims, (1, count_over(shape, rest), count_over(shape, dims))


def fold(x, order, sizes):
    return x.transpose(order).reshape(sizes)


def empty_folded(F, like, order, sizes):
    """A new array of the shape of `like`, and the same memory folded."""
    if order == tuple(range(like.ndim)):
        out = F.xp.empty(like.shape, like.dtype)
        return out, out.reshape(sizes)
    if like.transpose(order).flags.c_contiguous:           # channels-last
        out = F.xp.empty_like(like)
        return out, fold(out, order, sizes)
    folded = F.xp.empty([like.shape[d] for d in order], like.dtype)
    return folded.transpose(sorted(range(len(order)), key=order.__getitem__)), folded.reshape(sizes)


def sums(xp, x):
    """Sums over A and D: (A, B, D) to (B,)."""
    a, b, d = x.shape
    rows = row_sums(xp, x.reshape(a * b, d)) if d > 1 else x
    rows = rows.reshape(a, b)
    return rows[0] if a == 1 else column_sums(xp, rows)


def dots(F, x, y):
    """Sums of products over A and D: (A, B, D) to (B,)."""
    if x.shape[2] == 1:
        return column_dots(F, x[:, :, 0], y[:, :, 0])
    rows = row_dots(F.xp, x, y)
    return rows[0] if len(rows) == 1 else column_sums(F.xp, rows)


def blocks(F, n, size):
    """Slices of `n` things of `size` elements each that keep a block in the cache."""
    step = n if F.block is None else max(1, F.block // max(size, 1))
    return [slice(i, i + step) for i in range(0, n, step)] or [slice(0, 0)]


# ---- on folded arrays ----------------------------------------------------------------------------------------
def standardise_folded(F, y, x, eps, centred, z=None, weight=None, bias=None, by_channel=False):
    """Fill the folded array `y`; r, the mean (0 if not `centred`) and the variance of shape (B,).

    Also ``z = y * weight + bias``, if it is given, with weights (D,) for rows, or (B, 1) `by_channel`.
    """
    xp, (a, b, d) = F.xp, x.shape
    if a == 1 and not by_channel:
        return standardise_rows(F, y[0], x[0], eps, centred, z if z is None else z[0], weight, bias)
    mean, parts = sums(xp, x) / (a * d), blocks(F, a, b * d)
    squares = xp.empty((len(parts), b), x.dtype)
    for total, part in zip(squares, parts):
        centre = xp.subtract(x[part], mean[:, None], out=y[part]) if centred else x[part]
        total[...] = dots(F, centre, centre)
    var = column_sums(xp, squares)
    var /= a * d
    r = 1 / xp.sqrt(var + eps)
    for part in parts:
        xp.multiply(y[part] if centred else x[part], r[:, None], out=y[part])
        scale_and_shift(xp, z if z is None else z[part], y[part], weight, bias)
    return r, mean, var


def standardise_rows(F, y, x, eps, centred, z, weight, bias):
    """The same for the rows of matrices (B, D)."""
    xp, (n, d) = F.xp, x.shape
    r, mean, var = xp.empty(n, x.dtype), xp.zeros(n, x.dtype), xp.empty(n, x.dtype)
    means = row_means(xp, d, x.dtype)
    def block(part):
        xb, yb, rb = x[part], y[part], r[part]
        if centred:
            mean[part] = m = means(xb)
            xb = xp.subtract(xb, m[:, None], out=yb)
        v = xp.divide(row_dots(xp, xb, xb), d, out=var[part])
        xp.add(v, eps, out=rb)
        xp.sqrt(rb, out=rb)
        xp.reciprocal(rb, out=rb)
        xp.multiply(xb, rb[:, None], out=yb)
        scale_and_shift(xp, z if z is None else z[part], yb, weight, bias)
    in_row_blocks(F, n, d, block)
    return r, mean, var


def scale_and_shift(xp, z, y, weight, bias):
    if z is not None:
        xp.multiply(y, 1 if weight is None else weight, out=z)
        if bias is not None:
            z += bias


def project(F, out, g, y, r, centred, weight=None):
    """``out = r (g - mean(g) - y mean(g y))`` on folded arrays, g being multiplied by `weight` (D,) first."""
    if len(y) > 1:
        project_channels(F, out, g, y, r, centred)
    else:
        project_rows(F, out[0], g[0], y[0], r, centred, weight)


def project_rows(F, out, g, y, r, centred, weight):
    """The same for the rows of matrices (B, D)."""
    xp, (n, d) = F.xp, y.shape
    means = row_means(xp, d, y.dtype)

    def block(part):
        yb, ob = y[part], out[part]
        scaled = g[part] if weight is None else g[part] * weight
        dot = row_dots(xp, scaled, yb)
        dot /= d
        xp.multiply(yb, dot[:, None], out=ob)
        xp.subtract(scaled, ob, out=ob)
        if centred:
            ob -= means(scaled)[:, None]
        ob *= r[part][:, None]
    in_row_blocks(F, n, d, block)


def project_channels(F, out, g, y, r, centred):
    """The same for several samples; the sums of ``g y`` and of g, which are the gradients of channels' weights."""
    xp, (a, b, d) = F.xp, y.shape
    dw, db = dots(F, g, y), sums(xp, g)
    for part in blocks(F, a, b * d):
        project_part(xp, out[part], g[part], y[part], r, dw / (a * d), db / (a * d) if centred else None)
    return dw, db


def project_part(xp, out, g, y, r, dot, mean):
    xp.multiply(y, -dot[:, None], out=out)
    out += g
    if mean is not None:
        out -= mean[:, None]
    out *= r[:, None]


def standardised(F, input, dims, eps, centred):
    """y in the shape of `input` and r, kept as size 1."""
    order, sizes = folding(input, dims)
    out, y = empty_folded(F, input, order, sizes)
    r, _, _ = standardise_folded(F, y, fold(input, order, sizes), eps, centred)
    return out, r.reshape(kept_shape(input.shape, dims))


# ---- the kernels -------------------------------------------------------------------------------------------
@kernel("standardize")
def standardize(F, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return standardised(F, input, dims, eps, centred)[0] if y is None else y


@kernel("standardize_backward")
def standardize_backward(F, grad, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    if y is None or r is None:
        y, r = standardised(F, input, dims, eps, centred)
    order, sizes = folding(y, dims)
    out, dx = empty_folded(F, y, order, sizes)
    g, y, r = fold(grad, order, sizes), fold(y, order, sizes), r.reshape(-1)
    project(F, dx, g, y, r, centred)
    return out


@kernel("rstd")
def rstd(F, input, *, dims, eps, centred):
    return standardised(F, input, dims, eps, centred)[1]


@kernel("row_moments")
def row_moments(F, input):
    rows = input.reshape(1, count(input.shape[:-1]), input.shape[-1])
    _, mean, var = standardise_folded(F, F.xp.empty_like(rows), rows, 1.0, True)
    return mean.reshape(input.shape[:-1]), var.reshape(input.shape[:-1])
