"""Backward passes whose gradients are tied to inputs by zero derivatives: see
`core/recording.py`."""

from ..core import engine
from ..core.recording import passed
from ..core.tensor import wrap


def run_noting(roots, seeds, create_graph, retain_graph, capture=None):
    """Run a backward pass like `engine.run`; then give zeros to leaves below `Tied` nodes that have
    no gradient."""
    start = len(passed.nodes)
    try:
        engine.run(roots, seeds, create_graph, retain_graph, capture)
        found = below(passed.nodes[start:])
    finally:
        del passed.nodes[start:]
    for place in found if capture is None else capture:
        if capture is not None and capture[place] is None and place in found:
            g = zeros(place, seeds[0])
            capture[place] = g if create_graph else g.array
        elif capture is None and not place.parents and place._grad is None and place.needs_grad:
            place._grad = zeros(place, seeds[0])


def zeros(place, seed):
    """A gradient of zeros for a node or a leaf tensor; for a node in the dtype of `seed`."""
    backend = place.backend.backend
    return wrap(backend.xp.zeros(place.shape, place.array.dtype if not place.parents
                                 else seed.array.dtype), backend)


def below(nodes):
    """The nodes and leaves that the parents of `Tied` nodes depend on, except their first parents.
    """
    return behind(p for node in nodes for p in node.parents[1:])


def behind(places):
    """The nodes and leaf tensors from which those at `places` were computed, and these themselves:
    the keys of a dict."""
    found = dict.fromkeys(places)
    todo = list(found)
    for place in todo:                                     # grows while it is read
        for parent in place.parents:
            if parent is not None and parent not in found:
                found[parent] = None
                todo.append(parent)
    return found
