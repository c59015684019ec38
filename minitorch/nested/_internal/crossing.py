"""Nested tensors from a structure around a tensor of numbers, and back: two steps with gradients.

The structure is a `Batch`. The array of a nested tensor holds one around a tensor that needs no
gradient; `batch_of` gives it with one through which gradients flow, `tensor_of` is the inverse.
"""

from ... import Tensor
from ...extend import crossed, crossed_view, wrap
from ...utils._pytree import tree_map
from .backend import NestedBackend, Outside, backend_of, no_batch
from .batch import Batch
from .strided import Strided

__all__ = ["asked_of", "batch_of", "of_elements", "shown", "tensor_of"]


def tensor_of(batch):
    """The nested tensor of a structure around a tensor of numbers."""
    values = batch._inner
    held = batch.like(wrap(values.array, values.backend))
    result = shown(wrap(Outside(held), backend_of(values.backend)))
    return crossed_view(result, values, lambda g: values_as(held, g), values._base is not None)


def values_as(held, g):
    """The values of a gradient, as they lie in this structure."""
    found = batch_of(g)
    if not isinstance(found, Batch):                       # computed of each element alone
        found = held.of_elements(found.unbind())
    return held.laid(found)


def batch_of(x, view=True):
    """The structure around a tensor of the numbers, through which gradients flow, of a nested
    tensor; the dense tensor of one that is dense on a backend of nested ones. With `view`, writes
    to it are seen to be such to the nested tensor."""
    held = x.array.held
    inner = held._inner if isinstance(held, Batch) else held
    if not inner.needs_grad:                               # else it is inside a call
        inner = wrap(inner.array, inner.backend)
        crossed_view(inner, x, lambda g: tensor_like(held, g), view and x.needs_grad)
    return held.like(inner) if isinstance(held, Batch) else inner


def tensor_like(held, values):
    """The gradient of a nested tensor from that of its values."""
    if isinstance(held, Batch):
        return tensor_of(held.like(values))
    made = Outside(wrap(values.array, values.backend))
    return crossed(wrap(made, backend_of(values.backend)), (values,), batch_of)


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


def shown(x):
    """A result as users see it: a nested tensor is of their class, others are dense."""
    if not isinstance(x, Tensor) or not isinstance(x.backend, NestedBackend):
        return x
    if not isinstance(x.array.held, Batch):
        return batch_of(x)
    if type(x) is Tensor:
        x.__class__ = x.array.held.tensor_class
    return x


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
