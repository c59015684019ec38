"""The backward pass: gradients flow from the outputs to the leaves in reverse topological order.

`run` counts how many gradients each node of the graph will receive, then runs a node when all of
them have arrived. It is a loop, not a recursion, so the length of a chain of calls is not limited
by Python's stack. A node here is a `Node` or a leaf tensor.
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

    With `capture`, a dict whose keys are nodes, the gradients of these nodes are stored in it and
    no `grad` changes; otherwise the gradient of each leaf is added to its `grad`. `told`: node
    hooks were already notified.
    """
    if graph.node_hooks is not None and not told:
        return tell_backward(partial(run, roots, seeds, create_graph, retain_graph, capture, True))
    places, order = count_uses(roots)
    ready = seeded(roots, seeds, places, create_graph)
    wanted = places if capture is None else upstream(order, capture)
    send = send_tensors if create_graph else send_arrays
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
        runs = node in wanted
        if g is None or not runs:
            send_nothing(node, places, ready)
        else:
            if graph.node_hooks is None and node.hooks is None:
                pulled = node.pull(g, create_graph)
            else:
                pulled = pull_with_hooks(node, g, create_graph)
            send(node, pulled, places, ready)
        if runs and not retain_graph:
            node.release()


# A place is a pass's record of one node, a list: the node, the number of gradients still to come,
# the sum of those that have arrived, and True if the engine made that array and may add to it.
LEFT, GRADIENT, OWNED = 1, 2, 3


def count_uses(roots):
    """The places of the roots and of all nodes that they depend on; and a list of the roots and of
    those nodes that have parents."""
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
    """The nodes that a gradient passes through on its way to those in `capture`."""
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
    """Put the `seeds` into the places of the roots; returns the places that can run at once."""
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


# ---- one step -----------------------------------------------------------------------------------
def arrived(node, g, create_graph, wanted, capture):
    """The complete gradient of a node, after its hooks; stored if `capture` asks for it."""
    captured = capture is not None and node in capture
    if node.hooks is not None and g is not None and (capture is None or captured or node in wanted):
        g = before_node(node, g, create_graph)
    if captured:
        capture[node] = g
    return g


def pull_with_hooks(node, g, create_graph):
    """``node.pull(g, create_graph)`` with all node hooks around it, and those of this node after
    it."""
    pull = node.pull if graph.node_hooks is None else partial(run_with_hooks, node)
    pulled = pull(g, create_graph)
    if node.hooks is not None and node.hooks.post:
        pulled = after_node(node, pulled, g, create_graph)
    return pulled


# ---- adding up ----------------------------------------------------------------------------------
def send_arrays(node, pulled, places, ready):
    """Add the gradients `pulled` from `node` (arrays) to those that have arrived at its parents;
    append the parents that are complete to `ready`."""
    if node.__class__ is OutputNode:
        return send_output(node, pulled[0], places, ready)
    for i, parent in enumerate(node.parents):
        if parent is None:
            continue
        place, gp = places[parent], pulled[i]
        if gp is not None:
            if (gp.__class__ is not node.backend.ndarray
                and gp.__class__ is not parent.backend.ndarray):
                # a sparse gradient, or a NumPy scalar in place of a 0-d array
                if hasattr(gp, "sent_to"):
                    gp = gp.sent_to(parent)
                elif not hasattr(gp, "backend"):           # nor of a batch, or with a tangent
                    gp = parent.backend.asarray(gp)
            is_leaf = not parent.parents
            shape = parent.array.shape if is_leaf else parent.shape
            alone = references(pulled[i]) == ALONE
            if gp.shape != shape:
                gp, alone = summed(node.backend, node, i, gp, shape), True
            if place[GRADIENT] is not None:
                add(place, gp)
            else:
                place[GRADIENT] = gp
                if alone and (is_leaf or place[LEFT] > 1) and getattr(gp, "base", gp) is None:
                    place[OWNED] = True                    # the leaf keeps it, or `add` adds to it
        left = place[LEFT] = place[LEFT] - 1
        if not left:
            ready.append(place)


def add(place, g):
    """Add an array to the gradient that has arrived at a place; in place if the engine owns it."""
    held = place[GRADIENT]
    if place[OWNED] and held.dtype == g.dtype:
        place[GRADIENT] += g
        return
    total = held + g                                       # a NumPy scalar if both are 0-d
    is_array = total.__class__ is held.__class__ or total.__class__ is g.__class__
    place[GRADIENT], place[OWNED] = total if is_array else place[0].backend.asarray(total), True


def send_tensors(node, pulled, places, ready):
    """`send_arrays` for the tensors of a pass that is itself recorded. Nothing is added in place:
    the sums are recorded too."""
    if node.__class__ is OutputNode:
        return send_output(node, pulled[0], places, ready)
    for i, parent in enumerate(node.parents):
        if parent is not None and (gp := pulled[i]) is not None:
            if hasattr(gp, "sent_to"):                     # a sparse one
                gp = gp.sent_to(parent)
            place, shape = places[parent], parent.shape if parent.parents else parent.array.shape
            if gp.array.shape != shape:
                gp = summed(node.op.recorded, node, i, gp, shape)
            place[GRADIENT] = gp if place[GRADIENT] is None else place[GRADIENT] + gp
    send_nothing(node, places, ready)


def send_output(node, g, places, ready):
    """Pass the gradient of an `OutputNode` on to its node, which collects a list with one gradient
    for each output."""
    place = places[node.parents[0]]
    if g is not None:
        if place[GRADIENT] is None:
            place[GRADIENT] = [None] * len(place[0].shape)
        held = place[GRADIENT]
        held[node.op] = g if held[node.op] is None else held[node.op] + g
    send_nothing(node, places, ready)


def send_nothing(node, places, ready):
    """Note that `node` sends nothing more to its parents; append those that are complete to
    `ready`."""
    for parent in node.parents:
        if parent is not None:
            place = places[parent]
            place[LEFT] -= 1
            if not place[LEFT]:
                ready.append(place)


def summed(F, node, i, g, shape):
    """The gradient `g`, summed over the dimensions that were broadcast from `shape`."""
    try:
        return F.sum_to(g, shape=tuple(shape))
    except ValueError:                        # ``x.data = ...`` of another size, between the passes
        raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {i} - "
                           f"got {list(g.shape)} but expected shape compatible with "
                           f"{list(shape)}") from None


# The engine may write to an array that a formula has just made, if it is not a view and nothing
# else refers to it (not the graph, not another gradient of the same formula, not a view). Its
# reference count says so; NumPy finds temporaries to reuse in the same way. On a Python without
# reference counts, no array counts as unshared.
references = getattr(sys, "getrefcount", lambda x: 0)


def count_alone():
    """The result of `references` in `send_arrays` for an object that only the list `pulled` there
    refers to."""
    pulled = [object()]
    gp = pulled[0]                                         # noqa: F841  as in `send_arrays`
    return references(pulled[0]) or -1


ALONE = count_alone()


def accumulate(leaf, g, create_graph, is_owned):
    """Add a gradient to ``leaf.grad``, an array that nothing else refers to and that has the leaf's
    memory layout."""
    if leaf._grad is None:
        if create_graph:
            leaf._grad = g
        else:
            own = is_owned and g.strides == leaf.array.strides
            leaf._grad = wrap(g if own else own_grad(g, leaf.array, is_owned), leaf.backend)
    elif create_graph or leaf._grad.array.strides is None:  # a sparse sum may become dense
        leaf._grad = leaf._grad + (g if create_graph else wrap(g, leaf.backend))
    else:
        leaf._grad.array += g
        graph.bump_version(leaf._grad, "backward()")
    if leaf.hooks is not None:
        after_leaf(leaf, g, create_graph)
