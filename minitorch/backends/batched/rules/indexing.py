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
