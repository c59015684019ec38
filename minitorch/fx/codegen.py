"""A graph as Python code."""

import math
import operator
import re
import sys
from dataclasses import dataclass, field

from .. import device, dtype, layout, memory_format
from ..utils import _pytree
from .node import Node, qualified_name, type_repr

__all__ = ["CodeGen", "PyTreeCodeGen", "PythonCode"]

PACKAGE = __name__.partition(".")[0]

# Functions of `operator` that code writes as operators.
INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<",
         "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<",
         "gt": ">", "le": "<=", "ge": ">="}
PREFIX = {"pos": "+", "neg": "-", "invert": "~"}
IN_PLACE = {"iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=",
            "imatmul": "@=", "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=",
            "ixor": "^="}
FORMATS = {getattr(operator, name): f"{{}} {sign} {{}}" for name, sign in INFIX.items()}
FORMATS |= {getattr(operator, name): f"{sign}{{}}" for name, sign in PREFIX.items()}
FORMATS[operator.getitem] = "{}[{}]"
ASSIGNMENTS = {getattr(operator, name): sign for name, sign in IN_PLACE.items()}


@dataclass
class PythonCode:
    """Source of a graph, and the globals that it needs."""

    src: str
    globals: dict = field(default_factory=dict)


class CodeGen:
    """Prints a graph as a function. Derived classes change its head, its result, or the text around."""

    def __init__(self):
        self._body_transformer = None

    # -- what derived classes may change -----------------------------------------------------------------------
    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The head of the function and the lines after it, for the parameters `free_vars`."""
        free_vars = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """The last line, which returns `output_args`."""
        return f"return {output_args!r}"

    def process_inputs(self, *args):
        """The arguments of a call in the order of the placeholders."""
        return args

    def process_outputs(self, outputs):
        """The result of a call from that of the output node."""
        return outputs

    def additional_globals(self):
        """Names that the text needs beside those of the nodes: pairs of a name and an object."""
        return []

    # -- printing ----------------------------------------------------------------------------------------------
    def generate(self, graph, root_module, verbose=False):
        """The `PythonCode` of a graph."""
        return Printer(self, graph, root_module, verbose).code()


class Printer:
    """The text of one graph as it grows: lines, parameters, globals."""

    def __init__(self, codegen, graph, root, verbose):
        self.codegen, self.graph, self.root, self.verbose = codegen, graph, root, verbose
        self.taken = {node.name for node in graph.nodes}
        self.parameters, self.lines, self.annotation, self.wrapped = [], [], "", {}
        self.globals = {"inf": math.inf, "nan": math.nan, "NoneType": type(None),
                        "torch": sys.modules[PACKAGE], "device": device}
        self.globals.update(codegen.additional_globals())
        self.last_use = last_uses(graph)
        self.trace = None

    def code(self):
        for node in self.graph.nodes:
            if self.verbose:
                self.comment(node)
            self.line(node)
            self.release(node)
        lines = self.lines or ["pass"]
        if self.codegen._body_transformer is not None:
            lines = self.codegen._body_transformer(lines)
        head = self.codegen.gen_fn_def(self.parameters, self.annotation)
        body = "".join(lines).lstrip("\n")
        text = "\n".join(["    " + line for line in body.split("\n")])
        wraps = "\n".join([f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped])
        return PythonCode(f"\n{wraps}\n\n{head}\n{text}", self.globals)

    def comment(self, node):
        """Say, above the first of several nodes, where the traced program makes them."""
        trace = node.stack_trace
        if node.op in ("placeholder", "output") or trace in (None, self.trace):
            return
        self.trace = trace
        self.lines.append("# " + " ".join([x.strip() for x in trace.strip().splitlines()[-2:]]) + "\n")

    def line(self, node):
        kind = f" : {self.type_text(node.type)}" if node.type is not None else ""
        if node.op == "placeholder":
            default = f" = {self.text(node.args[0])}" if node.args else ""
            name = node.target.replace("*", "")
            self.parameters.append(f"{node.target}{kind}{default}")
            if name != node.name:
                self.lines.append(f"{node.name} = {name}\n")
        elif node.op == "output":
            if node.type is not None:
                self.annotation = f" -> {self.type_text(node.type)}"
            self.lines.append(self.codegen.generate_output(self.quoted(node.args[0])))
        elif node.op == "call_function" and node.target in ASSIGNMENTS and not node.kwargs:
            left, right = map(self.text, node.args)
            self.lines.append(f"{node.name}{kind} = {left};  {node.name} {ASSIGNMENTS[node.target]} {right}")
        else:
            self.lines.append(f"{node.name}{kind} = {self.expression(node)}")

    def expression(self, node):
        if node.op == "get_attr":
            return path(self.root, node.target)
        if node.op == "call_module":
            return f"{path(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            return (f"{path(self.text(node.args[0]), node.target)}"
                    f"({self.arguments(node.args[1:], node.kwargs)})")
        if node.target in FORMATS and not node.kwargs:
            return FORMATS[node.target].format(*[self.text(a) for a in node.args])
        if (node.target is getattr and len(node.args) == 2 and isinstance(node.args[1], str)
                and node.args[1].isidentifier()):
            return path(self.text(node.args[0]), node.args[1])
        name = self.global_name(qualified_name(node.target), node.target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(name)
        return f"{name}({self.arguments(node.args, node.kwargs)})"

    def arguments(self, args, kwargs):
        return ", ".join([*map(self.text, args), *[f"{k} = {self.text(v)}" for k, v in kwargs.items()]])

    def text(self, a):
        return repr(self.quoted(a))

    def quoted(self, a):
        """An argument whose repr is the code for it: leaves that need another text are wrapped."""
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            name = self.global_name(type_repr(type(a)), type(a))
            return Text(f"{name}({', '.join(map(self.text, a))})")
        if isinstance(a, tuple):
            return tuple([self.quoted(x) for x in a])
        if isinstance(a, list):
            return [self.quoted(x) for x in a]
        if isinstance(a, dict):
            return {k: self.quoted(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*[self.quoted(x) for x in (a.start, a.stop, a.step)])
        if isinstance(a, (dtype, memory_format, layout)):
            return Text(repr(a).replace("minitorch.", "torch."))
        if isinstance(a, type) or callable(a) and not isinstance(a, Node):
            return Text(self.global_name(type_repr(a) if isinstance(a, type) else qualified_name(a), a))
        if type(a).__module__ == "enum" or hasattr(type(a), "__members__"):
            return Text(f"{self.global_name(type_repr(type(a)), type(a))}.{a.name}")
        return a

    def type_text(self, kind):
        text = type_repr(kind)
        for module in set(re.findall(r"\b([A-Za-z_]\w*)\.", text)) - set(self.globals):
            self.globals[module] = __import__(module)
        if isinstance(kind, type) and kind.__module__ not in ("builtins", "typing") and not text.startswith("torch."):
            return self.global_name(text, kind)
        return text

    def global_name(self, name, value):
        """The text by which code finds `value`: a name of Python or this package, or a global made
        for it."""
        if name.startswith("torch.") and from_package(value):
            return name
        if getattr(value, "__module__", None) == "builtins" and "." not in name:
            return name
        base = name = name.replace(".", "_").replace("<", "_").replace(">", "_")
        number = 0
        while name in self.taken or self.globals.get(name, value) is not value:
            number += 1
            name = f"{base}_{number}"
        self.globals[name] = value
        return name

    def release(self, node):
        """Forget the values that are used here for the last time."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.lines.append("\n")
            return
        last = list(self.last_use.get(node, ()))
        if not node.users:
            last.append(node)
        names = " = ".join([*[n.name for n in last], "None"])
        self.lines.append(f";  {names}\n" if last else "\n")


class Text:
    """A piece of code: its own repr."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def from_package(value):
    return (getattr(value, "__module__", None) or "").partition(".")[0] == PACKAGE


def last_uses(graph):
    """{node: the nodes that it is the last one to use, in the order of its arguments}."""
    seen, found = set(), {}
    for user in reversed(graph.nodes):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found


def path(root, name):
    """Code for an attribute by its qualified name: ``getattr(self.layers, "0").weight``."""
    for part in name.split("."):
        root = f"{root}.{part}" if part.isidentifier() else f'getattr({root}, "{part}")'
    return root


# ------------------------------------------------------------------ nested parameters and results
class PyTreeCodeGen(CodeGen):
    """Code for a program traced with nested parameters: it takes them apart first, and nests its result."""

    def __init__(self, names, in_spec, out_spec=None):
        super().__init__()
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def process_inputs(self, *args):
        return _pytree.tree_flatten(list(args))[0]

    def process_outputs(self, outputs):
        return outputs if self.out_spec is None else _pytree.tree_unflatten(list(outputs), self.out_spec)

    def additional_globals(self):
        return [("pytree", _pytree), ("_in_spec", self.in_spec), ("_out_spec", self.out_spec),
                ("flatten_as", flatten_as)]

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        leaves = [v.partition(":")[0].partition("=")[0].strip() for v in free_vars]
        head = super().gen_fn_def(list(self.names), maybe_return_annotation)
        if not leaves:
            return head
        return f"{head}\n    {', '.join(leaves)}, = flatten_as([{', '.join(self.names)}], _in_spec)"

    def generate_output(self, output_args):
        return f"return pytree.tree_unflatten({output_args!r}, _out_spec)"


def flatten_as(values, spec):
    """The leaves of `values`, which must be nested as `spec` says. ValueError otherwise."""
    leaves, found = _pytree.tree_flatten(values)
    if found != spec:
        raise ValueError(f"the arguments are nested as {found}, and the program was traced for {spec}")
    return leaves
