"""The architecture, recomputed from the source: which package imports which, no circles, and what stays out of where.

`ARROWS` is for reading: a package may import those named after it, and nothing else. What has to call upwards (a
tensor that prints itself, a module that is compiled) does so through `core.registry.late`, whose entries
the root names.
"""

import ast
import importlib.util
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import minitorch
from minitorch.compat import TABLE, Place
from minitorch.core.registry import HOOKS, find, guests, late

PACKAGE = Path(minitorch.__file__).parent
KERNEL = ("return_types explain core pytree random host ops autograd backends amp nn optim serialization "
          "testing utils").split()
ARROWS = {                                                 # "minitorch": public names, as users take them
    # -- the ground: tensors, the graph, and what an op is
    "core": "",                                            # knows nobody: who defines something enters it there
    "return_types": "",                                    # named tuples
    "explain": "core",                                     # words for what failed, and the lines that warnings name
    "pytree": "",                                          # utils._pytree: nested containers, a leaf
    "random": "core",                                      # generators: streams of numbers on raw arrays
    "host": "core explain",                                # Python's and NumPy's data, indices and numeric types
    "ops": "core host random return_types explain",        # definitions and references; which backend runs them is open
    "autograd": "core ops explain pytree",                 # modes, hooks, functions of the user's own
    "backends": "core explain host ops pytree random return_types",   # kernels, entered for the definitions
    # -- what is built of tensors
    "amp": "core explain pytree",                          # casts around calls
    "nn": "core explain host ops autograd amp random pytree",  # layers; RNNs ask whether autocast is on
    "optim": "core explain host ops autograd backends nn",      # nn: averaged models; backends: tuned sizes
    "serialization": "core explain nn ops utils", # files know parameters; utils: bounds for readers
    # nn: a transform can be a module; samples are nested
    "transforms": "minitorch core nn pytree",
    # utils.data: base classes, readers
    "datasets": "minitorch explain serialization transforms utils",
    "utils": "core explain ops amp autograd backends pytree random settings cuda",   # loaders pin memory and
                                                           # start workers; TensorBoard's grids of pictures
    "testing": "core ops autograd backends optim nn explain",  # compares values and gradients; watches training runs
    "compiler": "core autograd amp backends explain nn optim pytree random",   # traces whole training steps
    # groups, models
    "distributed": "minitorch core autograd nn ops backends optim pytree serialization futures",
    # validation looks at all elements of a vmap
    "distributions": "minitorch core explain autograd backends linalg nn special",
    # starts ranks; memory that processes share
    "multiprocessing": "minitorch core distributed serialization",
    "fx": "minitorch core autograd nn pytree",             # programs as graphs
    # tensors of indices and values; steps of optimisers on them
    "sparse": "minitorch core autograd nn ops optim printing",
    "profiler": "core autograd cuda optim viz",            # watches calls and steps, and draws them
    # -- faces: PyTorch's names for what lies elsewhere, and tools
    "settings": "core backends",
    "formula": "core", "theme": "utils", "printing": "core theme", "special": "core", "fft": "core",
    "signal": "core",                                      # windows
    "overrides": "minitorch core autograd",
    # -- names of PyTorch's that programs import: what is absent here answers as PyTorch does without it
    # one table; it names the places of the rest
    "compat": "autograd core ops settings",
    "futures": "", "jit": "futures nn", "sym": "minitorch", "_utils": "minitorch cuda serialization utils",
    "torch_version": "", "ao": "nn", "hub": "minitorch datasets",
    # operators of the user's own
    "library": "minitorch amp autograd compiler core nn pytree sparse testing",
    "linalg": "core ops", "func": "minitorch core autograd backends pytree",
    "cuda": "core amp backends ops random", "accelerator": "core cuda minitorch",
    "cuda_graphs": "core autograd backends nn", "memory": "core explain nn",
    "array_api": "minitorch",                              # the standard's names, by public functions
    "nested": "minitorch core autograd pytree sym utils",  # batches of tensors that differ in size
    # tensors some of whose elements do not count
    "masked": "minitorch autograd explain pytree",
    "vision": "minitorch datasets hub nn transforms utils",
    "quasirandom": "minitorch",                            # Sobol' sequences
    # -- the top: imported by none, but the profiler's use of pictures
    # datasets: drawings, as digits are
    "viz": "minitorch core datasets nn formula printing pytree theme testing",
    # lessons: programs as a learner writes them
    "check": "minitorch core fft nn testing autograd backends theme",
    "cli": "minitorch nn optim datasets utils",                       # the same: a demonstration
    "__main__": "minitorch cli check",
    "minitorch": "core host ops autograd random amp backends settings utils",  # public names; the rest when asked for
}
EXCEPTIONS = {                                             # single modules that go against an arrow, without a circle
    ("minitorch.random", "minitorch.ops.define"): "seeding is a public function, published like any",
    ("minitorch.ops.shapes.convert", "minitorch.autograd.function"): "a copy to another device has its own VJP",
    ("minitorch.ops.variates", "minitorch.autograd.function"): "drawn numbers have derivatives of their own",
    ("minitorch.viz.contact_sheet", "minitorch.profiler.profile"): "a program that nobody imports",
}
INNER = {                                                  # imports within functions, and why they wait
    "minitorch.__main__": "one command needs only its own modules",
    "minitorch.cli.demo": "--help answers at once",
    "minitorch.check.nb12": "needs CuPy and a compiler, which may be missing",
    "minitorch.distributed.world": "MPI starts when it is imported; files in memory exist on Unix only",
    "minitorch.distributed.watcher": "beside ranks that run it needs Python's library only",
    "minitorch.profiler.averages": "pictures are loaded when one is drawn",
    "minitorch.profiler.profile": "pictures are loaded when one is drawn",
    "minitorch.utils.data.dataloader": "shared memory and pipes cost a loader without workers 30 ms",
    "minitorch.datasets.cifar": "the reader of pickles is needed when there is one to read",
    "minitorch.utils.data.worker": "the same, and worker.py is imported for `get_worker_info`",
    "minitorch.serialization.tensors": "saving plain tensors needs no layers",
    "minitorch.func.modules": "transforms of functions need no layers",
    "minitorch.serialization.names": "saving plain tensors needs no layers",
}
SHADOWED = {                                               # modules hidden by a public name of their package
    "minitorch.nn.utils.weight_norm": "as in PyTorch",
    "minitorch.nn.summary": "`nn.summary` is the function's public name",
    "minitorch.func.vmap": "the function's public name; `torch.vmap` is its second",
    "minitorch.profiler.profile": "the class's public name; pickles and `autograd.profiler` know the module",
    "minitorch.multiprocessing.spawn": "as in PyTorch",
    "minitorch.profiler.schedule": "the function's public name",
    "minitorch.testing.gradcheck": "the function's public name, as `torch.autograd.gradcheck`",
    "minitorch.backends.sim.report": "of the simulator, imported by name only",
}


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def import_statements(node, inner=False):
    """(statement, is within a function) for each import below a node, TYPE_CHECKING left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, inner
        elif (isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
                and not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING")):
            yield from import_statements(child, inner or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


@cache
def imports(name):
    """(module, name or None, is within a function) for each import of the package's own, TYPE_CHECKING left out."""
    found = []
    here = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    for n, inner in import_statements(tree_of(name)):
        if isinstance(n, ast.Import):
            found += [(a.name, None, inner) for a in n.names if a.name.split(".")[0] == "minitorch"]
        else:
            above = here[:len(here) - n.level + 1] if n.level else []
            module = ".".join([*above, *([n.module] if n.module else [])])
            for a in n.names if module.split(".")[0] == "minitorch" else ():
                whole = f"{module}.{a.name}"
                found.append((whole, None, inner) if whole in MODULES else (module, a.name, inner))
    return [x for x in found if x[0] != name]


def package_of(name):
    if name == "minitorch.utils._pytree":                  # PyTorch has it there; it stands on nothing
        return "pytree"
    return name.split(".")[1] if "." in name else name


def test_there_is_no_import_circle():
    done, open_ = set(), []

    def visit(name):
        assert name not in open_, "circle: " + " -> ".join([*open_[open_.index(name):], name])
        if name not in done:
            open_.append(name)
            for module, _, _ in imports(name):
                visit(module)
            done.add(open_.pop())
    for name in MODULES:
        visit(name)


def test_packages_import_what_the_arrows_allow():
    against = {(name, module) for name in MODULES for module, _, _ in imports(name)
               if package_of(module) not in (package_of(name), *ARROWS[package_of(name)].split())}
    assert against == set(EXCEPTIONS)
    used = defaultdict(set)
    for name in MODULES:
        used[package_of(name)] |= {package_of(module) for module, _, _ in imports(name)}
    assert {(a, b) for a, allowed in ARROWS.items() for b in allowed.split() if b not in used[a]} == set(), "unused"


def test_packages_stand_in_layers():
    below = set()
    for package, allowed in list(ARROWS.items())[:8]:      # the ground is written from the bottom up
        assert set(allowed.split()) <= below, package
        below.add(package)


def test_imports_within_functions_are_the_listed_ones():
    assert {name for name in MODULES if any(inner for _, _, inner in imports(name))} == set(INNER)


def test_the_kernel_takes_names_from_the_module_that_defines_them():
    """The others take public names from their public place, so that what defines them may move."""
    for name in [name for name in MODULES if package_of(name) in KERNEL]:
        for module, wanted, _ in imports(name):
            reexported = {x for m, x, _ in imports(module) if x is not None}
            if wanted in reexported and MODULES[name].name != "__init__.py" and module != "minitorch":
                raise AssertionError(f"{name} takes {wanted} from {module}, which has it from elsewhere")


def test_no_module_is_imported_by_its_name_as_a_string():
    may = {"minitorch", "minitorch.compat", "minitorch.backends",
           "minitorch.backends.cuda.runtime.machine",      # the kernels' loader
           "minitorch.serialization.loading"}              # names in old files
    found = {name for name in MODULES if re.search(r"""import_module\(\s*f?["']minitorch\.|["']minitorch\.[\w.]+:\w""",
                                                   MODULES[name].read_text(encoding="utf-8"))}
    assert found <= may


PLACES = {*late.places.values(), *guests.places.values(),
          *[hook.place for hook in HOOKS.values() if hook.place]}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_late_functions_are_there(place):
    assert callable(find(place))


def test_the_root_lists_the_rows_of_the_table():
    assert set(minitorch._ROWS) == {name for name in TABLE if name.partition(".")[0] not in TABLE or "." not in name}


@pytest.mark.parametrize("namespace", TABLE)
def test_namespaces_of_the_table_are_modules_with_all_their_names(namespace):
    module = importlib.import_module(f"minitorch.{namespace}")
    assert importlib.util.find_spec(f"minitorch.{namespace}") is module.__spec__
    assert f"minitorch.{namespace}" not in MODULES, "a file hides a row"
    row = {name: value for name, value in TABLE[namespace].items() if name not in ("__doc__", "__all__")}
    assert set(row) <= {*dir(module), "__getattr__"} and set(module.__all__) <= set(row)
    for name, value in row.items():
        assert getattr(module, name) is (value.find() if isinstance(value, Place) else value)
    with pytest.raises(AttributeError, match=f"minitorch.{namespace}' has no attribute 'nonesuch'"):
        _ = module.nonesuch
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"minitorch.{namespace}.nonesuch")


def test_the_table_leaves_calls_alone():
    """A class in it that answers calls would have all functions look at the types of their arguments."""
    program = ("import minitorch; minitorch.mul(minitorch.ones(1), 2); code = minitorch.mul.__code__; "
               "import minitorch._subclasses; assert minitorch.mul.__code__ is code")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PACKAGE.parent)


def test_definitions_know_no_arrays_of_one_library():
    for name, path in MODULES.items():
        if name.startswith("minitorch.ops"):
            tree = tree_of(name)
            mentioned = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
            mentioned |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level}
            assert "numpy" not in mentioned, name
            assert not mentioned & {"threading", "concurrent.futures", "multiprocessing"}, name
            words = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
            words |= {n.arg for n in ast.walk(tree) if isinstance(n, (ast.arg, ast.keyword))}
            assert not words & {"on_host", "block", "threads"}, name
            assert "flags" not in words or path.name in ("memory.py", "layouts.py"), name     # how arrays lie in it


def test_sizes():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()}
    assert {str(path): n for path, n in lines.items() if n > 600} == {}


def test_no_module_is_hidden_by_a_public_name():
    """``import minitorch.x as x`` gives the attribute of the package, which should be the module."""
    hidden = set()
    for name, path in MODULES.items():
        if path.name != "__init__.py":
            continue
        for n in ast.walk(tree_of(name)):
            bound = ([(a.asname or a.name, a.name) for a in n.names] if isinstance(n, ast.ImportFrom) else
                     [(n.name, None)] if isinstance(n, (ast.FunctionDef, ast.ClassDef)) else [])
            for as_, original in bound:
                is_module = isinstance(n, ast.ImportFrom) and n.module is None and as_ == original
                if f"{name}.{as_}" in MODULES and not is_module:
                    hidden.add(f"{name}.{as_}")
    public = {f"minitorch.{x}" for x in dir(minitorch) if not isinstance(getattr(minitorch, x), type(np))}
    assert hidden | (public & set(MODULES)) == set(SHADOWED)
