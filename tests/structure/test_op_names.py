"""Every fact about an op is a column of its definition: no table of op names stands anywhere else."""

import ast
import functools
import re

import pytest

from minitorch.core.registry import OPS
from tests.structure.source import PACKAGE

# Files that spell names of another vocabulary, which some definitions happen to share, and why they have to.
OTHER_WORDS = {
    "autograd/dual/array.py": "Python's operators and NumPy's methods, which an array class has",
    "backends/batched/array.py": "Python's operators and NumPy's methods, which an array class has",
    "backends/numpy_names.py": "NumPy's functions, by what they do to dimensions",
    "backends/cuda/arrays/functors.py": "NumPy's ufuncs, and the functors that compute them",
    "backends/cuda/arrays/reduce.py": "NumPy's ufuncs, whose `reduce` it has",
    "backends/cuda/ops/product.py": "activations that a product's kernel can end with",
    "backends/sim/flow.py": "instructions of PTX",
    "backends/sim/opcodes.py": "instructions of PTX",
    "backends/sim/opcodes_memory.py": "instructions of PTX",
    "backends/sim/translate.py": "instructions of PTX",
    "compiler/c_words.py": "NumPy's ufuncs, as C",
    "fx/codegen.py": "functions of `operator`, as code",
    "nested/_internal/backend.py": "Python's operators, which an array class has",
    "library/namespaces.py": "PyTorch's operators whose functions have other names",
    "distributed/tensor/sharded.py": "Python's operators and NumPy's methods, which an array class has",
    "check/nb01.py": "ops that learners write themselves",
    "check/nb17.py": "methods of the dual numbers that learners write themselves",
}


def names_in(node):
    """The names of definitions, plain or as ``F.<name>``, in a collection or in a text that is split into one."""
    if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        found = node.elts
    elif isinstance(node, ast.Dict):
        found = [*node.keys, *node.values]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return [k.arg for k in node.keywords if k.arg in OPS]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        text = getattr(node.func.value, "value", None)
        return [x for x in re.findall(r"\w+", text) if x in OPS] if isinstance(text, str) else []
    else:
        return []
    values = [x.value for x in found if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return [x for x in values if x.removeprefix("F.") in OPS]


def tables_in(source):
    """Line and names of each table of ops; ``__all__`` is none."""
    nodes = list(ast.walk(ast.parse(source)))
    exported = {id(x.value) for x in nodes if isinstance(x, ast.Assign)
                and any(getattr(t, "id", None) == "__all__" for t in x.targets)}
    found = [(getattr(node, "lineno", 0), names_in(node)) for node in nodes if id(node) not in exported]
    entered = {id(x.iter) for x in nodes if isinstance(x, ast.For) and "kernel(" in ast.unparse(x)}
    exempt = [getattr(x, "lineno", 0) for x in nodes if id(x) in entered]    # a loop that enters kernels
    return [(line, names) for line, names in found if len(set(names)) >= 3 and line not in exempt]


@functools.cache
def all_tables():
    files = [f for f in sorted(PACKAGE.rglob("*.py")) if "ops" != f.relative_to(PACKAGE).parts[0]]
    return {f.relative_to(PACKAGE).as_posix(): tables_in(f.read_text(encoding="utf-8")) for f in files}


def test_no_table_of_op_names_outside_the_definitions():
    found = [f"minitorch/{file}:{line}: {', '.join(names[:5])}" for file, tables in all_tables().items()
             if file not in OTHER_WORDS for line, names in tables]
    assert not found, "make it a column of the definitions (see `Op`):\n" + "\n".join(found)


def test_every_exception_is_needed():
    tables = all_tables()
    assert [file for file in OTHER_WORDS if not tables.get(file)] == [], "take these off OTHER_WORDS"


def test_nobody_asks_for_the_name_of_an_op():
    """``op.name == "copy"`` is a table of one."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            left = getattr(node, "left", None)
            if (isinstance(node, ast.Compare) and isinstance(left, ast.Attribute) and left.attr in ("name", "__name__")
                    and getattr(left.value, "id", None) in ("op", "row")):
                values = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant)]
                found += [f"{file.relative_to(PACKAGE)}:{node.lineno}: {x}" for x in values if x in OPS]
    assert not found, "make it a column of the definition (see `Op`):\n" + "\n".join(found)


@pytest.mark.parametrize("source", [
    'SLOW = {"exp", "log", "tanh"}', 'x = ["F.relu", "F.sigmoid", "F.silu"]', 'T = {"exp": 1, "log": 2, "tanh": 3}',
    'T = {1: "exp", 2: "log", 3: "tanh"}', 'T = frozenset(("exp", "log", "tanh"))', 'T = dict(exp=1, log=2, tanh=3)',
    'T = "exp log tanh".split()', 'for name in ("exp", "log", "tanh"):\n    pass'])
def test_tables_are_found(source):
    assert [line for line, _ in tables_in(source)] == [1]


@pytest.mark.parametrize("source", ['x = {"exp", "log"}', '__all__ = ["exp", "log", "tanh"]', 'x = ("a", "b", "c")',
                                    'x = ["exp", "exp", "exp"]'])
def test_other_collections_are_not(source):
    assert tables_in(source) == []
