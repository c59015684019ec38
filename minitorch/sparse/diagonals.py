"""Matrices of given diagonals."""

from .. import Tensor, strided, tensor
from ..extend import wrap
from .convert import to_layout
from .functions import of_indices
from .layouts import LAYOUTS

__all__ = ["spdiags", "spsolve"]


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix of `shape` with the rows of `diagonals` (k, n) along its diagonals `offsets` (k).

    Element j of a row stands in column j, as `scipy.sparse.spdiags` has it. `layout`: COO by default, or CSR or CSC.
    Gradients flow to `diagonals`. RuntimeError for repeated offsets and a shape that is not a
    matrix's.
    """
    if not isinstance(diagonals, Tensor):
        raise TypeError(f"spdiags(): argument 'diagonals' must be Tensor, not {type(diagonals).__name__}")
    offsets = offsets if isinstance(offsets, Tensor) else tensor(offsets)
    diagonals = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    if diagonals.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if layout is not None and layout.name not in LAYOUTS or layout is strided:
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    if offsets.ndim > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    xp, k = diagonals.backend.xp, offsets.reshape(-1).array
    if k.dtype.kind != "i":
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if len(k) != diagonals.shape[0]:
        raise RuntimeError(f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
                           f"({len(k)})")
    if len(xp.unique(k)) != len(k):
        raise RuntimeError("Offset tensor contains duplicate values")
    which, cols = xp.nonzero(xp.ones(tuple(diagonals.shape), bool))
    rows = cols - k[which]
    inside = xp.flatnonzero((rows >= 0) & (rows < shape[0]) & (cols < shape[1]))
    values = diagonals.reshape(-1)[wrap(inside, diagonals.backend)]
    out = of_indices(diagonals.backend, xp.stack([rows[inside], cols[inside]]), values, shape)
    return out if layout is None else to_layout(out, layout.name)


def spsolve(input, other, *, left=True):
    """Refused: PyTorch solves sparse systems on CUDA devices alone, by a library."""
    raise RuntimeError("spsolve: sparse systems are not solved here: linalg.solve(input.to_dense(), other)")
