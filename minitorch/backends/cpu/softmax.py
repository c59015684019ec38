"""Softmax and its logarithm over one dimension: the last one in blocks of rows."""

from .backend import kernel
from .blocks import in_row_blocks
from .sums import add_up, row_sums
from .tuning import tuning


def total(F, x, dim):
    """The sum over `dim`, kept as size 1; over the last one as a product with ones, which is several times faster."""
    if tuning.sums_as_products and dim in (-1, x.ndim - 1) and x.ndim and x.shape[-1] > 8 and x.flags.c_contiguous:
        n = x.shape[-1]
        return row_sums(F.xp, x.reshape(-1, n)).reshape(*x.shape[:-1], 1)
    return add_up(F, x, dim, True)


def has_rows(F, x, dim):
    """True if `dim` is the last one and the rows of `x` are contiguous: then blocks pay."""
    return (F.block is not None and x.ndim > 0 and dim in (-1, x.ndim - 1)
            and x.size > 1024 and x.flags.c_contiguous)


def exponentials(F, x, dim, divide=False):
    """``exp(x - shift)``, its sums over `dim`, and the shift that keeps it from overflow: the maximum over `dim`.

    With `divide`, the first is divided by the second. Where a block of rows was shifted by one number, the shift holds
    that number for each of its rows.
    """
    xp = F.xp
    if not has_rows(F, x, dim):
        shift = xp.maximum.reduce(x, dim, keepdims=True)
        e = x - shift
        xp.exp(e, out=e)
        sums = total(F, e, dim)
        return xp.divide(e, sums, out=e) if divide else e, sums, shift
    d = x.shape[-1]
    rows, e = x.reshape(-1, d), xp.empty(x.shape, x.dtype)
    sums, shift = xp.empty((len(rows), 1), x.dtype), xp.empty((len(rows), 1), x.dtype)
    out = e.reshape(-1, d)
    always, perhaps = tuning.shared_shift
    common = len(rows) > 16 and (d <= always or d <= perhaps and are_level(xp, rows[:64]))

    def block(part):
        e = out[part]
        shift[part], sums[part] = _, summed = exponentials_of_rows(xp, rows[part], e, common)
        if divide:
            xp.multiply(e, xp.reciprocal(summed), out=e)
    in_row_blocks(F, len(rows), d, block)
    kept = *x.shape[:-1], 1
    return e, sums.reshape(kept), shift.reshape(kept)


def are_level(xp, rows):
    """True if the maxima of rows are so close that the largest will do for all."""
    tops = xp.maximum.reduce(rows, 1)
    return bool(xp.maximum.reduce(tops) - xp.minimum.reduce(tops) < 10)


def exponentials_of_rows(xp, x, out, common):
    """Fill `out` with ``exp(x - shift)``; the shift and the sums of rows.

    The maxima of short rows take as long as all other steps together. If `common`, the maximum of all rows is tried
    first, which will do unless some row lies far below it.
    """
    if common:
        shift = xp.maximum.reduce(x, None)
        xp.subtract(x, shift, out=out)
        xp.exp(out, out=out)
        sums = row_sums(xp, out)
        if xp.minimum.reduce(sums) > 1e-5:                 # False for NaN
            return shift, sums[:, None]
    shift = xp.maximum.reduce(x, 1, keepdims=True)
    xp.subtract(x, shift, out=out)
    xp.exp(out, out=out)
    return shift, row_sums(xp, out)[:, None]


def extreme_shapes(d):
    """Numbers, nothing and many rows."""
    return [d.array(d.choice([(), (0, 3), (90, 100)]))], dict(dim=-1)


@kernel("softmax", sample=extreme_shapes)
def softmax(F, input, *, dim):
    if not input.size:
        return input.copy()
    if not input.ndim:
        return F.softmax(input.reshape(1), dim=dim).reshape(())
    return exponentials(F, input, dim, divide=True)[0]


@kernel("softmax_backward")
def softmax_backward(F, grad, out_, *, dim):
    xp = F.xp
    if not has_rows(F, grad, dim) or grad.shape != out_.shape or not out_.flags.c_contiguous:
        out = grad * out_
        out -= out_ * total(F, out, dim)
        return out
    d = grad.shape[-1]
    out = xp.empty(grad.shape, grad.dtype)
    g, y, dx = grad.reshape(-1, d), out_.reshape(-1, d), out.reshape(-1, d)

    def block(part):
        xp.subtract(g[part], xp.vecdot(g[part], y[part])[:, None], out=dx[part])
        xp.multiply(dx[part], y[part], out=dx[part])
    in_row_blocks(F, len(g), d, block)
    return out


@kernel("log_softmax", sample=extreme_shapes)
def log_softmax(F, input, *, dim):
    if not input.size:
        return input.copy()
    if not input.ndim:
        return F.log_softmax(input.reshape(1), dim=dim).reshape(())
    powers, sums, shift = exponentials(F, input, dim)
    out = F.xp.subtract(input, shift, out=powers)
    out -= F.xp.log(sums)
    return out


@kernel("log_softmax_backward")
def log_softmax_backward(F, grad, out_, *, dim):
    out = F.xp.exp(out_, out=F.xp.empty_like(out_))
    out *= total(F, grad, dim)
    return F.xp.subtract(grad, out, out=out)
