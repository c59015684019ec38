"""Op definitions: views, with other shapes and strides of the same memory, built on those of `shape.py`.

Functions that copy are in `join.py`."""

from ...core.arrays import owner
from ...core.dtypes import as_np
from ...core.errors import checked_dim
from ...core.graph import bump_version
from ...core.inplace import check_is_no_leaf
from ...core.registry import METHODS
from ...core.tensor import Size, Tensor, wrap
from ...core.views import geometry
from ...explain.callers import warn
from ..define import composite, method, op
from ..indexing.index import _slice
from ..layouts import laid_in_format
from ..methods import as_method
from .shape import as_strided as any_view
from .shape import count, expand, ints, permute, reshape, sum_to, transpose, unsqueeze


def dim_of(x, dim, extra=0):
    """`dim` counted from the front; IndexError with the valid range if there is no such dimension."""
    return checked_dim(dim if isinstance(dim, int) else dim.__index__(), x.array.ndim + extra)


# ---- the same order, another shape -------------------------------------------------------------------------
def view_as_shape(self, shape):
    """`self` in another shape without copying; RuntimeError where the strides do not allow that."""
    out = reshape(self, shape)
    if out._base is None and out.array.size:               # it had to copy
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return out


@method
def view(self, *shape, dtype=None, size=None):
    """This tensor in another shape, or its memory as another dtype, without gradients; RuntimeError if it cannot be."""
    if dtype is None:
        shape = shape if size is None else size
        first = shape[0] if shape else ()
        if len(shape) != 1 or first.__class__ is int or isinstance(first, (tuple, list)) or hasattr(first, "__index__"):
            return view_as_shape(self, ints(shape))
        dtype = first
    size, old = as_np(dtype).itemsize, self.array.itemsize
    if size > old and self.storage_offset() * old % size:
        raise RuntimeError(f"self.storage_offset() must be divisible by {size // old} to view {self.dtype} as {dtype}")
    try:
        return wrap(self.array.view(as_np(dtype)), self.backend)
    except ValueError as error:
        raise RuntimeError(f"self.size(-1) must be divisible by the ratio of the element sizes to view {self.dtype} as "
                           f"{dtype}: {error}") from None


@method
def view_as(self, other):
    """This tensor in the shape of `other`, without copying."""
    return view_as_shape(self, other.array.shape)


@method
def reshape_as(self, other):
    """This tensor in the shape of `other`."""
    return reshape(self, other.array.shape)


@composite
def flatten(input, start_dim=0, end_dim=-1):
    """`input` with the dimensions from `start_dim` to `end_dim` as one; a view where the strides allow it."""
    if not input.array.ndim:
        return reshape(input, (1,))
    a, b = dim_of(input, start_dim), dim_of(input, end_dim)
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input.array.shape
    return input if a == b else reshape(input, (*shape[:a], count(shape[a:b + 1]), *shape[b + 1:]))


@composite
def unflatten(input, dim, sizes):
    """`input` with dimension `dim` as several of `sizes`; one size may be -1."""
    d, shape = dim_of(input, dim), input.array.shape
    if not shape:
        raise RuntimeError(f"unflatten: Dimension specified as {dim} but tensor has no dimensions")
    sizes = ints((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = count([n for n in sizes if n != -1])
    if (sizes.count(-1) == 0 and known != shape[d]) or (sizes.count(-1) == 1 and (not known or shape[d] % known)):
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
                           f"({shape[d]}) in the input tensor")
    return view_as_shape(input, (*shape[:d], *[shape[d] // max(known, 1) if n == -1 else n for n in sizes],
                                 *shape[d + 1:]))


@composite
def ravel(input):
    """`input` as one row; a view where the strides allow it."""
    return input.contiguous().view(-1)


@composite
def squeeze(input, dim=None):
    """`input` without its dimensions of size 1, or without those of them that are among `dim`: a view."""
    shape = input.array.shape
    if dim is None:
        drop = range(len(shape))
    else:
        drop = {dim_of(input, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
        if isinstance(dim, (tuple, list)) and len(drop) != len(dim):
            raise RuntimeError(f"dim {dim[0]} appears multiple times in the list of dims")
    return _squeeze(input, tuple([n for i, n in enumerate(shape) if n != 1 or i not in drop]))


@op(dims="(*) -> (shape)",
    name="squeeze", view=True, namespace=None,
    input=lambda F, g, input_shape: F.reshape(g, shape=input_shape),
    sample=lambda d: ([d.array((2, 1, 3))], dict(shape=(2, 3))))
def _squeeze(F, input, *, shape):
    """`input` without some dimensions of size 1: a view for any strides."""
    return input.reshape(shape)


@composite
def expand_as(input, other):
    """`input` expanded to the shape of `other`."""
    return expand(input, other.array.shape)


@composite
def broadcast_to(input, size):
    """A view of `input` broadcast to `size`."""
    return expand(input, ints((size,)))


@composite(method=False)
def broadcast_tensors(*tensors):
    """The tensors as views of their common broadcast shape; those that have it already as they are."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = tuple(broadcast_shapes(*[t.array.shape for t in tensors]))
    return tuple([t if t.array.shape == shape else expand(t, shape) for t in tensors])


@composite(method=False)
def broadcast_shapes(*shapes):
    """The shape to which tensors of these shapes broadcast."""
    for s in shapes:
        if isinstance(s, float):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max([len(s) for s in shapes], default=0)
    for shape in shapes:
        for i in range(-len(shape), 0):
            if shape[i] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({shape[i]}): ({shape[i]})")
            if shape[i] != 1 and out[i] not in (1, shape[i]):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: "
                                   f"{', '.join(str(list(s)) for s in shapes)}")
            out[i] = shape[i] if shape[i] != 1 else out[i]
    return Size(out)


# ---- another order of the dimensions -----------------------------------------------------------------------
@composite
def swapaxes(input, axis0, axis1):
    """The same as `transpose`."""
    return transpose(input, axis0, axis1)


@composite
def movedim(input, source, destination):
    """`input` with the dimensions `source` moved to the positions `destination`: a view."""
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
                           f"the same number of dims as destination ({list(destination)} dims)")
    source, destination = [[dim_of(input, d) for d in dims] for dims in (source, destination)]
    for name, dims in (("source", source), ("destination", destination)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not input.array.ndim:
        return permute(input, ())
    order = [d for d in range(input.array.ndim) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return permute(input, tuple(order))


@composite
def moveaxis(input, source, destination):
    """The same as `movedim`."""
    return movedim(input, source, destination)


@composite
def t(input):
    """The transpose of a matrix; a vector or number as it is."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D: use "
                           f"transpose(-2, -1)")
    return transpose(input, 0, 1) if input.array.ndim == 2 else _slice(input, (Ellipsis,))


def warn_of_number(name, instead):
    warn(f"{name} is deprecated on 0-D tensors. {instead}")


def _T(self):
    """All dimensions in reverse order: a view. Deprecated but for matrices: a batch is transposed by `mT`."""
    n = self.array.ndim
    if n == 2:
        return permute(self, (1, 0))
    if n:
        warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
             "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
             "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.")
    else:
        warn_of_number("Tensor.T", "This function is the identity in these cases.")
    return permute(self, tuple(range(n))[::-1])


def _H(self):
    """The conjugate transpose of a matrix; of real numbers a view."""
    if self.array.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.array.ndim}-D tensor. For "
                           f"batches of matrices, consider using tensor.mH")
    if not self.array.ndim:
        warn_of_number("Tensor.H", "Consider using x.conj().")
    return permute(self, tuple(range(self.array.ndim))[::-1]).conj()


def _mT(self):
    """The last two dimensions swapped: a view."""
    return matrix_transpose(self, "mT", "This function is the identity in these cases.")


def _mH(self):
    """The last two dimensions swapped and the elements conjugated; of real numbers a view."""
    return matrix_transpose(self, "mH", "Consider using x.conj().").conj()


def matrix_transpose(x, name, instead):
    """A view with the last two dimensions swapped; a number as it is, with a warning; RuntimeError for a vector."""
    if x.array.ndim > 1:
        return transpose(x, -2, -1)
    if x.array.ndim:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    warn_of_number(f"Tensor.{name}", instead)
    return permute(x, ())


for _name, _transposed in (("T", _T), ("H", _H), ("mT", _mT), ("mH", _mH)):
    setattr(Tensor, _name, property(_transposed, doc=_transposed.__doc__))


# ---- slices and chunks -------------------------------------------------------------------------------------
def along(x, dim, index):
    """The view with `index` in dimension `dim`."""
    return _slice(x, (slice(None),) * dim + (index,))


@composite
def select(input, dim, index):
    """The slice of `input` at `index` of dimension `dim`, which disappears: a view."""
    if not input.array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i, n = dim_of(input, dim), index.__index__(), input.array.shape
    if not -n[d] <= i < n[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(n)} at dimension {d}")
    return along(input, d, i)


@composite
def narrow(input, dim, start, length):
    """`length` slices of `input` from `start` on, along `dim`: a view."""
    if not input.array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if isinstance(start, Tensor) and (start.array.ndim or start.array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d, n, start = dim_of(input, dim), input.array.shape, start.__index__()
    if not -n[d] <= start <= n[d]:
        raise IndexError(f"start out of range (expected to be in range of [{-n[d]}, {n[d]}], but got {start})")
    start = start + n[d] if start < 0 else start
    if start + length > n[d]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n[d]}).")
    return along(input, d, slice(start, start + length))


@op(dims="* [dim1 dim2] -> * d@-1=diagonal(dim1, dim2, offset) by moving",
    view=True, input=lambda F, g, input_shape, offset, dim1, dim2: F.diagonal_backward(
        g, shape=input_shape, offset=offset, dim1=dim1, dim2=dim2),
    sample=lambda d: ([d.array((3, 4, 3))], dict(offset=d.int(-2, 3), dim1=d.choice([0, 1]), dim2=-1)))
def diagonal(F, input, *, offset=0, dim1=0, dim2=1):
    """The diagonal of the matrices in dimensions `dim1` and `dim2`, as the last dimension: a view."""
    a, b = [checked_dim(d, input.ndim) for d in (dim1, dim2)]
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    corner = input[first_of(offset, a, b, input.ndim)]
    rest = [d for d in range(input.ndim) if d not in (a, b)]
    shape = [*[corner.shape[d] for d in rest], min(corner.shape[a], corner.shape[b])]
    return F.strided(corner, shape, [*[corner.strides[d] for d in rest], corner.strides[a] + corner.strides[b]])


def first_of(offset, dim1, dim2, ndim):
    """The index of the first element of a diagonal."""
    index = [slice(None)] * ndim
    index[dim1], index[dim2] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    return tuple(index)


@op(dims="* [d@-1] -> * dim1 dim2 of shape",
    namespace=None,
    input=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2),
    sample=lambda d: ([d.array((4, 2))], dict(shape=(3, 4, 3), offset=1, dim1=0, dim2=2)))
def diagonal_backward(F, input, *, shape, offset, dim1, dim2):
    """Zeros of `shape` with `input` on a diagonal: the transpose of `diagonal`."""
    out = F.xp.zeros(shape, input.dtype)
    F.diagonal(out, offset=offset, dim1=dim1, dim2=dim2)[...] = input
    return out


@op(dims="* [dim] -> * each dim",
    name="unbind", view=True, namespace=None, outputs="list",
    joint=lambda F, g, needs, input_shape, dim: (F.stack(*fill_in(F, g, dim, input_shape), dim=dim),),
    sample=lambda d: ([d.array((3, 2))], dict(dim=d.int(0, 1))))
def _unbind(F, input, *, dim):
    """The slices along `dim`, as views."""
    at = (slice(None),) * dim
    return tuple([input[at + (i, ...)] for i in range(input.shape[dim])])   # the dots make a number a 0-d view


@op(dims="* -> * dim=count by moving",
    layout="contiguous", name="stack", namespace=None,
    joint=lambda F, g, needs, dim: F.unbind(g, dim=dim),
    sample=lambda d: ([d.array((2,)), d.array((2,))], dict(dim=d.int(0, 1))))
def _stack(F, *pieces, dim):
    """The arrays side by side along a new dimension."""
    return F.xp.stack(pieces, dim)


def fill_in(F, g, dim, shape):
    """The gradients of all slices, zeros for those that were not used."""
    some = next(x for x in g if x is not None)
    return [F.zero(some) if x is None else x for x in g]


@composite
def unbind(input, dim=0):
    """The slices of `input` along `dim` as a tuple of views."""
    if not input.array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, dim_of(input, dim))


@op(dims="* [dim] -> * dim=sizes each sizes",
    name="split", view=True, namespace=None, outputs="list",
    joint=lambda F, g, needs, input_shape, sizes, dim: (F.cat(*fill_sizes(F, g, sizes, dim, input_shape), dim=dim),),
    sample=lambda d: ([d.array((4, 2))], dict(sizes=(1, 3), dim=0)))
def _split(F, input, *, sizes, dim):
    """Consecutive chunks of `sizes` along `dim`, as views."""
    out, start = [], 0
    for n in sizes:
        out.append(input[(slice(None),) * dim + (slice(start, start + n),)])
        start += n
    return tuple(out)


def fill_sizes(F, g, sizes, dim, shape):
    """The gradients of all chunks, zeros for those that were not used."""
    if all([x is not None for x in g]):
        return g
    some = next(x for x in g if x is not None)
    zero = F.zero(F.sum(some, dim=(dim,), keepdim=True))
    return [F.expand(zero, size=(*shape[:dim], n, *shape[dim + 1:])) if x is None else x for x, n in zip(g, sizes)]


@op(dims="* [dim] -> * dim=sum(dim) by moving",
    layout="joined", name="cat", namespace=None, joint=lambda F, g, needs, pieces_shape, dim: F.split(
        g, sizes=tuple([s[dim] for s in pieces_shape]), dim=dim),
    sample=lambda d: ([d.array((2, 2)), d.array((1, 2))], dict(dim=0)))
def _cat(F, *pieces, dim):
    """Concatenate the arrays along `dim`, all of one dtype and number of dimensions."""
    return F.xp.concatenate(pieces, dim)


def split_by(input, sizes, dim):
    return _split(input, tuple(sizes), dim)


@composite
def split(tensor, split_size_or_sections, dim=0):
    """Consecutive chunks along `dim`, of one size (the last may be smaller) or of the sizes given: views."""
    if not tensor.array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dim_of(tensor, dim)
    n, size = tensor.array.shape[d], split_size_or_sections
    if isinstance(size, (tuple, list)):
        return split_with_sizes(tensor, size, dim)
    if size < 0 or (size == 0 and n):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}" if size < 0 else
                           f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    sizes = [size] * (n // size) + ([n % size] if n % size else []) if size else [0]
    return split_by(tensor, sizes or [0], d)


@method(name="split")
def split_method(self, split_size, dim=0):
    """Consecutive chunks along `dim`, of one size (the last may be smaller) or of the sizes given: views."""
    return split(self, split_size, dim)


@composite
def split_with_sizes(input, split_sizes, dim=0):
    """Consecutive chunks of the given sizes along `dim`: views."""
    if not input.array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dim_of(input, dim)
    if any(n < 0 for n in split_sizes) or sum(split_sizes) != input.array.shape[d]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {input.array.shape[d]} (input "
                           f"tensor's size at dimension {dim}), but got split_sizes={list(split_sizes)}")
    return split_by(input, split_sizes, d)


@composite
def chunk(input, chunks, dim=0):
    """`input` in at most `chunks` parts of one size along `dim` (the last may be smaller): views."""
    if not input.array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.array.shape[dim_of(input, dim)]
    size = -(-n // chunks)
    return split_by(input, [0] * chunks, dim_of(input, dim)) if not size else split(input, size, dim)


@composite
def tensor_split(input, sections=None, dim=0, *, indices=None, indices_or_sections=None,
                 tensor_indices_or_sections=None):
    """`input` in `sections` parts of nearly one size, or cut at the given `indices`, along `dim`: views.

    The second argument may be an int, a list of ints or a tensor, under any of PyTorch's names for it.
    """
    indices_or_sections = one_of(sections, indices, indices_or_sections, tensor_indices_or_sections)
    if not input.array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d, cuts = dim_of(input, dim), indices_or_sections
    if isinstance(cuts, Tensor):
        if cuts.array.ndim > 1 or cuts.array.dtype != "int64":
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional int64 tensor, but got a tensor with {cuts.array.ndim} dims")
        cuts = cuts.tolist()
    n = input.array.shape[d]
    if isinstance(cuts, (tuple, list)):
        bounds = [0, *[slice(0, c).indices(n)[1] for c in cuts], n]
        return tuple([along(input, d, slice(a, max(a, b))) for a, b in zip(bounds, bounds[1:])])
    if cuts <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {cuts}")
    return split_by(input, [n // cuts + (i < n % cuts) for i in range(cuts)], d)


def one_of(*values):
    """The value that was given, of several names for one argument."""
    return next((v for v in values if v is not None), None)


def split_along(name, dim, least):
    def call(input, sections=None, *, indices=None, indices_or_sections=None):
        if input.array.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                               f"{input.array.ndim} dimensions!")
        d = 0 if name == "hsplit" and input.array.ndim == 1 else dim
        cuts = one_of(sections, indices, indices_or_sections)
        if isinstance(cuts, int) and (cuts <= 0 or input.array.shape[d] % cuts):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                               f"{input.array.shape[d]} is not divisible by the split_size {cuts}!")
        return tensor_split(input, cuts, d)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`input` in equal pieces, or cut at indices, along dimension {dim}: views."
    return composite(call)


hsplit, vsplit, dsplit = split_along("hsplit", 1, 1), split_along("vsplit", 0, 2), split_along("dsplit", 2, 3)


@op(dims="* [dimension] -> * dimension=windows(dimension, size, step) size@-1=size by moving",
    name="unfold", view=True, namespace=None,
    input=lambda F, g, input_shape, dimension, size, step: F.unfold_backward(
        g, shape=input_shape, dimension=dimension, size=size, step=step),
    sample=lambda d: ([d.array((2, 5))], dict(dimension=1, size=d.int(1, 3), step=d.int(1, 2))))
def _unfold(F, input, *, dimension, size, step):
    """Windows of `size`, `step` apart, along `dimension`, as a further last dimension: a view."""
    n = input.shape[dimension]
    shape, strides = list(input.shape), list(input.strides)
    shape[dimension] = (n - size) // step + 1
    strides[dimension] *= step
    return F.strided(input, (*shape, size), (*strides, input.strides[dimension]))


@op(dims="* [w@dimension] [s@-1] -> * dimension of shape",
    namespace=None,
    input=lambda F, g, dimension, size, step: F.unfold(g, dimension=dimension, size=size, step=step),
    sample=lambda d: ([d.array((2, 2, 3))], dict(shape=(2, 5), dimension=1, size=3, step=2)))
def unfold_backward(F, input, *, shape, dimension, size, step):
    """Zeros of `shape` with windows added where `unfold` took them: its transpose."""
    out = F.xp.zeros(shape, input.dtype)
    windows = input.shape[dimension]
    for i in range(size):                                  # windows overlap, the i-th elements of all windows do not
        at = (slice(None),) * dimension + (slice(i, i + (windows - 1) * step + 1, step),)
        out[at] += input[..., i]
    return out


@method
def unfold(self, dimension, size, step):
    """Windows of `size`, `step` apart, along `dimension`, as a further last dimension: a view."""
    d = dim_of(self, dimension)
    n = self.array.shape[d] if self.array.ndim else 1
    if size > n or size < 0:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.array.ndim:
        return reshape(self, (1,))[:size]
    return _unfold(self, d, size, step)


@composite(method=False)
def as_strided(input, size, stride, storage_offset=None):
    """A view of `input`'s memory by size, stride and offset (default: `input`'s own), in elements."""
    size, stride = ints((size,)), ints((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    layout = geometry(input.array)
    return any_view(input, size, stride, layout[2] if storage_offset is None else storage_offset, layout)


method(as_method(as_strided), name="as_strided")


@method
def sum_to_size(self, *args, size=None):
    """This tensor summed to `size`, to which it would have to be broadcastable."""
    size = ints(args) if size is None else ints((size,))
    try:
        fits = tuple(broadcast_shapes(size, self.array.shape)) == self.array.shape and len(size) <= self.array.ndim
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.array.shape)}}}.")
    return sum_to(self, size) if size != self.array.shape or not self.array.ndim else self


# ---- views in place: a tensor of new shape -----------------------------------------------------------------
def in_place(name, function):
    """The in-place twin of a view: the tensor itself gets the view's shape and strides."""
    def call(self, *args, **kwargs):
        check_is_no_leaf(self, name + "_")
        seen = function(self, *args, **kwargs)
        self.array = seen.array
        bump_version(self, name + "_")
        if seen.node is not None:
            self.node, self.needs_grad = seen.node, True
        return self
    call.__name__, call.__doc__ = name + "_", f"In-place twin of `{name}`: gives this tensor the shape of the view."
    METHODS[name + "_"] = call


for _name, _function in dict(squeeze=squeeze, unsqueeze=unsqueeze, transpose=transpose, t=t, swapaxes=transpose,
                             swapdims=transpose, as_strided=as_strided).items():
    in_place(_name, _function)


@method
def resize_(self, *sizes, memory_format=None):
    """Give this tensor another shape; it gets new memory if the old has too few elements."""
    sizes = ints(sizes)
    if self.needs_grad:
        raise RuntimeError("cannot resize variables that require grad")
    check_is_no_leaf(self, "resize_")
    memory = owner(self.array)
    if count(sizes) <= memory.size and self.is_contiguous():
        self.array = self.backend.of_memory(self.array, sizes, row_major(sizes), self.storage_offset())
    else:
        old, new = self.array.reshape(-1), self.backend.xp.empty(count(sizes), self.array.dtype)
        n = min(old.size, new.size)
        new[:n] = old[:n]
        self.array = new.reshape(sizes)
    self.array = laid_in_format(self.array, memory_format)
    bump_version(self, "resize_")
    return self


def row_major(shape):
    """The strides, in elements, of a contiguous tensor."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= max(n, 1)
    return tuple(out[::-1])


@method
def resize_as_(self, the_template, *, memory_format=None):
    """Give this tensor the shape of another."""
    return resize_(self, the_template.array.shape)
