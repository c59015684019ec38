"""Interpolation on the CPU: in tiles of outputs, taps are small dense matrices, which BLAS multiplies faster than NumPy
gathers."""

import functools
from math import prod

import numpy as np

from .backend import kernel

TILE = 64                      # outputs whose taps make one matrix


@kernel("interpolate")
def interpolate(F, input, *, taps):
    if input.dtype == "uint8":
        return F.reference.interpolate(input, taps=taps)
    return or_reference(map_dims(F, input, taps, False), F.reference.interpolate, input, taps)


@kernel("interpolate_backward")
def interpolate_backward(F, grad, *, taps):
    return or_reference(map_dims(F, grad, taps, True), F.reference.interpolate_backward, grad, taps)


def or_reference(out, reference, x, taps):
    """`out`, unless something in it is not finite: the zeros of a matrix carry a NaN to all outputs of a tile."""
    return out if np.isfinite(out.sum()) else reference(x, taps=taps)


@functools.lru_cache(maxsize=32)
def tiles(taps, dtype):
    """The map as dense tiles, to be read only: (slice of outputs, slice of inputs, matrix)."""
    found, (places, weights) = [], taps.table(np, dtype)
    for i in range(0, len(places), TILE):
        place, weight = places[i:i + TILE], weights[i:i + TILE]
        low, high = int(place.min()), int(place.max()) + 1
        matrix = np.zeros((len(place), high - low))
        np.add.at(matrix, (np.arange(len(place))[:, None], place - low), weight)
        found.append((slice(i, i + len(place)), slice(low, high), matrix.astype(dtype)))
    return found


def map_dims(F, x, taps, transposed):
    """Apply each map, or its transpose, to its dimension."""
    out = x
    for i, tap in enumerate(taps):
        if tap is not None:
            out = map_dim(F, out, tap, x.ndim - len(taps) + i, transposed)
    return out.copy() if out is x else out


def map_dim(F, x, tap, axis, transposed):
    xp, before, after = F.xp, x.shape[:axis], x.shape[axis + 1:]
    x = x.reshape(-1, x.shape[axis], prod(after))  # (before, dimension, after)
    length = tap.size if transposed else tap.out
    out = xp.zeros((len(x), length, x.shape[2]), x.dtype)
    last = x.shape[2] == 1                                 # then one product serves all of `before`
    for outputs, inputs, matrix in tiles(tap, x.dtype):
        target, source = (inputs, outputs) if transposed else (outputs, inputs)
        matrix = matrix.T if transposed else matrix
        part = out[:, target]
        part += (x[:, source, 0] @ matrix.T)[..., None] if last else xp.matmul(matrix, x[:, source])
    return out.reshape(*before, length, *after)
