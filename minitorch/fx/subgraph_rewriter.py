"""Finding a pattern in a graph, and writing something else in its place."""

from dataclasses import dataclass, field
from typing import NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph, has_attribute
from .graph_module import GraphModule, share
from .node import Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found: the last node there, and {node of the pattern: node of the graph}."""

    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A replaced place: the last node that was there, {node of the pattern: node of the graph}, and the new nodes."""

    anchor: Node
    nodes_map: dict
    replacements: list = field(default_factory=list)


def replace_pattern(gm, pattern, replacement):
    """Replace all places of ``gm.graph`` that do what `pattern` does by `replacement`; a list of `Match`.

    `pattern` and `replacement` are functions or modules with the same parameters, which are traced, or GraphModules.
    Parameters of the pattern stand for any argument; calls must have equal targets and other arguments. A place counts
    if nothing outside uses what is computed in between. Where places overlap, the last is taken.
    The graph is changed and compiled again.
    """
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False,
                                 replacement_callback=None):
    """As `replace_pattern`, at places that all `match_filters` agree to; a list of `ReplacedPatterns`.

    A filter is called with (match, graph, pattern's graph). `ignore_literals`: numbers and texts of the pattern stand
    for any. ``replacement_callback(match, graph, pattern's graph)`` gives the graph to write instead of `replacement`.
    """
    old, new = graph_of(pattern), None if replacement is None else graph_of(replacement)
    if new is None and replacement_callback is None:
        raise AssertionError("either replacement or replacement_callback must be given")
    replaced, taken, changed, places = [], set(), {}, []
    for match in find(gm.graph, old, ignore_literals):
        inner = [n for p, n in match.nodes_map.items() if p.op != "placeholder"]
        if not taken.intersection(inner) and all(f(match, gm.graph, old) for f in match_filters or ()):
            taken.update(inner)
            places.append(match)
    for match in reversed(places):
        graph = replacement_callback(match, gm.graph, old) if replacement_callback is not None else new
        replaced.append(write(gm, match, old, graph, changed))
    for source in (pattern, replacement):
        if isinstance(source, Module):
            for node in gm.graph.nodes:
                if node.op in ("call_module", "get_attr") and not has_attribute(gm, node.target):
                    share(source, gm, node.target)
    gm.recompile()
    return replaced


def graph_of(program):
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


# ------------------------------------------------------------------ finding
def find(graph, pattern, ignore_literals):
    """The places of a pattern, the last in the graph first."""
    results = pattern.output_node().all_input_nodes
    found = []
    for node in reversed(graph.nodes):
        mapping = {}
        if results and same(results[0], node, mapping, ignore_literals):
            mapping = others(results[1:], graph, mapping, ignore_literals)
            if mapping is not None and is_closed(pattern, mapping):
                found.append(Match(node, mapping))
    return found


def others(results, graph, mapping, ignore_literals):
    """The mapping with the further results of a pattern, wherever they are; None if one is not there."""
    for result in results:
        if result in mapping:
            continue
        for node in reversed(graph.nodes):
            tried = dict(mapping)
            if node not in mapping.values() and same(result, node, tried, ignore_literals):
                mapping = tried
                break
        else:
            return None
    return mapping


def same(p, n, mapping, ignore_literals):
    """True if the node `n` does what the node `p` of a pattern does; enters both, and their
    arguments, in `mapping`."""
    if not isinstance(n, Node):
        return p.op == "placeholder" and mapping.setdefault(p, n) == n
    if p in mapping:
        return mapping[p] is n
    if p.op == "placeholder":
        mapping[p] = n
        return True
    if n in mapping.values() or p.op != n.op or p.target != n.target:
        return False
    if len(p.args) != len(n.args) or set(p.kwargs) != set(n.kwargs):
        return False
    mapping[p] = n
    return all(equal(a, b, mapping, ignore_literals)
               for a, b in [*zip(p.args, n.args), *[(p.kwargs[k], n.kwargs[k]) for k in p.kwargs]])


def equal(a, b, mapping, ignore_literals):
    """True if two arguments are the same, nested ones too."""
    if isinstance(a, Node):
        return same(a, b, mapping, ignore_literals)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y, mapping, ignore_literals) for x, y in zip(a, b))
    if isinstance(b, Node):
        return False
    return ignore_literals or type(a) is type(b) and a == b


def is_closed(pattern, mapping):
    """True if nothing outside uses the nodes of a place but its results."""
    results = {mapping[r] for r in pattern.output_node().all_input_nodes}
    inner = {n for p, n in mapping.items() if p.op != "placeholder"}
    return all(n in results or set(n.users) <= inner for n in inner)


# ------------------------------------------------------------------ writing
def arguments_of(match, pattern, replacement, changed):
    """The replacement's parameters to what they stand for at a place."""
    arguments = [match.nodes_map.get(p) for p in pattern.nodes if p.op == "placeholder"]
    parameters = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(arguments) != len(parameters):
        raise AssertionError(f"the replacement has {len(parameters)} parameters, the pattern {len(arguments)}")
    return {p: changed.get(a, a) if isinstance(a, Node) else a
            for p, a in zip(parameters, arguments)}


def copied(graph, replacement, values, anchor, count):
    """The nodes of the `count` results of the replacement, copied to before `anchor`."""
    with graph.inserting_before(anchor):
        result = graph.graph_copy(replacement, values)
    found: list = []
    map_arg(result, lambda n: found.append(n) or n)
    if len(found) != count:
        raise AssertionError(f"the replacement returns {len(found)} values, the pattern {count}")
    return found


def write(gm, match, pattern, replacement, changed):
    """Write the replacement at a place. `changed`: {node: the one in its place}, for later places that end there."""
    values = arguments_of(match, pattern, replacement, changed)
    old = [match.nodes_map[n] for n in pattern.output_node().all_input_nodes]
    order = {n: i for i, n in enumerate(gm.graph.nodes)}
    inner = sorted([n for p, n in match.nodes_map.items() if p.op != "placeholder"], key=order.__getitem__)
    last_input = max([order[v] for v in values.values() if isinstance(v, Node)], default=-1)
    behind = [n for n in sorted(old, key=order.__getitem__) if order[n] > last_input]
    anchor = behind[0] if behind else inner[-1]
    before = set(gm.graph.nodes)
    for a, b in zip(old, copied(gm.graph, replacement, values, anchor, len(old))):
        a.replace_all_uses_with(b)
        changed[a] = b
    added = [n for n in gm.graph.nodes if n not in before]
    for node in reversed(inner):
        if not node.users:
            gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchor, match.nodes_map, added)
