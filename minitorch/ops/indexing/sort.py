"""Op definitions: sorting and order statistics (sort, topk, kthvalue, median, mode, quantiles).

NaN counts as larger than every number. Equal elements keep their order, whether that is asked for or not.
"""

import numbers

from ... import return_types
from ...core.arrays import is_floating
from ...core.tensor import Tensor, wrap
from ..define import composite, op
from ..reductions.extreme import check_not_empty, put_back, shared_of_all
from ..reductions.reduce import axes, size_along
from ..shapes.view import dim_of
from .scatter import _gather


def along(ndim, dim, part):
    """The index that takes `part`, a slice, of dimension `dim`."""
    return (slice(None),) * (dim % ndim) + (part,)


@op(dims="* [dim] -> * [dim], * [dim]", layout="first", promotion="any", refuses="c",
    outputs=(True, False), kinks="ties",
    joint=lambda F, g, needs, out1, input_shape, dim: (put_back(F, g[0], out1, input_shape, dim, True),),
    sample=lambda d: ([d.distinct((2, 3))], dict(dim=d.int(-2, 1), descending=d.bool(), stable=d.bool())))
def sort(F, input, *, dim=-1, descending=False, stable=False):
    """The elements in order along `dim`, and their indices in `input`, as a named tuple (values, indices).

    NaN counts as the largest. Equal elements keep their order, also without `stable`.
    """
    if not input.ndim and size_along(input, dim):
        return return_types.sort(input.copy(), F.xp.zeros((), "int64"))
    back = along(input.ndim, dim, slice(None, None, -1))
    index = F.xp.argsort(input[back] if descending else input, dim, kind="stable")
    if descending:                                         # the reverse of a stable sort of the reverse
        index = input.shape[dim] - 1 - index[back]
    return return_types.sort(F.xp.take_along_axis(input, index, dim), index)


@op(dims="* [dim] -> * [dim]", layout="first", promotion="any", refuses="c")
def argsort(F, input, *, dim=-1, descending=False, stable=False):
    """The indices that put the elements in order along `dim`: those of `sort`."""
    return F.sort(input, dim=dim, descending=descending)[1]


@composite
def msort(input):
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@op(dims="* [dim] -> * dim=k, * dim=k", promotion="any", refuses="bc", outputs=(True, False),
    kinks="ties",
    joint=lambda F, g, needs, out1, input_shape, dim: (put_back(F, g[0], out1, input_shape, dim, True),),
    sample=lambda d: ([d.distinct((4, 3))], dict(k=d.int(0, 3), dim=d.int(-2, 1), largest=d.bool(), sorted=d.bool())))
def topk(F, input, *, k, dim=-1, largest=True, sorted=True):
    """The `k` largest (or smallest) elements along `dim` and their indices, as a named tuple (values, indices).

    They come in order, whether `sorted` or not. NaN counts as the largest.
    """
    check_k(input, k, dim)
    if not input.ndim:
        return return_types.topk(*(a if k else a.reshape(1)[:0] for a in (input.copy(), F.xp.zeros((), "int64"))))
    found = F.sort(input, dim=dim, descending=largest)
    return return_types.topk(*[F.xp.take(x, F.xp.arange(k), dim) for x in found])


def check_k(input, k, dim):
    n = size_along(input, dim)
    if not 0 <= k <= n:
        raise RuntimeError(f"selected index k out of range: topk() takes k from 0 to {n}, the size along dim {dim}, "
                           f"but got {k}")


# ---- one element by its rank -------------------------------------------------------------------------------
def picked(returned, xp, input, index, dim, keepdim):
    """The elements at `index`, which has `dim` as size 1, and `index`, as a named tuple."""
    values = xp.take_along_axis(input, index, dim)
    return returned(values, index) if keepdim else returned(values.squeeze(dim), index.squeeze(dim))


def rank_sample(d):
    return [d.distinct((3, 4))], dict(dim=d.int(-2, 1), keepdim=d.bool())


by_index = dict(layout="contiguous", promotion="any", outputs=(True, False), kinks="ties",
                joint=lambda F, g, needs, out1, input_shape, dim, keepdim: (
                    put_back(F, g[0], out1, input_shape, dim, keepdim),))


@op(dims="* [dim] -> *, *", **by_index, refuses="bc", overlap=False, sample=lambda d: (
    [d.distinct((3, 4))], dict(k=d.int(1, 3), dim=d.int(-2, 1), keepdim=d.bool())))
def kthvalue(F, input, *, k, dim=-1, keepdim=False):
    """The `k`-th smallest element along `dim`, counted from 1, and its index, as a named tuple."""
    check_rank(input, k, dim)
    if not input.ndim:
        return return_types.kthvalue(input.copy(), F.xp.zeros((), "int64"))
    index = F.xp.argsort(input, dim, kind="stable")[along(input.ndim, dim, slice(k - 1, k))]
    return picked(return_types.kthvalue, F.xp, input, index, dim, keepdim)


def check_rank(input, k, dim):
    n = size_along(input, dim)
    if input.ndim and not input.size:
        check_not_empty("kthvalue", input, dim)
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}: k goes from 1 to {n}, got "
                           f"{k}")


def middle(xp, x, dim, skip_nan):
    """The index of the lower median along `dim`: of the first NaN, if there is one and it is not to be skipped."""
    n, numbers = x.shape[dim], xp.add.reduce(x == x, dim, int, None, True)     # NaN is sorted behind them
    ranks = xp.maximum(numbers - 1, 0) // 2 if skip_nan else xp.where(numbers < n, numbers, (n - 1) // 2)
    return xp.take_along_axis(xp.argsort(x, dim, kind="stable"), ranks, dim)


@op(dims="* [dim] -> *, *", name="median", node_name="MedianBackward1", **by_index, refuses="bc",
    namespace=None, sample=rank_sample)
def _median(F, input, *, dim, keepdim):
    """The lower median along `dim` and its index; NaN if an element is."""
    if not input.ndim:
        return return_types.median(input.copy(), F.xp.zeros((), "int64"))
    return picked(return_types.median, F.xp, input, middle(F.xp, input, dim, False), dim, keepdim)


@op(dims="* [dim] -> *, *", name="nanmedian", node_name="NanmedianBackward1", **by_index,
    refuses="bc", namespace=None, sample=rank_sample)
def _nanmedian(F, input, *, dim, keepdim):
    """The lower median, without NaNs, along `dim`, and its index."""
    if not input.ndim:
        return return_types.nanmedian(input.copy(), F.xp.zeros((), "int64"))
    return picked(return_types.nanmedian, F.xp, input, middle(F.xp, input, dim, True), dim, keepdim)


@op(dims="[x..] ->",
    node_name="MedianBackward0", promotion="any", refuses="bc", namespace=None, kinks="ties",
    sample=lambda d: ([d.distinct((2, 3))], dict(skip_nan=d.bool())),
    input=lambda F, g, input, out: shared_of_all(F, g, input, out))
def median_all(F, input, *, skip_nan):
    """The lower median of all elements; NaN, or the least integer, of nothing."""
    x = input.reshape(-1)
    if not x.size:
        return F.xp.array(float("nan") if is_floating(x.dtype) else F.xp.iinfo(x.dtype).min, x.dtype)
    return x[middle(F.xp, x, 0, skip_nan)].reshape(())


@composite(out=True)
def median(input, dim=None, keepdim=False):
    """The median of all elements, or along `dim` with its index, as a named tuple.

    Of an even number of elements it is the lower of the two in the middle. NaN if an element is.
    """
    if dim is None:
        return median_all(input, False)
    check_not_empty("median", input.array, axes(input.array, dim))
    return _median(input, dim, keepdim)


@composite(out=True)
def nanmedian(input, dim=None, keepdim=False):
    """The median of what is not NaN: of all elements, or along `dim` with its index, as a named tuple."""
    if dim is None:
        return median_all(input, True)
    check_not_empty("nanmedian", input.array, axes(input.array, dim))
    return _nanmedian(input, dim, keepdim)


@op(dims="* [dim] -> *, *", **by_index, refuses="c", sample=rank_sample)
def mode(F, input, *, dim=-1, keepdim=False):
    """The most frequent element along `dim`, the smallest of several, and its last index, as a named tuple."""
    xp = F.xp
    check_not_empty("mode", input, axes(input, dim))
    if not input.ndim:
        return return_types.mode(input.copy(), xp.zeros((), "int64"))
    values, index = F.sort(input, dim=dim)
    places = xp.arange(input.shape[dim]).reshape((-1,) + (1,) * ((-1 - dim) % input.ndim))
    upper, lower = along(input.ndim, dim, slice(1, None)), along(input.ndim, dim, slice(0, -1))
    starts = xp.zeros(input.shape, "int64")                # where the run of equal elements began
    starts[upper] = xp.where(values[upper] != values[lower], places[1:], 0)
    last = xp.argmax(places - xp.maximum.accumulate(starts, dim), dim, keepdims=True)
    return picked(return_types.mode, xp, input, xp.take_along_axis(index, last, dim), dim, keepdim)


# ---- between two ranks -------------------------------------------------------------------------------------
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_of(name, input, q, dim, keepdim, interpolation, skip_nan):
    """The quantiles, by the sorted elements below and above each rank ``q * (n - 1)``."""
    if input.array.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, not {input.dtype.name}")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of {', '.join(INTERPOLATIONS)}, but got "
                           f"{interpolation}")
    if not isinstance(q, Tensor):
        if not isinstance(q, numbers.Number):
            raise TypeError(f"{name}(): argument 'q' (position 2) must be Tensor or float, not {type(q).__name__}")
        q = wrap(input.backend.asarray(q, input.array.dtype), input.backend)
    if q.array.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {q.array.ndim} dimensions")
    if q.array.dtype != input.array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor: {q.dtype.name} and "
                           f"{input.dtype.name}")
    if not input.array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not ((q.array >= 0) & (q.array <= 1)).all():
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q.tolist()}")
    d = 0 if dim is None else dim_of(input, dim)
    x = input.reshape(-1) if dim is None or not input.array.ndim else input.movedim(d, -1)
    out = at_ranks(sort(x, -1)[0], q.reshape(-1), interpolation, skip_nan)
    out = out.movedim(-1, 0) if q.array.ndim else out.squeeze(-1)      # the dimension of q comes first
    if keepdim and input.array.ndim:
        rank = input.array.ndim
        out = (out.unsqueeze(d + q.array.ndim) if dim is not None
               else out.reshape(q.array.shape + (1,) * rank))
    return out


def at_ranks(x, q, interpolation, skip_nan):
    """From rows sorted with NaN last, (*, N), the elements at the ranks ``q * (N - 1)``, (*, Q)."""
    n, is_nan = x.array.shape[-1], x != x
    if skip_nan:
        ranks = q * (n - 1 - is_nan.sum(-1, True)).clamp(min=0)
    else:
        ranks = (q * (n - 1)).masked_fill(is_nan.any(-1, True), n - 1)
    if interpolation in ("lower", "higher", "nearest"):
        rounded = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        return _gather(x, rounded.long(), -1)
    low = ranks.floor().detach()
    weight = 0.5 if interpolation == "midpoint" else ranks - low
    below, above = (_gather(x, r.long(), -1) for r in (low, ranks.ceil()))
    return below.lerp(above, weight)


@composite(out=True, autocast="float32 on cpu")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The `q`-th quantiles, of all elements or along `dim`; the dimension of a vector `q` comes first. NaN if one is.

    `interpolation` decides for a rank between two elements: "linear", "lower", "higher", "midpoint", "nearest".
    """
    return quantile_of("quantile", input, q, dim, keepdim, interpolation, False)


@composite(out=True, autocast="float32 on cpu")
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The quantiles of what is not NaN; see `quantile`."""
    return quantile_of("nanquantile", input, q, dim, keepdim, interpolation, True)
