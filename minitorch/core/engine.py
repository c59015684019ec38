"""The backward pass: gradients flow from the outputs to the leaves in reverse topological order.

`run` counts how many gradients each node of the graph will be sent, then runs a node when all of its gradients
are in. It is a loop, not a recursion, so a chain of a million calls is no deeper than a chain of two. A node here is
a `Node` or a leaf tensor.
"""

import sys
from functools import partial

from . import graph
from .graph import OutputNode
from .hooks import after_leaf, after_node, before_node, run_with_hooks, tell_backward
from .layouts import own_grad
from .tensor import wrap


def run(roots, seeds, create_graph=False, retain_graph=False, capture=None, told=False):
    """Pull the `seeds` (tensors) back from the `roots` (nodes).

    With `capture`, a dict whose keys are nodes, their gradients are put into it and nothing is accumulated into
    leaves; otherwise the gradient of each leaf is added to its `grad`. `told`: node hooks were already notified.
    """
    if graph.node_hooks is not None and not told:
        return tell_backward(partial(run, roots, seeds, create_graph, retain_graph, capture, True))
    places, order = count_uses(roots)
    ready = seeded(roots, seeds, places, create_graph)
    wanted = places if capture is None else upstream(order, capture)
    add = add_tensor if create_graph else add_array
    while ready:
        place = ready.pop()
        node, _, g, is_owned = place
        place[GRADIENT] = None
        if capture is not None or node.hooks is not None:
            g = arrived(node, g, create_graph, wanted, capture)
        parents = node.parents
        if not parents:                                    # a leaf tensor
            if capture is None and g is not None and node.needs_grad:
                accumulate(node, g, create_graph, is_owned and node.hooks is None)
            continue
        pulled, runs = None, node in wanted
        if g is not None and runs:
            if graph.node_hooks is None and node.hooks is None:
                pulled = node.pull(g, create_graph)
            else:
                pulled = pull_with_hooks(node, g, create_graph)
        for i, parent in enumerate(parents):
            if parent is not None:
                place = places[parent]
                if pulled is not None and pulled[i] is not None:
                    add(node, i, place, pulled)
                left = place[LEFT] = place[LEFT] - 1
                if not left:
                    ready.append(place)
        if runs and not retain_graph:
            node.release()


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


def seeded(roots, seeds, places, create_graph):
    """The places of the roots that can run at once, once the `seeds` have arrived at all of them."""
    ready = []
    for root, seed in zip(roots, seeds):
        place, g = places[root], seed if create_graph else seed.array
        if place[GRADIENT] is not None:                    # a root given twice
            place[GRADIENT] = place[GRADIENT] + g
            continue
        place[GRADIENT] = g
        if not place[LEFT]:
            ready.append(place)
    return ready


# ---- one step ----------------------------------------------------------------------------------------------
def arrived(node, g, create_graph, wanted, capture):
    """The gradient of a node once all of it is in: its hooks run, and it is captured if that is asked for."""
    captured = capture is not None and node in capture
    if node.hooks is not None and g is not None and (capture is None or captured or node in wanted):
        g = before_node(node, g, create_graph)
    if captured:
        capture[node] = g
    return g


def pull_with_hooks(node, g, create_graph):
    """``node.pull(g, create_graph)`` with all node hooks around it, and those of this node after it."""
    pull = node.pull if graph.node_hooks is None else partial(run_with_hooks, node)
    pulled = pull(g, create_graph)
    if node.hooks is not None and node.hooks.post:
        pulled = after_node(node, pulled, g, create_graph)
    return pulled


# ---- adding up ---------------------------------------------------------------------------------------------
def add_array(node, i, place, pulled):
    """Add the `i`-th of the gradients `pulled` from `node`, an array, to what has arrived at its parent, at `place`."""
    if node.__class__ is OutputNode:
        return add_output(node, place, pulled[i])
    gp = pulled[i]
    parent, left, held, is_owned = place
    if gp.__class__ is not node.backend.ndarray and gp.__class__ is not parent.backend.ndarray:
        gp = gp.sent_to(parent) if hasattr(gp, "sent_to") else node.backend.asarray(gp)     # sparse, or 0-d
    is_leaf = not parent.parents
    shape = parent.array.shape if is_leaf else parent.shape
    alone = references(pulled[i]) == ALONE
    if gp.shape != shape:
        gp, alone = summed(node.backend, node, i, gp, shape), True
    if held is None:
        place[GRADIENT] = gp
        if alone and (is_leaf or left > 1) and getattr(gp, "base", gp) is None:
            place[OWNED] = True                            # it will be kept, or added to
    elif is_owned and held.dtype == gp.dtype:
        place[GRADIENT] += gp
    else:
        total = held + gp                                  # of 0-d arrays it is a NumPy scalar
        is_array = total.__class__ is held.__class__ or total.__class__ is gp.__class__
        place[GRADIENT], place[OWNED] = total if is_array else parent.backend.asarray(total), True


def add_tensor(node, i, place, pulled):
    """The same for a tensor, of a pass that is itself recorded."""
    parent, _, held, _ = place
    gp = pulled[i]
    if node.__class__ is OutputNode:
        return add_output(node, place, gp)
    if hasattr(gp, "sent_to"):                             # a sparse one
        gp = gp.sent_to(parent)
    shape = parent.shape if parent.parents else parent.array.shape
    if gp.shape != shape:
        gp = summed(node.op.recorded, node, i, gp, shape)
    place[GRADIENT] = gp if held is None else held + gp


def add_output(node, place, g):
    """Add the gradient of one output of an op with several, whose node has a list of them."""
    if place[GRADIENT] is None:
        place[GRADIENT] = [None] * len(place[0].shape)
    held = place[GRADIENT]
    held[node.op] = g if held[node.op] is None else held[node.op] + g


def summed(F, node, i, g, shape):
    """A gradient in the shape that its parent has: broadcasting is undone."""
    try:
        return F.sum_to(g, shape=tuple(shape))
    except ValueError:                                     # ``x.data = ...`` of another size, between the passes
        raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {i} - got "
                           f"{list(g.shape)} but expected shape compatible with {list(shape)}") from None


# An array that a formula has just made, that is no view, and that nobody else refers to (not the graph, not another
# gradient of the same formula, not a view) may be written to. NumPy finds temporaries to reuse in the same way. Without
# counts of references nothing is taken to be alone.
references = getattr(sys, "getrefcount", lambda x: 0)


def count_alone():
    """The number that `references` gives in `add_array` for an object that only the list there refers to."""
    pulled = [object()]
    gp = pulled[0]                                         # noqa: F841  as in `add_array`
    return references(pulled[0]) or -1


ALONE = count_alone()


def accumulate(leaf, g, create_graph, is_owned):
    """Add a gradient to ``leaf.grad``: an array that nothing else holds, which lies in memory as the leaf does."""
    if leaf._grad is None:
        if create_graph:
            leaf._grad = g
        else:
            own = is_owned and g.strides == leaf.array.strides
            leaf._grad = wrap(g if own else own_grad(g, leaf.array, is_owned), leaf.backend)
    elif create_graph or leaf._grad.array.strides is None:             # a sparse one may become dense
        leaf._grad = leaf._grad + (g if create_graph else wrap(g, leaf.backend))
    else:
        leaf._grad.array += g
        graph.bump_version(leaf._grad, "backward()")
    if leaf.hooks is not None:
        after_leaf(leaf, g, create_graph)
