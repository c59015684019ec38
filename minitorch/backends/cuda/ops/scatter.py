"""Gather, scatter and sums of elements with equal indices: `src/scatter.cu`.

Sums are deterministic, always: indices are sorted by a stable radix sort of our own and equal ones added up in their
order, where PyTorch adds atomically, in the order of chance, unless `use_deterministic_algorithms` asks it not to.
Here that switch changes nothing. Where indices name a position twice that is to be overwritten, the last one counts.

The host does not look at indices, since it would have to wait for the GPU. One that is out of bounds writes nothing,
and reads NaN, or 0 of integers; in the simulator it raises the error that the CPU raises.
"""

from math import prod

import numpy as np

from ....core.errors import worded
from ....ops.indexing.scatter import axis, check_shapes
from ..arrays import library
from ..arrays.dtypes import kind_of
from ..arrays.layout import make_layout
from ..arrays.namespace import ours
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import check_indices, dense, longest_vector, split_at
from .sort import sorted_places
from .supported import INDICES, elements, indexable, slices

__all__ = ["add_slices_to", "gather_backward", "gather", "taken"]

TAKE = Kernel("scatter.cu", "take_slices",
              "T* out, const T* input, const U* index, i64 size, i64 n, u32 packs, i64 total, bool from_end")
GATHER = Kernel("scatter.cu", "gather",
                "T* out, const T* input, const U* index, Layout layout, i64 size, i64 step, bool from_end")
PUT = Kernel("scatter.cu", "put_elements",
             "T* out, const T* input, const U* index, Layout layout, i64 size, i64 step")
ELEMENT_KEYS = Kernel("scatter.cu", "keys_of_elements",
                      "u32* keys, const U* index, Layout layout, i64 size, i64 step, u32 nowhere")
SLICE_KEYS = Kernel("scatter.cu", "keys_of_slices", "u32* keys, const U* index, i64 n, i64 size, i64 ignored, "
                    "bool from_end")
RUNS = Kernel("scatter.cu", "sum_runs", "T* out, V* heads, V* tails, const T* values, const u32* keys, "
              "const u32* places, i64 n, i64 size, i64 inner, i64 columns")
JOIN = Kernel("scatter.cu", "join_runs",
              "T* out, const V* heads, const V* tails, const u32* keys, i64 n, i64 size, i64 inner, i64 columns")
LAST = Kernel("scatter.cu", "write_last",
              "T* out, const T* values, const u32* keys, const u32* places, i64 n, i64 size, bool one")
CHUNK = 32                 # as in scatter.cu
NOBODY = -1 << 63          # an index that is never ignored


# ---- slices ------------------------------------------------------------------------------------------------
def taken(F, input, index, sizes, shape, from_end=False):
    """The slices of `input`, of `sizes` (outer, size, inner), that the flat `index` names, in `shape`."""
    outer, size, inner = sizes
    out = F.empty(shape, input.dtype)
    input, index = dense(F, input), dense(F, index)
    vector = longest_vector(inner, (out, input))
    total = out.size // vector
    TAKE(F.machine, -(-total // 256), 256, out, input, index, size, index.size, inner // vector, total, from_end,
         VECTOR=vector)
    return out


def add_slices_to(F, out, index, values, sizes, ignored=NOBODY, from_end=False):
    """Add slices of `values` (outer, n, inner) to those of `out` (outer, size, inner), contiguous, that `index` names.

    Those for which it is `ignored` are left out.
    """
    index, n = dense(F, index), index.size
    keys = F.empty((n,), np.uint32)
    SLICE_KEYS(F.machine, -(-n // 256), 256, keys, index, n, sizes[1], ignored, from_end, T=out.dtype)
    sum_keys(F, out, keys, values, sizes)


def sum_keys(F, out, keys, values, sizes):
    """`add_slices_to` for keys from 0 to the number of slices, which stands for nowhere."""
    outer, size, inner = sizes
    values, n, columns = dense(F, values), keys.size, outer * inner
    keys, places = sorted_places(F, keys, size)
    chunks, sums = -(-n // CHUNK), sum_type(out.dtype)
    heads, tails = F.empty((chunks, columns), sums), F.empty((chunks, columns), sums)
    vector = longest_vector(inner, (out, values))
    grid = -(-chunks * columns // vector // 256)
    RUNS(F.machine, grid, 256, out, heads, tails, values, keys, places, n, size, inner, columns, VECTOR=vector)
    JOIN(F.machine, grid, 256, out, heads, tails, keys, n, size, inner, columns, VECTOR=vector)


def sum_type(dtype):
    """The dtype in which sums are accumulated."""
    return np.dtype("float32") if dtype.name in ("float16", "bfloat16") else dtype


def check_slice_indices(F, index, size, dim, error=RuntimeError):
    check_indices(F, index, size, lambda wrong: worded(error(
        f"index {wrong} is out of bounds for dimension {dim} with size {size}")))


@kernel("index_select", when=lambda F, input, index, *, dim:
        input.ndim > 0 and index.ndim <= 1 and indexable(input, index), halves=True)
def index_select(F, input, index, *, dim):
    dim = axis(input, dim)
    sizes = split_at(input.shape, dim)
    check_slice_indices(F, index, sizes[1], dim, IndexError)
    return taken(F, input, index, sizes, (*input.shape[:dim], index.size, *input.shape[dim + 1:]))


def slice_sizes(shape, dim):
    """(outer, size, inner) of slices along a dimension; of a number, one slice."""
    return split_at(shape, dim) if shape else (1, 1, 1)


@kernel("index_select_backward", when=lambda F, input, index, *, shape, dim:
        slices(input, index, slice_sizes(shape, dim), index.size), halves=True)
def index_select_backward(F, input, index, *, shape, dim):
    out = F.xp.zeros(shape, input.dtype)
    add_slices_to(F, out, index, input, slice_sizes(shape, dim))
    return out


def slices_to_add(F, input, index, source, *, dim):
    """Predicate: as many slices as indices, of the input's shape and dtype."""
    dim = axis(input, dim)
    wanted = (*input.shape[:dim], index.size, *input.shape[dim + 1:])
    return index.ndim <= 1 and source.shape == wanted and source.dtype == input.dtype \
        and slices(source, index, slice_sizes(input.shape, dim), index.size)


@kernel("index_add", when=slices_to_add, halves=True)
def index_add(F, input, index, source, *, dim):
    dim = axis(input, dim)
    sizes = slice_sizes(input.shape, dim)
    check_slice_indices(F, index, sizes[1], dim, IndexError)
    out = F.xp.array(input, order="C")
    add_slices_to(F, out, index, source, sizes)
    return out


# ---- elements ----------------------------------------------------------------------------------------------
def steps_of(array):
    """Strides in elements."""
    return [s // array.itemsize for s in array.strides]


def row_major(shape):
    """The strides, in elements, of a contiguous array."""
    return [prod(shape[d + 1:]) for d in range(len(shape))]


def along(index, steps, dim):
    """A layout of the positions that an index of zeros along `dim` names in an array of these strides, and the stride
    from there to the others."""
    return make_layout(index.shape, [[0 if d == dim else s for d, s in enumerate(steps)]]), steps[dim]


def element_keys(F, shape, index, dim):
    """The position in a contiguous array of `shape` of each element that `index` names along `dim`."""
    check_slice_indices(F, index, shape[dim], dim)
    layout, step = along(index, row_major(shape), dim)
    keys = F.empty((index.size,), np.uint32)
    ELEMENT_KEYS(F.machine, -(-index.size // 256), 256, keys, dense(F, index), layout, shape[dim], step, prod(shape),
                 T=np.dtype("float32"))
    return keys


@kernel("gather", when=lambda F, input, index, *, dim: elements(input, input.shape, index), halves=True)
def gather(F, input, index, *, dim):
    dim = axis(input, dim)
    check_shapes("gather", input.shape, index, dim)
    check_slice_indices(F, index, input.shape[dim], dim)
    return gathered(F, input, index, dim)


def gathered(F, input, index, dim, from_end=False):
    """The elements of `input` that `index` names along `dim`; negative indices count from the end, if `from_end`."""
    layout, step = along(index, steps_of(input), dim)
    out = F.empty(index.shape, input.dtype)
    GATHER(F.machine, -(-out.size // 256), 256, out, input, dense(F, index), layout, input.shape[dim], step, from_end)
    return out


def goes_along(F, input, index, shape, dim):
    """True for an index of elements of an array of `shape` that agrees with it in all other dimensions."""
    return elements(input, shape, index) and [n for d, n in enumerate(shape) if d != dim % len(shape)] == [
        n for d, n in enumerate(index.shape) if d != dim % len(shape)]


@ours
def take_along_axis(F, arr, indices, axis=-1):
    """The elements that `indices` names along an axis, negative ones from the end; other axes broadcast."""
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    if not (-arr.ndim <= axis < arr.ndim and goes_along(F, arr, indices, arr.shape, axis)):
        return library.function(F, "take_along_axis")(arr, indices, axis)
    size = arr.shape[axis]
    check_indices(F, indices, size, lambda wrong: IndexError(
        f"index {wrong} is out of bounds for axis {axis} with size {size}"), lowest=-size)
    return gathered(F, arr, indices, axis % arr.ndim, from_end=True)


@kernel("take_along_dim", when=lambda F, input, index, *, dim: goes_along(F, input, index, input.shape, dim),
        halves=True)
def take_along_dim(F, input, index, *, dim):
    return take_along_axis(F, input, index, dim)


@kernel("put_along_dim", when=lambda F, input, index, *, shape, dim:
        goes_along(F, input, index, shape, dim) and input.shape == index.shape, halves=True)
def put_along_dim(F, input, index, *, shape, dim):
    dim = dim % len(shape)
    check_slice_indices(F, index, shape[dim], dim, IndexError)
    out = F.xp.zeros(shape, input.dtype)
    layout, step = along(index, row_major(shape), dim)
    PUT(F.machine, -(-index.size // 256), 256, out, dense(F, input), dense(F, index), layout, shape[dim], step)
    return out


@kernel("gather_backward", when=lambda F, input, index, *, shape, dim:
        elements(input, shape, index) and input.shape == index.shape, halves=True)
def gather_backward(F, input, index, *, shape, dim):
    dim = dim % max(len(shape), 1)
    check_shapes("gather", shape, index, dim)
    out = F.xp.zeros(shape, input.dtype)
    sum_keys(F, out, element_keys(F, shape, index, dim), input, (1, out.size, 1))
    return out


@kernel("scatter_add", when=lambda F, input, index, src, *, dim:
        elements(src, input.shape, index) and src.shape == index.shape and src.dtype == input.dtype, halves=True)
def scatter_add(F, input, index, src, *, dim):
    dim = axis(input, dim)
    check_shapes("scatter", input.shape, index, dim)
    out = F.xp.array(input, order="C")
    sum_keys(F, out, element_keys(F, out.shape, index, dim), src, (1, out.size, 1))
    return out


def is_array(F, x):
    """True if `x` is an array of the device that has dimensions."""
    return isinstance(x, F.ndarray) and x.ndim > 0


@kernel("scatter", when=lambda F, input, index, src, *, dim: elements(input, input.shape, index)
        and (not is_array(F, src) or src.shape == index.shape and src.dtype == input.dtype), halves=True)
def scatter(F, input, index, src, *, dim):
    dim, many = axis(input, dim), is_array(F, src)
    check_shapes("scatter", input.shape, index, dim)
    out = F.xp.array(input, order="C")
    src = dense(F, src) if many else F.xp.full((1,), src, input.dtype)
    keys, places = sorted_places(F, element_keys(F, out.shape, index, dim), out.size)
    LAST(F.machine, -(-keys.size // 256), 256, out, src, keys, places, keys.size, out.size, not many)
    return out


# ---- x[...] with index arrays ------------------------------------------------------------------------------
def as_slices(F, shape, index):
    """An index of integer arrays in neighbouring dimensions as an index of slices: the flat index, whether it counts
    from the end as well, the sizes (outer, size, inner), the shape of what is taken. None for any other index."""
    at = [d for d, part in enumerate(index) if isinstance(part, F.ndarray)]
    if not at or at != list(range(at[0], at[-1] + 1)) or any(
            part != slice(None) for d, part in enumerate(index) if d not in at):
        return None
    arrays = [index[d] for d in at]
    if any(a.dtype.name not in INDICES or not a.size for a in arrays):
        return None
    lead, mid, rest = shape[:at[0]], shape[at[0]:at[-1] + 1], shape[at[-1] + 1:]
    if F.machine.kind == "sim" and not all([check_on_host(F, a, n, -n) for a, n in zip(arrays, mid)]):
        return None                                        # the reference says what is wrong
    flat = arrays[0]
    if len(arrays) > 1:
        arrays, flat = F.xp.broadcast_arrays(*arrays), 0
        for a, n in zip(arrays, mid):
            flat = flat * n + F.xp.where(a < 0, a + n, a)
    return flat, len(arrays) == 1, (prod(lead), prod(mid), prod(rest)), (*lead, *flat.shape, *rest)


def check_on_host(F, index, size, lowest=0):
    """True if all indices are from `lowest` to `size` - 1, in memory that the host can look at."""
    found = F.machine.view(index)
    return bool(((found >= lowest) & (found < size)).all())


@kernel("index", halves=True)
def index(F, input, *, index):
    found = as_slices(F, input.shape, index) if input.size and kind_of(input.dtype) is not None else None
    if found is None:
        return F.reference.index(input, index=index)
    flat, from_end, sizes, shape = found
    return taken(F, input, flat, sizes, shape, from_end)


@kernel("index_backward", halves=True)
def index_backward(F, input, *, index, shape):
    found = as_slices(F, shape, index) if prod(shape) else None
    if found is None or not slices(input, found[0], found[2], found[0].size):
        return F.reference.index_backward(input, index=index, shape=shape)
    out = F.xp.zeros(shape, input.dtype)
    flat, from_end, sizes, _ = found
    add_slices_to(F, out, flat, input, sizes, from_end=from_end)
    return out


@kernel("index_put_accumulate", halves=True)
def index_put_accumulate(F, input, values, *, index):
    found = as_slices(F, input.shape, index) if input.size else None
    if found is None or not slices(input, found[0], found[2], found[0].size) \
            or not isinstance(values, F.ndarray) or values.dtype != input.dtype:
        return F.reference.index_put_accumulate(input, values, index=index)
    out = F.xp.array(input, order="C")
    flat, from_end, sizes, shape = found
    add_slices_to(F, out, flat, F.xp.broadcast_to(values, shape), sizes, from_end=from_end)
    return out
