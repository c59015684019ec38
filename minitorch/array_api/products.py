"""Products of matrices and vectors, whose operands the array API standard brings to one dtype."""

import minitorch as torch

from .promotion import together

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1, x2, /):
    """The product of matrices, vectors, or batches of them."""
    return torch.matmul(*together(x1, x2))


def matrix_transpose(x, /):
    """A view with the last two axes exchanged; ValueError for fewer than two."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose needs at least 2 axes, this tensor has {x.ndim}")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """Products summed over the last axes of `x1` and the first of `x2`, or over pairs of axes."""
    return torch.tensordot(*together(x1, x2), dims=axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Dot products along an axis; of complex numbers with the conjugate of `x1`."""
    if not -min(x1.ndim, x2.ndim) <= axis < min(x1.ndim, x2.ndim) or x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot along axis {axis} needs equal sizes there: got {tuple(x1.shape)} and "
                         f"{tuple(x2.shape)}")
    x1, x2 = [x.movedim(axis, -1) for x in together(x1, x2)]
    return (x1.conj().unsqueeze(-2) @ x2.unsqueeze(-1))[..., 0, 0]
