"""``python -m minitorch --check script.py``: the names of PyTorch that a program uses and minitorch lacks.

The program is read, not run: imports and what they are bound to (``import torch.nn.functional as F``,
``from torch import nn``), attributes of these (``F.silu``, ``nn.Conv2d``), methods and attributes of values that are
tensors for certain (results of functions that return tensors, annotated parameters), and the files of its own folder
that it imports. What stands in a ``try`` that deals with its absence, or behind ``hasattr``, is left out.
"""

import ast
import functools
import importlib
import os
import sys
from pathlib import Path

import minitorch as torch

from .alias import twin

__all__ = ["check", "main", "missing"]

TENSOR = "torch.Tensor"                                    # stands for values that are tensors
EXPECTED = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


# ---- what there is -----------------------------------------------------------------------------------------------
@functools.cache
def find(path):
    """The object that a name of PyTorch stands for, such as "torch.nn.Conv2d"; None if there is none."""
    if twin(path) is None:
        return None
    above, _, name = path.rpartition(".")
    if above and find(above) is not None and hasattr(find(above), name):
        return getattr(find(above), name)
    try:
        return importlib.import_module(twin(path))
    except ImportError:
        return None


def first_missing(path):
    """The shortest beginning of a name that there is not; None if all of it is there."""
    parts = path.split(".")
    for i in range(1, len(parts) + 1):
        beginning = ".".join(parts[:i])
        if find(beginning) is None and not is_none(beginning):
            return beginning
    return None


def is_none(path):
    """True if a name exists and has the value None, as ``torch.version.cuda``."""
    above, _, name = path.rpartition(".")
    return above != "" and getattr(find(above), name, path) is None


@functools.cache
def returning_tensors():
    """Names of functions, and of methods of Tensor, whose result is a tensor however they are called."""
    found = {}
    for file, prefix in (("__init__.pyi", "torch."), ("nn/functional.pyi", "torch.nn.functional."),
                         ("core/tensor.pyi", ""), ("linalg.pyi", "torch.linalg."), ("fft.pyi", "torch.fft.")):
        path = Path(torch.__file__).parent / file
        for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
            inner = node.body if isinstance(node, ast.ClassDef) and node.name == "Tensor" else [node]
            for f in inner:
                if isinstance(f, ast.FunctionDef) and f.returns is not None:
                    name = (f"{TENSOR}." if inner is not node and isinstance(node, ast.ClassDef) else prefix) + f.name
                    found.setdefault(name, set()).add(ast.unparse(f.returns))
    return {name for name, results in found.items() if results == {"Tensor"}}


# ---- what a program uses ---------------------------------------------------------------------------------------
class Reader(ast.NodeVisitor):
    """Goes through a file; `used` maps names of PyTorch to the lines that use them, `files` are imports of its own."""

    def __init__(self, file):
        self.file, self.used, self.files = Path(file), {}, []
        self.scopes, self.excused = [{}], 0

    def run(self):
        """Read the file; SyntaxError if it is not Python."""
        self.visit(ast.parse(self.file.read_bytes(), str(self.file)))
        return self

    # -- names -----------------------------------------------------------------------------------------------
    def bind(self, name, meaning):
        """Let a name of the program mean a name of PyTorch, a tensor, or nothing known (None)."""
        self.scopes[-1][name] = meaning

    def meaning(self, node):
        """The name of PyTorch that an expression means; `TENSOR` for a tensor; None for all else."""
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in reversed(self.scopes) if node.id in scope), None)
        if isinstance(node, ast.Attribute):
            above = self.meaning(node.value)
            if above == TENSOR and node.attr in ("T", "mT", "H", "mH", "data", "real"):
                return TENSOR
            return f"{above}.{node.attr}" if above is not None and not callable_result(above) else None
        if isinstance(node, ast.Call):
            return TENSOR if self.meaning(node.func) in returning_tensors() else None
        if isinstance(node, ast.BinOp):
            return TENSOR if TENSOR in (self.meaning(node.left), self.meaning(node.right)) else None
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.meaning(node.operand)
        if isinstance(node, ast.Subscript) and self.meaning(node.value) == TENSOR:
            return TENSOR
        return None

    def note(self, path, node):
        if not self.excused and path.partition(".")[0] in ("torch", "torchvision") and path[:10] != "torch.ops.":
            self.used.setdefault(path, []).append(node.lineno)

    # -- imports -----------------------------------------------------------------------------------------------
    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.partition(".")[0] in ("torch", "torchvision"):
                self.note(alias.name, node)
                self.bind(alias.asname or alias.name.partition(".")[0],
                          alias.name if alias.asname else alias.name.partition(".")[0])
            else:
                self.files.append((0, alias.name))
                self.bind(alias.asname or alias.name.partition(".")[0], None)

    def visit_ImportFrom(self, node):
        module = node.module or ""
        ours = not node.level and module.partition(".")[0] in ("torch", "torchvision")
        if ours:
            self.note(module, node)
        else:
            self.files += [(node.level, module), *[(node.level, f"{module}.{a.name}".strip(".")) for a in node.names]]
        for alias in node.names:
            if alias.name == "*":
                names = getattr(find(module), "__all__", dir(find(module))) if ours and find(module) else ()
                self.scopes[-1].update({name: f"{module}.{name}" for name in names if not name.startswith("_")})
                continue
            if ours:
                self.note(f"{module}.{alias.name}", node)
            self.bind(alias.asname or alias.name, f"{module}.{alias.name}" if ours else None)

    # -- uses --------------------------------------------------------------------------------------------------
    def visit_Attribute(self, node):
        path = self.meaning(node)
        above = self.meaning(node.value)
        if isinstance(node.ctx, ast.Load) and above is not None:
            self.note(f"{TENSOR}.{node.attr}" if above == TENSOR and path == TENSOR else path or "", node)
        self.visit(node.value)

    # -- what names come to mean -----------------------------------------------------------------------------------
    def visit_Assign(self, node):
        self.visit(node.value)
        meaning = self.meaning(node.value)
        for target in node.targets:
            self.assign(target, meaning)

    def assign(self, target, meaning):
        if isinstance(target, ast.Name):
            self.bind(target.id, meaning)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.assign(item.value if isinstance(item, ast.Starred) else item, None)
        else:
            self.visit(target)

    def visit_AnnAssign(self, node):
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        self.assign(node.target, self.annotated(node.annotation))

    def annotated(self, annotation):
        """`TENSOR` for the annotation ``torch.Tensor``."""
        return TENSOR if annotation is not None and self.meaning(annotation) == TENSOR else None

    def visit_AugAssign(self, node):
        self.visit(node.value)
        if not (isinstance(node.target, ast.Name) and self.meaning(node.target) == TENSOR):
            self.assign(node.target, None)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self.bind(node.target.id, self.meaning(node.value))

    def visit_For(self, node):
        self.visit(node.iter)
        self.assign(node.target, None)
        self.visit_all(node.body + node.orelse)

    visit_AsyncFor = visit_For

    def visit_With(self, node):
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, None)
        self.visit_all(node.body)

    visit_AsyncWith = visit_With

    def visit_all(self, nodes):
        for node in nodes:
            self.visit(node)

    # -- scopes ------------------------------------------------------------------------------------------------
    def visit_FunctionDef(self, node):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.visit_all([*node.decorator_list, *arguments.defaults, *[d for d in arguments.kw_defaults if d],
                        *[a.annotation for a in every if a.annotation], *([node.returns] if node.returns else [])])
        self.bind(node.name, None)
        scope = {a.arg: self.annotated(a.annotation) for a in every}
        scope |= {a.arg: None for a in (arguments.vararg, arguments.kwarg) if a}
        self.within(scope, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.visit_all(node.args.defaults)
        self.within({a.arg: None for a in (*every, node.args.vararg, node.args.kwarg) if a}, [node.body])

    def visit_ClassDef(self, node):
        self.visit_all([*node.decorator_list, *node.bases, *[k.value for k in node.keywords]])
        self.bind(node.name, None)
        self.within({}, node.body)

    def visit_comprehension_of(self, node):
        self.scopes.append({})
        for part in node.generators:
            self.visit(part.iter)
            self.assign(part.target, None)
            self.visit_all(part.ifs)
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def within(self, scope, body):
        self.scopes.append(scope)
        self.visit_all(body)
        self.scopes.pop()

    # -- what deals with absence itself -------------------------------------------------------------------------------
    def visit_Try(self, node):
        deals = any([handler.type is None or EXPECTED & {getattr(n, "id", None) for n in ast.walk(handler.type)}
                     for handler in node.handlers])
        self.excused += deals
        self.visit_all(node.body)
        self.excused -= deals
        self.visit_all([*node.handlers, *node.orelse, *node.finalbody])

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node):
        if node.type is not None:
            self.visit(node.type)
        if node.name:
            self.bind(node.name, None)
        self.visit_all(node.body)

    def visit_If(self, node):
        asks = any([isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "hasattr"
                    for n in ast.walk(node.test)])
        body, orelse = ([x] if isinstance(x, ast.AST) else x for x in (node.body, node.orelse))
        self.excused += asks
        self.visit_all([node.test, *body])
        self.excused -= asks
        self.visit_all(orelse)

    visit_IfExp = visit_If


def callable_result(path):
    """True if a name's attributes cannot be looked up: it means a function or an instance."""
    found = find(path)
    return found is not None and not isinstance(found, type) and not hasattr(found, "__path__") and callable(found)


# ---- a whole program -------------------------------------------------------------------------------------------
def read(script):
    """The readers of a program: of the script, and of each file beside it that it imports."""
    root, found, waiting = Path(script).resolve().parent, {}, [Path(script).resolve()]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found[file] = reader = Reader(file).run()
        for level, name in reader.files:
            folder = file.parents[level - 1] if level else root
            place = folder.joinpath(*name.split(".")) if name else folder
            waiting += [p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()]
    return list(found.values())


def missing(script):
    """{name that minitorch lacks: [(file, line), ...]} of a program, and the number of names that it uses."""
    absent, names = {}, set()
    for reader in read(script):
        for path, lines in reader.used.items():
            names.add(path)
            beginning = first_missing(path)
            if beginning is not None:
                absent.setdefault(beginning, []).extend((reader.file, line) for line in lines)
    return {name: sorted(set(places)) for name, places in sorted(absent.items())}, len(names)


def check(script):
    """Print what a program lacks; 1 if it lacks something, 2 if it cannot be read, else 0."""
    try:
        absent, count = missing(script)
    except (OSError, SyntaxError) as error:
        print(f"minitorch: {script} cannot be read: {error}", file=sys.stderr)
        return 2
    if not absent:
        print(f"{script}: minitorch has all of the {count} names of PyTorch that it uses")
        return 0
    print(f"{script}: minitorch lacks {len(absent)} of the {count} names of PyTorch that it uses")
    for name, places in absent.items():
        lines = {}
        for file, line in places:
            lines.setdefault(os.path.relpath(file), []).append(str(line))
        print(f"  {name}: " + "; ".join([f"{file}, line {', '.join(found)}" for file, found in lines.items()]))
    print("docs/differences_from_pytorch.md gives the reason for each")
    return 1


def main(scripts):
    """Check one program or several; the worst result."""
    if not scripts:
        print("minitorch: --check needs programs to check", file=sys.stderr)
        return 2
    return max([check(script) for script in scripts])
