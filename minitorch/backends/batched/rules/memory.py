"""Rules of views of memory: what they read lies at the same places in each element of the batch."""

from math import prod

from ....ops.shapes.shape import places
from ..array import batched, values
from ..backend import rule


def places_of(F, size, stride, offset, layout):
    """Flat indices into one element of the batch, on the lowest backend."""
    while F.depth:
        F = F.inner
    return places(F.xp, size, stride, offset, layout)


def rows(x):
    """One row for each element of a batch."""
    return x.reshape((x.shape[0], -1))


@rule("as_strided_take")
def as_strided_take(F, input, *, size, stride, storage_offset, layout):
    xp, flat = F.inner.xp, rows(input.value)
    padded = xp.concatenate([xp.zeros((flat.shape[0], 1), flat.dtype), flat], 1)
    return batched(F, padded[:, places_of(F, size, stride, storage_offset, layout) + 1])


@rule("as_strided_backward")
def as_strided_backward(F, input, *, size, stride, storage_offset, layout):
    take, flat = places_of(F, size, stride, storage_offset, layout).reshape(-1), rows(input.value)
    out = F.inner.xp.zeros((prod(layout[0]) + 1, flat.shape[0]), flat.dtype)
    F.inner.xp.add.at(out, take + 1, flat.T)
    return batched(F, out[1:].T.reshape((-1, *layout[0])))


@rule("as_strided_scatter")
def as_strided_scatter(F, input, src, *, size, stride, storage_offset, layout):
    take = places_of(F, size, stride, storage_offset, layout)
    target, source = values(F, (input, src))
    out, inside = rows(F.inner.xp.array(target, order="C")), take >= 0
    out[:, take[inside]] = source[:, inside]
    return batched(F, out.reshape(target.shape))


@rule("as_strided_zero")
def as_strided_zero(F, input, *, size, stride, storage_offset, layout):
    take = places_of(F, size, stride, storage_offset, layout)
    out = rows(F.inner.xp.array(input.value, order="C"))
    out[:, take[take >= 0]] = 0
    return batched(F, out.reshape(input.value.shape))


# ---- copies: one for all elements of the batch where the input is one ------------------------------------------
@rule("clone")
def clone(F, input):
    return batched(F, F.inner.clone(input.value))


@rule("copy_contiguous")
def copy_contiguous(F, input):
    return batched(F, F.inner.copy_contiguous(input.value))
