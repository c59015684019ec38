"""Op definitions: masks (masked_fill, masked_select, masked_scatter), and the indices of nonzero elements.

`where` is in `elementwise/compare.py`.
"""

from ...core.errors import worded
from ...core.op import Number, Other
from ...core.tensor import wrap
from ..define import composite, op
from ..shapes.join import cat
from .scatter import check_number


# ---- masks -------------------------------------------------------------------------------------------------
def check_mask(name, mask):
    if mask.dtype.kind != "b":
        raise worded(RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}: "
                                  f"compare, as in mask != 0"))


@op(dims="*, *, -> *",
    layout="contiguous", promotion="first", inplace="repeated",
    input=lambda F, g, mask: F.masked_fill(g, mask, 0.0),
    value=lambda F, g, mask: F.where(mask, g, 0.0),
    sample=lambda d: ([d.array((2, 3)), d.mask(d.choice([(2, 3), (3,), (2, 1)])), d.array(())], {}))
def masked_fill(F, input, mask: Other, value: Number):
    """`input` with `value`, a number or 0-d tensor, where the bool tensor `mask` is True; the two are broadcast.

    >>> import minitorch as torch
    >>> torch.zeros(2, 3).masked_fill(torch.tensor([True, False, True]), 5)
    tensor([[5., 0., 5.],
            [5., 0., 5.]])
    """
    check_mask("masked_fill_", mask)
    check_number("masked_fill_", value)
    return F.xp.where(mask, value, input)


@op(inplace=False, overlap=False, by_values=True,
    input=lambda F, g, mask, input_shape: F.sum_to(F.masked_select_backward(g, mask, shape=input_shape),
                                                                 shape=input_shape),
    sample=lambda d: ([d.array((2, 3)), d.mask(d.choice([(2, 3), (3,), (2, 2, 3)]))], {}))
def masked_select(F, input, mask: Other):
    """The elements where the bool tensor `mask` is True, as one row; the two are broadcast."""
    if mask.dtype.kind != "b":
        raise worded(RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}"))
    if input.shape != mask.shape:
        input, mask = F.xp.broadcast_arrays(input, mask)
    return input[mask]


@op(dims="[k], [*] -> *=broadcast(*, shape)",
    namespace=None, input=lambda F, g, mask: F.masked_select(g, mask),
    sample=lambda d: ([d.array((4,)), d.given([[True, False, True], [True, True, False]])], dict(shape=(1, 3))))
def masked_select_backward(F, input, mask: Other, *, shape):
    """Zeros of the broadcast of `shape` and `mask` with `input` put where it is True: undoes `masked_select`."""
    out = F.xp.zeros(F.xp.broadcast_shapes(shape, mask.shape), input.dtype)
    out[F.xp.broadcast_to(mask, out.shape)] = input
    return out


@op(dims="[*], [*], [s..] -> [*]",
    layout="contiguous", inplace=True, promotion="same",
    input=lambda F, g, mask: F.masked_fill(g, mask, 0.0),
    source=lambda F, g, mask, source_shape: F.pad_flat(F.masked_select(g, mask), shape=source_shape),
    sample=lambda d: ([d.array((2, 3)), d.mask((2, 3)), d.array((2, 4))], {}))
def masked_scatter(F, input, mask: Other, source):
    """`input` with the first elements of `source`, one after the other, where the bool tensor `mask` is True."""
    check_mask("masked_scatter_", mask)
    if input.shape != mask.shape:
        input, mask = F.xp.broadcast_arrays(input, mask)
    n = int(F.xp.count_nonzero(mask))
    check_source(source, n)
    out = F.xp.array(input, order="C")
    out[mask] = source.reshape(-1)[:n]
    return out


def check_source(source, n):
    """Raise RuntimeError if `source` has fewer than `n` elements."""
    if n > source.size:
        raise worded(RuntimeError(f"Number of elements of source < number of ones in mask: masked_scatter() got "
                                  f"{source.size} elements for {n} places"))


@op(dims="[k] -> x.. of shape",
    node_name="PaddedToBackward0", namespace=None,
    input=lambda F, g, input_shape: F.take_first(g, n=input_shape[0]),
    sample=lambda d: ([d.array((4,))], dict(shape=(2, 3))))
def pad_flat(F, input, *, shape):
    """A tensor of `shape` that begins with the elements of the vector `input`; the rest is zero."""
    out = F.xp.zeros(shape, input.dtype)
    out.reshape(-1)[:input.size] = input
    return out


@op(dims="[x..] -> k=n",
    layout="contiguous",
    node_name="FirstOfBackward0", namespace=None, input=lambda F, g, input_shape: F.pad_flat(g, shape=input_shape),
    sample=lambda d: ([d.array((2, 3))], dict(n=4)))
def take_first(F, input, *, n):
    """The first `n` elements in flattened order, as a vector."""
    return input.reshape(-1)[:n].copy()


# ---- nonzero elements --------------------------------------------------------------------------------------
@composite(out=True)
def nonzero(input, *, as_tuple=False):
    """The indices of the elements that are not zero, in order, as int64: (N, D), one row of D indices for each.

    With `as_tuple` a tuple of D vectors of length N, which can stand between brackets: ``x[x.nonzero(as_tuple=True)]``.
    """
    x, xp = input.array, input.backend.xp
    if as_tuple:
        return tuple([wrap(xp.ascontiguousarray(i), input.backend) for i in xp.nonzero(xp.atleast_1d(x))])
    return wrap(xp.argwhere(x), input.backend)


@composite
def nonzero_static(input, *, size, fill_value=-1):
    """`nonzero` with exactly `size` rows: those too many are left out, missing ones filled with `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = nonzero(input)[:size]
    missing = found.new_full((size - found.array.shape[0], input.array.ndim), fill_value)
    return cat([found, missing])


@composite
def argwhere(input):
    """The indices of the elements that are not zero, in order: (N, D), one row for each. The same as `nonzero`."""
    return nonzero(input)
