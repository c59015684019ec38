"""Op definitions: counts of integers by value, of numbers and points by bin. They have no gradients."""

from math import isfinite, prod

from ... import return_types
from ...core import errors
from ...core.op import Other
from ...core.tensor import Tensor, wrap
from ...host.data import spaced
from ..define import composite, op


@op(by_values=True, sample=lambda d: ([d.integers((5,), 0, 3)], dict(minlength=d.int(0, 6))))
def bincount(F, input, weights: Other = None, *, minlength=0):
    """How often each of 0, 1, 2, ... occurs in a vector, up to its largest element or `minlength`, as int64.

    With `weights`, of the shape of `input`, the sums of the weights, as float64, or float32 if they are.
    """
    check_bincount(input, weights, minlength)
    out = F.xp.bincount(input, weights, minlength)
    return out if weights is None else out.astype("float32" if weights.dtype == "float32" else "float64")


def check_bincount(input, weights, minlength):
    """Raise an error for arguments that `bincount` does not take."""
    if input.dtype.kind not in "iu":
        raise errors.not_implemented("bincount", input.dtype)
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError(f"bincount only supports 1-d non-negative integral inputs, got {input.ndim} dimensions"
                           + (f" and least element {input.min()}" if input.size else ""))
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(f"weights should be 1-d and have the same length as input: shapes {list(weights.shape)} and "
                           f"{list(input.shape)}")


def box_dims(edges):
    return f"n [d], n -> {' '.join([f'b{i}={len(e) - 1}' for i, e in enumerate(edges)])}"


@op(dims=box_dims,
    name="histogramdd", namespace=None, promotion="any", sample=lambda d: (
    [d.array((6, 2))], dict(edges=tuple([d.array((4,)).cumsum() for _ in range(2)]))))
def _histogramdd(F, input, weight: Other = None, *, edges=()):
    """How many of the points `input`, (N, D), or how much `weight`, (N,), lies in each box between D rows of edges.

    The last bin of each dimension includes its upper edge; points outside and NaN count nowhere.
    """
    xp = F.xp
    sizes, total = tuple([len(e) - 1 for e in edges]), prod([len(e) - 1 for e in edges])
    flat, inside = xp.zeros(len(input), "int64"), xp.ones(len(input), bool)
    for x, e, n in zip(input.T, edges, sizes):
        at = xp.where(x == e[-1], n - 1, xp.searchsorted(e, x, "right") - 1)
        inside = inside & (x >= e[0]) & (x <= e[-1]) & (at < n)
        flat = flat * n + at
    bins = xp.where(inside, flat, total)                   # the last one is for all points outside
    return xp.bincount(bins, weight, total + 1)[:total].reshape(sizes).astype(input.dtype)


def bin_edges(name, x, bins, bounds, margin):
    """The edges of `bins` equal bins between two bounds, or where they are None or equal, between the extremes of x."""
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    low, high = bounds or ((x.min().item(), x.max().item()) if x.size else (0, 0))
    if not isfinite(low) or not isfinite(high):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, but got min {low} max {high}")
    if bounds is None and not x.size:
        low, high = 0, 1
    elif low == high:
        low, high = low - margin, high + margin
    return spaced(low, high, bins + 1, x.dtype)


@composite(out=True)
def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of `bins` equal bins between `min` and `max`; if these are equal, between the
    least and the largest element. NaN counts nowhere."""
    if not input.is_floating_point():
        raise errors.not_implemented("histogram_cpu", input.array.dtype)
    input = input.detach().reshape(-1)
    edges = bin_edges("torch.histc", input.array, bins, None if min == max else (min, max), 1)
    return _histogramdd(input.unsqueeze(1), None, (input.backend.from_host(edges),))


@composite
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """The histogram of all elements and the edges of its bins, as a named tuple (hist, bin_edges).

    `bins` is the number of equal bins between the two of `range` (the extremes by default), or a vector of edges.
    `weight`, of the shape of `input`, counts each element by that much; `density` makes the integral 1.
    """
    if isinstance(bins, float):
        raise TypeError("histogram(): argument 'bins' (position 2) must be int or Tensor, not float")
    weight = None if weight is None else weight.reshape(-1)
    hist, edges = histogramdd(input.reshape(-1, 1), [bins], range=range, weight=weight, density=density)
    return return_types.histogram(hist, edges[0].clone())


@composite(method=False)
def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """The histogram of points in D dimensions, (*, D), and the edges of its bins, as (hist, bin_edges).

    `bins` is a number of bins, one for each dimension, or a vector of edges for each; `range` has two bounds for each
    dimension, one after the other.
    """
    if isinstance(bins, str):
        raise TypeError("histogramdd(): argument 'bins' (position 2) must be int, tuple of ints or Tensors, not str")
    if input.array.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, but got "
                           f"{input.array.ndim}")
    if not input.is_floating_point():
        raise errors.not_implemented("histogramdd", input.array.dtype)
    points = input.detach().reshape(-1, input.array.shape[-1])
    dims = points.array.shape[1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError(f"torch.histogramdd: expected {dims} sequences of bin edges for a {dims}-dimensional "
                           f"histogram but got {len(bins)}")
    if weight is not None:
        if weight.array.shape != input.array.shape[:-1] and weight.array.size != len(points.array):
            raise RuntimeError(f"torch.histogramdd: if weight tensor is provided it should have the same shape as the "
                               f"input tensor excluding its innermost dimension, but got input with shape "
                               f"{list(input.array.shape)} and weight with shape {list(weight.array.shape)}")
        weight = weight.detach().reshape(-1)
    bounds = [None] * dims if range is None else list(zip(range[::2], range[1::2]))
    for d, b in enumerate(bins):
        if isinstance(b, Tensor) and not b.array.size:
            raise RuntimeError(f"torch.histogramdd: bins tensor should have at least 1 element, but got none for "
                               f"dimension {d}")
    edges = [b if isinstance(b, Tensor) else wrap(bin_edges("torch.histogramdd", x, b, r, 0.5), points.backend)
             for b, x, r in zip(bins, points.array.T, bounds)]
    hist = _histogramdd(points, weight, tuple([e.detach().array for e in edges]))
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).reshape((-1,) + (1,) * (dims - d - 1))
    return return_types.histogramdd(hist, tuple(edges))
