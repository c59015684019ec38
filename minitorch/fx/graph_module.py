"""A module whose `forward` is compiled from a graph."""

import builtins
import copy
import linecache
import os
import sys
import traceback

from .. import save
from ..nn import Module
from .codegen import PyTreeCodeGen
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]


class GraphModule(Module):
    """A module made of a `Graph`: the graph's code is its `forward`.

    `root`: the module with the submodules, parameters and buffers that the graph names, or a dict of them by qualified
    name; they are shared, not copied. `class_name` is the name that it shows. After changes of the graph call
    `recompile`. RuntimeError if `root` lacks a target of the graph.
    """

    def __new__(cls, *args, **kwargs):
        # A class for each: `forward` belongs to the class, where Python looks for methods, hooks and signatures.
        base = next(c for c in cls.__mro__ if "is_of_one_graph" not in vars(c))
        return super().__new__(type(base.__name__, (base,), {"is_of_one_graph": True, "__module__": base.__module__}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("call_module", "get_attr")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                share(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise RuntimeError(f"Node referenced target {target} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda t: t.count(".")):
                assign(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.meta = dict(getattr(root, "meta", {})) if isinstance(root, Module) else {}
        self._tracer_cls = graph._tracer_cls
        self.graph = graph

    @property
    def graph(self):
        """The graph. Assigning another one compiles its code."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        vars(self)["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of `forward`."""
        return self._code

    def recompile(self):
        """Recompile the graph's code; returns the `PythonCode`."""
        made = self._graph.python_code("self")
        vars(self)["_code"] = made.src
        type(self).forward = compiled(made.src, made.globals)
        return made

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            explain(error, self._code, type(self).forward.__code__.co_filename)
            raise

    # -- submodules --------------------------------------------------------------------------------------------
    def add_submodule(self, target, m):
        """Put the module `m` at a qualified name, with empty modules on the way; False if no module stands there."""
        *path, name = target.split(".")
        module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, Module())
            module = getattr(module, part)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Take out the module of a qualified name; False if there is none."""
        *path, name = target.split(".")
        module = self
        for part in path:
            module = getattr(module, part, None)
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self):
        """Take out all submodules that no node calls or reads from."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    used.update(f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules())
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    # -- text, files, copies -----------------------------------------------------------------------------------
    def __str__(self):
        return (f"{super().__str__()}\n{self._code}\n# To see more debug info, please use "
                f"`graph_module.print_readable()`")

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """The module as the text of a class; printed, unless told otherwise, and returned."""
        if include_stride or include_device or colored:
            raise NotImplementedError("print_readable shows no strides, devices or colours: nodes have no examples")
        src = self._graph.python_code("self", verbose=True).src.strip("\n ")
        inner = [m.print_readable(False) for _, m in self.named_children() if isinstance(m, GraphModule)]
        text = "\n".join([f"class {self._get_name()}(torch.nn.Module):",
                          *["    " + line for line in src.split("\n")], "", *inner])
        if print_output:
            print(text)
        return text

    def to_folder(self, folder, module_name="FxModule"):
        """Write a package with the module's code and its submodules and parameters: ``from folder import FxModule``."""
        os.makedirs(folder, exist_ok=True)
        save(self.state_dict(), os.path.join(folder, "state_dict.pt"))
        children = dict(self.named_children())
        lines = [f"        self.{name} = torch.load(os.path.join(here, '{name}.pt'), weights_only=False)"
                 for name in children]
        for name, module in children.items():
            save(module, os.path.join(folder, f"{name}.pt"))
        kinds = ("buffer", "", self._buffers), ("parameter", "torch.nn.Parameter", self._parameters)
        for kind, made, values in kinds:
            lines += [f"        self.register_{kind}('{name}', {made}(torch.empty({list(x.shape)}, dtype={x.dtype})))"
                      .replace("minitorch.", "torch.") for name, x in values.items() if x is not None]
        code = "\n".join(["    " + line for line in self._code.strip("\n ").split("\n")])
        text = (f"import os\n\n{self.imports()}\n\n\nclass {module_name}(torch.nn.Module):\n    def __init__(self):\n"
                f"        super().__init__()\n        here = os.path.dirname(os.path.abspath(__file__))\n"
                + "\n".join([*lines, "        self.load_state_dict(torch.load(os.path.join(here, 'state_dict.pt')))"])
                + "\n\n" + code + "\n")
        for name, content in (("module.py", text), ("__init__.py", f"from .module import {module_name}\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)

    def imports(self):
        """The lines that import the globals of the code. RuntimeError for one that no import reaches."""
        return "\n".join([import_of(name, value) for name, value in self._graph.python_code("self").globals.items()])

    def __deepcopy__(self, memo):
        graph = copy.deepcopy(self._graph, memo)
        root = Module()
        kept = {k: v for k, v in vars(self).items() if k not in ("_graph", "_code", "meta", "_tracer_cls")}
        vars(root).update(copy.deepcopy(kept, memo))
        new = GraphModule(root, graph, type(self).__name__)
        memo[id(self)] = new
        vars(new).update(vars(root))
        new.meta, new._tracer_cls = copy.copy(self.meta), self._tracer_cls
        return new

    def __copy__(self):
        new = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        new.meta = copy.copy(self.meta)
        return new

    def __reduce__(self):
        if isinstance(self._graph._codegen, PyTreeCodeGen):
            raise NotImplementedError("modules traced with nested concrete arguments cannot be pickled")
        kept = {k: v for k, v in vars(self).items() if k not in ("_graph", "_tracer_cls")}
        return reduce_graph_module, (kept, self.imports(), type(self).__name__)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()


# ------------------------------------------------------------------ compiled text
counter = [0]


def compiled(source, names):
    """The function `forward` of a source, whose lines tracebacks and debuggers can show."""
    counter[0] += 1
    file = f"<eval_with_key>.{counter[0]}"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = dict(names)
    exec(compile(source, file, "exec"), scope)
    return scope["forward"]


def explain(error, source, file):
    """Tell on stderr which line of generated code failed: the program that was traced has no such line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    if not frames:
        return
    lines = source.split("\n")
    number = frames[-1].lineno
    marked = lines[max(number - 3, 0):number] + ["~" * 29 + " <--- HERE"] + lines[number:number + 2]
    print(f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:\n"
          + "\n".join(marked), file=sys.stderr)


# ------------------------------------------------------------------ attributes
def share(source, target, name):
    """Let the module `target` have the attribute of that qualified name of `source`, with empty modules on the way."""
    value = source
    for part in name.split("."):
        if not hasattr(value, part):
            return                                         # a warning was given when the node was made
        value = getattr(value, part)
    if not name.startswith("_tensor_constant") or isinstance(value, Module):
        assign(value, target, name)
    else:
        target.register_buffer(name, value)


def assign(value, module, name):
    *path, last = name.split(".")
    for part in path:
        inner = getattr(module, part, None)
        if inner is None:
            inner = Module()
            setattr(module, part, inner)
        module = inner
    if isinstance(value, Module) or not hasattr(value, "requires_grad") or is_parameter(value):
        setattr(module, last, value)
    elif last not in module._buffers:
        vars(module).pop(last, None)
        module.register_buffer(last, value)


def is_parameter(value):
    return type(value).__name__ == "Parameter" or getattr(value, "_is_param", False)


# ------------------------------------------------------------------ pickles
class KeptModules(Module):
    """The state of a pickled module, traced again with every submodule as one node."""

    def __init__(self, state):
        super().__init__()
        vars(self).update(state)


def reduce_graph_module(state, imports, class_name):
    """The module of a pickle: its code is compiled and traced again."""
    scope = {}
    exec(imports, scope)
    used = compiled(state["_code"], scope).__code__.co_names
    scope.update({name: getattr(builtins, name) for name in used if name != "getattr" and hasattr(builtins, name)})
    root = KeptModules({k: v for k, v in state.items() if k not in ("_code", "meta")})
    type_of_root = type("KeptModules", (KeptModules,), {"forward": compiled(state["_code"], scope)})
    root.__class__ = type_of_root
    tracer = sys.modules[f"{__package__}._symbolic_trace"].WholeModules(
        autowrap_functions=[f for f in scope.values() if callable(f)])
    graph = tracer.trace(root)
    made = GraphModule(root, graph, class_name)
    vars(made).update({k: v for k, v in state.items() if k not in ("_code",)})
    return made


def import_of(name, value):
    """The line that imports a global of generated code under its name."""
    if name in ("inf", "nan"):
        return f"from math import {name}"
    if name == "NoneType":
        return "NoneType = type(None)"
    if hasattr(value, "__spec__"):
        return f"import {value.__name__} as {name}"
    module, inner = getattr(value, "__module__", None), getattr(value, "__qualname__", "<locals>")
    if module is None or "<" in inner:
        raise RuntimeError(f"generated code uses {value!r}, which no import reaches: define it at the top level of a "
                           f"module")
    head, _, _ = inner.partition(".")
    return (f"from {module} import {inner} as {name}" if head == inner
            else f"from {module} import {head}\n{name} = {inner}")
