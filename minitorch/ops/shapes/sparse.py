"""Methods about sparse layouts. A dense tensor is converted by `minitorch.sparse`, which is imported then."""

from ...core.registry import guests
from ..define import method

SPARSE = "sparse coordinate tensor layout"
# Methods of sparse tensors, and what PyTorch says where a dense one is asked.
OF_SPARSE = {
    "indices": SPARSE, "_indices": SPARSE, "_values": SPARSE, "coalesce": SPARSE, "is_coalesced": SPARSE,
    "_nnz": SPARSE, "values": "sparse tensor layout", "crow_indices": "sparse row compressed tensor layout",
    "col_indices": "sparse row compressed tensor layout", "ccol_indices": "sparse column compressed tensor layout",
    "row_indices": "sparse column compressed tensor layout"}


def of_sparse(name, wanted):
    def refuse(self):
        raise RuntimeError(f"{name} expected {wanted} but got Strided: x.to_sparse() has one")
    refuse.__name__ = name
    refuse.__doc__ = f"`{name}` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."
    return refuse


for _name, _wanted in OF_SPARSE.items():
    method(of_sparse(_name, _wanted))


@method
def sparse_dim(self):
    """The number of dimensions that are kept by indices: 0."""
    return 0


@method
def dense_dim(self):
    """The number of dimensions whose elements are all kept: all."""
    return self.ndim


@method
def to_dense(self, dtype=None, *, masked_grad=True):
    """All elements of a sparse tensor; a dense one is returned as it is, or in another `dtype`.

    The gradient of a sparse tensor is sparse and has its entries alone, unless `masked_grad` is False.
    """
    return self if dtype is None else self.to(dtype)


@method
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not 0, as a sparse tensor of `layout` (default: `sparse_coo`); gradients flow.

    `sparse_dim`: how many of the first dimensions are kept by indices, by default all. RuntimeError for more than there
    are; NotImplementedError for `blocksize`.
    """
    return guests.to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


@method
def to_sparse_coo(self):
    """The elements that are not 0, with their indices (COO)."""
    return guests.to_sparse(self)


@method
def to_sparse_csr(self, dense_dim=None):
    """The elements of a matrix that are not 0, row by row (CSR)."""
    return guests.to_sparse_csr(self, dense_dim)


@method
def to_sparse_csc(self, dense_dim=None):
    """The elements of a matrix that are not 0, column by column (CSC)."""
    return guests.to_sparse_csc(self, dense_dim)


@method
def sparse_mask(self, mask):
    """The elements at the entries of the sparse tensor `mask`, in its layout; the gradient is dense, 0 elsewhere."""
    return guests.sparse_mask(self, mask)


@method
def smm(self, mat):
    """The product of a COO and a dense matrix, as a COO matrix; RuntimeError for a dense first one."""
    raise RuntimeError("smm expected sparse coordinate tensor layout but got Strided: x.to_sparse().smm(mat)")


@method
def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1):
    """``beta * self + alpha * (mat1 @ mat2)`` of COO matrices `self` and `mat1`; RuntimeError for a dense one."""
    raise RuntimeError("sspaddmm expected sparse coordinate tensor layout but got Strided: x.to_sparse()")


@method
def resize_as_sparse_(self, the_template):
    """Give a sparse tensor the size and the sparse dimensions of another, and no entries."""
    return guests.resize_as_sparse_(self, the_template)
