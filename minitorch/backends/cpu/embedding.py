"""Sums of rows by index: the gradient of an embedding, and bags of rows."""

from ...core.arrays import is_half
from .backend import kernel
from .tuning import tuning


@kernel("segment_sum")
def segment_sum(F, input, bags, *, n):
    return sum_rows(F.xp, bags, input, n)


@kernel("argmax_bags")
def argmax_bags(F, input, bags, *, n):
    xp, rows = F.xp, len(input)
    out = xp.full((n, input.shape[1]), rows - 1)
    used, starts = xp.unique(bags, return_index=True)      # bags come in order
    if len(used):
        largest = xp.fmax.reduceat(input, starts, axis=0)
        largest = xp.repeat(largest, xp.diff([*starts, rows]), axis=0)
        places = xp.where(input == largest, xp.arange(rows)[:, None], rows - 1)
        out[used] = xp.where(xp.isnan(input[starts]), starts[:, None], xp.minimum.reduceat(places, starts, axis=0))
    return out


def sum_rows(xp, index, rows, n):
    """(n, D): the sums of the rows of each index.

    The rows are sorted by index, and the indices by how many rows they have. Then the second rows of all indices that
    have one are added to their first, the third ones, and so on: `add.reduceat` takes three times as long where rows
    are few to an index, `add.at` ten times. Where they are many, `add.reduceat` is faster.
    """
    if is_half(rows.dtype):                                # rounded once, not after each addition
        return sum_rows(xp, index, rows.astype("float32"), n).astype(rows.dtype)
    out = xp.zeros((n, rows.shape[1]), rows.dtype)
    if not len(index):
        return out
    if not tuning.rows_by_rank:
        xp.add.at(out, index, rows)
        return out
    order = xp.argsort(index, kind="stable")
    index = index[order]
    first = xp.ones(len(index), bool)
    xp.not_equal(index[1:], index[:-1], out=first[1:])
    start = xp.flatnonzero(first)
    if len(index) > 8 * len(start):
        out[index[start]] = xp.add.reduceat(rows[order], start, axis=0)
        return out
    counts = xp.diff(start, append=len(index))
    by_count = xp.argsort(-counts, kind="stable")
    start, counts = start[by_count], counts[by_count]
    sums, k = rows[order[start]], 1
    while True:
        more = int(xp.count_nonzero(counts > k))           # those with another row come first
        if not more:
            break
        sums[:more] += rows[order[start[:more] + k]]
        k += 1
    out[index[start]] = sums
    return out
