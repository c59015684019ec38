"""Op definitions: reading and writing by index tensors (gather and scatter, index_*, take and put).

`gather` and its kin take an index for every element, `index_select` and its kin one for every slice. PyTorch's
argument order (``dim`` before ``index``) differs from that of definitions (arrays before attributes), so most public
functions here are a line that calls one.
"""

from ...core import dtypes, ranges
from ...core.errors import checked_dim, not_implemented, worded
from ...core.grad_mode import grad_mode
from ...core.op import Number, Other
from ...core.ranges import number_of
from ...core.tensor import Tensor, wrap
from ..define import composite, op
from ..elementwise.arithmetic import is_known
from ..shapes.shape import ints
from ..shapes.view import row_major
from .index import _index_put, index_put_accumulate, of_one_batch


# ---- indices and their checks ------------------------------------------------------------------------------
def axis(x, dim):
    """`dim` counted from the front; a number has one dimension here."""
    return checked_dim(dim.__index__(), x.ndim)


UNSIGNED = {d.itemsize: d.np for d in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)}


def check_bounds(index, size, dim, error=RuntimeError):
    """No index may be negative or too large: seen as unsigned, the negative ones are the largest."""
    if index.size and index.view(UNSIGNED[index.itemsize]).max() >= size:
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise worded(error(f"index {bad} is out of bounds for dimension {dim} with size {size}"))


def check_integers(name, index):
    """An index must be of int32 or int64."""
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise worded(RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}: "
                                  f"convert it, as in index.long()"))


def check_shapes(name, shape, index, dim):
    """RuntimeError for an index of a wrong dtype or shape, whatever its elements are."""
    check_integers(name, index)
    if len(shape) != index.ndim and (len(shape) > 1 or index.ndim > 1):
        raise worded(RuntimeError(f"Index tensor must have the same number of dimensions as input tensor: {name}() got "
                                  f"an index of shape {list(index.shape)} for {list(shape)}"))
    for i, (n, size) in enumerate(zip(index.shape, shape)):
        if i != dim and n > size:
            raise worded(RuntimeError(f"Size does not match at dimension {i}: {name}() expected index "
                                      f"{list(index.shape)} to be no larger than self {list(shape)} apart from "
                                      f"dimension {dim}"))


def elements(name, xp, shape, index, dim):
    """For ``x[elements]``, x of `shape`: its elements that `index` names along `dim`, all checked."""
    if not index.size:
        return (xp.zeros(index.shape, "int64"),) * max(len(shape), 1)
    check_shapes(name, shape, index, dim)
    check_bounds(index, shape[dim] if shape else 1, dim)
    return tuple([index if d == dim else xp.arange(n).reshape((n,) + (1,) * (index.ndim - d - 1))
                  for d, n in enumerate(index.shape)] or [index])


def row_of(x):
    """`x`, a number as a vector of one: a view."""
    return x if x.ndim else x.reshape(1)


def index_sample(d, *more):
    """Inputs for an op with an index for every element: (2, 3), 0 <= index < 3, in any order but each once."""
    index = d.given([d.choice([(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)]) for _ in range(2)])
    return [d.array((2, 3)), index, *more], dict(dim=d.choice([1, -1]))


# ---- an index for every element ----------------------------------------------------------------------------
@op(dims="*.. [dim], *.. j@dim -> *.. j@dim by moving",
    layout="contiguous", name="gather", namespace=None,
    input=lambda F, g, index, input_shape, dim: F.gather_backward(g, index, shape=input_shape, dim=dim),
    sample=lambda d: ([d.array((2, 3)), d.integers((2, 4), 0, 2)], dict(dim=d.choice([1, -1]))))
def _gather(F, input, index: Other, *, dim):
    """The elements of `input` that `index` names along `dim`."""
    return row_of(input)[elements("gather", F.xp, input.shape, index, axis(input, dim))]


@op(dims="* j@dim, * j@dim -> * dim of shape",
    namespace=None, promotion="any",
    input=lambda F, g, index, dim: F.gather(g, index, dim=dim),
    sample=lambda d: ([d.array((2, 4)), d.integers((2, 4), 0, 2)], dict(shape=(2, 3), dim=1)))
def gather_backward(F, input, index: Other, *, shape, dim):
    """Zeros of `shape` with `input` added where `index` says along `dim`: the transpose of `gather`."""
    out = F.xp.zeros(shape, input.dtype)
    F.xp.add.at(row_of(out), elements("gather", F.xp, shape, index, axis(out, dim)), input.reshape(index.shape))
    return out


@composite(out="exact", overlap=False)
def gather(input, dim, index, *, sparse_grad=False):
    """The elements of `input` that `index` names along `dim`, in the shape of `index`.

    ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, ``input[i][index[i][j]]`` for ``dim=1``. `index` is an
    integer tensor with as many dimensions as `input`, nowhere larger but in `dim`. RuntimeError for an index outside
    the dimension. `sparse_grad` is accepted and has no effect: gradients are dense.

    >>> import minitorch as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    return _gather(input, index, dim)


@op(dims="*.. [dim], *.. [j@dim], *.. [j@dim] -> *.. [dim]",
    name="scatter", namespace=None, promotion="numbers",
    input=lambda F, g, index, dim: F.scatter(g, index, 0.0, dim=dim),
    src=lambda F, g, index, dim: F.gather(g, index, dim=dim),
    sample=lambda d: index_sample(d, d.array((2, 2))))
def _scatter(F, input, index: Other, src: Number, *, dim):
    """A copy of `input` with the elements that `index` names along `dim` replaced by those of `src`."""
    out = F.xp.array(input, order="C")
    row_of(out)[elements("scatter", F.xp, input.shape, index, axis(input, dim))] = src
    return out


@op(dims="+ *.. [dim], *.. j@dim, *.. j@dim -> *.. [dim]",
    name="scatter_add", namespace=None, promotion="any",
    input=lambda F, g: g,
    src=lambda F, g, index, dim: F.gather(g, index, dim=dim),
    sample=lambda d: ([d.array((2, 3)), d.integers((2, 4), 0, 2), d.array((2, 4))], dict(dim=1)))
def _scatter_add(F, input, index: Other, src, *, dim):
    """A copy of `input` with `src` added where `index` says along `dim`, as often as it names a position."""
    return accumulate(F.xp.add, F, input, index, src, dim)


@op(dims="*.. [dim], *.. [j@dim], *.. [j@dim] -> *.. [dim]",
    namespace=None, promotion="any", node_name="ScatterReduceBackward0",
    input=lambda F, g, input, index, src, dim: g * F.scatter_reduce_prod(F.zero(input) + 1.0, index, src, dim=dim),
    src=lambda F, g, input, index, src, out, dim:
        F.gather(g, index, dim=dim) * other_factors(F, input, index, src, out, dim),
    sample=lambda d: ([d.array((2, 3)), d.integers((2, 4), 0, 2), d.array((2, 4))], dict(dim=1)))
def scatter_reduce_prod(F, input, index: Other, src, *, dim):
    """A copy of `input` with `src` multiplied in where `index` says along `dim`."""
    return accumulate(F.xp.multiply, F, input, index, src, dim)


def other_factors(F, input, index, src, out, dim):
    """For each element of `src` the product of the other factors at its position: ``out / src`` if not 0 / 0."""
    at_zero = src == 0
    zeros = F.to(at_zero, dtype=src.dtype)
    other_zeros = F.gather(F.scatter_add(F.zero(input), index, zeros, dim=dim), index, dim=dim) - zeros
    factors = F.masked_fill(src, at_zero, 1.0)
    rest = F.gather(F.scatter_reduce_prod(input, index, factors, dim=dim), index, dim=dim)
    return F.where(at_zero, F.masked_fill(rest, other_zeros > 0, 0.0), F.gather(out, index, dim=dim) / factors)


@op(dims="*.. [dim], *.. [j@dim], *.. [j@dim] -> *.. [dim]",
    namespace=None, promotion="any", node_name="ScatterReduceBackward0",
    joint=lambda F, g, needs, input, index, src, out, dim: extreme_grads(F, g, input, index, src, out, dim),
    sample=lambda d: ([d.distinct((2, 3)) * 0.9, d.integers((2, 4), 0, 2), d.distinct((2, 4))],
                      dict(dim=1, name=d.choice(["maximum", "minimum"]))))
def scatter_reduce_extremum(F, input, index: Other, src, *, dim, name):
    """The extremes (`name`: "maximum" or "minimum") of `input` and the elements of `src` for the same position."""
    return accumulate(getattr(F.xp, name), F, input, index, src, dim)


def extreme_grads(F, g, input, index, src, out, dim):
    """All that attain the extreme share its gradient."""
    at_input = F.to(input == out, dtype=g.dtype)
    at_src = F.to(src == F.gather(out, index, dim=dim), dtype=g.dtype)
    part = g / F.scatter_add(at_input, index, at_src, dim=dim)
    return at_input * part, None, at_src * F.gather(part, index, dim=dim)


def accumulate(ufunc, F, input, index, src, dim):
    """A copy of `input` with `src` combined, by a ufunc, with what `index` names along `dim`."""
    out = F.xp.array(input, order="C")
    ufunc.at(row_of(out), elements("scatter", F.xp, input.shape, index, axis(input, dim)), src.reshape(index.shape))
    return out


def cropped(name, input, index, src):
    """`src`, of `input`'s dtype, cut to the shape of `index`."""
    shape, n = src.array.shape, index.array.shape
    if src.array.dtype != input.array.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, but got {input.dtype} and "
                           f"{src.dtype}: convert one of them, as in src.to(input.dtype)")
    if shape == n:
        return src
    if max(len(shape), 1) != max(len(n), 1) and index.array.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(a > b for a, b in zip(n, shape)):
        raise RuntimeError(f"Expected index {list(n)} to be no larger than self {list(input.shape)} apart from the "
                           f"dimension and to be no larger size than src {list(shape)}")
    return src[tuple([slice(k) for k in n])] if len(shape) == len(n) else src.reshape(n)


@composite(inplace=True, out="exact")
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy of `input` with the elements that `index` names along `dim` replaced by those of `src`, or by a number.

    The opposite of `gather`: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``. Where `index` names a position twice,
    the last one counts. `reduce` "add" or "multiply" combines instead of replacing. RuntimeError for an index outside
    the dimension, and where the dtypes differ.
    """
    src = value if src is None else src
    if isinstance(src, Tensor):
        src = cropped("scatter", input, index, src)
    if reduce is None:
        return _scatter(input, index, src, dim)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}")
    if not isinstance(src, Tensor):
        src = wrap(input.backend.xp.full(index.array.shape, src, input.array.dtype), input.backend)
    return (_scatter_add if reduce == "add" else scatter_reduce_prod)(input, index, src, dim)


@composite(inplace=True, out="exact", autocast="promote on cuda")
def scatter_add(input, dim, index, src):
    """A copy of `input` with `src` added where `index` says along `dim`, as often as it names a position."""
    return _scatter_add(input, index, cropped("scatter_add", input, index, src), dim)


@composite(inplace=True, out="exact")
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """The "sum", "prod", "mean", "amax" or "amin" of `input` and all of `src` that `index` sends to the same position.

    With ``include_self=False`` the positions that `index` names begin empty; the others keep what they hold. Equal
    extremes share the gradient.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    return reduced(input, dim, index, cropped("scatter_reduce", input, index, src), reduce, include_self)


def reduced(input, dim, index, src, reduce, include_self):
    """The common part of `scatter_reduce` and `index_reduce`."""
    d = input.array.dtype
    if reduce == "mean" and d.kind == "b":
        raise not_implemented("scatter_reduce_mean", d)
    base = input if include_self else _scatter(input, index, neutral(reduce, d), dim)
    if reduce == "prod":
        return scatter_reduce_prod(base, index, src, dim)
    if reduce in ("amax", "amin"):
        return scatter_reduce_extremum(base, index, src, dim, "maximum" if reduce == "amax" else "minimum")
    total = _scatter_add(base, index, src, dim)
    if reduce == "sum":
        return total
    xp = input.backend.xp
    ones = wrap(xp.ones(index.array.shape, d), input.backend)
    number = xp.ones(input.array.shape, d) if include_self else xp.zeros(input.array.shape, d)
    number = _scatter_add(wrap(number, input.backend), index, ones, dim)
    number = number + (number == 0)
    return total / number if d.kind not in "iu" else total.div(number, rounding_mode="floor")


def neutral(reduce, d):
    """The neutral element of a reduction, in the NumPy dtype `d`."""
    if reduce not in ("amax", "amin"):
        return 1 if reduce == "prod" else 0
    if d.kind in "iu":
        limits = ranges.limits(dtypes.from_np(d))
        return int(limits.min if reduce == "amax" else limits.max)
    return (reduce == "amin") if d.kind == "b" else float("-inf" if reduce == "amax" else "inf")


@composite(out="exact")
def take_along_dim(input, indices, dim=None):
    """The elements of `input` that `indices` names along `dim`, other dimensions broadcast; flattened if None."""
    if indices.array.dtype != "int64":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return take(input, indices.reshape(-1))
    n = input.array.ndim
    if indices.array.ndim != n:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {n} dimensions for input, and {indices.array.ndim} dimensions for indices")
    d = axis(input.array, dim)
    if not n:
        raise IndexError(f"take_along_dim(): Dimension specified as {dim} but tensor has no dimensions")
    a, b, xp = list(input.shape), list(indices.shape), input.backend.xp
    if indices.array.size and indices.array.min() < 0:
        wrapped = indices.backend.xp.where(indices.array < 0, indices.array + a[d], indices.array)
        indices = wrap(wrapped, indices.backend)
    common = list(xp.broadcast_shapes((*a[:d], *a[d + 1:]), (*b[:d], *b[d + 1:])))
    return _gather(input.expand(*common[:d], a[d], *common[d:]),
                        indices.expand(*common[:d], b[d], *common[d:]), d)


# ---- an index for every slice ------------------------------------------------------------------------------
def check_vector(name, index, long_only=False, many=IndexError, kind=RuntimeError):
    """An index of slices must be a vector of int32 or int64: errors of the classes `many` and `kind`."""
    if index.ndim > 1:
        raise worded(many(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with shape "
                          f"{list(index.shape)}"))
    if index.dtype.kind != "i" or index.itemsize < (8 if long_only else 4):
        raise worded(kind(f"{name}(): Expected dtype {'int64' if long_only else 'int32 or int64'} for index, but got "
                          f"{index.dtype}: convert it, as in index.long()"))


def moved(x, dim):
    """`x` with dimension `dim` first, a number as a vector of one: a view."""
    return x.reshape(1) if not x.ndim else x.swapaxes(0, dim) if dim else x


def slices_sample(d, *more, repeated=True):
    index = d.integers((3,), 0, 1) if repeated else d.given(d.choice([(1,), (0, 1)]))
    return [d.array((2, 2)), index, *more], dict(dim=d.int(-2, 1))


@op(dims="* [dim], i -> * i@dim by moving",
    name="index_select", namespace=None,
    input=lambda F, g, index, input_shape, dim: F.index_select_backward(g, index, shape=input_shape, dim=dim),
    sample=lambda d: slices_sample(d))
def _index_select(F, input, index: Other, *, dim):
    """The slices along `dim` that the vector `index` names."""
    dim = axis(input, dim)
    check_vector("index_select", index)
    if not input.ndim:
        if index.size != 1:
            raise worded(RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size}"))
        check_bounds(index, 1, 0, IndexError)
        return input.copy()
    check_bounds(index, input.shape[dim], dim, IndexError)
    return F.xp.take(input, index.reshape(-1), axis=dim)


@op(dims="* i@dim, i -> * dim of shape",
    namespace=None, promotion="any",
    input=lambda F, g, index, dim: F.index_select(g, index, dim=dim),
    sample=lambda d: ([d.array((3, 2)), d.integers((3,), 0, 3)], dict(shape=(4, 2), dim=0)))
def index_select_backward(F, input, index: Other, *, shape, dim):
    """Zeros of `shape` with slices added where `index` says along `dim`: the transpose of `index_select`."""
    out = F.xp.zeros(shape, input.dtype)
    F.xp.add.at(moved(out, dim), index.reshape(-1), moved(input, dim))
    return out


@composite(out="exact", overlap=False)
def index_select(input, dim, index):
    """The slices of `input` along `dim` that the integer vector `index` names: a copy.

    >>> import minitorch as torch
    >>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))
    tensor([[3, 1],
            [6, 4]])
    """
    return _index_select(input, index, dim)


@op(dims="+ * [dim], i, * i@dim -> * [dim]",
    name="index_add", namespace=None, promotion="any",
    input=lambda F, g: g,
    source=lambda F, g, index, source_shape, dim: F.reshape(F.index_select(g, index, dim=dim), shape=source_shape),
    sample=lambda d: ([d.array((2, 2)), d.integers((3,), 0, 1), d.array((2, 3))], dict(dim=1)))
def _index_add(F, input, index: Other, source, *, dim):
    """A copy of `input` with the slices of `source` added to those that `index` names."""
    check_slices("index_add", input, index, source, axis(input, dim))
    out = F.xp.array(input, order="C")
    F.xp.add.at(moved(out, dim), index.reshape(-1), moved(source, dim))
    return out


@composite(inplace=True, out="exact")
def index_add(input, dim, index, source, *, alpha=1):
    """A copy of `input` with the slices of `source`, times `alpha`, added to those that `index` names along `dim`."""
    if input.array.dtype != source.array.dtype:
        raise RuntimeError(f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same dtype")
    if hasattr(alpha, "item"):
        alpha = number_of(alpha)
    if not is_known(alpha, 1):
        source = source * (int(alpha) if input.array.dtype.kind in "iub" else alpha)
    return _index_add(input, index, source, dim)


def check_slices(name, input, index, source, dim, error=RuntimeError):
    """`source` must have a slice for each index, of the shape of `input`'s slices."""
    check_vector(name + "_", index)
    n = source.shape[dim] if source.ndim > dim else 1
    if source.ndim and source.ndim <= dim:
        raise worded(RuntimeError(f"{name}_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
                                  f"{source.ndim}"))
    if index.size != n:
        raise worded(error(f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): ({n}), "
                           f"for dim: {dim}"))
    if name == "index_copy" and input.ndim and source.ndim != input.ndim:
        raise worded(IndexError(f"index_copy_(): source and destination must have equally many dimensions, got "
                                f"{source.ndim} and {input.ndim}"))
    a, b = moved(input, dim).shape[1:], moved(source, dim).shape[1:] if source.ndim else ()
    if a != b:
        raise worded(RuntimeError(f"{name}_(): Source/destination tensor must have same slice shapes. Destination "
                                  f"slice shape: {list(a)} at dimension {dim} and source slice shape: {list(b)}"))
    check_bounds(index, input.shape[dim] if input.ndim else 1, dim, IndexError)


@op(dims="* [dim], [i], * [i@dim] -> * [dim]",
    name="index_copy", namespace=None, promotion="same",
    input=lambda F, g, index, dim: F.index_fill(g, index, 0.0, dim=dim),
    source=lambda F, g, index, source_shape, dim: F.reshape(F.index_select(g, index, dim=dim), shape=source_shape),
    sample=lambda d: ([d.array((2, 2)), d.given([1]), d.array((2, 1))], dict(dim=1)))
def _index_copy(F, input, index: Other, source, *, dim):
    """A copy of `input` with the slices that `index` names replaced by those of `source`."""
    check_vector("index_copy_", index, long_only=True)
    check_slices("index_copy", input, index, source, axis(input, dim), IndexError)
    out = F.xp.array(input, order="C")
    moved(out, dim)[index.reshape(-1)] = moved(source, dim)
    return out


@composite(inplace=True, out="exact", autocast="promote")
def index_copy(input, dim, index, source):
    """A copy of `input` with the slices that `index` names along `dim` replaced by those of `source`."""
    return _index_copy(input, index, source, dim)


@op(dims="* [dim], [i], -> * [dim]",
    layout="first", name="index_fill", namespace=None, promotion="first",
    input=lambda F, g, index, dim: F.index_fill(g, index, 0.0, dim=dim),
    value=lambda F, g, index, input_shape, dim: F.sum(F.index_select(
        g, F.unique_indices(index, size=input_shape[dim] if input_shape else 1), dim=dim)),
    sample=lambda d: slices_sample(d, d.array(()), repeated=False))
def _index_fill(F, input, index: Other, value: Number, *, dim):
    """A copy of `input` with the slices that `index` names filled with a number."""
    dim = axis(input, dim)
    check_vector("index_fill_", index, True, RuntimeError, IndexError)
    check_number("index_fill_", value)
    size = input.shape[dim] if input.ndim else 1
    check_bounds(F.xp.where(index < 0, index + size, index), size, dim, IndexError)
    out = F.xp.array(input, order="C")
    moved(out, dim)[index.reshape(-1)] = value
    return out


@op(namespace=None, by_values=True,
    sample=lambda d: ([d.integers((3,), -2, 1)], dict(size=2)))
def unique_indices(F, input, *, size):
    """Indices counted from the front, each once."""
    return F.xp.unique(input % size)


def check_number(name, value):
    if getattr(value, "ndim", 0):
        raise worded(RuntimeError(f"{name} only supports a 0-dimensional value tensor, but got tensor with "
                                  f"{value.ndim} dimension(s)."))


@composite(inplace="repeated", out=True)
def index_fill(input, dim, index, value):
    """A copy of `input` with the slices that `index` names along `dim` filled with a number or 0-d tensor."""
    return _index_fill(input, index, value, dim)


@composite(inplace=True, out=True)
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """The "prod", "mean", "amax" or "amin" of slices of `input` and all slices of `source` sent there by `index`."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if input.array.dtype != source.array.dtype:
        raise RuntimeError(f"index_reduce(): self ({input.dtype}) and source ({source.dtype}) must have the same dtype")
    d = axis(input.array, dim)
    check_slices("index_reduce", input.array, index.array, source.array, d)
    shape = source.array.shape
    index = index.reshape([-1 if i == d else 1 for i in range(len(shape))]).expand(shape)
    return reduced(input, d, index, source, reduce, include_self)


# ---- lists of indices --------------------------------------------------------------------------------------
@composite(inplace="repeated")
def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with ``input[indices] = values``, or ``+= values`` with `accumulate`.

    `indices` is a tuple of integer or bool tensors, `values` a tensor of the same dtype that broadcasts to
    ``input[indices]``.
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' (position 2) must be tuple of Tensors, not "
                        f"{type(indices).__name__}")
    if values.array.dtype != input.array.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {input.dtype} for the "
                           f"destination and {values.dtype} for the source.")
    parts = []
    for i, part in enumerate(indices):
        if not isinstance(part, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(part).__name__}")
        if part.array.dtype.name not in ("int64", "int32", "uint8", "bool"):
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, "
                             f"not {part.dtype}")
        parts.append(part.array.astype(bool) if part.array.dtype == "uint8" else part.array)
    if grad_mode.batches:
        input = of_one_batch(input, tuple(indices))
    return (index_put_accumulate if accumulate else _index_put)(input, values, tuple(parts))


def check_flat(name, index, n, kind="int64"):
    """Indices into a flattened tensor, from -n to n - 1."""
    if index.dtype != kind:
        raise worded(RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype}"))
    if index.size and not (-n <= index.min() and index.max() < n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise worded(IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements."))


@op(dims="[x..], i.. -> i.. by moving",
    layout="contiguous", overlap=False,
    input=lambda F, g, index, input_shape: F.put(F.new_zeros(g, shape=input_shape), index, g, accumulate=True),
    sample=lambda d: ([d.array((2, 3)), d.integers((4,), -6, 5)], {}))
def take(F, input, index: Other):
    """The elements of the flattened `input` that `index` names, in the shape of `index`; negative ones from the end."""
    check_flat("take", index, input.size)
    return input.reshape(-1)[index]


@op(dims="x.. -> y.. of shape", namespace=None,
    sample=lambda d: ([d.array((2,))], dict(shape=(2, 3))))
def new_zeros(F, input, *, shape):
    """Zeros of `shape` in the dtype of `input`."""
    return F.xp.zeros(shape, input.dtype)


@op(dims="[x..], [i..], [s..] -> [x..]",
    layout="first", name="put", namespace=None, promotion="numbers",
    input=lambda F, g, index, accumulate: g if accumulate else F.put(g, index, 0.0, accumulate=False),
    source=lambda F, g, index, source_shape: F.reshape(F.take(g, index), shape=source_shape),
    sample=lambda d: ([d.array((2, 3)), d.given([4, -1]), d.array((2,))], dict(accumulate=d.bool())))
def _put(F, input, index: Other, source: Number, *, accumulate):
    """A copy of `input` with the elements that `index` names in flattened order replaced, or added to."""
    check_flat("put_", index, input.size)
    out = F.xp.array(input, order="C")
    at, source = index.reshape(-1), source.reshape(-1) if hasattr(source, "reshape") else source
    if accumulate:
        F.xp.add.at(out.reshape(-1), at, source)
    else:
        out.reshape(-1)[at] = source
    return out


@composite(inplace=True)
def put(input, index, source, accumulate=False):
    """A copy of `input` with the elements that `index` names in flattened order replaced by (or added to) `source`."""
    if source.array.dtype != input.array.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{input.dtype} and source.dtype = {source.dtype}")
    if index.array.size != source.array.size:
        raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.array.size}, index.numel() = {index.array.size}")
    return _put(input, index, source, bool(accumulate))


@composite(method=False)
def unravel_index(indices, shape):
    """The coordinates, in a tensor of `shape`, of elements given by their flat position: one tensor each."""
    if indices.array.dtype.kind not in "iu":
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {indices.dtype}")
    shape = ints((shape,))
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {shape}")
    flat = indices.array
    return tuple([wrap(flat // step % n, indices.backend) for step, n in zip(row_major(shape), shape)])
