"""The names of PyTorch that libraries import, and those that are missing here.

    python -m tests.parity.imported FOLDER ...           # folders of packages, such as site-packages
    python -m tests.parity.imported --record FOLDER ...  # also rewrites tests/data/imported_names.txt

It reads all files of the folders, runs none, and tries each name. Names under ``TYPE_CHECKING`` do
not count, nor, where PyTorch is installed, those that it does not have itself. Of missing names it
says whether the library needs them when it is imported ("import"), in a function ("call"), or not,
in a ``try`` that handles their absence ("try").
"""

import argparse
import ast
import importlib
import sys
import warnings
from collections import defaultdict
from pathlib import Path

from minitorch.cli.alias import twin
from tests import DATA

FILE = DATA / "imported_names.txt"
WHEN = ("import", "call", "try")
HANDLED = {"ImportError", "ModuleNotFoundError", "Exception", "AttributeError", None}


class Imports(ast.NodeVisitor):
    """The names of ``torch`` that a file imports: (module, name or None, when)."""

    def __init__(self):
        self.found, self.handled, self.inside = [], 0, 0

    def when(self):
        return "try" if self.handled else "call" if self.inside else "import"

    def visit_FunctionDef(self, node):
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node):
        self.found += [(x.name, None, self.when()) for x in node.names
                       if x.name.split(".")[0] == "torch"]

    def visit_ImportFrom(self, node):
        if not node.level and (node.module or "").split(".")[0] == "torch":
            self.found += [(node.module, x.name, self.when()) for x in node.names
                           if x.name != "*"]

    def visit_Try(self, node):
        types = [n for h in node.handlers for n in (ast.walk(h.type) if h.type else [None])]
        handles = any((getattr(n, "id", None) if n else None) in HANDLED for n in types
                      if n is None or isinstance(n, ast.Name))
        self.handled += handles
        for child in node.body:
            self.visit(child)
        self.handled -= handles
        for child in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(child)

    def visit_If(self, node):
        names = {getattr(n, "id", getattr(n, "attr", None)) for n in ast.walk(node.test)}
        for child in (*(() if "TYPE_CHECKING" in names else node.body), *node.orelse):
            self.visit(child)


def imports_of(folders):
    """{(module, name): {when: set of packages}}, and the number of files."""
    found, files = defaultdict(lambda: defaultdict(set)), 0
    for folder in map(Path, folders):
        for path in folder.rglob("*.py"):
            if path.relative_to(folder).parts[0].startswith(("torch", "functorch", "minitorch")) \
                    and (folder / "torch/version.py").exists():
                continue                                   # PyTorch itself
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):
                continue
            files += 1
            visitor = Imports()
            visitor.visit(tree)
            package = path.relative_to(folder).parts[0].removesuffix(".py")
            for module, name, when in visitor.found:
                found[module, name][when].add(package)
    return found, files


def has(library, module, name):
    """True if a library, named "torch" or "minitorch", has a module, and a name in it."""
    path = module if library == "torch" else twin(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            place = importlib.import_module(path)
        except Exception:
            return False
        if name is None or hasattr(place, name):
            return True
        try:
            importlib.import_module(f"{path}.{name}")
        except Exception:
            return False
    return True


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args(argv)
    found, files = imports_of(args.folders)
    is_there = importlib.util.find_spec("torch") is not None
    theirs = {key for key in found if not is_there or has("torch", *key)}
    missing = {when: [key for key in sorted(theirs, key=str) if not has("minitorch", *key)
                      and when == next(w for w in WHEN if w in found[key])] for when in WHEN}
    for when, keys in missing.items():
        for module, name in keys:
            print(f"{when} {module} {name or ''}: {', '.join(sorted(found[module, name][when]))}")
    packages = set().union(*[names for row in found.values() for names in row.values()])
    counts = ", ".join([f"{when} {len(keys)}" for when, keys in missing.items()])
    print(f"{files} files of {len(packages)} libraries import {len(found)} names, {len(theirs)} of "
          f"PyTorch's now; missing here: {counts}")
    if args.record:
        FILE.write_text("".join(sorted([f"{module} {name or ''}".rstrip() + "\n"
                                        for module, name in theirs])))


if __name__ == "__main__":
    main(sys.argv[1:])
