"""A traced program as a list of nodes, which can be read, changed and printed as code."""

import builtins
import contextlib
import copy
import keyword
import re
import warnings

from .codegen import CodeGen, PythonCode
from .node import Node, map_arg, qualified_name, short_name

__all__ = ["CodeGen", "Graph", "PythonCode"]

# Names that variables of generated code cannot have.
RESERVED = frozenset({"self", "torch", "inf", "nan", "NoneType", "device", "pytree", "fx_pytree", *keyword.kwlist,
                      *vars(builtins)})


class Namespace:
    """Names that are taken: those of a graph's nodes."""

    def __init__(self):
        self.taken = set()
        self.last = {}                                     # name without its number -> the last number given

    def create_name(self, candidate):
        """A Python identifier like `candidate` that nobody has yet; numbered ``_1``, ``_2`` ... if it is taken."""
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = "_" + candidate
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, 0)
        name, number = candidate, number or self.last.get(base, 0)
        while name in self.taken or name in RESERVED:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        self.last[base] = number
        return name


def snake_case(text):
    """``BatchNorm2d`` -> ``batch_norm2d``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", lambda m: "_" + m[0], text).lower()


class NodeList:
    """The nodes of a graph in their order; a node may be erased, and others inserted, while one walks through them."""

    def __init__(self, graph, backwards=False):
        self.graph, self.backwards = graph, backwards

    def __len__(self):
        return sum(1 for _ in self)

    def __iter__(self):
        root = self.graph._root
        node = root._prev if self.backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backwards else node._next

    def __reversed__(self):
        return NodeList(self.graph, not self.backwards)


class Graph:
    """The steps of a program, in order. `Tracer.trace` makes one of a function or module, `GraphModule` a module of it.

    ``for node in graph.nodes`` walks through them; `inserting_before` and `inserting_after` say where new nodes go.
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._names = Namespace()
        self._insert = self._root.prepend
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen = CodeGen()

    # -- nodes -------------------------------------------------------------------------------------------------
    @property
    def nodes(self):
        """The nodes in order; ``reversed`` walks backwards."""
        return NodeList(self)

    def output_node(self):
        """The node of the result. AssertionError if there is none."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError("the graph has no output node")
        return last

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of kind `op`, with the target `target` if one is given, in order."""
        if op == "call_function" and target is None:
            raise AssertionError("target must be given for call_function")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Add a node at the place of insertion, the end unless said otherwise. AssertionError for an unknown `op`."""
        name = self._names.create_name(name or self._target_to_str(target))
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        return node

    def _target_to_str(self, target):
        if callable(target):
            return snake_case(short_name(target))
        return target[2:-2] if target.startswith("__") and target.endswith("__") else snake_case(target)

    def placeholder(self, name, type_expr=None, default_value=...):
        """Add a parameter of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """Add a value of the module by its name, such as ``"layer.weight"``; UserWarning if the module has none."""
        if self.owning_module is not None and not has_attribute(self.owning_module, qualified_name):
            warnings.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                          "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to "
                          "add the necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                          stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Add the call of a submodule by its name."""
        if self.owning_module is not None and not has_attribute(self.owning_module, module_name):
            warnings.warn("Attempted to insert a call_module Node with no underlying reference in the owning "
                          "GraphModule! Call GraphModule.add_submodule to add the necessary submodule", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Add the call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """Add the result: a node, or nodes in tuples, lists and dicts."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def erase_node(self, to_erase):
        """Take a node out. RuntimeError if others still use it."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                               f"graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._unlink()
        to_erase._erased = True                            # its own links stay, so that a walk goes on from it
        to_erase._set((), {})

    def inserting_before(self, n=None):
        """New nodes go in front of `n`, the beginning of the graph without one: at once, and until the end of the block
        in ``with graph.inserting_before(n):``."""
        return self._inserting(n, lambda n: n.prepend, lambda root: root.append)

    def inserting_after(self, n=None):
        """New nodes go behind `n` one after the other, the end of the graph without one, as in `inserting_before`."""
        def behind(n):
            last = [n]

            def insert(new):
                last[0].append(new)
                last[0] = new
            return insert
        return self._inserting(n, behind, lambda root: root.prepend)

    def _inserting(self, n, beside, without):
        if n is not None and n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return InsertPoint(self, without(self._root) if n is None else beside(n))

    # -- copies ------------------------------------------------------------------------------------------------
    def node_copy(self, node, arg_transform=lambda x: x):
        """Add a copy of a node of whatever graph; ``arg_transform(n)`` is the node here for its argument `n`."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("arguments of a node are a tuple and a dict")
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = copy.copy(node.meta)
        return new

    def graph_copy(self, g, val_map, return_output_node=False):
        """Add copies of all nodes of `g` but its output, and of those that `val_map` (node there: node here) has.

        Returns the result of `g` in nodes of this graph; with `return_output_node` also the output node of `g`; None if
        it has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo):
        new = Graph(tracer_cls=self._tracer_cls)
        memo[id(self)] = new
        result = new.graph_copy(self, memo_nodes := {}, return_output_node=True)
        if result is not None:
            value, old = result
            output = new.output(value, type_expr=old.type)
            output.name, output.meta = old.name, copy.copy(old.meta)
            memo_nodes[old] = output
        new._codegen = copy.deepcopy(self._codegen)
        return new

    # -- checks and cleaning -----------------------------------------------------------------------------------
    def lint(self):
        """Check the graph: nodes belong to it, are defined before they are used, have names of their own, and targets
        that the owning module has. RuntimeError (or ValueError for a target) otherwise."""
        seen, names = set(), set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for other in node.all_input_nodes:
                if other.graph is not self:
                    raise RuntimeError(f"Argument '{other}' of Node '{node}' does not belong to this Graph, but was "
                                       f"used as an argument! If you are copying nodes from another graph, make sure "
                                       f"to use ``arg_transform`` on node_copy() to remap values\n{self}")
                if other not in seen:
                    raise RuntimeError(f"Argument '{other}' of Node '{node}' was used before it has been defined! "
                                       f"Please check that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                if not has_attribute(self.owning_module, node.target):
                    raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute of "
                                       f"{type(self.owning_module).__name__}")

    def eliminate_dead_code(self, is_impure_node=None):
        """Erase nodes that nobody uses; whether there were any. `is_impure_node` says which ones stay all the same,
        by default those that `Node.is_impure`."""
        self.lint()
        keep = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not keep(node):
                self.erase_node(node)
                changed = True
        return changed

    # -- code --------------------------------------------------------------------------------------------------
    def process_inputs(self, *args):
        """The arguments of a call in the order of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The result of a call from that of the output node."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen):
        """Print code by another `CodeGen`."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Change code before it is compiled: ``make_transformer(current)`` returns a function from lines of the body
        to those that take their place; `current` is the one before, or None, and comes back at the end of a ``with``
        block."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def back():
            try:
                yield
            finally:
                self._codegen._body_transformer = before
        return back()

    def python_code(self, root_module, *, verbose=False):
        """The graph as Python: `PythonCode` with its `src` and the `globals` it needs. `root_module` is the name of the
        module in it, "self" for methods."""
        return self._codegen.generate(self, root_module, verbose)

    def print_tabular(self):
        """Print the nodes as a table. ImportError if the library `tabulate` is not there."""
        try:
            from tabulate import tabulate
        except ImportError:
            print("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run "
                  "`pip install tabulate` to install the library.")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self):
        return "\n    ".join(["graph():", *[n.format_node() for n in self.nodes]])


class InsertPoint:
    """The place of new nodes, until the end of the block."""

    def __init__(self, graph, insert):
        self.graph, self.before, graph._insert = graph, graph._insert, insert

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.graph._insert = self.before


def has_attribute(module, name):
    """True if a module has an attribute of that qualified name."""
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


_get_qualified_name = qualified_name
