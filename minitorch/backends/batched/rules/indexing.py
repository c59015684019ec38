"""Rules of indexing and of embeddings."""

from ....core.errors import worded
from ..array import Unbatched
from ..backend import rule


@rule("index")
def index(F, input, *, index):
    try:
        return F.read(input, index)
    except Unbatched as error:                             # a mask: the shape of the result depends on the batch
        raise worded(RuntimeError(str(error))) from None


@rule("embedding_double_backward")
def embedding_double_backward(F, weight, input, *, padding_idx, scale_grad_by_freq):
    xp = F.xp
    out = xp.take(weight, input, axis=0)
    if scale_grad_by_freq:
        counts = xp.bincount(input.reshape((-1,)), minlength=len(weight))
        out = out / xp.take(counts, input).astype(out.dtype)[(..., None)]
    if padding_idx >= 0:
        out = xp.where((input == padding_idx)[(..., None)], xp.zeros((), out.dtype), out)
    return out
