"""Reads the stubs as data, and compares a call with them: its arguments and its result with the annotations."""

import ast
import collections.abc
import inspect
import types
import typing
from pathlib import Path

import minitorch

ROOT = Path(minitorch.__file__).parent
FILES = {"": "__init__.pyi", "Tensor": "core/tensor.pyi", "nn.functional": "nn/functional.pyi", "linalg": "linalg.pyi",
         "signal.windows": "signal/windows.pyi",
         "fft": "fft.pyi", "special": "special.pyi"}


def read(place):
    """Name -> signatures (`inspect.Signature`, annotations evaluated) of a namespace's functions, or Tensor's."""
    path = ROOT / FILES[place]
    body = ast.parse(path.read_text()).body
    package = "minitorch" + "".join(f".{part}" for part in Path(FILES[place]).parent.parts)
    scope = {"__package__": package, "Tensor": minitorch.Tensor, "Size": minitorch.Size}
    heads = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))
             or (isinstance(node, ast.AnnAssign) and node.value is not None)]
    exec(compile(ast.Module(heads, []), str(path), "exec"), scope)
    if place == "Tensor":
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == "Tensor").body
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(signature(node, scope))
    return found


def signature(node, scope):
    P, a = inspect.Parameter, node.args

    def parameter(arg, kind, default=None):
        annotation = evaluated(arg.annotation, scope) if arg.annotation else typing.Any
        return P(arg.arg, kind, annotation=annotation, default=P.empty if default is None else ...)
    defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults
    made = [parameter(arg, P.POSITIONAL_OR_KEYWORD, d) for arg, d in zip(a.args, defaults)]
    made += [parameter(a.vararg, P.VAR_POSITIONAL)] if a.vararg else []
    made += [parameter(arg, P.KEYWORD_ONLY, d) for arg, d in zip(a.kwonlyargs, a.kw_defaults)]
    made += [parameter(a.kwarg, P.VAR_KEYWORD)] if a.kwarg else []
    return inspect.Signature(made, return_annotation=evaluated(node.returns, scope))


def evaluated(tree, scope):
    return eval(ast.unparse(tree), scope)


def fits(value, annotation):
    """True if a type checker would take `value` for an `annotation`."""
    if annotation is typing.Any or annotation is object:
        return True
    if annotation is None:
        return value is None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, a) for a in args)
    if origin is typing.Literal:
        return value in args
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is tuple and args and args[-1] is not Ellipsis:
        return isinstance(value, tuple) and len(value) == len(args) and all(map(fits, value, args))
    if origin in (tuple, collections.abc.Sequence):
        return isinstance(value, origin) and not isinstance(value, str) and all(fits(v, args[0]) for v in value)
    wider = {float: (int, float), complex: (int, float, complex)}.get(annotation, origin or annotation)
    return isinstance(value, wider)


def complaints(signatures, args, kwargs, result):
    """Faults of a call that worked, to each of the signatures; empty if it fits one."""
    found = []
    for s in signatures:
        try:
            bound = s.bind(*args, **kwargs).arguments
        except TypeError as error:
            found.append(str(error))
            continue
        wrong = []
        for name, value in bound.items():
            kind, annotation = s.parameters[name].kind, s.parameters[name].annotation
            values = (value if kind is inspect.Parameter.VAR_POSITIONAL else
                      value.values() if kind is inspect.Parameter.VAR_KEYWORD else [value])
            wrong += [f"{name}: {annotation}, but it is {shown(v)}" for v in values if not fits(v, annotation)]
        if not fits(result, s.return_annotation):
            wrong.append(f"-> {s.return_annotation}, but it is {shown(result)}")
        if not wrong:
            return []
        found.append("; ".join(wrong))
    return found


def shown(value):
    inside = f"[{', '.join(sorted({type(v).__name__ for v in value}))}]" if isinstance(value, (list, tuple)) else ""
    return type(value).__name__ + inside
