"""PyTorch's ``torch.fx``: programs traced to graphs that one reads, changes, prints and runs.

`symbolic_trace` runs a module or function on proxies, which write down what is done with them: a `Graph` of `Node`
objects, and a `GraphModule` that runs it. `Interpreter` and `Transformer` walk through graphs, `replace_pattern`
rewrites them. `docs/fx.md` shows each.
"""

from . import immutable_collections, passes  # noqa: F401
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap  # noqa: F401
from .graph import CodeGen, Graph  # noqa: F401
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect",
           "map_arg", "replace_pattern", "symbolic_trace", "wrap"]
