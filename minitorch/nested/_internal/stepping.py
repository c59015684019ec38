"""Steps of optimisers on nested tensors: an elementwise rule updates the tensors of all numbers."""

from ...extend import Elementwise, wrap
from .backend import Outside

__all__: list = []


def is_nested(x):
    return isinstance(getattr(x, "array", None), Outside)


def values_of(p, x):
    """The numbers of a tensor as they lie in the parameter `p`."""
    held = p.array.held
    return wrap(held.laid(x.array.held).array, held.backend)


def of_values(p, values):
    """A nested tensor of the structure of `p`."""
    return wrap(Outside(p.array.held.like(values)), p.backend)


Elementwise.step_within(is_nested, values_of, of_values)
