"""Write the stubs, ``minitorch/**/*.pyi``, that tell editors and type checkers of names that come into being at import.

    python docs/build_stubs.py            write them
    python docs/build_stubs.py --check    exit with 1 if they are not what would be written

Functions and methods are those of the registry, with the signatures and docstrings that they have at run time; their
annotations are derived from the names of their parameters (`stub_types.py`).
"""

import ast
import importlib
import inspect
import math
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[0]), str(HERE)]

from stub_types import OVERLOADS, PARAMETERS, RESULTS, SPECIAL  # noqa: E402

import minitorch  # noqa: E402
from minitorch import compat  # noqa: E402
from minitorch.core import dtypes, tensor  # noqa: E402
from minitorch.core.registry import FUNCTIONS  # noqa: E402
from minitorch.core.template import NUMPY_NAMES, takes_out  # noqa: E402
from minitorch.ops.creation.legacy import STORAGES, TYPES  # noqa: E402
from minitorch.ops.creation.query import CONSTANTS  # noqa: E402
from minitorch.ops.operators import BINARY  # noqa: E402

ROOT = HERE.parent
P = inspect.Parameter
EAGER = ("amp", "autograd", "backends", "core", "ops", "random", "settings", "utils")      # beside `PARTS`
COMMAND = "python docs/build_stubs.py"
PRELUDE = '''# Generated from the op registry by `{command}`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
{imports}
_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]
'''
CORE = '''
from {dots}core.device import device as _device
from {dots}core.dtypes import dtype as _dtype
from {dots}ops.shapes.memory import TypedStorage as _TypedStorage
from {dots}ops.shapes.memory import UntypedStorage as _UntypedStorage
from {dots}core.storage import layout as _layout
from {dots}core.storage import memory_format as _memory_format
from {dots}random.generator import Generator as _Generator
'''


# ---- one signature -----------------------------------------------------------------------------------------
def annotation(owner, name, parameter, kind=None):
    """The annotation of a parameter; `kind` is what the op's definition says of it, if it is an input."""
    bare = owner.removeprefix("Tensor.")
    keys = [owner, bare, bare if owner.endswith("__") else bare.rstrip("_"), bare.rstrip("_").rpartition(".")[2]]
    found = next((SPECIAL[f"{key}.{name}"] for key in keys if f"{key}.{name}" in SPECIAL), None)
    found = found or {"number": "_Operand", "variadic": "Sequence[Tensor]"}.get(kind) or PARAMETERS.get(name, "Any")
    optional = parameter.default is None and found != "Any" and "None" not in found
    return found.replace("_int", "_Int") + (" | None" if optional else "")


def default_of(value):
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return repr(value)
    if type(value) is tuple and all(type(v) in (int, float) for v in value):
        return repr(value)
    return "..."


def parameters_of(call):
    try:
        return list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return [P("args", P.VAR_POSITIONAL), P("kwargs", P.VAR_KEYWORD)]


def takes_numpy_names(call):
    """True if `axis` and `keepdims` are taken too, besides what the signature shows."""
    call = getattr(call, "__wrapped__", call) if not hasattr(call, "op") else call
    return hasattr(call, "op") or getattr(original(call), "__code__", None) is WITH_OUT


def original(function):
    """A function with the code that it was written with: see `minitorch/autograd/dispatch.py`."""
    return (getattr(function, "__kwdefaults__", None) or {}).get("_inner", function)


WITH_OUT = next(original(p.call).__code__ for (_, n), p in FUNCTIONS.items() if n == "square")


def signatures(owner, call, *, is_method=False, no_out=False):
    """The texts of a function's signatures, ``(input: Tensor) -> Tensor``: several if it is overloaded."""
    key = owner if owner in OVERLOADS else owner.removeprefix("Tensor.")
    result = RESULTS.get(owner) or RESULTS.get(owner.removeprefix("Tensor."), "Tensor")
    if OVERLOADS.get(key):
        texts = [text.format(name=key) for text in OVERLOADS[key]]
        return [text.replace("(input: Tensor", "(self", 1) for text in texts] if is_method else texts
    row = getattr(call, "op", None)
    kinds = {x.name: x.kind for x in row.inputs} if row is not None else {}
    parameters = [p for p in parameters_of(call) if not (p.name == "out" and no_out)]
    names = [p.name for p in parameters]
    if is_method and parameters:
        parameters[0] = parameters[0].replace(name="self")
    extra = []
    if takes_numpy_names(call) and not (row is not None and not takes_out(row) and "dim" not in dict(row.attrs)):
        extra = [(theirs, ours) for theirs, ours in NUMPY_NAMES.items() if ours in names and theirs not in names]
    if "return_indices" in names and result == "Tensor":
        return indices_too(owner, parameters, kinds)
    needed = "dim" in names and parameters[names.index("dim")].default is P.empty and extra
    if not needed:
        return [f"({listed(owner, parameters, kinds, extra)}) -> {result}"]
    others = [pair for pair in extra if pair[1] != "dim"]
    swapped = [p if p.name != "dim" else P("axis", P.KEYWORD_ONLY) for p in parameters]
    swapped.sort(key=lambda p: p.kind)                     # what has no default goes by name, as `axis` does
    return [f"({listed(owner, p, kinds, others)}) -> {result}" for p in (parameters, swapped)]


def indices_too(owner, parameters, kinds):
    """A tensor, or with ``return_indices=True`` also where its elements come from."""
    plain = listed(owner, parameters, kinds, [])
    both = [p for p in parameters if p.name != "return_indices"]
    wanted = "return_indices: _bool = False"
    return [f"({plain.replace(wanted, 'return_indices: Literal[False] = False')}) -> Tensor",
            f"({listed(owner, both, kinds, [])}, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]",
            f"({plain}) -> Any"]


def listed(owner, parameters, kinds, extra):
    """Parameters as a text."""
    lines, star = [], False
    late = [p for p in parameters if p.kind is P.VAR_KEYWORD]
    for p in parameters:
        if p.kind is P.VAR_KEYWORD:
            continue
        if p.kind is P.VAR_POSITIONAL:
            star = True
        elif p.kind is P.KEYWORD_ONLY and not star:
            lines.append("*")
            star = True
        text = p.name if p.name == "self" else ("*" if p.kind is P.VAR_POSITIONAL else "") + p.name
        if p.name != "self":
            text += f": {annotation(owner, p.name, p, kinds.get(p.name))}"
        if p.default is not P.empty and p.kind is not P.VAR_POSITIONAL:
            text += f" = {default_of(p.default)}"
        lines.append(text)
    if extra and not star:
        lines.append("*")
    lines += [f"{theirs}: {PARAMETERS[theirs].replace('_int', '_Int')}{' | None' if theirs == 'axis' else ''} = ..."
              for theirs, _ in extra]
    lines += [f"**{p.name}: {annotation(owner, p.name, p)}" for p in late]
    return ", ".join(repaired(lines))


def repaired(lines):
    """Defaults for what follows a default: some required attributes come after optional inputs."""
    seen, made = False, []
    for line in lines:
        if line == "*" or line.startswith("*"):
            seen = False
            made.append(line)
            star = True
            continue
        star = "*" in made
        if seen and " = " not in line and not star:
            line += " = ..."
        seen = seen or " = " in line
        made.append(line)
    return made


def define(name, texts, doc, indent="", decorators=(), suffix=""):
    """The lines of one function: its docstring stands in the first of its overloads, where editors look."""
    lines = []
    for i, text in enumerate(texts):
        lines += [indent + d for d in decorators] + ([indent + "@overload"] if len(texts) > 1 else [])
        head = f"{indent}def {name}{text}:{suffix}"
        doc = inspect.cleandoc(doc or "")
        if not doc or i:
            lines.append(f"{indent}def {name}{text}: ...{suffix}")
            continue
        lines.append(head)
        quote = ("r" if "\\" in doc else "") + '"""'
        body = [f"{indent}    {line}".rstrip() for line in doc.splitlines()]
        body[0] = f"{indent}    {quote}{body[0].strip()}"
        body[-1] += '"""' if len(body) == 1 else ""
        lines += body + ([f'{indent}    """'] if len(body) > 1 else [])
    return lines


def functions(namespace):
    """The public functions of a namespace."""
    lines = []
    for (where, name), public in FUNCTIONS.items():
        if where != namespace:
            continue
        owner = f"{namespace}.{name}" if namespace else name
        twin = name.endswith("_") and not name.startswith("_")
        lines += define(name, signatures(owner, public.call, no_out=twin), public.call.__doc__)
    return lines


# ---- the modules -------------------------------------------------------------------------------------------
def namespace_stub(namespace, dots):
    extra = {"linalg": "from .ops.linalg.decompositions import LinAlgError as LinAlgError\n"}.get(namespace, "")
    imports = (f"from {dots} import return_types\n" + CORE.format(dots=dots).strip()
               + f"\nfrom {dots}core.tensor import Size, Tensor\n{extra}")
    module = sys.modules[f"minitorch.{namespace}"]
    doc = f'"""{inspect.cleandoc(module.__doc__)}\n"""\n'
    return "\n".join([doc + PRELUDE.format(command=COMMAND, imports=imports), *functions(namespace), ""])


def root_stub():
    """The package: what it imports, what it imports late, dtypes, constants and functions."""
    imports = ["from .ops.creation.legacy import storagetype as _storagetype, tensortype as _tensortype",
               "from . import return_types as return_types", CORE.format(dots=".").strip()]
    lines = []
    names = {n for n in dir(minitorch) if (not n.startswith("_") or n == "__config__" or n in minitorch.ELSEWHERE)
             and ("", n) not in FUNCTIONS and n not in UNTOLD}
    for name in sorted(names | {"return_types"}):
        value = getattr(minitorch, name)
        if name in CONSTANTS:
            lines.append(f"{name}: {'None' if value is None else '_float'}")
        elif name in TYPES or name in STORAGES:
            lines.append(f"{name}: {'_tensortype' if name in TYPES else '_storagetype'}")
        elif isinstance(value, types.ModuleType):
            inside = value.__name__.removeprefix("minitorch.")
            where, _, last = inside.rpartition(".")
            if name in (*minitorch.PARTS, *EAGER, *compat.TABLE) and name != "return_types":
                imports.append(f"from .{where} import {last} as {name}")
        elif isinstance(value, bool):
            lines.append(f"{name}: _bool")
        elif isinstance(value, dtypes.dtype):
            imports.append(f"from .core.dtypes import {name} as {name}")
        else:
            imports.append(f"from .{home_of(name, value)} import {name} as {name}")
    imports += ["__version__: builtins.str"]
    doc = f'"""{inspect.cleandoc(minitorch.__doc__)}\n"""\n'
    return "\n".join([doc + PRELUDE.format(command=COMMAND, imports="\n".join(imports)), *lines, *functions(""), ""])


def home_of(name, value):
    """The module that a name of the package is defined in."""
    if name in minitorch.ELSEWHERE:
        return minitorch.ELSEWHERE[name]
    named = getattr(value, "__module__", "")
    if named.startswith("minitorch."):
        return named.removeprefix("minitorch.")
    for own in ("tensor", "device", "dtypes"):             # which show themselves as the package's
        if vars(sys.modules[f"minitorch.core.{own}"]).get(name) is value and name not in dtypes.NAMES:
            return f"core.{own}"
    return next(m.__name__.removeprefix("minitorch.") for key, m in sorted(sys.modules.items())
                if key.startswith("minitorch.") and vars(m).get(name) is value)


def return_types_stub():
    lines = [f'"""{minitorch.return_types.__doc__}"""',
             f"# Generated by `{COMMAND}`.", "from typing import Any, NamedTuple", "",
             "from .core.tensor import Tensor", ""]
    for name, made in vars(minitorch.return_types).items():
        if isinstance(made, type) and issubclass(made, tuple):
            fields = [f"    {f}: {'Any' if f in ('bin_edges',) else 'Tensor'}" for f in made._fields]
            lines += [f"class {name}(NamedTuple):", f'    """{made.__doc__}"""', *fields, ""]
    return "\n".join(lines)


def imports_stub(package):
    """A package that only imports: the same names, in the spelling that says they are for others too."""
    path = ROOT / "minitorch" / package / "__init__.py"
    tree = ast.parse(path.read_text())
    lines = [f'"""{ast.get_docstring(tree)}"""', f"# Generated by `{COMMAND}`."]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            where = "." * node.level + (node.module or "")
            for name in node.names:
                module = importlib.import_module(where, f"minitorch.{package.replace('/', '.')}")
                every = module.__all__ if name.name == "*" else [name.name]
                lines += [f"from {where} import {x} as {name.asname or x}" for x in every]
    return "\n".join(lines)


def compat_stub(row):
    """A namespace of `minitorch/compat.py`: where each of its names is defined."""
    lines = [f'"""{inspect.cleandoc(row["__doc__"])}\n"""', f"# Generated by `{COMMAND}` from compat.py."]
    lines += ["import builtins", "from typing import Any, TypeAlias"]
    for name, value in row.items():
        if name in ("__doc__", "__all__"):
            continue
        if isinstance(value, compat.Place):
            where, own = (value.module, value.name) if value.name else value.module.rpartition(".")[::2]
            dotted = f"{where}.{own}" in compat.TABLE      # which has no stub
            lines.append(f"{name}: Any" if dotted else f"from .{where} import {own} as {name}")
        elif name == "__getattr__":
            lines.append("def __getattr__(name: str) -> Any: ...")
        elif value is None or isinstance(value, (bool, str)):
            lines.append(f"{name}: {None if value is None else 'builtins.' + type(value).__name__}")
        elif getattr(value, "__module__", None) == "builtins":
            lines.append(f"{name}: TypeAlias = builtins.{value.__name__}")
        else:
            own = next(own for own, defined in vars(compat).items() if defined is value)
            lines.append(f"from .compat import {own} as {name}")
    return "\n".join(lines)


def utils_stub():
    """`minitorch.utils`, whose submodules are imported when they are first asked for."""
    names = sorted(path.name.removesuffix(".py") for path in (ROOT / "minitorch" / "utils").iterdir()
                   if not path.name.startswith("_") and path.suffix in ("", ".py"))
    return "\n".join([f'"""{minitorch.utils.__doc__}"""', f"# Generated by `{COMMAND}`.",
                      *[f"from . import {name} as {name}" for name in names]])


def tensor_stub():
    """The module of `Tensor`: its classes and functions, with the methods that the registry adds."""
    imports = "from .. import return_types\n" + CORE.format(dots="..").strip().replace("..core.", ".") + "\n"
    lines = [f'"""{inspect.cleandoc(tensor.__doc__)}\n"""', PRELUDE.format(command=COMMAND, imports=imports)]
    lines += class_stub(tensor.Size, "tuple[_int, ...]", size_method)
    lines += ["", *class_stub(tensor.Tensor, "", tensor_method), ""]
    wrap, mark = "(array: Any, backend: Any, new: Any = ...)", "(view: Tensor, source: Tensor, ref: Any = ...)"
    lines += ["new_size: Any",
              *define("wrap", [f"{wrap} -> Tensor"], tensor.wrap.__doc__),
              *define("from_numpy", ["(ndarray: Any) -> Tensor"], tensor.from_numpy.__doc__),
              *define("check_grad", ["(x: Tensor, g: Any) -> None"], tensor.check_grad.__doc__),
              *define("mark_view", [f"{mark} -> None"], tensor.mark_view.__doc__)]
    return "\n".join([*lines, ""])


SIZE = {"__new__": "(cls, sizes: Any = ...) -> Size", "numel": "(self) -> _int",
        "__add__": "(self, other: Any) -> Size", "__radd__": "(self, other: Any) -> Size",
        "__mul__": "(self, n: Any) -> Size", "__rmul__": "(self, n: Any) -> Size"}


def size_method(name, value):
    if name == "__getitem__":
        return ["    @overload  # type: ignore[override]",
                "    def __getitem__(self, index: SupportsIndex) -> _int: ...",
                "    @overload", "    def __getitem__(self, index: slice) -> Size: ..."]
    if name in SIZE:
        ignore = "  # type: ignore[override]" if name in ("__add__", "__mul__", "__rmul__") else ""
        return define(name, [SIZE[name]], getattr(value, "__doc__", None) if name == "numel" else None, "    ",
                      suffix=ignore)
    return []


HIDDEN = ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__hash__", "__array_priority__",
          "__slots__", "__reduce__", "__getattr__", "__annotations__")
COMPARED = ("__eq__", "__ne__")
OPERATORS = (*BINARY, "lt", "le", "gt", "ge", "idiv", "rdiv")
UNTOLD = ("FUNCTIONS", "late", "call", "dtypes", "einops_backend", "importlib", "warnings", "ELSEWHERE", "PARTS")


def tensor_method(name, value):
    """The lines of one attribute of `Tensor`."""
    owner = f"Tensor.{name}"
    if isinstance(value, property):
        result = RESULTS.get(owner, "Tensor")
        lines = define(name, [f"(self) -> {result}"], value.__doc__, "    ", ["@property"])
        if value.fset:
            lines += define(name, [f"(self, value: {result}) -> None"], None, "    ", [f"@{name}.setter"])
        if value.fdel:
            lines += define(name, ["(self) -> None"], None, "    ", [f"@{name}.deleter"])
        return lines
    if not callable(value):
        return [f"    {name}: {'_bool' if isinstance(value, bool) else 'Any'}"]
    if name.startswith("__") and name.endswith("__"):
        return define(name, [operator_signature(name, value)], None, "    ",
                      suffix="  # type: ignore[override]" if name in COMPARED else "")
    call, twin = value, name.endswith("_")
    if [p.kind for p in parameters_of(value)][1:] == [P.VAR_POSITIONAL, P.VAR_KEYWORD] and twin:
        call = getattr(tensor.Tensor, name.rstrip("_"))    # an in-place view takes what the view takes
    return define(name, signatures(owner, call, is_method=True, no_out=twin), value.__doc__, "    ")


def operator_signature(name, value):
    """The signature of a special method."""
    result = RESULTS.get(f"Tensor.{name}", "Tensor")
    if name in ("__getitem__", "__setitem__"):
        return f"(self, item: Any{', value: Any' if name == '__setitem__' else ''}) -> {result}"
    if name in COMPARED:
        return "(self, other: Any) -> Tensor"
    if name in ("__neg__", "__abs__", "__invert__", "__pos__"):
        return "(self) -> Tensor"
    if name.strip("_").removeprefix("r").removeprefix("i") in BINARY or name.strip("_") in OPERATORS:
        return "(self, other: _Operand) -> Tensor"
    return signatures(f"Tensor.{name}", value, is_method=True)[0]


def class_stub(cls, base, describe):
    lines = [f"class {cls.__name__}{f'({base})' if base else ''}:"]
    doc = inspect.cleandoc(cls.__doc__)
    lines += [f'    """{doc.splitlines()[0]}', *[f"    {line}".rstrip() for line in doc.splitlines()[1:]], '    """']
    if cls is tensor.Tensor:
        lines += ["    array: Any", "    backend: Any", "    __array_priority__: _int",
                  "    def __hash__(self) -> _int: ..."]
    for name, value in vars(cls).items():
        if name not in HIDDEN:
            lines += describe(name, value)
    return lines


def stubs():
    """File name, below the package -> text."""
    for part in minitorch.PARTS:                           # import what is imported when it is first asked for
        getattr(minitorch, part)
    made = {"__init__.pyi": root_stub(), "core/tensor.pyi": tensor_stub(), "return_types.pyi": return_types_stub(),
            "nn/functional.pyi": namespace_stub("nn.functional", "..")}
    made["utils/__init__.pyi"] = utils_stub()
    made |= {f"{package}/__init__.pyi": imports_stub(package) for package in ("nn", "nn/utils", "optim")}
    for namespace in ("linalg", "fft", "special"):
        made[f"{namespace}.pyi"] = namespace_stub(namespace, ".")
    # Dotted names are private places within private places: no stubs.
    made |= {f"{name}.pyi": compat_stub(row) for name, row in compat.TABLE.items() if "." not in name}
    made["signal/windows.pyi"] = namespace_stub("signal.windows", "..")
    return {name: text.rstrip() + "\n" for name, text in made.items()}


def main():
    made, check = stubs(), "--check" in sys.argv
    places = {name: ROOT / "minitorch" / name for name in made}
    stale = [name for name, text in made.items() if not places[name].exists() or places[name].read_text() != text]
    if check:
        print("\n".join(f"minitorch/{name} is not what the registry says" for name in stale) or "stubs are current")
        return 1 if stale else 0
    for name, text in made.items():
        places[name].write_text(text)
    print(f"wrote {len(made)} stubs, {sum(len(t.splitlines()) for t in made.values())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
