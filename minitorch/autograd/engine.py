"""The backward pass: gradients flow from the outputs to the leaves in reverse topological order.

`run` counts how many gradients each place of the graph will be sent, then runs a node when all of its gradients
are in. It is a loop, not a recursion, so a chain of a million calls is no deeper than a chain of two. A place is a
Node or a leaf tensor.
"""

import sys
from typing import Any

from . import graph
from .grad_mode import grad_mode
from .graph import Selected

__all__ = ["run", "backward", "grad"]

Tensor: Any = None         # both from minitorch.tensor, which needs this module first
wrap: Any = None


def run(roots, seeds, create_graph=False, retain_graph=False, capture=None):
    """Pull the `seeds` (tensors) back from the `roots` (places).

    With `capture`, a dict whose keys are places, their gradients are put into it and nothing is accumulated into
    leaves; otherwise the gradient of each leaf is added to its `grad`.
    """
    uses, order = count_uses(roots)
    wanted = None if capture is None else upstream(order, capture)
    grads, owned = {}, set()           # what has arrived at a place; the places whose array was made here
    for root, seed in zip(roots, seeds):
        g = seed if create_graph else seed.array
        grads[root] = grads[root] + g if root in grads else g
    ready = [root for root in dict.fromkeys(roots) if not uses[root]]
    while ready:
        place = ready.pop()
        g = grads.pop(place, None)
        if place.hooks is not None and g is not None:
            g = before(place, g, create_graph)
        if capture is not None and place in capture:
            capture[place] = g
        parents = place.parents
        if not parents:                                    # a leaf tensor
            if capture is None and g is not None:
                accumulate(place, g, create_graph, place in owned and place.hooks is None)
            continue
        pulled = None
        if g is not None and (wanted is None or place in wanted):
            pulled = place.pull(g, create_graph)
            if graph.inspect is not None:
                graph.inspect(place, pulled)
            if place.hooks is not None and place.hooks.post:
                pulled = after(place, pulled, g, create_graph)
            send(place, parents, pulled, g, grads, owned, uses, create_graph)
        if not retain_graph:
            place.release()
        for parent in parents:
            if parent is not None:
                left = uses[parent] = uses[parent] - 1
                if not left:
                    ready.append(parent)


def send(place, parents, pulled, g, grads, owned, uses, create_graph):
    """Add the gradients `pulled`, which `place` made of `g`, to what has arrived at its `parents`."""
    if place.__class__ is Selected:                        # one output of an op with several
        parent, k, gp = parents[0], place.op, pulled[0]
        slots = grads.setdefault(parent, [None] * len(parent.shape))
        slots[k] = gp if slots[k] is None else slots[k] + gp
        return
    backend = place.backend
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
            gp = (place.op.recorded if create_graph else backend).sum_to(gp, shape=tuple(shape))
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


# An array that a rule has just made, that is no view, and that nobody else refers to (not the tape, not another
# gradient of the same rule, not a view) may be written to. NumPy finds temporaries to reuse in the same way. Without
# counts of references nothing is taken to be alone.
references = getattr(sys, "getrefcount", lambda x: 0)


def count_alone():
    """What `references` says in `send` about an object that only the list there refers to."""
    pulled = [object()]
    gp = pulled[0]                                         # noqa: F841  as in `send`
    return references(pulled[0]) or -1


ALONE = count_alone()


def count_uses(roots):
    """How many gradients each place below the roots, and the roots themselves, will be sent; and all the nodes."""
    order = list(dict.fromkeys(roots))
    uses = dict.fromkeys(order, 0)
    for place in order:                                    # grows while it is read
        for parent in place.parents:
            if parent is not None:
                if parent in uses:
                    uses[parent] += 1
                else:
                    uses[parent] = 1
                    if parent.parents:
                        order.append(parent)
    return uses, order


def upstream(order, capture):
    """The places through which a gradient must pass on its way to those in `capture`."""
    users = {}
    for place in order:
        for parent in place.parents:
            if parent is not None:
                users.setdefault(parent, []).append(place)
    found = list(capture)
    wanted = set()
    for place in found:
        for user in users.get(place, ()):
            if user not in wanted:
                wanted.add(user)
                found.append(user)
    return wanted


def before(place, g, create_graph):
    """Run the hooks that see a gradient before it is used, then keep it for `retain_grad`."""
    hooks = place.hooks
    if type(g) is list:
        return g
    for hook in list(hooks.pre.values()):
        result = hook(g if create_graph else wrap(g, place.backend.backend))
        if result is not None:
            g = result if create_graph else result.array
    for ref in hooks.retain:
        tensor = ref()
        if tensor is not None:
            tensor._grad = g if create_graph else wrap(g.copy(), place.backend.backend)
    return g


def after(place, pulled, g, create_graph):
    """Run the hooks that see a node's input and output gradients together."""

    def show(x):
        return x if x is None or create_graph else wrap(x, place.backend.backend)

    for hook in list(place.hooks.post.values()):
        shown = tuple(map(show, g)) if type(g) is list else (show(g),)
        result = hook(tuple(map(show, pulled)), shown)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            pulled = tuple(r if r is None or create_graph else r.array for r in result)
    return pulled


def accumulate(leaf, g, create_graph, is_owned):
    """Add a gradient to ``leaf.grad``; the array becomes the leaf's own, never one that something else holds."""
    if leaf._grad is None:
        if create_graph:
            leaf._grad = g
        else:
            leaf._grad = wrap(g if is_owned else leaf.backend.xp.array(g), leaf.backend)
    elif create_graph:
        leaf._grad = leaf._grad + g
    else:
        leaf._grad.array += g
        graph.written(leaf._grad, "backward()")
    if leaf.hooks is not None:
        for hook in list(leaf.hooks.accumulated.values()):
            hook(leaf)


# ------------------------------------------------------------------ the public calls
def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add to the `grad` of every leaf below `tensors` (or of `inputs` only) its part of the gradient.

    `grad_tensors` are the gradients of `tensors`, None for those with one element (then 1). The graph's saved
    values are freed unless `retain_graph` (default: `create_graph`); with `create_graph` the pass is recorded,
    so that its result can be differentiated again.
    """
    if grad_variables is not None:                         # the name of `grad_tensors` in old programs
        grad_tensors = grad_variables
    tensors, seeds = as_tuple(tensors), as_tuple(grad_tensors)
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        found = grad(tensors, inputs, seeds, retain_graph, create_graph, allow_unused=True)
        for x, g in zip(inputs, found):
            if g is not None:
                accumulate(x, g if create_graph else g.array, create_graph, False)
        return
    roots, seeds = prepare(tensors, seeds, "backward")
    with _recording(create_graph):
        run(roots, seeds, create_graph, create_graph if retain_graph is None else retain_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, as a tuple of tensors.

    Nothing is added to any ``.grad``. An input that does not influence the outputs raises RuntimeError, unless
    `allow_unused` (its gradient is None) or `materialize_grads` (zeros).
    """
    if is_grads_batched:
        raise RuntimeError("is_grads_batched=True is not supported: call grad() once for each row of grad_outputs")
    if allow_unused is False and materialize_grads:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = as_tuple(outputs), as_tuple(inputs)
    for x in inputs:
        if not x.needs_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots, seeds = prepare(outputs, as_tuple(grad_outputs), "grad")
    capture = {x.node or x: None for x in inputs}
    with _recording(create_graph):
        run(roots, seeds, create_graph, create_graph if retain_graph is None else retain_graph, capture)
    return tuple(_captured(x, capture[x.node or x], create_graph, allow_unused, materialize_grads) for x in inputs)


def _captured(x, g, create_graph, allow_unused, materialize):
    if g is None:
        if not allow_unused:
            raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                               "allow_unused=True if this is the desired behavior.")
        if not materialize:
            return None
        return wrap(x.backend.xp.zeros_like(x.array), x.backend)
    return g if create_graph else wrap(x.backend.xp.array(g), x.backend)


class _recording:
    """Grad mode during a backward pass: recorded or not, and put back at its end."""

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.outer = grad_mode.enabled, grad_mode.inference
        grad_mode.enabled, grad_mode.inference = self.on, False

    def __exit__(self, *exc):
        grad_mode.enabled, grad_mode.inference = self.outer


def as_tuple(x):
    return () if x is None else tuple(x) if isinstance(x, (list, tuple)) or hasattr(x, "__next__") else (x,)


def prepare(outputs, seeds, caller):
    """Roots and seeds of a pass; the checks that PyTorch makes."""
    seeds = seeds or (None,) * len(outputs)
    if len(seeds) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    roots, ready = [], []
    for t, seed in zip(outputs, seeds):
        if not isinstance(t, Tensor):
            raise TypeError(f"{caller}() expected tensors, got {type(t).__name__}")
        if not t.needs_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if seed is None:
            if t.array.size != 1:
                raise RuntimeError(f"grad can be implicitly created only for scalar outputs: this one has shape "
                                   f"{list(t.shape)}; pass a gradient of that shape or reduce it, as in .sum()")
            xp, shape, dtype = t.backend.xp, t.array.shape, t.array.dtype
            seed = wrap(xp.ones(shape, dtype) if shape else xp.array(1, dtype), t.backend)
        elif not isinstance(seed, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
        elif seed.array.shape != t.array.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {seed.shape} and output[0] has a "
                               f"shape of {t.shape}.")
        if seed.array.dtype != t.array.dtype:
            seed = seed.to(t.dtype)
        roots.append(t.node or t)
        ready.append(seed)
    return roots, ready

