"""Products of sparse matrices on raw arrays, without a loop over entries."""

from ..extend import is_half

__all__ = ["product", "products_at"]

BLOCK = 1 << 16            # elements of a block of rows of the result, which stays in the processor's cache
LONG = 256                 # rows with more entries are a product with a matrix each


def product(F, pattern, values, dense):
    """The product (n, p) of the matrix (n, k) with these entries and an array (k, p).

    Rows are sorted by how many entries they have and taken in blocks. Of a block the first entries of all rows are
    added up, then the second ones of those that have one, and so on: the indexed rows of `dense` are never there all at
    once. A long row is a product of its own, added in parts.
    """
    xp, kind = F.xp, values.dtype
    if is_half(kind):                                      # rounded once, not after each addition
        return product(F, pattern, values.astype("float32"), dense.astype("float32")).astype(kind)
    starts, cols, order = pattern.by_rows
    if order is not None:
        values = values[order]
    out = xp.zeros((pattern.sizes[0], dense.shape[1]), kind)
    counts = xp.diff(starts)
    if kind.kind == "b" or not out.size or not len(cols):
        return out
    if not F.on_host:
        rows = xp.repeat(xp.arange(len(counts)), counts)
        return F.segment_sum(dense[cols] * values[:, None], rows, n=len(counts))
    by_count = xp.argsort(-counts, kind="stable")
    long = int(xp.count_nonzero(counts > LONG))
    for row in by_count[:long].tolist():
        part = slice(int(starts[row]), int(starts[row + 1]))
        out[row] = long_row(F, values[part], dense[cols[part]])
    size = max(1, BLOCK // dense.shape[1])
    used = int(xp.count_nonzero(counts))
    for begin in range(long, used, size):
        rows = by_count[begin:min(begin + size, used)]
        out[rows] = block(xp, starts[rows], counts[rows], cols, values, dense)
    return out


def long_row(F, values, rows):
    """The sum of the rows times their values: `LONG` at a time are a product, and these are added in parts."""
    n = len(values) // LONG * LONG
    parts = F.xp.matmul(values[:n].reshape(-1, 1, LONG), rows[:n].reshape(-1, LONG, rows.shape[1]))[:, 0]
    return F.sum(parts, dim=(0,), keepdim=False) + values[n:] @ rows[n:]


def block(xp, starts, counts, cols, values, dense):
    """The rows of a product that begin at `starts`, and have `counts` entries, the most first."""
    sums = dense.take(cols[starts], axis=0)
    sums *= values[starts, None]
    for k in range(1, int(counts[0])):
        at = starts[:int(xp.count_nonzero(counts > k))] + k
        rows = dense.take(cols[at], axis=0)
        rows *= values[at, None]
        sums[:len(at)] += rows
    return sums


def products_at(F, pattern, left, right):
    """For each entry (i, j) the product of row i of `left` (n, p) and row j of `right` (k, p)."""
    xp, kind = F.xp, left.dtype
    if is_half(kind):
        return products_at(F, pattern, left.astype("float32"), right.astype("float32")).astype(kind)
    rows, cols = pattern.indices
    out = xp.zeros(pattern.nnz, kind)
    step = max(1, 4 * BLOCK // max(1, left.shape[1]))
    for begin in range(0, pattern.nnz, step):
        part = slice(begin, begin + step)
        out[part] = xp.einsum("np,np->n", left.take(rows[part], axis=0), right.take(cols[part], axis=0))
    return out
