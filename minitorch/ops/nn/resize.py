"""Op definitions: interpolation along the last dimensions.

Interpolation is linear, and goes one dimension after the other: an output position is a weighted sum of a few
neighbouring input positions, its taps.
"""

from math import floor
from typing import NamedTuple

from ...explain.callers import warn
from ..define import casting, composite, op
from .pad import Places, outer_index, resized


# ---- taps: functions of an array module, and of `r`, which rounds to the numbers that count -------
# A grid that is off in its last bit puts positions on the other side of a pixel. So each step is
# rounded where PyTorch's is, to float32 for images of up to 32 bits; a product and its sum are
# rounded once. All in float64.
def rounding(xp, dtype):
    """The function that rounds float64 to float32, or does nothing for images in float64."""
    if dtype == "float64":
        return lambda x: x
    return lambda x: xp.asarray(x).astype("float32").astype("float64")


def ratio(size, out, scale, align_corners):
    """The distance, in input positions, between neighbouring outputs."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else size / out


def centers(xp, r, size, out, scale, align_corners):
    """The position of each output in the input."""
    step = r(ratio(size, out, scale, align_corners))
    i = xp.arange(out)
    return r(i * step if align_corners else (i + 0.5) * step - 0.5)


def linear_taps(xp, r, size, out, scale, align_corners):
    x = xp.maximum(centers(xp, r, size, out, scale, align_corners), 0)
    first = xp.minimum(x.astype("int64"), size - 1)
    rest = xp.clip(r(x - first), 0, 1)
    return xp.stack([first, xp.minimum(first + 1, size - 1)], 1), xp.stack([r(1 - rest), rest], 1)


def cubic_taps(xp, r, size, out, scale, align_corners):
    x = centers(xp, r, size, out, scale, align_corners)
    first = xp.floor(x)
    t = r(x - first)
    rest, a = r(1 - t), -0.75
    weights = outer(r, r(t + 1), a), inner(r, t, a), inner(r, rest, a), outer(r, r(rest + 1), a)
    places = xp.clip(first[:, None] + xp.arange(-1, 3), 0, size - 1)
    return places.astype("int64"), xp.stack(weights, 1)


# Keys' cubic convolution kernel (1981), with slope `a` at 1: for x up to 1, and for x from 1 to 2.
def inner(r, x, a):
    return r(r(r(r((a + 2) * x - (a + 3)) * x) * x) + 1)


def outer(r, x, a):
    return r(r(r(r(a * x - 5 * a) * x + 8 * a) * x) - 4 * a)


def cubic(xp, r, x):
    """That kernel with slope -0.5, anywhere, each product and its sum rounded once."""
    x = xp.abs(x)
    near, far = r(r(r(1.5 * x - 2.5) * x) * x + 1), r(r(r(-0.5 * x + 2.5) * x - 4) * x + 2)
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


def smoothed_taps(filter, reach):
    """Taps of a filter that is stretched when shrinking, so that every input position counts (antialias)."""
    def taps(xp, r, size, out, scale, align_corners):
        step = r(ratio(size, out, scale, align_corners))
        stretch = xp.maximum(step, 1.0)
        center, support = r((xp.arange(out) + 0.5) * step), r(reach * stretch)
        low = xp.maximum(r(r(center - support) + 0.5).astype("int64"), 0)
        high = xp.minimum(r(r(center + support) + 0.5).astype("int64"), size)
        places = low[:, None] + xp.arange(int((high - low).max(initial=1)))
        weight = filter(xp, r, r(r(r(places - center[:, None]) + 0.5) * r(1 / stretch)))
        weight = xp.where(places < high[:, None], weight, 0)
        total = 0
        for column in weight.T:
            total = r(total + column)
        return xp.where(places < high[:, None], places, low[:, None]), r(weight / total[:, None])
    return taps


def triangle(xp, r, x):
    return xp.maximum(r(1 - xp.abs(x)), 0)


def adaptive_bounds(xp, size, out):
    """The bounds of the `out` windows that divide `size` positions."""
    i = xp.arange(out)
    return i * size // max(out, 1), -(-(i + 1) * size // max(out, 1))


def mean_taps(xp, r, size, out, scale, align_corners):
    """The mean of each of the windows that divide the input."""
    start, end = adaptive_bounds(xp, size, out)
    places = start[:, None] + xp.arange(int((end - start).max(initial=1)))
    inside = places < end[:, None]
    # Elements outside of a window have the weight 0, by which a NaN may not be multiplied: the first place stands in.
    return xp.where(inside, places, start[:, None]), inside / (end - start)[:, None]


FILTERS = {"linear": linear_taps, "cubic": cubic_taps, "smooth linear": smoothed_taps(triangle, 1),
           "smooth cubic": smoothed_taps(cubic, 2), "mean": mean_taps}


class Taps(NamedTuple):
    """A linear map along one dimension of `size` positions to one of `out`, by the filter of that name."""

    filter: str
    size: int
    out: int
    scale: float | None = None
    align_corners: bool = False

    def table(self, xp, dtype):
        """Positions (out, taps), ints, and weights (out, taps).

        Output i sums ``weight[i] * x[place[i]]``. The weights are float64, with the values that
        they have for images of `dtype`.
        """
        taps = FILTERS[self.filter]
        return taps(xp, rounding(xp, dtype), self.size, self.out, self.scale, self.align_corners)

    def each(self, xp, dtype):
        """For each tap, one after the other, the positions and the weights of all outputs."""
        return zip(*[columns.T for columns in self.table(xp, dtype)])


# ---- the two ops -------------------------------------------------------------------------------------------
def sample_taps(d):
    return Taps(d.choice(["linear", "cubic"]), 4, d.int(2, 6), None, d.bool()), d.choice([None, Taps("mean", 3, 2)])


def sample_forward(d):
    return [d.array((2, 4, 3))], dict(taps=sample_taps(d))


def sample_backward(d):
    rows, columns = taps = sample_taps(d)
    return [d.array((2, rows.out, columns.out if columns else 3))], dict(taps=taps)


@op(dims=lambda taps: resized(taps),
    layout="channels", name="interpolate", node_name="ResampleBackward0", promotion="any",
    refuses="c", namespace=None,
    autocast="float32 on cuda", flat=("input",), sample=sample_forward,
    input=lambda F, g, taps: F.interpolate_backward(g, taps=taps))
def _interpolate(F, input, *, taps):
    """Map each of the last dimensions by its `Taps`; None leaves it as it is. Bytes are computed in float32."""
    out = input.astype("float32" if input.dtype == "uint8" else input.dtype)
    for axis, tap in enumerate(taps, input.ndim - len(taps)):
        if tap is not None:
            x = out
            out = sum(F.index_select(x, place, dim=axis) * along(weight, x, axis)
                      for place, weight in tap.each(F.xp, x.dtype))
    return F.xp.clip(F.xp.rint(out), 0, 255).astype("uint8") if input.dtype == "uint8" else out


@op(dims=lambda taps: resized(taps, back=True),
    promotion="any", refuses="c", namespace=None, sample=sample_backward,
    grad=lambda F, g, taps: F.interpolate(g, taps=taps))
def interpolate_backward(F, grad, *, taps):
    """The transpose of `interpolate`."""
    out = grad.copy()
    for axis, tap in enumerate(taps, grad.ndim - len(taps)):
        if tap is not None:
            x = out
            shape = (*x.shape[:axis], tap.size, *x.shape[axis + 1:])
            out = sum(F.index_select_backward(x * along(weight, x, axis), place, shape=shape, dim=axis)
                      for place, weight in tap.each(F.xp, x.dtype))
    return out


def along(weight, x, axis):
    """A number for each position of dimension `axis` of `x`, in the dtype and with the dimensions of `x`."""
    return weight.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))


# ---- interpolate -------------------------------------------------------------------------------------------
TAPS = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
nearest = casting(outer_index, "float32 on cuda")
SMOOTHED = {"bilinear": "smooth linear", "bicubic": "smooth cubic"}
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
    if mode not in (*RANKS, "nearest", "nearest-exact", "area") or n not in (1, 2, 3):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for "
                                  f"the modes: nearest | nearest-exact | area | {' | '.join(RANKS)} (got {mode})")
    if RANKS.get(mode, n) != n:
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
        return nearest(input, tuple([Places("nearest", (m, o, s, mode == "nearest-exact"))
                                     for m, o, s in zip(sizes, out, scales)]))
    if mode == "area":
        return _interpolate(input, tuple([Taps("mean", m, o) for m, o in zip(sizes, out)]))
    filter = (SMOOTHED if antialias else TAPS)[mode]
    return _interpolate(input, tuple([None if m == o and s in (None, 1) else Taps(filter, m, o, s, bool(align_corners))
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
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(namespace="nn.functional")
def upsample_nearest(input, size=None, scale_factor=None):
    """``interpolate(mode="nearest")`` under its old name."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "nearest")


@composite(namespace="nn.functional")
def upsample_bilinear(input, size=None, scale_factor=None):
    """``interpolate(mode="bilinear", align_corners=True)`` under its old name."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "bilinear", True)
