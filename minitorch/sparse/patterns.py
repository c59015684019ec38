"""Patterns: where the entries of a sparse tensor stand. Raw arrays, without values.

A pattern is never written to, so tensors share it: the result of a pointwise function, and the gradient of a sparse
tensor, have the very pattern of the input. What it takes a sort to find (the entries by rows or by columns, entries at
the same place) is found once and kept.
"""

from functools import cached_property
from math import prod

__all__ = ["Pattern", "sorted_order"]

COMPRESSED = {"sparse_csr": 0, "sparse_csc": 1}            # layout -> the dimension whose indices are compressed


def sorted_order(xp, keys):
    """The positions of `keys`, integers that are not negative, in stable ascending order.

    With its position in the lower bits each key is unlike all others, and NumPy's sort of plain integers is twice as
    fast as its stable argsort.
    """
    n = len(keys)
    if not n:
        return xp.arange(0)
    bits = max(n - 1, 1).bit_length()
    if int(keys.max()).bit_length() + bits > 62:
        return xp.argsort(keys, kind="stable")
    return xp.sort((keys.astype("int64") << bits) + xp.arange(n)) & ((1 << bits) - 1)


class Pattern:
    """The places of entries in a tensor whose sparse dimensions have these `sizes`, on the backend `F`.

    Of layout "sparse_coo": `indices`, (dimensions, entries), and whether they are known to be `coalesced`: sorted, each
    place once. Of "sparse_csr" and "sparse_csc": `compressed`, where each row (column) begins, and `plain`, the column
    (row) of each entry; indices are made of these when something asks for them.
    """

    def __init__(self, F, sizes, *, indices=None, coalesced=False, layout="sparse_coo", compressed=None, plain=None,
                 once=False):
        self.F, self.sizes, self.layout, self.coalesced = F, tuple(sizes), layout, coalesced
        self.compressed, self.plain = compressed, plain
        self.once = once or coalesced or layout != "sparse_coo"
        if indices is not None:
            self.indices = indices
        self.nnz = (self.indices if indices is not None else plain).shape[-1]

    @cached_property
    def indices(self):
        """(dimensions, entries): the place of each entry, in the order of the values."""
        xp, axis = self.F.xp, COMPRESSED[self.layout]
        along = xp.repeat(xp.arange(self.sizes[axis]), xp.diff(self.compressed))
        plain = self.plain.astype("int64")
        return xp.stack([along, plain] if axis == 0 else [plain, along])

    @cached_property
    def keys(self):
        """The number of each entry's place, counted row by row."""
        xp = self.F.xp
        found = xp.zeros(self.nnz, "int64")
        for n, i in zip(self.sizes, self.indices):
            found = found * n + i
        return found

    @property
    def in_order(self):
        """True if each place occurs once and the entries stand in the order of their places."""
        return self.coalesced or self.layout == "sparse_csr"

    @cached_property
    def merged(self):
        """The coalesced COO pattern of the same places, a place in it for each entry, and the first entry of each."""
        F, xp = self.F, self.F.xp
        order = sorted_order(xp, self.keys)
        keys = self.keys[order]
        is_first = xp.concatenate([xp.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]])
        first = order[xp.flatnonzero(is_first)]
        place = xp.empty(self.nnz, "int64")
        place[order] = xp.cumsum(is_first) - 1
        return Pattern(F, self.sizes, indices=self.indices[:, first], coalesced=True), place, first

    @cached_property
    def lookup(self):
        """The sorted keys of a pattern without repetitions, and the entry of each (None: in order)."""
        if self.in_order:
            return self.keys, None
        order = sorted_order(self.F.xp, self.keys)
        return self.keys[order], order

    def find(self, keys):
        """The entries at places `keys`, and whether there is one; of a pattern without repetitions."""
        xp = self.F.xp
        own, order = self.lookup
        if not self.nnz:
            return xp.zeros(len(keys), "int64"), xp.zeros(len(keys), bool)
        at = xp.minimum(xp.searchsorted(own, keys), self.nnz - 1)
        return (at if order is None else order[at]), own[at] == keys

    def chosen(self, which):
        """The COO pattern of some of the entries, in their order."""
        return Pattern(self.F, self.sizes, indices=self.indices[:, which], coalesced=self.in_order, once=self.once)

    @cached_property
    def as_coo(self):
        """The same entries in the same order, as indices."""
        if self.layout == "sparse_coo":
            return self
        return Pattern(self.F, self.sizes, indices=self.indices, coalesced=self.layout == "sparse_csr", once=True)

    # -- matrices --------------------------------------------------------------------------------------------
    @cached_property
    def transposed(self):
        """The pattern of the transposed matrix, with its entries in the same order."""
        if self.layout == "sparse_coo":
            found = Pattern(self.F, self.sizes[::-1], indices=self.indices[::-1], once=self.once)
        else:
            layout = "sparse_csc" if self.layout == "sparse_csr" else "sparse_csr"
            found = Pattern(self.F, self.sizes[::-1], layout=layout, compressed=self.compressed, plain=self.plain)
        found.__dict__["transposed"] = self
        return found

    @cached_property
    def by_rows(self):
        """Where each row of a matrix begins, the columns row by row, and which entry each is (None: in order)."""
        F, xp = self.F, self.F.xp
        if self.layout == "sparse_csr":
            return self.compressed.astype("int64"), self.plain.astype("int64"), None
        rows, cols = self.indices
        order = None if self.coalesced else sorted_order(xp, self.keys if self.nnz else rows)
        starts = F.xp.zeros(self.sizes[0] + 1, "int64")
        starts[1:] = xp.cumsum(xp.bincount(rows, minlength=self.sizes[0]))
        return starts, (cols if order is None else cols[order]), order

    def compressed_as(self, layout):
        """The pattern of this matrix in a compressed layout, and the order of its entries in it (None: as they are).

        The entries must not repeat a place.
        """
        if layout == self.layout:
            return self, None
        if layout == "sparse_csc":
            found, order = self.transposed.compressed_as("sparse_csr")
            return found.transposed, order
        starts, cols, order = self.by_rows
        return Pattern(self.F, self.sizes, layout=layout, compressed=starts, plain=cols), order

    def everywhere(self):
        """The pattern of all places, in this layout."""
        xp = self.F.xp
        indices = xp.stack(xp.unravel_index(xp.arange(self.numel), self.sizes))
        found = Pattern(self.F, self.sizes, indices=indices, coalesced=True)
        return found if self.layout == "sparse_coo" else found.compressed_as(self.layout)[0]

    @property
    def numel(self):
        """The number of places, taken or not."""
        return prod(self.sizes)
