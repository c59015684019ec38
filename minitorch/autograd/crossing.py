"""Tensors that go from one backend to another, recorded like calls.

The node of such a step has a function of the gradient, a tensor, for each parent, which takes it
back. It may cross in turn, so that derivatives of any order do.
"""

import weakref

from ..core.grad_mode import grad_mode
from ..core.graph import Node, made_node, record
from ..core.registry import OPS
from ..core.tensor import wrap

__all__ = ["Crossing", "crossed", "crossed_view"]


class Crossing(Node):
    """A node of these: `saved` has a function for each parent, of the gradient, a tensor."""

    __slots__ = ()

    def name(self):
        return "AliasBackward0"

    def pull(self, g, create_graph):
        if not create_graph:
            g = wrap(g, getattr(g, "backend", self.backend))
        found = [back(g) if p is not None else None for p, back in zip(self.parents, self.saved)]
        return found if create_graph else [None if x is None else x.array for x in found]

    def release(self):
        pass


def crossed(result, sources, *backs, kind=Crossing):
    """`result` with a node, if its `sources` need gradients: `backs` are the functions for them."""
    if grad_mode.enabled and any([x.needs_grad for x in sources]):
        parents = tuple([(x.node or x) if x.needs_grad else None for x in sources])
        shape = result.array.shape
        record(made_node(OPS["alias"], parents, backs, shape, result.backend, kind), result)
    return result


class View(Crossing):
    """The node of a tensor in the memory of another one. It is called as what made that, and no
    write gives a gradient to both."""

    __slots__ = ()
    is_function = True

    def name(self):
        return getattr(self.parents[0], "name", super().name)()


def crossed_view(result, source, back, is_marked=True):
    """`crossed` of one source in whose memory the result lies; writes to one are seen to be such to
    the other if it `is_marked`."""
    if is_marked:
        root = result._base = source if source._base is None else source._base
        root._views = [*[ref for ref in root._views or () if ref() is not None],
                       weakref.ref(result)]
    return crossed(result, (source,), back, kind=View)
