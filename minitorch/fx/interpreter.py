"""Running a graph node by node: derived classes change what single nodes do, or build another graph from it."""

import contextlib

from ._symbolic_trace import Tracer
from .codegen import last_uses
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module; one method for each kind of node, which derived classes may change.

    `garbage_collect_values` forgets values after their last use; `graph` runs that one instead of ``module.graph``.

    >>> import minitorch as torch
    >>> class Swap(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.cos if target is torch.sin else target, args, kwargs)
    >>> def f(x):
    ...     return torch.sin(x) + 1
    >>> Swap(torch.fx.symbolic_trace(f)).run(torch.zeros(1))
    tensor([2.])
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.garbage_collect_values = garbage_collect_values
        self.name, self.extra_traceback, self.env = "Interpreter", True, {}

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The result of the graph for these arguments. `initial_env`: values of nodes that need not run."""
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        last = last_uses(self.graph) if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback and not getattr(error, "_fx_node_told", False):
                    error._fx_node_told = True
                    place = f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else ""
                    error.args = (f"{error}\n\nWhile executing {node.format_node()}{place}", *error.args[1:])
                raise
            for other in last.get(node, ()):
                self.env.pop(other, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """As `run`, with the arguments in a list, which is emptied so that they can be freed early."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        self.current_node = node
        yield

    def run_node(self, n):
        """The value of a node: its method, with the values of its arguments."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # -- kinds of nodes ----------------------------------------------------------------------------------------
    def placeholder(self, target, args, kwargs):
        """The next argument of the call, or its default; all that are left for ``*args``. RuntimeError if there are not
        enough."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed "
                               f"in!") from None

    def get_attr(self, target, args, kwargs):
        """An attribute of the module by its qualified name."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of the method `target` of ``args[0]``."""
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The result of the graph."""
        return args[0]

    # -- values ------------------------------------------------------------------------------------------------
    def fetch_attr(self, target):
        """An attribute of the module. RuntimeError if it has none of that qualified name."""
        value = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node with values in the places of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """`args` with values in the places of nodes. RuntimeError for a node that has none."""
        def value(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such "
                                   f"issues")
            return self.env[node]
        return map_arg(args, value)


class Transformer(Interpreter):
    """An interpreter that runs a graph on proxies: its methods say what each node becomes in a new graph.

    `transform` returns the module of that graph, with the old one's submodules and parameters.
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target, args, kwargs):
        """The proxy of a parameter of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target, args, kwargs):
        """The proxy of an attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """The proxy of a submodule's call in the new graph."""
        return self.tracer.call_module(self.fetch_attr(target), None, args, kwargs)

    def call_function(self, target, args, kwargs):
        """The proxy of a function's call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The `GraphModule` of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


class TransformerTracer(Tracer):
    """The tracer of a `Transformer`: it adds nodes to a graph that is there."""

    def __init__(self, graph, module):
        super().__init__()
        self.graph, self.root, self.tensor_names = graph, module, {}
        self.submodule_paths = {m: name for name, m in module.named_modules()}

    def is_leaf_module(self, m, module_qualified_name):
        return True
