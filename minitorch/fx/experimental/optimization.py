"""Models made faster for evaluation: batch normalisation fused into the layer before, dropout left out."""

import copy

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Linear
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

FUSIONS = ((Conv1d, BatchNorm1d, fuse_conv_bn_eval), (Conv2d, BatchNorm2d, fuse_conv_bn_eval),
           (Conv3d, BatchNorm3d, fuse_conv_bn_eval), (Linear, BatchNorm1d, fuse_linear_bn_eval))


def matches_module_pattern(pattern, node, modules):
    """True if a node calls a module of class ``pattern[1]`` on the result of one of
    ``pattern[0]``."""
    if not node.args:
        return False
    return all(isinstance(n, Node) and n.op == "call_module" and type(modules.get(n.target)) is kind
               for kind, n in zip(pattern, (node.args[0], node), strict=True))


def replace_node_module(node, modules, new_module):
    """Put another module in the place of the one that a node calls; `modules` has all by name."""
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model, in evaluation mode, as a GraphModule with each batch norm fused into the convolution or linear layer
    before it, if nothing else uses that layer's result.

    It is a copy, unless `inplace`. With `no_trace` a GraphModule is taken as it is. RuntimeError if a layer that is to
    be fused is in training mode.
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for first, second, fused in FUSIONS:
        for node in graph.nodes:
            if not matches_module_pattern((first, second), node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if norm.track_running_stats:
                replace_node_module(node.args[0], modules, fused(layer, norm))
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
    return GraphModule(traced, graph)


class WithoutDropout(Transformer):
    """Leaves out the calls of `Dropout` modules."""

    def call_module(self, target, args, kwargs):
        """The input of a dropout layer, or the call of another layer."""
        if isinstance(self.fetch_attr(target), Dropout):
            return args[0]
        return super().call_module(target, args, kwargs)


def remove_dropout(model):
    """The model as a GraphModule without its `Dropout` layers."""
    return WithoutDropout(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A GraphModule of these nodes alone, with the values of `inputs` as parameters; returns those of `outputs`."""
    graph, env = Graph(), {}
    for node in inputs:
        env[node] = graph.placeholder(node.name)
    for node in nodes:
        env[node] = graph.node_copy(node, lambda n: env[n])
    graph.output([env[n] for n in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
