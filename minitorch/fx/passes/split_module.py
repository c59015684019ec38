"""A graph split into parts, each a submodule with a graph of its own."""

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its nodes, the names of the values that it takes and gives, and the parts that it needs and that need
    it."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names, self.inputs, self.outputs = [], {}, {}            # dicts in the place of ordered sets
        self.dependencies, self.dependents = {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}

    def __repr__(self):
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n"
                f" partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}")


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):
    """A module that computes what the GraphModule `m` does by submodules ``submod_0`` and so on.

    ``split_callback(node)`` says which part a node belongs to. Parts are called in the order in which they need each
    other, or, with `keep_original_order`, in that of their first nodes; RuntimeError if they need each other in a
    circle. Values of the module, such as parameters, are handed to the parts that read them. `root_m` is not used.

    - `qualname_map`: a dict that is given the old name of each new one of a submodule
    - `keep_original_node_name`, `keep_original_input_name`: nodes and parameters of parts are called as before
    - `partition_affix`: parts are called ``submod_<affix>_0``
    - `tuple_return`: parts return tuples even of one value
    """
    nodes = {n.name: n for n in m.graph.nodes}
    partitions, home = assigned(m.graph, split_callback, partition_affix)
    connect(m.graph, partitions, home)
    order = list(partitions) if keep_original_order else sorted_by_need(partitions)
    for name in order:
        add_inputs(partitions[name], nodes, keep_original_input_name)
    for node in m.graph.nodes:
        if node in home:
            copy_into(partitions[home[node]], node, m, qualname_map, keep_original_node_name)
    base, env, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            env[node.name] = copied_start(base, node, keep_original_node_name)
            if node.op == "get_attr":
                attributes[node.target] = attribute(m, node.target)
    for name in order:
        attributes[partitions[name].submod_name] = finished(partitions[name], nodes, tuple_return)
        call(base, partitions[name], env, tuple_return)
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: env[n.name]))
    return GraphModule(attributes, base)


# ------------------------------------------------------------------ who needs whom
def assigned(graph, split_callback, affix):
    """The parts by name, in the order of their first nodes, and the name of each node's part."""
    partitions, home = {}, {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        name = name if affix is None else f"{affix}_{name}"
        partitions.setdefault(name, Partition(name)).node_names.append(node.name)
        home[node] = name
    return partitions, home


def connect(graph, partitions, home):
    """Note which values go from one part to another."""
    def use(made, user):
        defined, used = home.get(made), home.get(user)
        if defined == used:
            return
        if defined is not None:
            partitions[defined].outputs.setdefault(made.name)
            if used is not None:
                partitions[defined].dependents.setdefault(used)
                partitions[used].dependencies.setdefault(defined)
        if used is not None:
            partitions[used].inputs.setdefault(made.name)
    for node in graph.nodes:
        map_arg((node.args, node.kwargs), lambda made, user=node: use(made, user))


def sorted_by_need(partitions):
    """Names of the parts, each behind those that it needs."""
    ready, waiting = [], {name: set(p.dependencies) for name, p in partitions.items()}
    ready = [name for name, needs in waiting.items() if not needs]
    order = []
    while ready:
        name = ready.pop()
        order.append(name)
        for user in partitions[name].dependents:
            waiting[user].discard(name)
            if not waiting[user]:
                ready.append(user)
    if len(order) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return order


# ------------------------------------------------------------------ graphs
def attribute(module, target):
    """The value of a module by its qualified name."""
    for part in target.split("."):
        if not hasattr(module, part):
            raise AttributeError(f"Node target {target} not found!")
        module = getattr(module, part)
    return module


def copied_start(graph, node, keep_name):
    """A parameter of the function, or a value of the module, in another graph."""
    if node.op == "get_attr":
        made = graph.get_attr(node.target)
    else:
        made = graph.create_node("placeholder", node.name if keep_name else node.target, node.args, type_expr=node.type)
    made.meta = dict(node.meta)
    return made


def add_inputs(partition, nodes, keep_names):
    """Give the graph of a part its parameters."""
    for i, name in enumerate(partition.inputs):
        made = partition.graph.placeholder(name if keep_names else f"arg_{i}", type_expr=nodes[name].type)
        made.meta = dict(nodes[name].meta)
        partition.environment[nodes[name]] = made


def copy_into(partition, node, m, qualname_map, keep_name):
    """Put a copy of a node into its part."""
    env, target = partition.environment, node.target
    if node.op == "call_module":
        target = node.target.replace(".", "_")
        partition.targets[target] = attribute(m, node.target)
        if qualname_map is not None:
            qualname_map[f"{partition.submod_name}.{target}"] = node.target
    args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda n: env[n])
    made = partition.graph.create_node(node.op, target, args, kwargs, node.name if keep_name else None, node.type)
    made.meta = dict(node.meta)
    env[node] = made


def finished(partition, nodes, tuple_return):
    """The module of a part, which returns its values."""
    values = tuple([partition.environment[nodes[name]] for name in partition.outputs])
    partition.graph.output(values[0] if len(values) == 1 and not tuple_return else values)
    return GraphModule(partition.targets, partition.graph)


def call(graph, partition, env, tuple_return):
    """Add the call of a part, and its values, to the graph around."""
    result = graph.call_module(partition.submod_name, tuple([env[name] for name in partition.inputs]))
    names = list(partition.outputs)
    if len(names) == 1 and not tuple_return:
        env[names[0]] = result
    else:
        env.update({name: Proxy(result)[i].node for i, name in enumerate(names)})
