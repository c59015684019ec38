"""Sampling: `grid_sample` reads images at positions given by a tensor, `affine_grid` makes such positions.

Positions are in [-1, 1], x first: -1 and 1 are the centers of the first and last pixels with `align_corners`, else the
outer edges. Both functions are made of ops that have derivatives, so theirs follow to any order.
"""

from itertools import product
from math import prod

from ...core.dtypes import float32
from ...core.tensor import wrap
from ...explain.callers import warn
from ..creation.create import linspace
from ..define import composite
from ..elementwise.compare import where
from ..linalg.matmul import matmul
from .pool import gather_last


@composite(namespace="nn.functional", autocast="float32 on cpu, promote on cuda")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The values of `input` (N, C, H, W) or (N, C, D, H, W) at the positions `grid` (N, *out, 2 or 3): (N, C, *out).

    `mode`: "bilinear" (trilinear for volumes), "nearest" or "bicubic" (images only). Pixels outside are 0 for
    `padding_mode` "zeros", the edge for "border", the mirrored image for "reflection" (mirrored at pixel centers with
    `align_corners`, else at the edge). Spatial transformer networks, Jaderberg et al. (2015).
    """
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
             "Please specify align_corners=True if the old behavior is desired.")
    if input.backend.depth != grid.backend.depth:
        inner = max(input.backend, grid.backend, key=lambda F: F.depth)
        input, grid = inner.together((input, grid))
    check_grid(input, grid, mode, padding_mode)
    n, align = input.ndim - 2, bool(align_corners)
    sizes, taps = input.shape[2:], []
    for i, size in enumerate(sizes):
        place = grid[..., n - 1 - i]
        place = pixels_of(place + 1, size, align, n == 2)
        taps.append(TAPS[mode](finite(place), size, padding_mode, align))
    total = None
    for combination in product(*taps):
        value = read(input, [index for index, _ in combination])
        for _, weight in combination:
            value = value if weight is None else value * weight.unsqueeze(1)
        total = value if total is None else total + value
    return total


def pixels_of(place, size, align, fused):
    """Positions from 0 to 2 as numbers of pixels: PyTorch rounds once in images, twice in volumes."""
    if align:
        return place * ((size - 1) / 2)
    if fused and place.dtype is float32:
        return (place.double() * (size / 2) - 0.5).to(float32)
    return (place * size - 1) / 2


def read(input, indices):
    """`input` at an integer position in each dimension (N, *out), 0 outside."""
    sizes, xp = input.shape[2:], input.backend.xp
    inside, flat = True, 0
    for index, size in zip(indices, sizes):
        inside = inside & (index >= 0) & (index < size)
        flat = flat * size + xp.clip(index, 0, size - 1)
    out = (input.shape[0], input.shape[1], *flat.shape[1:])
    found = gather_last(input.reshape(*input.shape[:2], prod(sizes)), whole(xp, flat, out, input),  1)
    found = found.reshape(out)
    if input.backend.physical(inside).all():
        return found
    return where(wrap(xp.broadcast_to(inside[:, None], out), input.backend), found, 0.0)


def whole(xp, flat, out, like):
    """(N, *out) indices for every channel, as (N, C, positions)."""
    expanded = xp.broadcast_to(flat[:, None], out).reshape(*out[:2], prod(out[2:]))
    return wrap(expanded, like.backend)


# ---- the pixels that a position reads, by dimension: pairs of integer positions and weights ---------------------
def nearest_taps(place, size, padding_mode, align):
    place = fold_back(place, size, padding_mode, align)
    weight = place * 0 + 1 if place.needs_grad else None   # a step: the gradient is 0, not missing
    return [(place.backend.xp.rint(place.array).astype("int64"), weight)]


def linear_taps(place, size, padding_mode, align):
    place = fold_back(place, size, padding_mode, align)
    xp = place.backend.xp
    first = xp.floor(place.array)
    rest = place - wrap(first, place.backend)
    index = first.astype("int64")
    return [(index, 1 - rest), (index + 1, rest)]


def cubic_taps(place, size, padding_mode, align):
    """Keys' cubic convolution with slope -0.75 at 1; each of the four pixels is folded back by itself."""
    xp, backend = place.backend.xp, place.backend
    first = xp.floor(place.array)
    t = place - wrap(first, backend)
    s, a = 1 - t, -0.75
    weights = (a * t * s * s, ((a + 2) * t - (a + 3)) * t * t + 1, ((a + 2) * s - (a + 3)) * s * s + 1, a * s * t * t)
    return [(fold_back(wrap(first + j, backend), size, padding_mode, align).array.astype("int64"), weight)
            for j, weight in enumerate(weights, -1)]


TAPS = {"nearest": nearest_taps, "bilinear": linear_taps, "bicubic": cubic_taps}


def fold_back(place, size, padding_mode, align):
    """Places outside the image moved to its edge or mirrored into it."""
    if padding_mode == "zeros":
        return place
    xp, x, slope = place.backend.xp, place.array, 1
    if padding_mode == "reflection":
        x, slope = mirror(xp, x, *((0, size - 1) if align else (-0.5, size - 0.5)))
    slope = xp.where((x > 0) & (x < size - 1), slope, 0).astype(x.dtype)
    offset = xp.clip(x, 0, size - 1) - slope * place.array
    return place * wrap(slope, place.backend) + wrap(offset, place.backend)


def mirror(xp, x, low, high):
    """`x` mirrored at `low` and `high` until it lies between them, and the slope, 1 or -1, of that map."""
    span = high - low
    if span == 0:
        return xp.zeros_like(x), xp.zeros_like(x)
    distance = xp.abs(x - low)
    turns, rest = xp.floor(distance / span), xp.fmod(distance, span)
    even = turns % 2 == 0
    return xp.where(even, rest, span - rest) + low, xp.where(even, 1, -1) * xp.where(x < low, -1, 1)


def finite(place):
    """`place` with infinite and NaN positions moved far outside the image, but within the range of indices."""
    xp, x = place.backend.xp, place.array
    sound = xp.abs(x) < FAR
    if place.backend.physical(sound).all():
        return place
    far = xp.where(x > 0, FAR, -FAR).astype(x.dtype)
    return where(wrap(sound, place.backend), place, wrap(far, place.backend))


FAR = 1e6


def check_grid(input, grid, mode, padding_mode):
    if mode not in TAPS:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                         f"'reflection', but got: '{padding_mode}'")
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                           f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got "
                           f"grid with sizes {list(grid.shape)}")
    if 0 in input.shape[2:]:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                           f"{list(input.shape)}")
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} "
                           f"and grid has {grid.dtype}")


# ---- grids -------------------------------------------------------------------------------------------------
@composite(namespace="nn.functional")
def affine_grid(theta, size, align_corners=None):
    """The grid that maps an image of `size` (N, C, H, W) by the matrices `theta` (N, 2, 3): (N, H, W, 2).

    For volumes, size (N, C, D, H, W) and `theta` (N, 3, 4): (N, D, H, W, 3).
    """
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
             "Please specify align_corners=True if the old behavior is desired.")
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size, n = tuple(size), len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    if theta.ndim != 3 or theta.shape[-2:] != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got "
                         f"{tuple(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(f"affine_grid: expected one matrix for each of {size[0]} images, got {theta.shape[0]}")
    rows = [centers_of(theta, m, bool(align_corners)) for m in size[2:]]
    places = places_of(theta.backend.xp, rows)
    grid = matmul(wrap(places, theta.backend), theta.transpose(1, 2))
    return grid.reshape(size[0], *size[2:], n)


def centers_of(theta, size, align):
    """The positions of the pixels of a row, rounded at each step to the dtype of `theta`."""
    if size == 1:
        return theta.backend.xp.zeros(1, theta.array.dtype)
    row = linspace(-1, 1, size, dtype=theta.dtype, device=theta.device)
    return (row if align else row * (size - 1) / size).array


def places_of(xp, rows):
    """The positions of all pixels, x first, with a 1 behind: (pixels, n + 1)."""
    grids = xp.meshgrid(*rows, indexing="ij")
    one = xp.ones(grids[0].size, grids[0].dtype)
    return xp.stack([*[g.ravel() for g in reversed(grids)], one], 1)
