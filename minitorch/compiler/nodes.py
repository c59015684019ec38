"""The nodes that programs leave in the graph: behind results, and behind gradients of a recorded
backward pass."""

from ..extend import MultiOutputNode, Node, OutputNode, grad_mode, make_node, wrap

__all__ = ["CompiledNode", "Description", "attach", "attach_freed", "nodes_below"]

ONCE = ("a compiled function can be differentiated once: for {} call the function that was "
        "compiled, or one compiled with all of its derivatives inside")


class Description:
    """The part of an op that the graph reads from its nodes."""

    name = node_name = "CompiledBackward0"
    saves_arrays = True


class CompiledNode(MultiOutputNode):
    """One run of a plan, waiting for its gradients."""

    __slots__ = ("plan",)

    def pull(self, g, create_graph):
        self.checked_values()
        return self.pull_tensors(g) if create_graph else self.run(g)

    def run(self, g):
        """The gradients of the inputs, as arrays, from those of the outputs."""
        wiring, xp = self.plan.wiring.backward, self.plan.base.xp
        seeds = [laid_out(x, layout, xp) for x, layout in zip(g, wiring.seeds)]
        results = self.plan.code.backward(*seeds, *self.saved)
        return tuple(None if k is None or p is None else results[k]
                     for k, p in zip(wiring.which, self.parents))

    def pull_tensors(self, g):
        """The gradients as tensors, for a recorded pass, or one over batches of gradients."""
        given = [x for x in g if x is not None]
        if any([x.backend.level is not None for x in given]):
            raise RuntimeError(ONCE.format("forward mode through its backward pass"))
        F = max([x.backend for x in given], key=lambda backend: backend.depth)
        arrays = [x if x is None else x.array for x in g]
        arrays = F.element_by_element(self.run, arrays) if F.depth else self.run(arrays)
        found = [None if r is None else wrap(F.asarray(r), F) for r in arrays]
        if grad_mode.enabled:
            self.refuse_another(given, found)
        return tuple(found)

    def refuse_another(self, given, found):
        """Attach nodes to the gradients of a recorded pass, so that they cannot be differentiated
        again."""
        parents = tuple([(x.node or x) for x in given if x.needs_grad]) + self.parents
        for t in found:
            if t is not None:
                t.node = make_node(Description, parents, (), t.array.shape, t.backend, PulledNode)
                t.needs_grad = True


def laid_out(x, layout, xp):
    """A gradient as the backward program expects it: in its layout, zeros for None."""
    if x is None:
        return xp.zeros(layout.shape, layout.dtype)
    return x if x.strides == layout.strides else xp.array(x, order="C")


def attach(plan, leaves, tensors, saved):
    """Put a node behind the new results that need gradients; `saved` is what the backward program
    reads."""
    wiring = plan.wiring.backward
    parents = tuple((t.node or t) if t.needs_grad else None
                    for t in [tensors[x] if isinstance(x, int) else x for x in wiring.wanted])
    shapes = tuple(leaves[i].array.shape for i in wiring.live)
    node = make_node(Description, parents, tuple(saved), shapes, plan.base, CompiledNode)
    node.plan = plan
    for k, i in enumerate(wiring.live):
        leaves[i].node, leaves[i].needs_grad = OutputNode(node, k), True


class PulledNode(Node):
    """The node of gradients of a recorded pass through a program: they can be used but not be
    differentiated."""

    __slots__ = ()

    def pull(self, g, create_graph):
        raise RuntimeError(ONCE.format("a second derivative (create_graph=True)"))


class FreedNode(MultiOutputNode):
    """The node of a result through which the function has already run a backward pass itself: it
    refuses a second one."""

    __slots__ = ()

    def pull(self, g, create_graph):
        self.checked_values()


def attach_freed(plan, result):
    """Put a node without saved values behind a result."""
    node = make_node(Description, (None,), None, (result.array.shape,), plan.base, FreedNode)
    result.node, result.needs_grad = OutputNode(node, 0), True


def nodes_below(roots):
    """The roots, and all nodes and leaves that their gradients go to."""
    found = list(dict.fromkeys(roots))
    seen = set(found)
    for node in found:                                     # grows while it is read
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                found.append(parent)
    return found
