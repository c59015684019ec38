"""The graph behind a tensor: its places in order, and the values that are known there.

The graph keeps only what the backward pass needs, so a value is known where a leaf or a saved array
holds it; others can be computed again from these.
"""

from ..core import graph
from ..core.arrays import counted
from ..core.op import Op

__all__ = ["forward_order", "uses_behind", "values_behind"]


def uses_behind(root):
    """Place -> how many inputs of other places it is, for `root` and all places behind it, the
    nearest first."""
    uses, order = {root: 0}, [root]
    for place in order:                                    # grows while it is read
        for parent in place.parents:
            if parent is not None:
                if parent not in uses:
                    uses[parent] = 0
                    order.append(parent)
                uses[parent] += 1
    return uses


def forward_order(root):
    """`root` and all places behind it, each after those it was computed from."""
    waiting = uses_behind(root)
    ready, order = [root], []
    while ready:
        place = ready.pop()
        order.append(place)
        for parent in place.parents:
            if parent is not None:
                waiting[parent] -= 1
                if not waiting[parent]:
                    ready.append(parent)
    return order[::-1]


def values_behind(root, most=float("inf"), tensors=None):
    """(the places of `forward_order`, the values that are known: place -> array).

    `tensors`: place -> a tensor that the caller has of it. What the graph has not kept is computed
    again where all that made it is known and has at most `most` elements.
    """
    order = forward_order(root)
    values = kept_values(order)
    for place, tensor in (tensors or {}).items():
        values.setdefault(place, tensor.array)
    for place in order:
        if place not in values and place.parents:
            found = computed_again(place, values, most)
            if found is not None:
                values[place] = found
    return order, values


def kept_values(places):
    """Place -> raw array, for leaves and for what the derivative formulas have saved."""
    values = {}
    for place in places:
        if not place.parents:
            values[place] = place.array
        elif isinstance(place.op, Op) and place.saved:
            for value, where in zip(place.saved, place.op.saved_places):
                if isinstance(where, int) and isinstance(value, place.backend.backend.ndarray):
                    at = place if where == -1 else place.parents[where]
                    if at is not None and getattr(at, "shape", None) == value.shape:
                        values.setdefault(at, value)
    return values


def computed_again(place, values, most):
    """The result of the call at `place`; None where an input or an attribute of it is not known."""
    op = getattr(place, "op", None)
    if not isinstance(op, Op) or op.outputs != 1 or op.keeps:
        return None
    inputs = [values.get(p) for p in place.parents if p is not None]
    if len(inputs) != len(op.inputs) or any(x is None or x.size > most for x in inputs):
        return None
    kept = dict(zip(op.saved_fields, place.saved or ()))
    attrs = {name: kept.get(name, default) for name, default in op.attrs}
    if not all(name in kept for name in attrs) or any(was_written(x, place) for x in inputs):
        return None
    return getattr(place.backend, op.name)(*inputs, **attrs)


def was_written(array, place):
    """True if the memory of `array` was written to since `place` was recorded."""
    found = graph.versions.get(id(counted(array)))
    return found is not None and found.time > place.time
