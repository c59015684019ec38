"""The op table, resizing: interpolation along the last dimensions, and channels traded for pixels.

Interpolation is linear, and goes one dimension after the other: an output place is a weighted sum of a few
neighbouring input places, its taps. In tiles of outputs these are small dense matrices, which BLAS multiplies faster
than NumPy gathers.
"""

import warnings
from math import floor
from typing import NamedTuple

import numpy as np

from ...core.op import composite, op
from .pad import take_places

TILE = 64                      # outputs whose taps make one matrix


class Taps(NamedTuple):
    """A linear map along one dimension: output i is the sum over t of ``weight[i, t] * x[place[i, t]]``."""

    place: np.ndarray          # (out, taps) int
    weight: np.ndarray         # (out, taps) float
    size: int                  # of the input

    def tiles(self, dtype):
        """The map as dense pieces: (slice of outputs, slice of inputs, matrix)."""
        for i in range(0, len(self.place), TILE):
            place, weight = self.place[i:i + TILE], self.weight[i:i + TILE]
            low, high = int(place.min()), int(place.max()) + 1
            matrix = np.zeros((len(place), high - low))
            np.add.at(matrix, (np.arange(len(place))[:, None], place - low), weight)
            yield slice(i, i + len(place)), slice(low, high), matrix.astype(dtype)


def sample_taps(d):
    return Taps(np.array([[0, 1], [1, 2], [3, 2]]), np.array([[0.5, 0.5], [1.0, 0.25], [0.5, -1.0]]), 4)


@op(promotion="any", namespace=None, autocast="float32",
    sample=lambda d: ([d.array((2, 4, 3))], dict(taps=(sample_taps(d), None))),
    input=lambda F, g, taps: F.resample_backward(g, taps=taps))
def resample(F, input, *, taps):
    """Map each of the last dimensions by its `Taps`; None leaves it as it is."""
    if input.dtype == "uint8":
        found = resample(F, input.astype("float32"), taps=taps)
        return F.xp.clip(F.xp.rint(found), 0, 255).astype("uint8")
    return map_dims(F, input, taps, False)


@op(promotion="any", namespace=None, sample=lambda d: ([d.array((2, 3, 3))], dict(taps=(sample_taps(d), None))),
    grad=lambda F, g, taps: F.resample(g, taps=taps))
def resample_backward(F, grad, *, taps):
    """The transpose of `resample`."""
    return map_dims(F, grad, taps, True)


def map_dims(F, x, taps, transposed):
    """Apply each map, or its transpose, to its dimension."""
    out = x
    for i, tap in enumerate(taps):
        if tap is not None:
            out = map_dim(F, out, tap, x.ndim - len(taps) + i, transposed)
    return out.copy() if out is x else out


def map_dim(F, x, tap, axis, transposed):
    xp, before, after = F.xp, x.shape[:axis], x.shape[axis + 1:]
    x = x.reshape(-1, x.shape[axis], int(np.prod(after)))  # (before, dimension, after)
    length = tap.size if transposed else len(tap.place)
    out = xp.zeros((len(x), length, x.shape[2]), x.dtype)
    last = x.shape[2] == 1                                 # then one product serves all of `before`
    for outputs, inputs, matrix in tap.tiles(x.dtype):
        target, source = (inputs, outputs) if transposed else (outputs, inputs)
        matrix = F.from_host(matrix.T if transposed else matrix)
        part = out[:, target]
        part += (x[:, source, 0] @ matrix.T)[..., None] if last else xp.matmul(matrix, x[:, source])
    return out.reshape(*before, length, *after)


# ---- taps --------------------------------------------------------------------------------------------------
def ratio(size, out, scale, align_corners):
    """The distance, in input places, between neighbouring outputs."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else size / out


def centers(size, out, scale, align_corners):
    """Where in the input each output lies."""
    step = ratio(size, out, scale, align_corners)
    i = np.arange(out)
    return i * step if align_corners else (i + 0.5) * step - 0.5


def linear_taps(size, out, scale, align_corners):
    x = np.maximum(centers(size, out, scale, align_corners), 0)
    first = np.minimum(x.astype("int64"), size - 1)
    rest = np.clip(x - first, 0, 1)
    return Taps(np.stack([first, np.minimum(first + 1, size - 1)], 1), np.stack([1 - rest, rest], 1), size)


def cubic_taps(size, out, scale, align_corners):
    x = centers(size, out, scale, align_corners)
    first = np.floor(x)
    places = first[:, None] + np.arange(-1, 3)
    return Taps(np.clip(places, 0, size - 1).astype("int64"), cubic(x[:, None] - places, -0.75), size)


def cubic(x, a):
    """Keys' cubic convolution kernel (1981), with slope `a` at 1."""
    x = np.abs(x)
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0))


def smoothed_taps(filter, reach):
    """Taps of a filter that is stretched when shrinking, so that every input place counts (antialias)."""
    def taps(size, out, scale, align_corners):
        step = ratio(size, out, scale, align_corners)
        stretch = max(step, 1.0)
        center = (np.arange(out) + 0.5) * step
        low = np.maximum((center - reach * stretch + 0.5).astype("int64"), 0)
        high = np.minimum((center + reach * stretch + 0.5).astype("int64"), size)
        places = low[:, None] + np.arange(int((high - low).max(initial=1)))
        weight = np.where(places < high[:, None], filter((places - center[:, None] + 0.5) / stretch), 0)
        return Taps(np.minimum(places, size - 1), weight / weight.sum(1, keepdims=True), size)
    return taps


def triangle(x):
    return np.maximum(1 - np.abs(x), 0)


def adaptive_bounds(size, out):
    """Where the `out` windows that divide `size` places begin and end."""
    i = np.arange(out)
    return i * size // max(out, 1), -(-(i + 1) * size // max(out, 1))


def mean_taps(size, out):
    """Taps that take the mean of each of the windows that divide the input."""
    start, end = adaptive_bounds(size, out)
    places = start[:, None] + np.arange(int((end - start).max(initial=1)))
    weight = (places < end[:, None]) / (end - start)[:, None]
    return Taps(np.minimum(places, size - 1), weight, size)


def nearest_places(size, out, scale, exact):
    """The input place that each output copies, computed in float32 as PyTorch does."""
    step = np.float32(1 / scale if scale else np.float32(size) / np.float32(out))
    i = np.arange(out, dtype="float32") + np.float32(0.5 if exact else 0)
    return np.minimum((i * step).astype("int64"), size - 1)


# ---- interpolate -------------------------------------------------------------------------------------------
TAPS = {"linear": linear_taps, "bilinear": linear_taps, "trilinear": linear_taps, "bicubic": cubic_taps}
SMOOTHED = {"bilinear": smoothed_taps(triangle, 1), "bicubic": smoothed_taps(lambda x: cubic(x, -0.5), 2)}
RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


@composite(namespace="nn.functional")
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    """Resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) to `size`, or by `scale_factor`: give one of them.

    `mode`: "nearest" (as OpenCV and PyTorch before 1.11 round), "nearest-exact" (as Pillow does), "linear",
    "bilinear", "trilinear", "bicubic" (for 1, 2, 3 and 2 dimensions) or "area" (the mean of what an output covers).
    With `align_corners` the centers of the corner pixels stay where they are, else the corners of the image. The
    step between outputs is ``1 / scale_factor``, or, with `recompute_scale_factor` or `size`, the ratio of the sizes.
    `antialias` lets "bilinear" and "bicubic" take in all pixels when shrinking.
    """
    n = input.ndim - 2
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError(f"align_corners option can only be set with the interpolating modes: "
                             f"{' | '.join(RANKS)}, not with '{mode}'")
    elif mode not in RANKS or n not in (1, 2, 3):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for "
                                  f"the modes: nearest | nearest-exact | area | {' | '.join(RANKS)} (got {mode})")
    elif RANKS[mode] != n:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {RANKS[mode] + 2}D input")
    out, scales = output_size(input, n, size, scale_factor, recompute_scale_factor, mode)
    if antialias and mode not in SMOOTHED:
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
                         "input")
    sizes = input.shape[2:]
    if min(out) < 1 or 0 in input.shape[1:]:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {list(sizes)} and output "
                           f"{list(out)}")
    if mode.startswith("nearest"):
        return take_places(input, tuple([nearest_places(m, o, s, mode == "nearest-exact")
                                         for m, o, s in zip(sizes, out, scales)]))
    if mode == "area":
        return resample(input, tuple([mean_taps(m, o) for m, o in zip(sizes, out)]))
    taps = (SMOOTHED if antialias else TAPS)[mode]
    return resample(input, tuple([None if m == o and s in (None, 1) else taps(m, o, s, bool(align_corners))
                                  for m, o, s in zip(sizes, out, scales)]))


def output_size(input, n, size, scale_factor, recompute, mode):
    """The sizes to resize to, and the scale factors to go by (None for the ratio of the sizes)."""
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{'either' if size is None else 'only one of'} size or scale_factor should be defined")
    given = size if scale_factor is None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * n
    if len(given) != n:
        raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with "
                         f"spatial dimensions of {list(input.shape[2:])} and "
                         f"{'size' if scale_factor is None else 'scale_factor'} of {given}. Give one number for each "
                         "spatial dimension")
    if scale_factor is None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple([o.__index__() for o in given]), (None,) * n
    out = tuple([floor(m * float(s)) for m, s in zip(input.shape[2:], given)])
    return out, (None,) * n if recompute or mode == "area" else tuple([float(s) for s in given])


@composite(namespace="nn.functional")
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate` under its old name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(namespace="nn.functional")
def upsample_nearest(input, size=None, scale_factor=None):
    """``interpolate(mode="nearest")`` under its old name."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, "nearest")


@composite(namespace="nn.functional")
def upsample_bilinear(input, size=None, scale_factor=None):
    """``interpolate(mode="bilinear", align_corners=True)`` under its old name."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", True)
