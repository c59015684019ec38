"""Schemas of custom operators: ``(Tensor x, float y=1.0, *, bool flip=False) -> Tensor``, read or inferred."""

import ast
import collections.abc
import inspect
import re
import types
import typing
from typing import NamedTuple

from .. import Tensor, device, dtype, layout, memory_format

__all__ = ["Argument", "Schema", "infer_schema", "parse"]

REQUIRED = object()
TYPES = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType",
         device: "Device", layout: "Layout", memory_format: "MemoryFormat", types.NoneType: "None"}
ARGUMENT = re.compile(r"(?P<type>Tensor\((?P<alias>\w+)(?P<mutated>!?)\)|\w+)(?P<suffix>(?:\?|\[\d*\])*)\s+"
                      r"(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?")
WHOLE = re.compile(r"\s*(?:(?P<namespace>\w+)::)?(?P<name>\w+)?(?:\.(?P<overload>\w+))?\s*"
                   r"\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*?)\s*", re.S)


class Argument(NamedTuple):
    """One argument: its name, type ("Tensor", "float[]?"), default (`REQUIRED` for none), and how it may be given."""

    name: str
    type: str
    default: object = REQUIRED
    keyword_only: bool = False
    mutated: bool = False

    @property
    def takes_tensors(self):
        """True if it is a tensor or several."""
        return self.type.startswith("Tensor")


class Schema(NamedTuple):
    """Arguments and types of results."""

    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    text: str

    @property
    def mutates(self):
        """True if an argument is written to."""
        return any(a.mutated for a in self.arguments)

    def __str__(self):
        return self.text

    def bind(self, name, args, kwargs):
        """All values in the order of the arguments. RuntimeError for what does not fit, as in PyTorch."""
        positional = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(f"{name}() expected at most {len(positional)} argument(s) but received {len(args)} "
                               f"argument(s). Declaration: {name}{self.text}")
        given = {a.name: value for a, value in zip(positional, args)}
        for key, value in kwargs.items():
            if key in given or key not in {a.name for a in self.arguments}:
                word = "got multiple values for argument" if key in given else "Unknown keyword argument"
                raise RuntimeError(f"{word} '{key}' for operator '{name}'. Schema: {name}{self.text}")
            given[key] = value
        values = []
        for a in self.arguments:
            value = given.get(a.name, a.default)
            if value is REQUIRED:
                raise RuntimeError(f"{name}() is missing value for argument '{a.name}'. Declaration: {name}{self.text}")
            if a.type == "Tensor" and not isinstance(value, Tensor):
                raise RuntimeError(f"{name}() Expected a value of type 'Tensor' for argument '{a.name}' but instead "
                                   f"found type '{type(value).__name__}'.\nDeclaration: {name}{self.text}")
            values.append(value)
        return values


# ---- from a text -----------------------------------------------------------------------------------------------
def parse(text):
    """The name (namespace, name, overload; None each if left out) and the `Schema` of a text."""
    found = WHOLE.fullmatch(text)
    if found is None:
        raise RuntimeError(f"expected a schema such as 'name(Tensor x, int n=1) -> Tensor', got {text!r}")
    arguments, keyword_only = [], False
    for part in separated(found["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        match = ARGUMENT.fullmatch(part)
        if match is None:
            raise RuntimeError(f"expected an argument such as 'Tensor x' or 'float y=1.0', got {part!r} in {text!r}")
        kind = ("Tensor" if match["alias"] else match["type"]) + match["suffix"]
        default = REQUIRED if match["default"] is None else constant(match["default"])
        arguments.append(Argument(match["name"], kind, default, keyword_only, bool(match["mutated"])))
    returns = found["returns"].strip()
    kinds = separated(returns[1:-1]) if returns.startswith("(") else [returns]
    schema = Schema(tuple(arguments), tuple(kinds), f"({found['arguments']}) -> {returns}")
    return (found["namespace"], found["name"], found["overload"]), schema


def separated(text):
    """The parts between the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def constant(text):
    """A default value; words that are not Python stay text ("float", "contiguous_format")."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        return text


# ---- from a function -------------------------------------------------------------------------------------------
def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that the annotations of a function say, as a text.

    mutates_args: the names of arguments that the function writes to, or "unknown": all tensors.

    >>> import minitorch
    >>> def scaled(x: minitorch.Tensor, by: float = 2.0) -> minitorch.Tensor: ...
    >>> minitorch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'

    ValueError for arguments without annotation, or of a type that no schema has.
    """
    signature = inspect.signature(prototype_function, eval_str=True)
    parts, names, written = [], set(), 0
    for p in signature.parameters.values():
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise fault("We do not support positional-only args, varargs, or varkwargs.", signature)
        if p.annotation is p.empty:
            raise fault(f"Parameter {p.name} must have a type annotation.", signature)
        kind, names = type_text(p.annotation, p.name, signature), {*names, p.name}
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if p.name in mutates_args or mutates_args == "unknown" and kind.startswith("Tensor"):
            if not kind.startswith("Tensor"):
                raise fault(f"Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be "
                            "mutated", signature)
            kind, written = kind.replace("Tensor", f"Tensor(a{written}!)", 1), written + 1
        parts.append(f"{kind} {p.name}" + ("" if p.default is p.empty else f"={default_text(p.default, signature)}"))
    if mutates_args != "unknown" and set(mutates_args) - names:
        raise fault(f"{sorted(set(mutates_args) - names)} in mutates_args were not found in the function", signature)
    text = f"{op_name or ''}({', '.join(parts)}) -> {returned_text(signature)}"
    parse(text)
    return text


def fault(what, signature):
    return ValueError(f"infer_schema(func): {what} Got func with signature {signature}")


def type_text(annotation, name, signature):
    """An annotation as the type of a schema."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in TYPES and annotation is not types.NoneType:
        return TYPES[annotation]
    if origin in (typing.Union, types.UnionType):
        others = [t for t in inner if t is not types.NoneType]
        if len(others) == 1 and len(others) < len(inner):
            return type_text(others[0], name, signature) + "?"
        if set(inner) <= {int, float, bool, complex}:
            return "Scalar"
    if origin in (list, tuple, collections.abc.Sequence) and inner and len({*inner} - {...}) == 1:
        return type_text(inner[0], name, signature) + "[]"
    raise fault(f"Parameter {name} has unsupported type {annotation}. The valid types are: "
                f"{', '.join(t.__name__ for t in TYPES)}, lists of them, and each of these or None.", signature)


def default_text(value, signature):
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return f'"{value}"'
    raise fault(f"default {value!r} is not supported: None, numbers, truth values and texts are", signature)


def returned_text(signature):
    """The results as a schema has them."""
    annotation = signature.return_annotation
    if annotation is signature.empty:
        raise fault("No return type annotation was provided. Please add one.", signature)
    if annotation is None or annotation is types.NoneType:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return f"({', '.join([type_text(t, 'returned', signature) for t in typing.get_args(annotation)])})"
    return type_text(annotation, "returned", signature)
