"""Steps of optimisers on nested tensors: an elementwise rule updates the tensors of all numbers."""

from ...extend import Elementwise, wrap
from .backend import Outside

__all__ = ["step_values"]


@Elementwise.ask_first
def step_values(optimizer, key, group, params):
    """Update `params`, some of them nested, by their values; False if there are none.

    The values stand in for the parameter. The states are nested tensors of its structure, and their
    values are the states of the values.
    """
    if not any([is_nested(p) for p in params]):
        return False
    stands = [values_of(optimizer, p) if is_nested(p) else p for p in params]
    try:
        optimizer._update(key, group, stands)
    finally:
        for p, values in zip(params, stands):
            if values is not p:
                put_back(optimizer, p, values)
    return True


def is_nested(x):
    return isinstance(getattr(x, "array", None), Outside)


def values_of(optimizer, p):
    """The values of a parameter, with its gradient and its state."""
    held = p.array.held
    values = wrap(held._inner.array, held.backend)
    values._grad = wrap(held.laid(p._grad.array.held).array, held.backend)
    state = optimizer.state.get(p)
    if state is not None:
        optimizer.state[values] = {name: wrap(held.laid(x.array.held).array, held.backend)
                                   if is_nested(x) else x for name, x in state.items()}
    return values


def put_back(optimizer, p, values):
    """Give the parameter the state of its values."""
    found, state = optimizer.state.pop(values, None), optimizer.state[p]
    for name, x in (found or {}).items():
        array, before = getattr(x, "array", None), state.get(name)
        if is_nested(before) and before.array.held._inner.array is array:
            continue
        if name not in optimizer.counters and getattr(array, "shape", None) == values.array.shape:
            x = wrap(Outside(p.array.held.like(x)), p.backend)
        state[name] = x
