"""The backward pass: gradients flow from the outputs to the leaves in reverse topological order.

`run` counts how many gradients each node of the graph will be sent, then runs a node when all of its gradients
are in. It is a loop, not a recursion, so a chain of a million calls is no deeper than a chain of two. A node here is
a `Node` or a leaf tensor.
"""

import sys
from functools import partial

from . import graph, registry
from .graph import OutputNode
from .registry import late


def run(roots, seeds, create_graph=False, retain_graph=False, capture=None, told=False):
    """Pull the `seeds` (tensors) back from the `roots` (nodes).

    With `capture`, a dict whose keys are nodes, their gradients are put into it and nothing is accumulated into
    leaves; otherwise the gradient of each leaf is added to its `grad`. `told`: the node hooks know of the pass.
    """
    if graph.node_hooks is not None and not told:
        return late.tell_backward(partial(run, roots, seeds, create_graph, retain_graph, capture, True))
    places, order = count_uses(roots)
    ready = []
    wanted = None if capture is None else upstream(order, capture)
    for root, seed in zip(roots, seeds):
        place, g = places[root], seed if create_graph else seed.array
        if place[GRADIENT] is not None:                    # a root given twice
            place[GRADIENT] = place[GRADIENT] + g
            continue
        place[GRADIENT] = g
        if not place[LEFT]:
            ready.append(place)
    while ready:
        place = ready.pop()
        node, _, g, is_owned = place
        place[GRADIENT] = None
        if node.hooks is not None and g is not None and (wanted is None or node in wanted or node in capture):
            g = late.before_node(node, g, create_graph)
        if capture is not None and node in capture:
            capture[node] = g
        parents = node.parents
        if not parents:                                    # a leaf tensor
            if capture is None and g is not None and node.needs_grad:
                accumulate(node, g, create_graph, is_owned and node.hooks is None)
            continue
        pulled = None
        if g is not None and (wanted is None or node in wanted):
            if graph.node_hooks is None:
                pulled = node.pull(g, create_graph)
            else:
                pulled = late.run_with_hooks(node, g, create_graph)
            if node.hooks is not None and node.hooks.post:
                pulled = late.after_node(node, pulled, g, create_graph)
        for i, parent in enumerate(parents):
            if parent is not None:
                place = places[parent]
                if pulled is not None and pulled[i] is not None:
                    send(node, i, place, pulled, create_graph)
                left = place[LEFT] = place[LEFT] - 1
                if not left:
                    ready.append(place)
        if not retain_graph and (wanted is None or node in wanted):
            node.release()


def send(node, i, place, pulled, create_graph):
    """Add the `i`-th of the gradients `pulled` from `node` to what has arrived at its parent, at `place`."""
    parent, left, held, is_owned = place
    gp = pulled[i]
    if node.__class__ is OutputNode:                        # one output of an op with several
        if held is None:
            held = place[GRADIENT] = [None] * len(parent.shape)
        held[node.op] = gp if held[node.op] is None else held[node.op] + gp
        return
    backend = node.backend
    if gp.__class__ is not backend.ndarray and gp.__class__ is not parent.backend.ndarray:
        if hasattr(gp, "sent_to"):                         # a sparse one
            gp = gp.sent_to(parent)
        elif not create_graph:                             # a NumPy scalar, from arithmetic on 0-d arrays
            gp = backend.asarray(gp)
    is_leaf = not parent.parents
    shape = parent.array.shape if is_leaf else parent.shape
    alone = references(pulled[i]) == ALONE
    if gp.shape != shape:                                  # undo broadcasting
        try:
            gp = (node.op.recorded if create_graph else backend).sum_to(gp, shape=tuple(shape))
        except ValueError:                                 # ``x.data = ...`` of another size, between the passes
            raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {i} - got "
                               f"{list(gp.shape)} but expected shape compatible with {list(shape)}") from None
        alone = True
    if held is None:
        place[GRADIENT] = gp
        if alone and (is_leaf or left > 1) and not create_graph and getattr(gp, "base", gp) is None:
            place[OWNED] = True                            # it will be kept, or added to
    elif create_graph:
        place[GRADIENT] = held + gp
    elif is_owned and held.dtype == gp.dtype:
        place[GRADIENT] += gp
    else:
        total = held + gp                                  # of 0-d arrays it is a NumPy scalar
        place[GRADIENT] = total if total.__class__ in (held.__class__, gp.__class__) else parent.backend.asarray(total)
        place[OWNED] = True


# An array that a formula has just made, that is no view, and that nobody else refers to (not the graph, not another
# gradient of the same formula, not a view) may be written to. NumPy finds temporaries to reuse in the same way. Without
# counts of references nothing is taken to be alone.
references = getattr(sys, "getrefcount", lambda x: 0)


def count_alone():
    """The number that `references` gives in `send` for an object that only the list there refers to."""
    pulled = [object()]
    gp = pulled[0]                                         # noqa: F841  as in `send`
    return references(pulled[0]) or -1


ALONE = count_alone()


# A place is what a pass knows of a node: the node, how many gradients are still to come, what has arrived, and whether
# the engine made that array.
LEFT, GRADIENT, OWNED = 1, 2, 3


def count_uses(roots):
    """The places of the roots and of all nodes below them; and a list of the nodes."""
    order, places = [], {}
    for root in roots:
        if root not in places:
            places[root] = [root, 0, None, False]
            order.append(root)
    for node in order:                                    # grows while it is read
        for parent in node.parents:
            if parent is not None:
                if parent in places:
                    places[parent][LEFT] += 1
                else:
                    places[parent] = [parent, 1, None, False]
                    if parent.parents:
                        order.append(parent)
    return places, order


def upstream(order, capture):
    """The nodes through which a gradient must pass on its way to those in `capture`."""
    users = {}
    for node in order:
        for parent in node.parents:
            if parent is not None:
                users.setdefault(parent, []).append(node)
    found = list(capture)
    wanted = set()
    for node in found:
        for user in users.get(node, ()):
            if user not in wanted:
                wanted.add(user)
                found.append(user)
    return wanted


def accumulate(leaf, g, create_graph, is_owned):
    """Add a gradient to ``leaf.grad``: an array that nothing else holds, which lies in memory as the leaf does."""
    if leaf._grad is None:
        if create_graph:
            leaf._grad = g
        else:
            own = is_owned and g.strides == leaf.array.strides
            leaf._grad = registry.wrap(g if own else late.own_grad(g, leaf.array, is_owned), leaf.backend)
    elif create_graph or leaf._grad.array.strides is None:             # a sparse one may become dense
        leaf._grad = leaf._grad + (g if create_graph else registry.wrap(g, leaf.backend))
    else:
        leaf._grad.array += g
        graph.bump_version(leaf._grad, "backward()")
    if leaf.hooks is not None:
        late.after_leaf(leaf, g, create_graph)
