"""The array API standard's extension ``linalg``: `minitorch.linalg` with the standard's arguments."""

import minitorch as torch

from . import reductions
from .products import *  # noqa: F403
from .promotion import together

# the standard's own list
__all__ = ("cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm "
           "matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals "
           "tensordot trace vecdot vector_norm").split()


def __dir__():
    return sorted(__all__)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements along an axis."""
    if not -min(x1.ndim, x2.ndim) <= axis < max(x1.ndim, x2.ndim):
        raise ValueError(f"axis {axis} is out of range for shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"cross product axis must have size 3, got {tuple(x1.shape)} and {tuple(x2.shape)}")
    return torch.linalg.cross(*torch.broadcast_tensors(*together(x1, x2)), dim=axis)


def diagonal(x, /, *, offset=0):
    """Views of the diagonals of matrices."""
    return torch.diagonal(x, offset, -2, -1)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of each matrix."""
    return torch.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values of each matrix are above `rtol` times its largest."""
    return torch.linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """Products of each element of one vector with each of another."""
    return torch.outer(*together(x1, x2))


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse of each matrix; singular values up to `rtol` times the largest count as 0."""
    return torch.linalg.pinv(x, rtol=rtol)


def solve(x1, x2, /):
    """The solution y of ``x1 @ y = x2``: a vector only if `x2` is one, else matrices."""
    x1, x2 = together(x1, x2)
    # PyTorch reads a batch of the right shape as vectors; one more axis in front says that these are matrices.
    is_matrix = x2.ndim > 1 and x1.shape[:-1] == x2.shape
    return torch.linalg.solve(x1, x2[None] if is_matrix else x2)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices."""
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm over all elements, or over those along axes."""
    return reductions.over(lambda x, axes: torch.linalg.vector_norm(x, ord, axes), x, axis, keepdims)


# what needs no other arguments
globals().update({name: getattr(torch.linalg, name) for name in __all__ if name not in globals()})
