"""Order in graphs that were rearranged: each node behind those whose values it takes."""

import heapq

from ..graph import Graph

__all__ = ["legalize_graph", "stable_topological_sort"]


def legalize_graph(gm):
    """The GraphModule with its nodes in an order in which they can run; RuntimeError if they need each other in a
    circle. It is changed in place."""
    return stable_topological_sort(gm)


def stable_topological_sort(gm):
    """The same: of all nodes that can run, the one that stood first is next."""
    nodes = list(gm.graph.nodes)
    number, missing = {n: i for i, n in enumerate(nodes)}, {n: len(set(n.all_input_nodes)) for n in nodes}
    ready, graph, copies = [i for i, n in enumerate(nodes) if not missing[n]], Graph(), {}
    while ready:
        node = nodes[heapq.heappop(ready)]
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, number[user])
    if len(copies) < len(nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n in nodes if missing[n]]}")
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm
