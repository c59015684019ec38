"""The names of sparse layouts."""

from .. import layout
from ..core.registry import late

__all__ = ["LAYOUTS", "sparse_coo", "sparse_csc", "sparse_csr"]


class SparseLayout(layout):
    """A sparse layout, pickled by its name."""

    def __reduce__(self):
        return late.get_layout, (repr(self),)


sparse_coo, sparse_csr, sparse_csc = map(SparseLayout, ("sparse_coo", "sparse_csr", "sparse_csc"))
LAYOUTS: dict = {found.name: found for found in (sparse_coo, sparse_csr, sparse_csc)}
