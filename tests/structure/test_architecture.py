"""The architecture, from the source: who imports whom, no circles, and what stays out of where.

`wall.py` says what a package of the kernel may import; `test_wall.py` and `test_door.py` say the
same of guests, `test_closure.py` what the core reaches in other ways.
"""

import ast
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest

import minitorch
from minitorch.compat import TABLE, Place
from minitorch.core.registry import HOOKS, find, guests, late
from tests.structure.source import FUNCTIONS, MODULES, PACKAGE, circles, imports, package_of, text_of, tree_of
from tests.structure.wall import AGAINST, KERNEL

# Imports within functions, and why they wait.
INNER = {
    "minitorch.__main__": "one command needs only its own modules",
    "minitorch.check.nb12": "needs CuPy and a compiler, which may be missing",
    "minitorch.cli.demo": "--help answers at once",
    "minitorch.datasets.cifar": "the reader of pickles is needed when there is one to read",
    "minitorch.distributed.watcher": "beside ranks that run it needs Python's library only",
    "minitorch.distributed.world": "MPI starts when it is imported; files in memory are Unix's",
    "minitorch.extend": "programs without optimisers do not load their package",
    "minitorch.func.modules": "transforms of functions need no layers",
    "minitorch.profiler.averages": "pictures are loaded when one is drawn",
    "minitorch.profiler.profile": "pictures are loaded when one is drawn",
    "minitorch.serialization.names": "saving plain tensors needs no layers",
    "minitorch.serialization.tensors": "saving plain tensors needs no layers",
    "minitorch.utils.data.dataloader": "shared memory and pipes cost other loaders 30 ms",
    "minitorch.utils.data.worker": "the same, and `get_worker_info` is imported from it",
}
# Modules hidden by a public name of their package.
SHADOWED = {
    "minitorch.backends.sim.report": "of the simulator, imported by name only",
    "minitorch.func.vmap": "the function's public name; `torch.vmap` is its second",
    "minitorch.multiprocessing.spawn": "as in PyTorch",
    "minitorch.nn.summary": "`nn.summary` is the function's public name",
    "minitorch.nn.utils.weight_norm": "as in PyTorch",
    "minitorch.profiler.profile": "the class's public name; pickles know the module",
    "minitorch.profiler.schedule": "the function's public name",
    "minitorch.testing.gradcheck": "the function's public name, as `torch.autograd.gradcheck`",
}


def allows(place, module):
    """True if `place`, a package or a module in an arrow of the wall, covers a module."""
    if place == "minitorch":
        return module == "minitorch"
    return f"{module}.".startswith(f"minitorch.{place}.")


def test_there_is_no_import_circle():
    """Imports within functions count too."""
    assert circles({name: {module for module, _, _ in imports(name)} for name in MODULES}) == []


def between_packages():
    """(module, imported module) for each import of a package of the kernel from another one."""
    return {(name, module) for name in MODULES if package_of(name) in KERNEL
            for module, _, _ in imports(name) if package_of(module) != package_of(name)}


def test_packages_import_what_the_arrows_allow():
    against = {(name, module) for name, module in between_packages()
               if not any(allows(place, module) for place in KERNEL[package_of(name)][0].split())}
    assert against == set(AGAINST)


def test_every_arrow_is_used():
    used = {(package_of(name), module) for name, module in between_packages() - set(AGAINST)}
    unused = {(package, place) for package, (places, _) in KERNEL.items()
              for place in places.split()
              if not any(name == package and allows(place, module) for name, module in used)}
    assert unused == set()


def test_packages_stand_on_those_before_them():
    before = {"minitorch"}
    for package, (places, _) in KERNEL.items():
        # a single module, such as `utils._pytree`, may lie in a package that stands higher
        assert {place for place in places.split() if "." not in place} <= before, package
        before.add(package)


def test_imports_within_functions_are_the_listed_ones():
    assert {name for name in MODULES if any(inner for _, _, inner in imports(name))} == set(INNER)


def test_the_kernel_takes_names_from_the_module_that_defines_them():
    """Guests take public names from their public place, so that what defines them may move."""
    elsewhere = []
    for name in MODULES:
        if package_of(name) not in KERNEL or MODULES[name].name == "__init__.py":
            continue
        for module, wanted, _ in imports(name):
            passed_on = {x for _, x, _ in imports(module) if x is not None}
            if wanted in passed_on and module != "minitorch":
                elsewhere.append((name, module, wanted))
    assert elsewhere == []


def test_no_module_is_imported_by_its_name_as_a_string():
    may = {"minitorch", "minitorch.compat", "minitorch.backends",
           "minitorch.backends.cuda.runtime.machine",      # the kernels' loader
           "minitorch.serialization.loading"}              # names in old files
    pattern = re.compile(r"""import_module\(\s*f?["']minitorch\.|["']minitorch\.[\w.]+:\w""")
    assert {name for name in MODULES if pattern.search(text_of(name))} <= may


PLACES = {*late.places.values(), *guests.places.values(),
          *[hook.place for hook in HOOKS.values() if hook.place]}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_late_functions_are_there(place):
    assert callable(find(place))


def test_every_guest_behind_a_public_method_has_a_user():
    """`guests.x` somewhere in the kernel, or a string of that name."""
    kernel = "".join(text_of(name) for name in MODULES if package_of(name) in KERNEL)
    assert [name for name in guests.places if not re.search(rf"guests\.{name}\b", kernel)] == []


# ---- the table of namespaces
def test_the_root_lists_the_rows_of_the_table():
    assert set(minitorch._ROWS) == {name for name in TABLE
                                    if name.partition(".")[0] not in TABLE or "." not in name}


@pytest.mark.parametrize("namespace", TABLE)
def test_namespaces_of_the_table_are_modules_with_all_their_names(namespace):
    module = importlib.import_module(f"minitorch.{namespace}")
    assert importlib.util.find_spec(f"minitorch.{namespace}") is module.__spec__
    assert f"minitorch.{namespace}" not in MODULES, "a file hides a row"
    row = {name: value for name, value in TABLE[namespace].items()
           if name not in ("__doc__", "__all__")}
    assert set(row) <= {*dir(module), "__getattr__"} and set(module.__all__) <= set(row)
    for name, value in row.items():
        assert getattr(module, name) is (value.find() if isinstance(value, Place) else value)
    with pytest.raises(AttributeError,
                       match=f"minitorch.{namespace}' has no attribute 'nonesuch'"):
        _ = module.nonesuch
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"minitorch.{namespace}.nonesuch")


def test_the_table_leaves_calls_alone():
    """A class in it that answers calls would have all functions look at their arguments."""
    program = ("import minitorch; minitorch.mul(minitorch.ones(1), 2); "
               "code = minitorch.mul.__code__; "
               "import minitorch._subclasses; assert minitorch.mul.__code__ is code")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PACKAGE.parent)


# ---- what stays out of where
def imported_libraries(tree):
    """The modules outside this package that a tree imports, by their first names and in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from (alias.name, alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("minitorch.ops")])
def test_definitions_know_no_arrays_of_one_library(name):
    tree = tree_of(name)
    libraries = set(imported_libraries(tree))
    assert not libraries & {"numpy", "threading", "concurrent.futures", "multiprocessing"}
    words = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    words |= {n.arg for n in ast.walk(tree) if isinstance(n, (ast.arg, ast.keyword))}
    assert not words & {"on_host", "block", "threads"}
    # the flags say how arrays lie in memory, which is the subject of two files
    assert "flags" not in words or MODULES[name].name in ("memory.py", "layouts.py")


def test_no_module_is_hidden_by_a_public_name():
    """``import minitorch.x as x`` gives the attribute of the package, which should be the
    module."""
    hidden = {f"minitorch.{x}" for x in dir(minitorch)
              if not isinstance(getattr(minitorch, x), type(np))} & set(MODULES)
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            hidden |= {f"{name}.{x}" for x in bound_names(tree_of(name))} & set(MODULES)
    assert hidden == set(SHADOWED)


def bound_names(tree):
    """The names of a module that are not modules that it imports under their own names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if node.module is not None or name != alias.name:
                    yield name
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
