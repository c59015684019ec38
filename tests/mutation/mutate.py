"""Small bugs, made mechanically from the syntax tree of a module: each replaces one expression or statement.

`mutants_of` lists all of a file. Text is replaced where the node stands, and lines keep their numbers, so that what was
recorded about functions by their first line still holds.
"""

import ast
import copy
import itertools
from dataclasses import dataclass

OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
BORDER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OTHER_OPERATOR = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
                  ast.Mod: ast.Add, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
                  ast.MatMult: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift}
# Code that concerns words and types only: the text of errors and warnings, annotations, exports.
WORDS = ("warn", "append_note", "add_note", "format", "join")


@dataclass
class Mutant:
    """One change: a node of the tree of a module's text, and what stands there now."""

    file: str
    node: ast.AST
    kind: str
    new: object                # a node, or the text of a statement
    function: str
    start: int                 # first line of the innermost function, as a code object has it; 0 at module level
    module: str                # the text of the module

    @property
    def before(self):
        return ast.get_source_segment(self.module, self.node)

    @property
    def after(self):
        return self.new if isinstance(self.new, str) else ast.unparse(self.new)

    @property
    def name(self):
        return f"{self.file}:{self.node.lineno} {self.kind}: {short(self.before)} -> {short(self.after)}"

    @property
    def text(self):
        """The module with the change, its lines where they were."""
        whole, node = self.module.encode(), self.node
        starts = [0, *itertools.accumulate(map(len, whole.splitlines(keepends=True)))]
        first, last = (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
        lost = "\n" * (node.end_lineno - node.lineno)
        written = self.after + lost if isinstance(node, ast.stmt) else f"({self.after}{lost})"
        return (whole[:first] + written.encode() + whole[last:]).decode()

    def is_valid(self):
        try:
            compile(self.text, self.file, "exec")
        except SyntaxError:
            return False
        return True


def short(text):
    text = " ".join(text.split())
    return text if len(text) < 70 else text[:67] + "..."


def mutants_of(file, text):
    """All mutants of a module's text."""
    finder = Finder()
    finder.visit(ast.parse(text))
    return [Mutant(file, *found, text) for found in finder.found]


class Finder(ast.NodeVisitor):
    """Collects (node, kind of change, what replaces it, name and first line of the function)."""

    def __init__(self):
        self.found, self.functions = [], [("", 0)]

    def add(self, node, kind, new):
        self.found.append((node, kind, new, *self.functions[-1]))

    def change(self, node, kind, **fields):
        new = copy.deepcopy(node)
        for key, value in fields.items():
            setattr(new, key, value)
        self.add(node, kind, new)

    # -- where not to look -----------------------------------------------------------------------------------
    def visit_Raise(self, node):
        self.add(node, "delete statement", "pass")

    def visit_JoinedStr(self, node):
        pass

    visit_Assert = visit_Import = visit_ImportFrom = visit_JoinedStr

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    # -- functions -------------------------------------------------------------------------------------------
    def visit_FunctionDef(self, node):
        if node.name in ("__repr__", "extra_repr", "__dir__"):
            return
        for part in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(part)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self.functions.append((node.name, first))
        for part in node.body:
            self.visit(part)
        self.functions.pop()

    def visit_Lambda(self, node):
        self.functions.append(("lambda", node.lineno))
        self.visit(node.body)
        self.functions.pop()

    # -- statements ------------------------------------------------------------------------------------------
    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return                                         # a docstring
        if isinstance(node.value, ast.Call):
            called = node.value.func
            if getattr(called, "attr", getattr(called, "id", "")) in WORDS:
                return
            self.add(node, "delete statement", "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.add(node, "delete statement", "pass")
        self.generic_visit(node)

    def visit_Assign(self, node):
        if any(isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets):
            return
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)) and self.functions[-1][1]:
            self.add(node, "delete statement", "pass")
        self.visit(node.value)

    def visit_If(self, node):
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node.body[-1], ast.Return) and not node.orelse:
            self.add(node.test, "return early", ast.Constant(True))
        self.add(node.test, "never", ast.Constant(False))
        self.generic_visit(node)

    def visit_Return(self, node):
        if node.value is not None:
            self.generic_visit(node)

    # -- expressions -----------------------------------------------------------------------------------------
    def visit_Compare(self, node):
        if len(node.ops) == 1:
            kind = type(node.ops[0])
            self.change(node, "flip comparison", ops=[OPPOSITE[kind]()])
            if kind in BORDER:
                self.change(node, "move border", ops=[BORDER[kind]()])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        words = any(isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)) or isinstance(side, ast.Constant)
                   and isinstance(side.value, str) for side in (node.left, node.right))
        if type(node.op) in OTHER_OPERATOR and not words:
            self.change(node, "other operator", op=OTHER_OPERATOR[type(node.op)]())
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        self.change(node, "and/or", op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            self.add(node, "drop " + {ast.Not: "not", ast.USub: "minus", ast.Invert: "~"}[type(node.op)], node.operand)
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, "other constant", ast.Constant(not node.value))
        elif isinstance(node.value, (int, float)):
            self.add(node, "other constant", ast.Constant(node.value + 1))

    def visit_IfExp(self, node):
        self.change(node, "swap branches", body=node.orelse, orelse=node.body)
        self.generic_visit(node)

    def visit_Call(self, node):
        plain = [a for a in node.args[:2] if not isinstance(a, ast.Starred)]
        name = getattr(node.func, "id", "")
        if len(plain) == 2 and ast.dump(plain[0]) != ast.dump(plain[1]) and name not in ("isinstance", "ufunc"):
            self.change(node, "swap arguments", args=[node.args[1], node.args[0], *node.args[2:]])
        for part in (*node.args, *(k.value for k in node.keywords)):
            self.visit(part)
        if not isinstance(node.func, ast.Name):
            self.visit(node.func)
