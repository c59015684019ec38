"""Sparse tensors: `torch.sparse`, and the layouts COO, CSR and CSC.

Imported when a program first makes a sparse tensor or asks for this module. `docs/sparse.md` is the page on it.
"""

from . import pointwise, shapes, stepping  # noqa: F401  they answer calls, and step optimisers
from .creation import check_sparse_tensor_invariants
from .diagonals import spdiags, spsolve
from .gradcheck import as_sparse_gradcheck
from .legacy import TYPES
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum

__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
           "softmax", "spdiags", "spsolve", "sum"]

for _function in (addmm, as_sparse_gradcheck, check_sparse_tensor_invariants, log_softmax, mm, sampled_addmm, softmax,
                  spdiags, spsolve, sum):
    _function.__module__ = "minitorch.sparse"
globals().update(TYPES)
pointwise.complete()
