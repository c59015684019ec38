"""Steps of optimisers on DTensors: each rank updates its parts, which is what an elementwise rule does to the whole."""

from ...extend import Elementwise, wrap
from .backend import ShardedBackend
from .sharded import redistributed, sharded

__all__ = ["step_in_parts"]


@Elementwise.ask_first
def step_in_parts(optimizer, key, group, params):
    """Update `params`, some of them DTensors, by their parts; False if there are none.

    A part is a tensor of this rank, which stands in for the parameter: its gradient is brought to the parameter's
    placements. The states are DTensors that lie as the parameter does, and their parts are the states of the part.
    """
    if not any([isinstance(p.backend, ShardedBackend) for p in params]):
        return False
    parts = [part_of(optimizer, p) if isinstance(p.backend, ShardedBackend) else p for p in params]
    try:
        optimizer._update(key, group, parts)
    finally:
        for p, part in zip(params, parts):
            if part is not p:
                put_back(optimizer, p, part)
    return True


def part_of(optimizer, p):
    """This rank's part of a parameter, with its gradient and its state."""
    part, grad = wrap(p.array.value, p.backend.inner), p._grad.array
    part._grad = wrap(redistributed(grad, p.array.placements).value, p.backend.inner)
    state = optimizer.state.get(p)
    if state is not None:
        optimizer.state[part] = {name: wrap(x.array.value, x.backend.inner) if is_sharded(x) else x
                                 for name, x in state.items()}
    return part


def put_back(optimizer, p, part):
    """Give the parameter the state of its part."""
    found, state = optimizer.state.pop(part, None), optimizer.state[p]
    for name, x in (found or {}).items():
        if name not in optimizer.counters and getattr(getattr(x, "array", None), "shape", None) == part.array.shape:
            before = state.get(name)
            x = before if is_sharded(before) and before.array.value is x.array else wrap(
                sharded(p.backend, x.array, p.array.shape, p.array.placements), p.backend)
        state[name] = x


def is_sharded(x):
    return isinstance(getattr(x, "backend", None), ShardedBackend)

