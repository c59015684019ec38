"""The door: guests import public names and `minitorch.extend`, nothing else."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from functools import cache

import pytest

import minitorch
from minitorch import extend
from tests.structure.source import MODULES, PACKAGE, imports, package_of, tree_of
from tests.structure.wall import GUESTS, PUBLIC, UNDERSCORED

NAMES = PACKAGE.parent / "tests" / "data" / "pytorch_names.txt"


@cache
def public_names():
    """Namespace -> its public names: PyTorch's, and those of our own that `PUBLIC` lists."""
    found = {}
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        namespace, _, names = line.partition(":")
        if names:
            found[namespace.replace("torch", "minitorch", 1)] = set(names.split())
    for namespace in PUBLIC:
        found.setdefault(namespace, set()).update(listed(namespace))
    return found


def listed(namespace):
    """The names in the ``__all__`` of a module."""
    for statement in tree_of(namespace).body:
        targets = getattr(statement, "targets", [None])
        if getattr(targets[0], "id", "") == "__all__":
            return ast.literal_eval(statement.value)
    raise AssertionError(f"{namespace} is public, and needs an __all__")


def is_public(module, name):
    """True if a guest may import `name` from `module`; None is the module itself."""
    if module == "minitorch.extend":
        return name is None or name in extend.__all__
    if module == "minitorch":
        return name is None or not name.startswith("_") or (module, name) in UNDERSCORED
    if name is None:
        return module in public_names()
    return name in public_names().get(module, ()) or (module, name) in UNDERSCORED


def reached():
    """(guest's module, kernel's module, name) for each import that is not public."""
    for module in MODULES:
        if package_of(module) in GUESTS:
            for imported, name, _ in imports(module):
                if package_of(imported) not in GUESTS and not is_public(imported, name):
                    yield module, imported, name


def test_guests_import_public_names_and_the_door():
    assert sorted(set(reached()), key=str) == []


def test_underscored_names_are_needed():
    used = {(imported, name) for module in MODULES if package_of(module) in GUESTS
            for imported, name, _ in imports(module)}
    assert set(UNDERSCORED) - used == set()


@pytest.mark.parametrize("namespace", PUBLIC)
def test_names_of_our_own_namespaces_are_documented(namespace):
    module = importlib.import_module(namespace)
    ours = {name: value for name in module.__all__
            if inspect.isroutine(value := getattr(module, name)) or inspect.isclass(value)
            if (value.__module__ or "").startswith("minitorch")}
    assert ours
    assert [name for name, value in ours.items() if not inspect.getdoc(value)] == []


def test_the_door_is_small():
    assert len(extend.__all__) == len(set(extend.__all__)) <= 60


@pytest.mark.parametrize("name", extend.__all__)
def test_a_name_of_the_door_is_documented(name):
    """It has a docstring of its own, and an example of the door's page uses it."""
    assert inspect.getdoc(getattr(extend, name)) or name in ("OPS", "FUNCTIONS")
    examples = doctest.DocTestParser().get_examples(extend.__doc__)
    used = {node.id for example in examples for node in ast.walk(ast.parse(example.source))
            if isinstance(node, ast.Name)}
    used |= {node.attr for example in examples for node in ast.walk(ast.parse(example.source))
             if isinstance(node, ast.Attribute)}
    assert name in used


def test_every_name_of_the_door_has_a_user():
    """Among the guests, or in the pages for people who build on top."""
    used = {name for module in MODULES if package_of(module) in GUESTS
            for imported, name, _ in imports(module) if imported == "minitorch.extend"}
    pages = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {name for name in extend.__all__ if name not in used and name not in pages} == set()


def test_no_guest_is_imported_with_the_package():
    text = "import sys, minitorch; print(*[m for m in sys.modules if m.startswith('minitorch.')])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not {module.split(".")[1] for module in done.stdout.split()} & set(GUESTS)
    assert minitorch.extend is extend


def test_the_examples_of_the_door_are_right():
    """In a process of their own, since they register ops and devices."""
    text = ("import doctest, sys; from minitorch import extend; "
            "sys.exit(doctest.testmod(extend, optionflags=doctest.ELLIPSIS).failed)")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
