"""Random numbers in a batch: an error, the same for all elements, or different ones, as each `vmap`
around says.

Random functions ask the innermost `BatchedBackend` while a `vmap` runs: these are methods of it.
The backend fills their arrays, of all elements.
"""

from ...core.errors import worded
from ...core.grad_mode import grad_mode
from ...core.registry import extends
from ...core.tensor import wrap
from .array import Batched, batched, is_shared, over, physical
from .backend import RANDOM, SAME, UNBATCHED, BatchedBackend
from .crossing import chain, entered, join


def levels(device):
    """The batched backends on a device that the thread is in, from the outermost; RuntimeError if
    one allows no draws.
    """
    found = [F for F in grad_mode.batches if F.device == device]
    if any([F.randomness == "error" for F in found]):
        raise worded(RuntimeError(RANDOM))
    return found


@extends(BatchedBackend)
def room(self, tensor):
    """A tensor like `tensor`, which was just made, with room for the different numbers of all
    elements of the batch."""
    found = levels(tensor.device)
    if tensor.backend.depth or not any([F.randomness == "different" for F in found]):
        return tensor
    sizes = tuple([F.size if F.randomness == "different" else 1 for F in found])
    array = tensor.backend.xp.empty((*sizes, *tensor.array.shape), tensor.array.dtype)
    return placed(array, found, tensor.backend)


def placed(array, found, backend):
    """An array with an axis for each of the batches `found` as a tensor in these."""
    for F in found:
        array, backend = batched(F, array), F
    return wrap(array, backend)


@extends(BatchedBackend)
def roomy(self, tensor):
    """`tensor`, in whose shape random numbers are drawn: in the batch, if they differ."""
    return (entered(tensor) if any([F.randomness == "different" for F in levels(tensor.device)])
            else tensor)


@extends(BatchedBackend)
def drawable(self, backend):
    """See to it that an array outside of all batches can be filled: RuntimeError if the numbers
    should differ."""
    if any([F.randomness == "different" for F in levels(backend.device)]):
        raise worded(RuntimeError(UNBATCHED))


@extends(BatchedBackend)
def writable(self, tensor):
    """See to it that `tensor` can be overwritten by random numbers."""
    known = chain(tensor.backend)
    if any([F.randomness == "different" and F not in known for F in levels(tensor.device)]):
        raise worded(RuntimeError(UNBATCHED))


@extends(BatchedBackend)
def of_values(self, draw, *tensors, rows=False):
    """The tensor that ``draw(*arrays)`` makes of the values of tensors on the host, for each
    element of the batch.

    With `rows` the arrays are matrices, and what is drawn for a row of them is a row.
    """
    found = levels(tensors[0].device)
    if not found:
        backend = tensors[0].backend
        return wrap(backend.from_host(draw(*[backend.to_host(x.array) for x in tensors])), backend)
    F, base = found[-1], found[0].inner
    arrays = [spread_out(join(F, x).array, found) for x in tensors]
    hosts = [base.to_host(a.reshape((-1, a.shape[-1])) if rows else a) for a in arrays]
    drawn = base.from_host(draw(*hosts))
    if rows:
        drawn = drawn.reshape((*arrays[0].shape[:-1], drawn.shape[-1]))
    return placed(drawn, found, base)


def spread_out(array, found):
    """The array below all batches, with all elements of those whose numbers differ; RuntimeError if
    others do."""
    x, F = array, found[-1]
    while x.__class__ is Batched:
        F = x.backend
        if F.randomness == "different":
            x = over(F, x)
        elif is_shared(x):
            x = x.value
        else:
            raise worded(RuntimeError(SAME))
    return physical(x)
