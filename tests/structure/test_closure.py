"""The closure of the core: its files, and all that they reach in other ways than by an import.

The core imports nothing above itself. It could still depend on what lies there: by a function that
`late` imports at run time, or by one that a higher module puts into one of its variables. Both are
arrows like imports, and this test follows them. What it finds is held small: in lines, in what a
line holds, in branches, without a circle.

Three things are not arrows. A `Hook` has a default, so that the core runs and is read without
whoever fills it. An entry in a table (`OPS`, `METHODS`, ...) is data that the core looks up by
name. A mode (`grad_mode.enabled = False`) is a value, not code. All are listed here, by name, so
that a new one is noticed.

The number of lines is the state, not the goal: issue 27 asks for 3,300. It may only sink.
"""

import ast
from collections import defaultdict
from functools import cache

import pytest

from minitorch.core.registry import guests, late
from tests.structure.source import (
    MODULES,
    circles,
    density,
    functions,
    import_statements,
    imports,
    lines,
    package_of,
    tree_of,
)

CORE = {module for module in MODULES if package_of(module) == "core"}
LINES = 4447                               # lower it when the core has become smaller

# The functions that the core imports at run time, and why they are not counted.
LATE = dict.fromkeys((
    "explain", "explain_call", "explain_failure", "formula", "no_device", "on_two_devices",
    "raise_freed", "raise_written", "source", "tensor_html", "tensor_repr", "warn"), "words")

# hook -> who fills it
HOOKS = {
    "call.cast_call": "amp.autocast_mode",
    "call.overridden": "autograd.dispatch",
    "device.accelerator": "backends",
    "graph.note_inference": "autograd.inference",
    "inplace.write_tangents": "autograd.dual.writes",
    "registry.is_shared": "multiprocessing.sharing",
    "registry.process_group_place": "distributed.world",
    "tensor.deepcopy_tensor": "serialization.tensors",
    "tensor.reduce_tensor": "serialization.tensors",
}
# Variables of the core that others write to, with what they hold.
TABLES = {
    "recording.recorded": "functions on tensors by the name of an op",
    "registry.FUNCTIONS": "public functions by name",
    "registry.METHODS": "methods by name",
    "registry.guests": "places of guests' functions by name",
    "registry.late": "places of words and pictures by name",
    # classes: methods that are written elsewhere, and the name under which they are pickled
    "device.device": "its __module__", "dtypes.dtype": "its __module__",
    "tensor.Size": "its __module__", "tensor.Tensor": "methods",
}
STATE = {
    "engine.ALONE": "a number that tests set",
    "grad_mode.grad_mode": "this thread's modes",
    "grad_mode.mixed_precision": "this thread's mixed precision",
    "grad_mode.open_batches": "the vmaps that run in any thread",
    "graph.inference": "arrays made in inference mode",
    "recording.passed": "the nodes that a pass has reached",
}
# Functions of packages that may be absent, by the file of the core that hands over to them.
GUESTS_BEHIND = {"tensor": {"draw_graph"},
                 "storage": {"draw_layout"}}
# Who exchanges the code of functions that the core may have made.
EXCHANGED = {
    "autograd.dispatch": "public functions ask modes and classes, once there are any",
    "ops.guarded": "a function compiled when it is first called",
    "ops.methods": "the method of a function has its code, with another signature",
}
CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault",
            "update"}


def short(module):
    return module.removeprefix("minitorch.").removeprefix("core.")


@cache
def names_from_the_core(module):
    """Local name -> "file.name", or "file" for a module, of what `module` imports from the core."""
    is_package = MODULES[module].name == "__init__.py"
    return names_in(tree_of(module), module.split(".") if is_package else module.split(".")[:-1])


def names_in(tree, here):
    """The same for a syntax tree; `here` is the package that relative imports start from."""
    found = {}
    for statement, _ in import_statements(tree):
        if isinstance(statement, ast.ImportFrom):
            above = here[:len(here) - statement.level + 1] if statement.level else []
            source = ".".join([*above, *([statement.module] if statement.module else [])])
            for alias in statement.names:
                whole = f"{source}.{alias.name}"
                if whole in CORE or source in CORE:
                    found[alias.asname or alias.name] = short(whole)
    return found


def written(node):
    """The expressions that a statement or a call writes to: targets, and what a method changes."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in CHANGING:
        targets = [node.func.value]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
        targets = [ast.Attribute(node.args[0], "", ast.Store())]
    else:
        targets = []
    for target in targets:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def variable(target, known):
    """The variable of the core, as "file.name", that a target belongs to; None if to none."""
    path = []
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        path.append(getattr(target, "attr", None))
        target = target.value
    found = known.get(getattr(target, "id", None))
    if found is not None and f"minitorch.core.{found}" in CORE:    # a module: `graph.x = ...`
        return f"{found}.{path[-1]}" if path else None
    return found


@cache
def writes():
    """(module, variable of the core) for each write from outside."""
    return {(module, name) for module in MODULES if module not in CORE
            for name in written_in(tree_of(module), names_from_the_core(module))}


def written_in(tree, known):
    """The variables of the core that a syntax tree writes to, not those whose name it rebinds."""
    for node in ast.walk(tree):
        for target in written(node):
            if isinstance(node, ast.Call) or not isinstance(target, ast.Name):
                found = variable(target, known)
                if found is not None:
                    yield found


def injected():
    """(module, variable) for each write that puts something else than data into the core."""
    return {(module, name) for module, name in writes() if name not in {**TABLES, **STATE}}


def decorated(module, name):
    """(function, decorator) for each function of a module with the decorator ``...name``."""
    for node in ast.walk(tree_of(module)):
        for decorator in getattr(node, "decorator_list", ()):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if getattr(called, "attr", getattr(called, "id", "")) == name:
                yield node, decorator


@cache
def hooks():
    """The hooks that the core declares, as "file.name"."""
    return {f"{short(module)}.{node.name}" for module in CORE
            for node, _ in decorated(module, "Hook")}


def fillers():
    """(hook, module that fills it) for the hooks of the core."""
    for module in MODULES:
        for hook, filler in filled_in(tree_of(module), names_from_the_core(module)):
            if hook in hooks():
                yield hook, filler or short(module)


def filled_in(tree, known):
    """(hook, module or None for that of the tree) for ``@x.fill``, ``@fills("x")`` and
    ``HOOKS["x"].fill_from("module:function")``."""
    named = {hook.partition(".")[2]: hook for hook in hooks()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "fill":
            yield variable(node.value, known), None
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called == "fills":
                yield named.get(node.args[0].value), None
            elif called == "fill_from":
                place = short(node.args[0].value.partition(":")[0])
                yield named.get(ast.literal_eval(node.func.value.slice)), place


def names_used(module, table):
    """The functions of `late` or `guests` that a module calls."""
    return {node.attr for node in ast.walk(tree_of(module)) if isinstance(node, ast.Attribute)
            and getattr(node.value, "id", "") == table and node.attr != "places"}


@cache
def arrows():
    """Module -> modules, over imports, late functions that are not words, and injected names."""
    found = {module: {other for other, _, _ in imports(module)} for module in MODULES}
    for module in CORE:
        found[module] |= {late.places[name].partition(":")[0] for name in names_used(module, "late")
                          if LATE.get(name) != "words"}
    for module, name in injected():
        found[f"minitorch.core.{name.partition('.')[0]}"].add(module)
    return found


@cache
def closure():
    """The core and whatever it reaches over the arrows."""
    found, todo = set(), sorted(CORE)
    reached = arrows()
    for module in todo:
        if module not in found:
            found.add(module)
            todo += reached[module] - found
    return found


# ---- what is not an arrow is listed
def test_late_functions_are_words_and_at_most_twelve():
    assert set(late.places) == set(LATE) and len(LATE) <= 12
    assert set(LATE.values()) == {"words"}
    speaks = ("minitorch.explain.", "minitorch.formula:", "minitorch.printing:")
    assert [place for place in late.places.values() if not place.startswith(speaks)] == []


def test_hooks_are_the_listed_ones():
    assert hooks() == set(HOOKS)
    assert sorted(fillers()) == sorted(HOOKS.items())


def test_a_hook_says_what_happens_without_it():
    for module in CORE:
        for node, _ in decorated(module, "Hook"):
            assert "Filled by" in ast.get_docstring(node), node.name


def test_variables_that_others_write_to_are_the_listed_ones():
    assert {name for _, name in writes()} == {*TABLES, *STATE}


def test_nothing_is_injected():
    assert injected() == set()


def test_code_is_exchanged_by_the_listed_modules():
    found = {short(module) for module in MODULES for node in ast.walk(tree_of(module))
             for target in written(node)
             if module not in CORE and getattr(target, "attr", "") == "__code__"}
    assert found == set(EXCHANGED)


def test_the_core_uses_no_method_that_is_written_elsewhere():
    """Those that `extends` attaches are sugar for users; definitions are another matter: their
    methods come from the core's own table."""
    attached = defaultdict(set)
    for module in MODULES:
        for node, decorator in decorated(module, "extends"):
            name = decorator.args[1].value if len(decorator.args) > 1 else node.name
            attached[name].add(ast.unparse(decorator.args[0]))
    read = {node.attr for module in CORE for node in ast.walk(tree_of(module))
            if isinstance(node, ast.Attribute) and not is_of_another(node)}
    assert set(attached) & read == set()


def is_of_another(node):
    """True for attributes that only share a name with a method of tensors or nodes."""
    return ast.unparse(node) in ("hook.backward", "self.metadata", "object.__new__",
                                 "tuple.__new__")


def test_guests_behind_the_core_are_the_listed_ones():
    used = {short(module): names_used(module, "guests") for module in CORE}
    assert {module: names for module, names in used.items() if names} == GUESTS_BEHIND
    assert set.union(*used.values()) <= set(guests.places)


# ---- the closure
def test_the_closure_is_the_core():
    assert closure() == CORE


def test_there_is_no_circle():
    assert circles(arrows()) == []


def test_the_closure_grows_no_longer():
    assert sum(map(lines, closure())) <= LINES


def test_lines_of_the_closure_are_not_crammed():
    """HIPS autograd has 10.5 syntax nodes a code line, jax.lax 9.1."""
    assert density(closure()) <= 11


def branchy(modules, limit):
    return [x for module in modules for x in functions(module) if x[1] > limit]


def test_functions_of_the_closure_are_simple():
    assert branchy(closure(), 20) == []


@pytest.mark.parametrize("package", ["compiler"])
def test_few_functions_branch_much(package):
    modules = [module for module in MODULES if package_of(module) == package]
    count = sum(len(functions(module)) for module in modules)
    assert len(branchy(modules, 15)) <= 0.02 * count


# ---- the measures see what they should
@pytest.mark.parametrize("program, name", [
    ("from minitorch.core import graph\ngraph.sent = print", "graph.sent"),
    ("from minitorch.core.template import watched\nwatched.append('x')", "template.watched"),
    ("from minitorch.core.tensor import Tensor\nsetattr(Tensor, 'x', 1)", "tensor.Tensor"),
    ("from minitorch.core import graph as g\ng.versions[1], y = 2, 3", "graph.versions")])
def test_a_write_is_found(program, name):
    tree = ast.parse(program)
    assert list(written_in(tree, names_in(tree, []))) == [name]


@pytest.mark.parametrize("program, filler", [
    ("from minitorch.core import device\n@device.accelerator.fill\ndef f(): pass", None),
    ("from minitorch import extend\n@extend.fills('accelerator')\ndef f(): pass", None),
    ("HOOKS['accelerator'].fill_from('minitorch.backends.cuda:first')", "backends.cuda")])
def test_a_filler_is_found(program, filler):
    tree = ast.parse(program)
    assert list(filled_in(tree, names_in(tree, []))) == [("device.accelerator", filler)]
