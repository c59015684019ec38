"""Rules of ops that look at values, or keep some: their references branch on them."""

from ....core.errors import worded
from ..array import Unbatched, is_shared, lifted, physical
from ..backend import rule


# Values: a mask that differs has a result of no one size, which is refused, not run in a loop.
@rule("index")
def index(F, input, *, index):
    try:
        return F.read(input, index)
    except Unbatched as error:
        raise worded(RuntimeError(str(error))) from None


# Values: the reference sorts what to look for, which one search cannot do for a batch.
@rule("isin")
def isin(F, elements, test_elements, *, assume_unique=False, invert=False):
    elements, tests = lifted(F, elements), test_elements.reshape((-1,))
    found = (elements[(..., None)] == tests).any(-1)
    return ~found if invert else found


# Values: the reference takes as many elements as the mask has, here each place says which.
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


# Values: as for `masked_scatter`, whose elements come in the order of the mask.
@rule("masked_select_backward")
def masked_select_backward(F, input, mask, *, shape):
    xp = F.xp
    shape = xp.broadcast_shapes(shape, mask.shape)
    mask = xp.broadcast_to(mask, shape)
    if not input.size:
        return xp.zeros(shape, input.dtype)
    take = xp.minimum(xp.maximum(mask.reshape((-1,)).cumsum(0) - 1, 0), input.size - 1)
    return xp.where(mask, xp.take(input, take).reshape(shape), xp.zeros((), input.dtype))


# Speed: all elements of the batch are rows of one layer. What it keeps has no labels: without it,
# the backward pass computes it again.
@rule("rnn_layer")
def rnn_layer(F, input, hidden, *rest, **attrs):
    if all([is_shared(x) for x in rest[:4]]):              # the weights
        return F.rnn_layer(input, hidden, *rest, **attrs), None, None, None, None
    return F.reference.rnn_layer(input, hidden, *rest, **attrs)
