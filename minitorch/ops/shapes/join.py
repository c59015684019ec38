"""Op definitions: joining and repeating (cat, stack, tile, roll, flip, triangles, diagonals). All of these copy."""

import builtins
import itertools

from ...core import dtypes
from ...core.errors import not_implemented
from ...core.tensor import Tensor, wrap
from ...explain.callers import warn
from ...host import data as host_data
from ..define import composite, method, op
from .shape import copy_contiguous, expand, ints, reshape, unsqueeze
from .view import _cat, _stack, diagonal, diagonal_backward, dim_of, narrow


# ---- joining -----------------------------------------------------------------------------------------------
def tensor_list(tensors, name):
    """The argument of `cat` and the like as a list; TypeError or RuntimeError where it is none."""
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = list(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    if not tensors:
        raise (ValueError if name == "torch.cat" else RuntimeError)(f"{name}(): expected a non-empty list of Tensors")
    return tensors


@composite(method=False, out=True, overlap=False, aliases=("concat", "concatenate"))
def cat(tensors, dim=0):
    """Concatenate the tensors along `dim`; all other sizes must agree. Dtypes are promoted."""
    tensors = tensor_list(tensors, "torch.cat")
    real = [t for t in tensors if t.array.shape != (0,)] or tensors   # an empty 1-D tensor fits everywhere
    first = real[0]
    if not builtins.all(t.array.ndim for t in tensors):
        raise RuntimeError(f"zero-dimensional tensor (at position "
                           f"{[t.array.ndim for t in tensors].index(0)}) cannot be concatenated: use stack()")
    d = dim_of(first, dim)
    for t in real:
        if t.array.shape != first.array.shape:
            check_fits(first.array.shape, t.array.shape, d)
    return _cat(of_one_dtype(real, tensors), d)


def of_one_dtype(tensors, all_tensors):
    """`tensors` with the dtype that the operands `all_tensors` have in common."""
    first = all_tensors[0].array.dtype
    if builtins.all([t.array.dtype is first for t in all_tensors]):
        return tensors
    dtype = dtypes.common_dtype([t.array for t in all_tensors])
    return [t.to(dtype) for t in tensors]


def check_fits(a, b, d):
    if len(a) != len(b):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(a)} and {len(b)}")
    for i, (m, n) in enumerate(zip(a, b)):
        if m != n and i != d:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {d}. Expected size {m} but got size "
                               f"{n} in dimension {i}: shapes {list(a)} and {list(b)}")


@composite(method=False, out=True)
def stack(tensors, dim=0):
    """The tensors, all of one shape, side by side along a new dimension `dim`."""
    tensors = tensor_list(tensors, "stack")
    shape = tensors[0].array.shape
    for i, t in enumerate(tensors):
        if t.array.shape != shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                               f"{list(t.array.shape)} at entry {i}")
    return _stack(of_one_dtype(tensors, tensors), dim_of(tensors[0], dim, extra=1))


@composite(method=False)
def atleast_1d(*tensors):
    """The tensors with at least one dimension."""
    return each(tensors, lambda t: reshape(t, (1,)) if t.array.ndim == 0 else t)


@composite(method=False)
def atleast_2d(*tensors):
    """The tensors with at least two dimensions; a vector becomes a row."""
    raised = {0: lambda t: reshape(t, (1, 1)), 1: lambda t: unsqueeze(t, 0)}
    return each(tensors, lambda t: raised.get(t.array.ndim, lambda t: t)(t))


@composite(method=False)
def atleast_3d(*tensors):
    """The tensors with at least three dimensions."""
    def grow(t):
        n = t.array.ndim
        return reshape(t, (1, 1, 1)) if n == 0 else unsqueeze(unsqueeze(t, 0), -1) if n == 1 else unsqueeze(
            t, -1) if n == 2 else t
    return each(tensors, grow)


def each(tensors, f):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple([f(t) for t in tensors[0]])
    return f(tensors[0]) if len(tensors) == 1 else tuple([f(t) for t in tensors])


@composite(method=False, out=True)
def hstack(tensors):
    """The tensors side by side: along dimension 0 for vectors, 1 otherwise."""
    tensors = atleast_1d(*tensor_list(tensors, "hstack"))
    tensors = tensors if isinstance(tensors, tuple) else (tensors,)
    return cat(tensors, 0 if tensors[0].array.ndim == 1 else 1)


@composite(method=False, out=True, aliases=("row_stack",))
def vstack(tensors):
    """The tensors one below the other, vectors as rows."""
    tensors = atleast_2d(*tensor_list(tensors, "vstack"))
    return cat(tensors if isinstance(tensors, tuple) else (tensors,), 0)


@composite(method=False, out=True)
def dstack(tensors):
    """The tensors one behind the other, along dimension 2."""
    tensors = atleast_3d(*tensor_list(tensors, "dstack"))
    return cat(tensors if isinstance(tensors, tuple) else (tensors,), 2)


@composite(method=False, out=True)
def column_stack(tensors):
    """The tensors side by side, vectors as columns."""
    return hstack([reshape(t, (-1, 1)) if t.array.ndim <= 1 else t for t in tensor_list(tensors, "column_stack")])


@composite(method=False)
def block_diag(*tensors):
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    blocks = [atleast_2d(t) for t in tensors]
    for i, b in enumerate(blocks):
        if b.array.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                               f"{b.array.ndim} dimensions")
    width, rows, at = builtins.sum(b.array.shape[1] for b in blocks), [], 0
    for b in blocks:
        n, m = b.array.shape
        zeros = b.new_zeros
        rows.append(cat([zeros((n, at)), b, zeros((n, width - at - m))], 1))
        at += m
    return cat(rows, 0)


@composite(method=False)
def meshgrid(*tensors, indexing=None):
    """Coordinates of a grid: for n vectors n tensors of n dimensions, views; `indexing` "ij" (default) or "xy"."""
    tensors = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.array.ndim}D")
        if t.array.dtype != tensors[0].array.dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warn('torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument: '
             'write indexing="ij" for the present result')
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple([t.array.size for t in tensors])
    out = [expand(reshape(t, (1,) * i + (-1,) + (1,) * (len(shape) - i - 1)), shape) for i, t in enumerate(tensors)]
    if swap:
        out[:2] = out[1::-1]
    return tuple(out)


@composite(method=False)
def cartesian_prod(*tensors):
    """All tuples that take one element of each vector, as rows."""
    for t in tensors:
        if t.array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([t.reshape(-1) for t in meshgrid(*tensors, indexing="ij")], 1)


@composite
def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a vector, as rows."""
    if input.array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.array.size), r))
    if not r:
        return input.new_empty((0,))
    return input[host_data.rows_of(rows, r)]


# ---- repeating and moving ----------------------------------------------------------------------------------
@method
def repeat(self, *args, repeats=None):
    """This tensor side by side with itself, `repeats` times along each dimension."""
    repeats = ints(args) if repeats is None else ints((repeats,))
    if len(repeats) < self.array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if builtins.any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}")
    shape = (1,) * (len(repeats) - self.array.ndim) + self.array.shape
    paired = [n for s in shape for n in (1, s)]
    full = [n for r, s in zip(repeats, shape) for n in (r, s)]
    out = expand(reshape(self, tuple(paired)), tuple(full)) if repeats else self
    return copy_contiguous(out).reshape([r * s for r, s in zip(repeats, shape)])


@composite
def tile(input, dims):
    """`input` side by side with itself; fewer `dims` than dimensions mean the last ones."""
    dims = ints((dims,))
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + dims)


@method(name="tile")
def tile_method(self, *args, dims=None):
    """This tensor side by side with itself; fewer `dims` than dimensions mean the last ones."""
    return tile(self, ints(args) if dims is None else dims)


def places_of_counts(counts):
    """The numbers 0, 1, ... of the dtype of a vector of counts."""
    if not isinstance(counts, Tensor):
        raise TypeError(f"repeat_interleave(): argument 'repeats' must be Tensor where it stands "
                        f"alone, not {type(counts).__name__}")
    if counts.array.ndim != 1:
        raise RuntimeError("repeat_interleave only accepts 1D vector as repeat")
    backend = counts.backend
    return wrap(backend.xp.arange(counts.array.size, dtype=counts.array.dtype), backend)


@composite(method=False)
def repeat_interleave(input=..., repeats=..., dim=None, *, output_size=None):
    """Each slice along `dim` repeated: `repeats` times, or each as often as a tensor of counts says.

    Without `dim` the input is flattened first. ``repeat_interleave(repeats)``, of counts alone,
    repeats the numbers 0, 1, ... and has the dtype of the counts.

    >>> import minitorch
    >>> minitorch.repeat_interleave(minitorch.tensor([1, 0, 2])).tolist()
    [0, 2, 2]
    """
    if input is ... or repeats is ...:
        repeats = input if repeats is ... else repeats
        input, dim = places_of_counts(repeats), 0
    if isinstance(repeats, Tensor) and repeats.array.dtype.name not in ("int64", "int32"):
        raise not_implemented("repeat_interleave", repeats.array.dtype)
    counts = host_data.counts_of(repeats)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    elif not input.array.ndim:
        input = reshape(input, (1,))
    d = dim_of(input, dim)
    n = input.array.shape[d]
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.ndim == 1 and counts.size not in (1, n):
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{counts.size} and input.size({d}) = {n}")
    places = host_data.repeated(n, counts)
    if output_size is not None and places.size != output_size:
        raise RuntimeError("allocated size does not match required size")
    return input[(slice(None),) * d + (places,)]


@method(name="repeat_interleave")
def repeat_interleave_method(self, repeats, dim=None, *, output_size=None):
    """Each slice of this tensor along `dim` repeated, as by the function."""
    return repeat_interleave(self, repeats, dim, output_size=output_size)


@op(dims="* [dims] -> * [dims] by moving",
    layout="first", name="flip", input=lambda F, g, dims: F.flip(g, dims=dims), namespace=None,
    sample=lambda d: ([d.array((2, 3))], dict(dims=d.choice([(0,), (0, 1), (-1,)]))))
def _flip(F, input, *, dims):
    """`input` with the order along `dims` reversed."""
    return F.xp.flip(input, dims).copy()


@composite(method=False)
def flip(input, dims):
    """A copy of `input` with the order along `dims` reversed."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    found = tuple([dim_of(input, d) for d in dims])
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {found[-1]} appears multiple times in the list of dims")
    return _flip(input, found) if input.array.ndim else input.clone()


@method(name="flip")
def flip_method(self, *args, dims=None):
    """A copy of this tensor with the order along `dims` reversed."""
    return flip(self, ints(args) if dims is None else dims)


@method
def __reversed__(self):
    """``reversed(x)``: the rows in reverse order, as `flip` gives them; a 0-d tensor itself."""
    return flip(self, 0) if self.array.ndim else self


@composite
def fliplr(input):
    """The columns in reverse order."""
    if input.array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite
def flipud(input):
    """The rows in reverse order."""
    if input.array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@composite
def rot90(input, k=1, dims=(0, 1)):
    """`input` turned by k times 90 degrees in the plane of two dimensions, from the first towards the second."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.array.ndim}")
    a, b = [dim_of(input, d) for d in dims]
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if k % 4 == 2:
        return flip(input, (a, b))
    if k % 4 == 0:
        return input.clone()
    return flip(input, (b if k % 4 == 1 else a,)).transpose(a, b).clone()


@op(dims="* [dims] -> * [dims] by moving",
    layout="contiguous", name="roll", namespace=None, input=lambda F, g, shifts, dims: F.roll(
        g, shifts=tuple([-s for s in shifts]), dims=dims),
    sample=lambda d: ([d.array((2, 3))], dict(shifts=(1, -4), dims=(0, 1))))
def _roll(F, input, *, shifts, dims):
    """`input` with its slices moved along `dims`, around the ends."""
    return F.xp.roll(input, shifts, dims)


@composite
def roll(input, shifts, dims=None):
    """A copy with the slices moved by `shifts` along `dims`, around the ends; flattened if no `dims` are given."""
    shifts = tuple([n.__index__() for n in (shifts if isinstance(shifts, (tuple, list)) else (shifts,))])
    if not shifts:
        raise RuntimeError("`shifts` required")
    dims = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return _roll(reshape(input, (-1,)), shifts, (0,)).reshape(input.array.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _roll(input, shifts, tuple([dim_of(input, d) for d in dims]))


# ---- triangles and diagonals -------------------------------------------------------------------------------
@op(dims="* [n m] -> * [n m] by moving",
    layout="contiguous", inplace=True, input=lambda F, g, diagonal: F.tril(g, diagonal=diagonal),
    sample=lambda d: ([d.array((2, 3, 4))], dict(diagonal=d.int(-2, 3))))
def tril(F, input, *, diagonal=0):
    """The lower triangles of the matrices in the last two dimensions; zeros above `diagonal`."""
    check_matrix("tril", input)
    return F.xp.tril(input, diagonal.__index__())


@op(dims="* [n m] -> * [n m] by moving",
    layout="contiguous", inplace=True, input=lambda F, g, diagonal: F.triu(g, diagonal=diagonal),
    sample=lambda d: ([d.array((2, 3, 4))], dict(diagonal=d.int(-2, 3))))
def triu(F, input, *, diagonal=0):
    """The upper triangles of the matrices in the last two dimensions; zeros below `diagonal`."""
    check_matrix("triu", input)
    return F.xp.triu(input, diagonal.__index__())


def check_matrix(name, x):
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {x.ndim}")


@composite
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of `input` on a diagonal, in dimensions `dim1` and `dim2` of the result."""
    a, b = dim_of(input, dim1, extra=1), dim_of(input, dim2, extra=1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.array.shape[-1] + builtins.abs(offset)
    shape = list(input.array.shape[:-1])
    for d in sorted((a, b)):
        shape.insert(d, size)
    return diagonal_backward(input, tuple(shape), offset, a, b)


@composite(out=True)
def diag(input, diagonal=0):
    """The diagonal of a matrix (a copy), or the matrix with a vector on its diagonal."""
    if input.array.ndim == 1:
        return diag_embed(input, diagonal)
    if input.array.ndim == 2:
        return _diagonal(input, diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")


_diagonal = diagonal


@composite
def diagflat(input, offset=0):
    """A matrix with the elements of `input`, flattened, on its diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)


@composite(autocast="float32 on cpu")
def trace(input):
    """The sum of the diagonal of a matrix."""
    if input.array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return _diagonal(input).sum()


# ---- copies with a part replaced ---------------------------------------------------------------------------
@composite
def select_scatter(input, src, dim, index):
    """A copy of `input` with the slice at `index` of `dim` replaced by `src`."""
    return replaced(input, src, lambda x: x.select(dim, index))


@composite
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` with the slices ``start:end:step`` of `dim` replaced by `src`."""
    return replaced(input, src, lambda x: x[(slice(None),) * dim_of(x, dim) + (slice(start, end, step),)])


@composite
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` with a diagonal replaced by `src`."""
    return replaced(input, src, lambda x: _diagonal(x, offset, dim1, dim2))


@composite
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of `input` with the elements that `as_strided` would read replaced by `src`."""
    return replaced(input, src, lambda x: x.as_strided(size, stride, storage_offset))


def replaced(input, src, view):
    """A copy of `input` with ``view(copy)`` overwritten by `src`."""
    F = src.backend
    out = F.room_beside(input, src) if F.depth else input.clone()      # room for a batch of `src`
    target = view(out)
    if target.array.shape != src.array.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
                           f"slice size = {list(target.shape)}")
    target.copy_(src)
    return out


@composite
def narrow_copy(input, dim, start, length):
    """A copy of `narrow`."""
    return copy_contiguous(narrow(input, dim, start, length))


@composite
def unsafe_chunk(input, chunks, dim=0):
    """The same as `chunk`."""
    return input.chunk(chunks, dim)


@composite
def unsafe_split(input, split_size, dim=0):
    """The same as `split`."""
    return input.split(split_size, dim)
