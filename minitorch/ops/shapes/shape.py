"""Op definitions: the basic changes of shape (expand, reshape, transpose, permute), copies and casts.

The VJP of a view is its transpose: the op that puts the gradient back where the view took the value from.
"""

from operator import index

from ...core.dtypes import float64
from ...core.errors import worded
from ...core.layouts import inverse
from ...core.storage import contiguous_format, preserve_format
from ...host.data import places_of_view
from ..define import method, op
from ..layouts import format_order


def ints(sizes):
    """The sizes given as ``f(2, 3)`` or ``f((2, 3))``, as a tuple of ints."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    for n in sizes:
        if n.__class__ is not int:
            break
    else:
        return sizes if sizes.__class__ is tuple else tuple(sizes)
    try:
        return tuple([index(n) for n in sizes])
    except TypeError as error:
        why = [n.not_a_number for n in sizes if hasattr(n, "not_a_number")]
        raise TypeError(f"sizes must be ints, got {sizes!r}: {why[0] if why else error}") from None


# ---- broadcasting ------------------------------------------------------------------------------------------
@op(dims="* -> * of shape",
    namespace=None, promotion="any", inline=True,
    input=lambda F, g, input_shape: F.expand(g, size=input_shape),
    sample=lambda d: ([d.array((2, 3, 1, 2))],
                      dict(shape=d.choice([(3, 1, 2), (1, 3, 1, 1), (2,), (2, 3, 1, 2)]))))
def sum_to(F, input, *, shape):
    """Sum over the axes along which `shape` was broadcast: the transpose of `expand`."""
    lead = input.ndim - len(shape)
    axes = tuple([i for i in range(input.ndim) if i < lead or (shape[i - lead] == 1 and input.shape[i] != 1)])
    dtype = None if input.dtype.kind in "fcV" else "int64"
    return F.xp.add.reduce(input, axes, dtype, keepdims=True).reshape(shape)


@op(dims="* -> * of size",
    view=True, namespace=None, input=lambda F, g, input_shape: F.sum_to(g, shape=input_shape),
    sample=lambda d: ([d.array((2, 1, 3))], dict(size=d.choice([(2, 4, 3), (4, 2, -1, 3), (2, 1, 3)]))))
def expand(F, input, *, size):
    """A view with dimensions of size 1 repeated to `size`, without copying; -1 keeps a size."""
    lead, shape, strides = len(size) - input.ndim, [], []
    if lead < 0:
        raise cannot_expand(input.shape, size, None)
    for i, n in enumerate(size):
        old, step = (input.shape[i - lead], input.strides[i - lead]) if i >= lead else (1, 0)
        if n < -1 or n == -1 and i < lead or n not in (-1, old) and old != 1:
            raise cannot_expand(input.shape, size, i)
        shape.append(old if n == -1 else n)
        strides.append(step if n in (-1, old) else 0)
    return F.strided(input, shape, strides)


def cannot_expand(shape, size, dim):
    """The error for a shape that does not expand to `size`, because of dimension `dim` of `size` (None: of too few)."""
    if dim is None:
        return RuntimeError(f"expand({list(shape)}, size={list(size)}): the number of sizes provided ({len(size)}) "
                            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    n, lead = size[dim], len(size) - len(shape)
    if n < 0:
        return RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing "
                            f"dimension {dim}")
    return RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({shape[dim - lead]}) at "
                        f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")


@method(name="expand")
def expand_method(self, *args, size=None, implicit=False):
    """A view with dimensions of size 1 repeated to the given sizes, without copying; -1 keeps a size."""
    return expand(self, ints(args) if size is None else ints((size,)))


# ---- the same elements, another shape ----------------------------------------------------------------------
@op(dims="(*) -> (shape)",
    view=True, method=False, node_name="ViewBackward0",
    input=lambda F, g, input_shape: F.reshape(g, shape=input_shape),
    sample=lambda d: ([d.array((2, 3, 2))], dict(shape=d.choice([(-1,), (3, 4), (1, 2, 3, 2), (6, -1)]))))
def reshape(F, input, *, shape):
    """`input` with another shape: a view where the strides allow it, otherwise a copy. One size may be -1."""
    try:
        out = input.reshape(shape)
    except ValueError:
        raise worded(RuntimeError(why_not(input.size, shape))) from None
    if out.shape != shape and min(shape, default=0) < -1:  # NumPy takes any negative size for -1
        raise worded(RuntimeError(f"invalid shape dimension {min(shape)} in shape {list(shape)}: one size may be -1"))
    return out


def why_not(n, shape):
    """The reason why `n` elements cannot have this shape."""
    if shape.count(-1) > 1:
        return f"only one dimension can be inferred, got shape {list(shape)}"
    if n == 0 and 0 in shape:
        return (f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size "
                f"-1 can be any value and is ambiguous")
    return f"shape '{list(shape)}' is invalid for input of size {n}"


@method(name="reshape")
def reshape_method(self, *args, shape=None):
    """This tensor with another shape: a view where the strides allow it, otherwise a copy. One size may be -1."""
    return reshape(self, ints(args) if shape is None else ints((shape,)))


@op(dims="* dim0 dim1 -> * dim0@dim1 dim1@dim0",
    view=True, input=lambda F, g, dim0, dim1: F.transpose(g, dim0=dim0, dim1=dim1),
    aliases=("swapdims",), sample=lambda d: ([d.array((2, 3, 4))], dict(dim0=d.int(-3, 2), dim1=d.int(-3, 2))))
def transpose(F, input, *, dim0, dim1):
    """A view with two dimensions swapped."""
    return input.swapaxes(dim0, dim1) if input.ndim else input[...]


@op(dims="dims -> dims@0",
    view=True, method=False, input=lambda F, g, dims: F.permute(g, dims=inverse(dims)),
    sample=lambda d: ([d.array((2, 3, 4))], dict(dims=d.choice([(2, 0, 1), (-1, 1, 0), (0, 1, 2)]))))
def permute(F, input, *, dims):
    """A view with the dimensions in the order `dims`."""
    if len(dims) != input.ndim:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                           f"of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
                           f"len(dims) = {len(dims)}".replace("(sparse_coo)", ""))
    return input.transpose(dims)


@method(name="permute")
def permute_method(self, *args, dims=None):
    """A view with the dimensions in the order `dims`."""
    return permute(self, ints(args) if dims is None else ints((dims,)))


@op(dims="* -> * dim=1",
    view=True, input=lambda F, g, input_shape: F.reshape(g, shape=input_shape),
    sample=lambda d: ([d.array((2, 3))], dict(dim=d.int(-3, 2))))
def unsqueeze(F, input, *, dim):
    """A view with a dimension of size 1 inserted at `dim`."""
    return F.xp.expand_dims(input, dim)


@op(dims="*",
    view=True, namespace=None, input=lambda F, g: g, sample=lambda d: ([d.array((2, 3))], {}))
def alias(F, input):
    """The same elements of the same memory, as a view."""
    return input[...]


# ---- copies and casts --------------------------------------------------------------------------------------
@op(dims="*",
    layout="first", namespace=None, inline=True, input=lambda F, g: g)
def clone(F, input):
    """A copy of `input` with memory of its own, in the order of `input`'s memory."""
    return input.copy("K")


@op(dims="*", namespace=None, node_name="CloneBackward0", input=lambda F, g: g)
def copy_contiguous(F, input):
    """A copy of `input` with memory of its own, in the order of the indices."""
    return input.copy("C")


@op(dims="*",
    layout="first", name="to", namespace=None, node_name="ToCopyBackward0",
    input=lambda F, g, input_dtype: F.to(g, dtype=input_dtype),
    casts=False,
    sample=lambda d: ([d.array()], dict(dtype=float64)))
def _to(F, input, *, dtype):
    """`input` cast to another dtype. To float8_e4m3fn, which has no infinity, the largest number stands for more."""
    if getattr(dtype, "itemsize", 0) == 1 and dtype.name == "float8_e4m3fn":   # compiled source names NumPy's classes
        input = F.xp.clip(input.astype("float32"), -448, 448)
    return input.astype(dtype)


# ---- any view at all ---------------------------------------------------------------------------------------
def some_place(d):
    """A view of an array of shape (3, 4), for samples."""
    return dict(size=(2, 2), stride=d.choice([(1, 2), (4, 1), (1, 1)]), storage_offset=d.int(0, 3),
                layout=((3, 4), (4, 1), 0))


@op(dims="[x..] -> y..=size",
    view=True, namespace=None, sample=lambda d: ([d.array((3, 4))], some_place(d)),
    tangent="transpose",
    input=lambda F, g, size, stride, storage_offset, layout: F.as_strided_backward(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout))
def as_strided(F, input, *, size, stride, storage_offset, layout):
    """A view of `input`'s memory by shape, strides and offset, in elements; `layout` is that of `input` itself."""
    return F.of_memory(input, size, stride, storage_offset)


@op(dims="[y..] -> x..=layout[0]",
    namespace=None, sample=lambda d: ([d.array((2, 2))], some_place(d)),
    input=lambda F, g, size, stride, storage_offset, layout: F.as_strided_take(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout))
def as_strided_backward(F, input, *, size, stride, storage_offset, layout):
    """Zeros of `layout`'s shape with `input` added where `as_strided` would read: its transpose."""
    take = F.from_host(places_of_view(size, stride, storage_offset, layout).reshape(-1) + 1)
    def added(values):
        return F.xp.bincount(take, weights=values.ravel(), minlength=count(layout[0]) + 1)[1:]
    flat = added(input) if input.dtype.kind != "c" else added(input.real) + added(input.imag) * 1j
    return flat.astype(input.dtype).reshape(layout[0])


@op(dims="[x..] -> y..=size",
    namespace=None, sample=lambda d: ([d.array((3, 4))], some_place(d)),
    input=lambda F, g, size, stride, storage_offset, layout: F.as_strided_backward(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout))
def as_strided_take(F, input, *, size, stride, storage_offset, layout):
    """The elements that `as_strided` reads from an `input` that would lie in memory by `layout`."""
    take = F.from_host(places_of_view(size, stride, storage_offset, layout) + 1)
    padded = F.xp.concatenate([F.xp.zeros(1, input.dtype), input.ravel()])
    return padded[take]


@op(dims="[x..], [y..] -> [x..]",
    namespace=None, node_name="CopySlices",
    sample=lambda d: ([d.array((3, 4)), d.array((2, 2))], dict(
        size=(2, 2), stride=d.choice([(1, 2), (4, 1)]), storage_offset=d.int(0, 3), layout=((3, 4), (4, 1), 0))),
    input=lambda F, g, size, stride, storage_offset, layout: F.as_strided_zero(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout),
    src=lambda F, g, size, stride, storage_offset, layout: F.as_strided_take(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout))
def as_strided_scatter(F, input, src, *, size, stride, storage_offset, layout):
    """A copy of `input` with the elements that `as_strided` would read replaced by those of `src`."""
    take = places_of_view(size, stride, storage_offset, layout).reshape(-1)
    out, inside = F.xp.array(input, order="C").reshape(-1), (take >= 0).nonzero()[0]
    out[F.from_host(take[inside])] = src.reshape(-1)[F.from_host(inside)]
    return out.reshape(input.shape)


@op(dims="[x..] -> [x..]",
    namespace=None, sample=lambda d: ([d.array((3, 4))], dict(
        size=(2, 2), stride=d.choice([(1, 2), (4, 1)]), storage_offset=d.int(0, 3), layout=((3, 4), (4, 1), 0))),
    input=lambda F, g, size, stride, storage_offset, layout: F.as_strided_zero(
        g, size=size, stride=stride, storage_offset=storage_offset, layout=layout))
def as_strided_zero(F, input, *, size, stride, storage_offset, layout):
    """A copy of `input` with zeros where `as_strided` would read."""
    take = places_of_view(size, stride, storage_offset, layout)
    out = F.xp.array(input, order="C").reshape(-1)
    out[F.from_host(take[take >= 0])] = 0
    return out.reshape(input.shape)


def count(shape):
    """The number of elements of a shape."""
    n = 1
    for size in shape:
        n *= size
    return n


def in_format(x, memory_format):
    """`x` with its elements in the order that `memory_format` asks for; itself if they are."""
    return x if x.is_contiguous(memory_format=memory_format) else copy_in_format(x, memory_format)


def copy_in_format(x, memory_format):
    """A copy of `x` with the strides of `memory_format`, also where others would do, as those of one channel."""
    order = format_order(memory_format, x.array)
    return copy_contiguous(x) if order is None else permute(copy_contiguous(permute(x, order)), inverse(order))


@method
def contiguous(input, memory_format=None):
    """`input` itself if its elements lie in memory in the order of the indices, else a copy in which they do.

    With `memory_format`, in the order that this asks for.
    """
    if memory_format is None or memory_format is contiguous_format:
        return input if input.is_contiguous() else copy_contiguous(input)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator: use clone()")
    return in_format(input, memory_format)
