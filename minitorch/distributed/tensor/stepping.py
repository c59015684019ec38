"""Steps of optimisers on DTensors: each rank updates its parts, which is what an elementwise rule
does to the whole."""

from ...extend import Elementwise, wrap
from .backend import ShardedBackend
from .sharded import redistributed, sharded

__all__: list = []


def is_sharded(x):
    return isinstance(getattr(x, "backend", None), ShardedBackend)


def part_of(p, x):
    """This rank's part of a DTensor, brought to the placements of the parameter `p`."""
    return wrap(redistributed(x.array, p.array.placements).value, p.backend.inner)


def of_part(p, part):
    """A DTensor that lies as `p` does."""
    return wrap(sharded(p.backend, part.array, p.array.shape, p.array.placements), p.backend)


Elementwise.step_within(is_sharded, part_of, of_part)
