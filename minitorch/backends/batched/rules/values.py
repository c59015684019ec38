"""Rules of ops that look at values: their references branch on them, which a batch cannot."""

from ....core.errors import worded
from ..array import Batched, batched, is_shared, lifted, physical, shared, values, varying
from ..backend import rule


@rule("isin")
def isin(F, elements, test_elements, *, assume_unique=False, invert=False):
    if is_shared(test_elements):
        flat = elements.value if elements.__class__ is Batched else elements
        found = F.inner.isin(flat, shared(test_elements), assume_unique=assume_unique, invert=invert)
        return batched(F, found)
    elements, tests = lifted(F, elements), test_elements.reshape((-1,))
    found = (elements[(..., None)] == tests).any(-1)
    return ~found if invert else found


@rule("masked_scatter")
def masked_scatter(F, input, mask, source):
    xp = F.xp
    input, mask = xp.broadcast_arrays(input, mask)
    take = mask.reshape((-1,)).cumsum(0) - 1
    need = int(physical(take).max()) + 1 if take.size else 0
    if need > source.size:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes and as many elements in "
                           f"source as there are ones in mask, but got {source.size} for {need}")
    chosen = xp.take(source.reshape((-1,)), xp.maximum(take, 0)) if source.size else input.reshape((-1,))
    return xp.where(mask, chosen.reshape(input.shape), input)


@rule("masked_select_backward")
def masked_select_backward(F, input, mask, *, shape):
    xp = F.xp
    shape = xp.broadcast_shapes(shape, mask.shape)
    mask = xp.broadcast_to(mask, shape)
    if not input.size:
        return xp.zeros(shape, input.dtype)
    take = xp.minimum(xp.maximum(mask.reshape((-1,)).cumsum(0) - 1, 0), input.size - 1)
    return xp.where(mask, xp.take(input, take).reshape(shape), xp.zeros((), input.dtype))


@rule("unique_indices")
def unique_indices(F, input, *, size):
    if not is_shared(input):
        raise worded(RuntimeError(varying("the indices of index_fill")))
    return batched(F, F.inner.unique_indices(shared(input), size=size)[None])


@rule("rnn_layer")
def rnn_layer(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, *, mode="LSTM", reverse=False):
    weights = (w_ih, w_hh, b_ih, b_hh)
    if not all([is_shared(x) for x in weights]):
        return F.reference.rnn_layer(input, hidden, *weights, cell, mode=mode, reverse=reverse)
    states = [input, hidden] if cell is None else [input, hidden, cell]
    x, *rest = values(F, states)
    size, steps, rows = x.shape[:3]
    x = F.inner.xp.moveaxis(x, 0, 1).reshape((steps, size * rows, -1))
    rest = [s.reshape((size * rows, -1)) for s in rest]
    outputs = F.inner.rnn_layer(x, rest[0], *[shared(w) for w in weights], rest[1] if len(rest) > 1 else None,
                                mode=mode, reverse=reverse)
    h = F.inner.xp.moveaxis(outputs[0].reshape((steps, size, rows, -1)), 1, 0)
    found = [h, *[c.reshape((size, rows, -1)) for c in outputs[1:]]]
    return tuple([batched(F, y) for y in found]), None, None, None, None
