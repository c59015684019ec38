"""Counts what is written by hand about single ops and functions of NumPy, from the sources.

    python tests/rules.py                        figures of this checkout
    python tests/rules.py --root OTHER           of another one, by the same definitions
    python tests/rules.py --list                 also where each rule, table and way is

- A *rule by hand* is a function that is entered for ops by name: ``@rule("cat")``.
- A *table of NumPy's names* is a statement with a collection (a literal, the words of a string)
  where at least four members, and two thirds, are functions of NumPy. It is a *spelling* if it
  gives each name a value of its own, such as its text in C; all others put names into a class.
  `__all__`, which lists what a module exports, does not count; nor do packages whose names are
  those of ops (nested, masked, sparse, autograd), where `rule`, `answers` and `along` count.
- A *way to redirect a call* is found by the words with which a program takes it.
"""

import argparse
import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

# Packages whose rules are counted: the part of a decorator's name, and what they are about.
RULES = {"backends/batched": "rule", "distributed/tensor": "rule|by_hand", "nested": "rule",
         "masked": "rule", "sparse": "answers|along", "autograd": "rule"}
LINES = ("backends/batched", "nested", "masked", "sparse", "distributed/tensor",
         "autograd/tangents.py", "autograd/noted.py", "autograd/crossing.py", "autograd/dual")
# Packages that call NumPy's functions on arrays by their names.
ARRAYS = ("core", "host", "random", "ops", "backends", "compiler", "distributed/tensor",
          "array_api")
WAYS = {                   # what happens: how a program that does so reads
    "a template printed again": r"^watched: list|\bwatched\.append\(\"",
    "code exchanged": r"\.__code__ = ",
    "layouts": r"\bdef enter_layout\(|^enter_layout\(",
    "other backends": r"^ *class \w+\((Backend|BatchedBackend|CUDA|CPU)\):",
    "layers": r"\b(layers\.)?(pushed|observed)\((?!wrap)|^ *class \w+\((pushed|observed)\):",
    "node hooks": r"^ *class \w+\(NodeHook\):",
    "classes of nodes exchanged": r"\bnode\.__class__ = ",
    "kernels over kernels": r"= Kernels\(\"\w+\", over=",
    "a failed call answered": r"\bdef answer_failure\(|\bdef as_tensor\(self",
}


def sources(root, *places):
    """(path from the package, tree) of each file of `places`, folders or files of the package."""
    package = Path(root) / "minitorch"
    for place in places:
        found = package / place
        for path in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
            if path.exists():
                yield str(path.relative_to(package)), ast.parse(path.read_text())


# ---- rules ---------------------------------------------------------------------------------------
def rules(root, place, word):
    """(file, line, names, True for a decorator) of each function that is entered by name."""
    found = []
    for path, tree in sources(root, place):
        calls = [(call, True) for node in ast.walk(tree)
                 for call in getattr(node, "decorator_list", ())]
        calls += [(node.value.func, False) for node in ast.walk(tree)  # ``rule("sum")(function)``
                  if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        loops = {ast.unparse(loop.target): loop.iter for loop in ast.walk(tree)
                 if isinstance(loop, ast.For)}
        for call, decorates in calls:
            if isinstance(call, ast.Call) and re.search(word, ast.unparse(call.func).split(".")[-1]):
                given = [x for arg in call.args for x in ast.walk(loops.get(ast.unparse(arg), arg))]
                names = [name for x in given if isinstance(x, ast.Constant)
                         for name in str(x.value).split()]
                found.append((path, call.lineno, names, decorates))
    return sorted(found)


def numpy_functions(root):
    """(file, line, names) of NumPy's functions that batched arrays have by hand."""
    found = []
    for path, tree in sources(root, "backends/batched"):
        for node in ast.walk(tree):
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "function":
                    names = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
                    found.append((path, call.lineno, names or [node.name]))
    return found


# ---- tables --------------------------------------------------------------------------------------
@cache
def is_numpy(name):
    """True for the name of a function of NumPy: ``"sum"``, ``"linalg.svd"``, ``"add.at"``."""
    if not re.fullmatch(r"[a-z]\w*(\.\w+)*", name) or name in ("bytes", "object", "str"):
        return False
    for found in (np, np.linalg, np.fft):
        for word in name.removeprefix("np.").split("."):
            found = getattr(found, word, None)
        if callable(found) and not isinstance(found, type):
            return True
    return False


def members(node):
    """The texts that a collection holds, None for what is not text; () for other expressions."""
    if isinstance(node, ast.Dict):
        node = node.keys
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        node = node.elts
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split() if " " in node.value else ()
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
        return [keyword.arg for keyword in node.keywords]
    else:
        return ()
    return [text_of(x) for x in node]


def text_of(node):
    """The name that an element of a collection is, or begins with."""
    if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
        node = node.elts[0]
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
        return node.attr
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_table(node):
    words = members(node)
    known = {word for word in words if word and is_numpy(word)}
    return len(known) >= 4 and 3 * len(known) >= 2 * len(words)


def is_spelling(node):
    """True for a dict, or pairs, that give almost every name a value of its own."""
    if isinstance(node, ast.Dict):
        values = node.values
    elif isinstance(node, ast.Call):
        values = [keyword.value for keyword in node.keywords]
    else:
        values = [row.elts[1] for row in getattr(node, "elts", ())
                  if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) > 1]
    return bool(values) and 4 * len({ast.dump(value) for value in values}) >= 3 * len(values)


def expressions(statement):
    """The expressions of a statement without those of the statements within it."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and "__all__" in ast.unparse(
            getattr(statement, "targets", [getattr(statement, "target", None)])[0]):
        return []
    documented = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if documented or isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    todo = [x for x in ast.iter_child_nodes(statement) if not isinstance(x, ast.stmt)]
    return [x for top in todo for x in ast.walk(top)]


def tables(root):
    """(file, line, names, True for a spelling) of each table of NumPy's names."""
    found = []
    for path, tree in sources(root, *ARRAYS):
        for statement in ast.walk(tree):
            if isinstance(statement, ast.stmt):
                held = [x for x in expressions(statement) if is_table(x)]
                if held:
                    words = [w for x in held for w in members(x) if w and is_numpy(w)]
                    spelled = any([is_spelling(x) for x in held])
                    found.append((path, statement.lineno, list(dict.fromkeys(words)), spelled))
    return found


# ---- the rest ------------------------------------------------------------------------------------
def ops_with_dims(root):
    """(ops with index notation, ops), as a process that imports the checkout counts them."""
    program = ("import minitorch; from minitorch.core.registry import OPS; "
               "print(sum(getattr(op, 'dims', None) is not None for op in OPS.values()), len(OPS))")
    done = subprocess.run([sys.executable, "-c", program], cwd=root, text=True, check=True,
                          env={"PYTHONPATH": str(root), "PATH": ""}, capture_output=True)
    return tuple(map(int, done.stdout.split()))


def ways(root):
    """Way -> the places, "file:line", at which the sources take it."""
    found = {way: [] for way in WAYS}
    package = Path(root) / "minitorch"
    for path in sorted(package.rglob("*.py")):
        for i, line in enumerate(path.read_text().splitlines(), 1):
            for way, words in WAYS.items():
                if re.search(words, line):
                    found[way].append(f"{path.relative_to(package)}:{i}")
    return {way: places for way, places in found.items() if places}


def lines(root, place):
    found = Path(root) / "minitorch" / place
    files = found.rglob("*.py") if found.is_dir() else [found]
    return sum([len(path.read_text().splitlines()) for path in files if path.exists()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    parser.add_argument("--list", action="store_true", help="also say where each is")
    given = parser.parse_args()
    root = given.root.resolve()

    def listed(entries):
        for entry in entries if given.list else ():
            print(f"        {entry}")

    print("rules by hand           decorated  otherwise  names")
    total = [0, 0, 0]
    for place, word in RULES.items():
        found = rules(root, place, word)
        decorated = len([rule for rule in found if rule[3]])
        counts = decorated, len(found) - decorated, sum([len(names) for _, _, names, _ in found])
        if place != "sparse":
            total = [a + b for a, b in zip(total, counts)]
        print("    {:20}{:9}{:11}{:7}".format(place, *counts))
        listed([f"{path}:{line} {' '.join(names)}" for path, line, names, _ in found])
    print("    {:20}{:9}{:11}{:7}".format("all but sparse", *total))
    found = numpy_functions(root)
    print(f"functions of NumPy by hand, of batched arrays: {len(found)}")
    listed([f"{path}:{line} {' '.join(names)}" for path, line, names in found])

    found = tables(root)
    for title, chosen in (("tables of NumPy's names", [t for t in found if not t[3]]),
                          ("spellings of NumPy's names", [t for t in found if t[3]])):
        print(f"{title}: {len(chosen)} in {len({t[0] for t in chosen})} files")
        listed([f"{path}:{line} {len(names)}: {' '.join(names[:8])}"
                for path, line, names, _ in chosen])
    print("ops with dims: {} of {}".format(*ops_with_dims(root)))

    found = ways(root)
    print(f"ways to redirect a call: {len(found)}")
    for way, places in found.items():
        files = {place.split(":")[0] for place in places}
        print(f"    {way:32}{len(places):3} places in {len(files)} files")
        listed(places)
    print("lines")
    counts = {place: lines(root, place) for place in LINES}
    for place, count in {**counts, "all of these": sum(counts.values())}.items():
        print(f"    {place:24}{count:6}")


if __name__ == "__main__":
    main()
