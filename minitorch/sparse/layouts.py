"""The names of sparse layouts."""

from .. import layout

__all__ = ["LAYOUTS", "sparse_coo", "sparse_csc", "sparse_csr"]


class SparseLayout(layout):
    """A sparse layout, pickled by its name."""

    def __reduce__(self):
        return layout_named, (repr(self),)


sparse_coo, sparse_csr, sparse_csc = map(SparseLayout, ("sparse_coo", "sparse_csr", "sparse_csc"))
LAYOUTS: dict = {found.name: found for found in (sparse_coo, sparse_csr, sparse_csc)}


def layout_named(name):
    """The sparse layout of a name such as "sparse_coo" or "torch.sparse_coo"."""
    return LAYOUTS[name.removeprefix("torch.")]


layout_named.saved_as = "torch.serialization", "_get_layout"   # type: ignore[attr-defined]
