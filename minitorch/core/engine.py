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
    uses, order = count_uses(roots)
    wanted = None if capture is None else upstream(order, capture)
    grads, owned = {}, set()           # what has arrived at a node; the nodes whose array was made here
    for root, seed in zip(roots, seeds):
        g = seed if create_graph else seed.array
        grads[root] = grads[root] + g if root in grads else g
    ready = [root for root in dict.fromkeys(roots) if not uses[root]]
    while ready:
        node = ready.pop()
        g = grads.pop(node, None)
        if node.hooks is not None and g is not None:
            g = late.before_node(node, g, create_graph)
        if capture is not None and node in capture:
            capture[node] = g
        parents = node.parents
        if not parents:                                    # a leaf tensor
            if capture is None and g is not None:
                accumulate(node, g, create_graph, node in owned and node.hooks is None)
            continue
        pulled = None
        if g is not None and (wanted is None or node in wanted):
            if graph.node_hooks is None:
                pulled = node.pull(g, create_graph)
            else:
                pulled = late.run_with_hooks(node, g, create_graph)
            if node.hooks is not None and node.hooks.post:
                pulled = late.after_node(node, pulled, g, create_graph)
            send(node, parents, pulled, g, grads, owned, uses, create_graph)
        if not retain_graph:
            node.release()
        for parent in parents:
            if parent is not None:
                left = uses[parent] = uses[parent] - 1
                if not left:
                    ready.append(parent)


def send(node, parents, pulled, g, grads, owned, uses, create_graph):
    """Add the gradients `pulled`, which `node` made of `g`, to what has arrived at its `parents`."""
    if node.__class__ is OutputNode:                        # one output of an op with several
        parent, k, gp = parents[0], node.op, pulled[0]
        slots = grads.setdefault(parent, [None] * len(parent.shape))
        slots[k] = gp if slots[k] is None else slots[k] + gp
        return
    backend = node.backend
    for i, parent in enumerate(parents):
        if parent is None:
            continue
        gp = pulled[i]
        if gp is None:
            continue
        if gp.__class__ is not backend.ndarray and gp.__class__ is not parent.backend.ndarray and not create_graph:
            gp = backend.asarray(gp)                       # a NumPy scalar, from arithmetic on 0-d arrays
        is_leaf = not parent.parents
        shape = parent.array.shape if is_leaf else parent.shape
        alone = references(pulled[i]) == ALONE
        if gp.shape != shape:                              # undo broadcasting
            gp = (node.op.recorded if create_graph else backend).sum_to(gp, shape=tuple(shape))
            alone = True
        held = grads.get(parent)
        if held is None:
            grads[parent] = gp
            if alone and (is_leaf or uses[parent] > 1) and not create_graph and getattr(gp, "base", gp) is None:
                owned.add(parent)                          # it will be kept, or added to
        elif create_graph:
            grads[parent] = held + gp
        elif parent in owned and held.dtype == gp.dtype:
            held += gp
        else:
            grads[parent] = backend.asarray(held + gp)
            owned.add(parent)


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


def count_uses(roots):
    """How many gradients each node below the roots, and the roots themselves, will be sent; and all the nodes."""
    order = list(dict.fromkeys(roots))
    uses = dict.fromkeys(order, 0)
    for node in order:                                    # grows while it is read
        for parent in node.parents:
            if parent is not None:
                if parent in uses:
                    uses[parent] += 1
                else:
                    uses[parent] = 1
                    if parent.parents:
                        order.append(parent)
    return uses, order


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
    elif create_graph:
        leaf._grad = leaf._grad + g
    else:
        leaf._grad.array += g
        graph.bump_version(leaf._grad, "backward()")
    if leaf.hooks is not None:
        for hook in list(leaf.hooks.accumulated.values()):
            hook(leaf)
