"""Nested tensors from a structure around a tensor of numbers, and back: two steps with gradients.

The structure is a `Batch`. The array of a nested tensor holds one around a tensor that needs no
gradient; `batch_of` gives it with one through which gradients flow, `tensor_of` is the inverse.
"""

from ...extend import crossed_view, wrap
from ...utils._pytree import tree_map
from .backend import NestedBackend, Outside, backend_of, no_batch
from .batch import Batch
from .strided import Strided

__all__ = ["asked_of", "batch_of", "of_elements", "tensor_of"]


def tensor_of(batch):
    """The nested tensor of a structure around a tensor of numbers."""
    values = batch._inner
    held = batch.like(wrap(values.array, values.backend))
    result = wrap(Outside(held), backend_of(values.backend))
    return crossed_view(result, values, lambda g: held.laid(batch_of(g)), values._base is not None)


def batch_of(x, view=True):
    """The structure of a nested tensor around a tensor of the numbers, through which gradients
    flow. With `view`, writes to that are seen to be such to the nested tensor."""
    held = x.array.held
    if held._inner.needs_grad:                             # inside a call
        return held
    inner = wrap(held._inner.array, held._inner.backend)
    return held.like(crossed_view(inner, x, lambda g: tensor_of(held.like(g)),
                                  view and x.needs_grad))


def through(function, *tensors):
    """A linear function of tensors, of the values of nested ones of one structure; None if it
    returns that."""
    first, *others = [batch_of(x) for x in tensors]
    found = function(first._inner, *[first.laid(other) for other in others])
    if found is not None and found.ndim != first._inner.ndim:
        raise no_batch()
    return None if found is None else tensor_of(first.like(found))


def of_elements(elements):
    """The nested tensor of these elements, in the layout ``torch.strided``."""
    return tensor_of(Strided.of_elements(elements))


def asked_of(nt, name):
    """An attribute of the structure of a nested tensor; a method takes and returns nested ones."""
    own = batch_of(nt)

    def returned(y):
        if y is own:
            return nt
        return tensor_of(y) if isinstance(y, Batch) else y
    found = getattr(own, name)
    if not callable(found):
        return returned(found)

    def method(*args, **kwargs):
        args, kwargs = tree_map(lambda x: batch_of(x) if getattr(x, "is_nested", False) else x,
                                [args, kwargs])
        return returned(found(*args, **kwargs))
    return method


NestedBackend.through = staticmethod(through)
