"""Joining arrays along a new dimension."""

import numpy as np

from .backend import kernel


@kernel("stack")
def stack(F, *pieces, dim):
    """By joining along the dimension that comes next, which is faster than NumPy's stack."""
    shape = pieces[0].shape
    if dim < len(shape):
        return np.concatenate(pieces, dim).reshape(*shape[:dim], len(pieces), *shape[dim:])
    return np.stack(pieces, dim)
