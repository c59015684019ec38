"""The package's own source, as the structure tests read it: modules, imports, measures.

Everything is computed from the syntax trees; nothing of the package is imported.
"""

import ast
import io
import tokenize
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "minitorch"


def name_of(path):
    """The dotted name of a module's file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def text_of(module):
    return MODULES[module].read_text(encoding="utf-8")


@cache
def tree_of(module):
    return ast.parse(text_of(module))


def package_of(module):
    """The folder or file at the top that a module lies in: "nn" for `minitorch.nn.init`."""
    return module.split(".")[1] if "." in module else module


# ---- imports -------------------------------------------------------------------------------
def import_statements(node, inner=False):
    """(statement, is within a function) for each import below a node, but for type checkers'."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, inner
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from import_statements(child, inner or is_function)


@cache
def imports(module):
    """(module, name or None, is within a function) for each import of the package's own."""
    found = []
    is_package = MODULES[module].name == "__init__.py"
    here = module.split(".") if is_package else module.split(".")[:-1]
    for statement, inner in import_statements(tree_of(module)):
        if isinstance(statement, ast.Import):
            names = [a.name for a in statement.names if a.name.split(".")[0] == "minitorch"]
            found += [(name, None, inner) for name in names]
            continue
        above = here[:len(here) - statement.level + 1] if statement.level else []
        source = ".".join([*above, *([statement.module] if statement.module else [])])
        if source.split(".")[0] != "minitorch":
            continue
        for alias in statement.names:
            whole = f"{source}.{alias.name}"
            found.append((whole, None, inner) if whole in MODULES else (source, alias.name, inner))
    return [x for x in found if x[0] != module]


def circles(arrows):
    """The sets of modules that reach each other over `arrows`, a dict of sets (Tarjan, 1972)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(arrows.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(arrows.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = set()
                    while node not in members:
                        members.add(stack.pop())
                    on_stack.difference_update(members)
                    if len(members) > 1:
                        found.append(members)
    for node in list(arrows):
        if node not in index:
            visit(node)
    return found


# ---- measures ------------------------------------------------------------------------------
DECISIONS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert,
             ast.comprehension, ast.match_case)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def complexity(function):
    """McCabe's cyclomatic complexity (1976), functions within it apart: one more than decisions."""
    count, todo = 1, list(ast.iter_child_nodes(function))
    for node in todo:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        count += isinstance(node, DECISIONS)
        if isinstance(node, ast.comprehension):
            count += len(node.ifs)
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        todo += ast.iter_child_nodes(node)
    return count


def functions(module):
    """(name, complexity) of all functions of a module."""
    return [(f"{module}:{node.name}", complexity(node)) for node in ast.walk(tree_of(module))
            if isinstance(node, FUNCTIONS)]


def lines(module):
    """How many lines a module has."""
    return len(text_of(module).splitlines())


@cache
def code_lines(module):
    """How many lines bear code: neither blank nor a comment nor within a docstring."""
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENDMARKER}
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text_of(module)).readline):
        if token.type not in skip:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree_of(module)):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node):
            found.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(found)


def density(modules):
    """Syntax nodes for each line of code."""
    nodes = sum(1 for module in modules for _ in ast.walk(tree_of(module)))
    return nodes / sum(code_lines(module) for module in modules)
