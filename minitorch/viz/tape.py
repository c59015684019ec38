"""Reading the tape: the graph behind a tensor as plain vertices with names, values and gradients.

The tape keeps only what the backward pass needs, so a value is known here where a leaf, a variable of the caller or a
saved array holds it. Names are those of the model's parameters and of the variables of the code that asks.
"""

import ast
import linecache
import sys
from dataclasses import dataclass, field
from typing import Any

from .. import Tensor
from ..extend import Op, OutputNode, uses_behind, values_behind
from ..nn import Module
from ..nn.parameter import is_lazy
from .inner import gradients_again, remember
from .inner import known as word_at

__all__ = ["Vertex", "Names", "read", "calling_scope", "numpy_of"]

FEW = 4096                                                 # elements: more are not computed again for a picture


@dataclass(eq=False)
class Vertex:
    """One place of the graph.

    `kind` is "op", "leaf" or "more" (stands for what was left out). `parents` are (Vertex or None, name of the input)
    pairs, one for each input. `value` and `grad` are NumPy arrays, None where they are not known. `module` is the path
    of the module that the call belongs to, "" if none is known. `freed`: a backward pass has freed what it had saved.
    """

    key: str
    place: Any
    kind: str
    label: str
    shape: tuple
    name: str = ""
    note: str = ""
    value: Any = None
    grad: Any = None
    parents: list[Any] = field(default_factory=list)
    module: str = ""
    freed: bool = False


# ------------------------------------------------------------------ names
def calling_frame():
    """The innermost frame that is not in this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "minitorch":
        frame = frame.f_back
    return frame


def calling_scope():
    """The variables of the innermost frame that is not in this package, local ones first."""
    frame = calling_frame()
    if frame is None:
        return {}
    return {**frame.f_locals, **{k: v for k, v in frame.f_globals.items() if k not in frame.f_locals}}


def spelled_arguments(function):
    """How the calling code spells what it gives to `function`: ``["x", "x.t()"]``; [] where its source is not known.

    Of a method, what it is called on.
    """
    frame = calling_frame()
    source = "".join(linecache.getlines(frame.f_code.co_filename)) if frame is not None else ""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)
             and node.lineno <= frame.f_lineno <= (node.end_lineno or 0)
             and function == getattr(node.func, "attr", getattr(node.func, "id", None))]
    if len(calls) != 1 or any(isinstance(x, ast.Starred) for x in calls[0].args):
        return []
    return [ast.unparse(x) for x in calls[0].args or [getattr(calls[0].func, "value", None)] if x is not None]


class Names:
    """Names of places: `of` (place -> name), the tensors that the caller holds there, and module paths.

    Parameters of `model` have their paths; `params` is a dict of further names, or a model. Whatever is left is named
    by the variables in `scope`, models among them.
    """

    def __init__(self, model=None, params=None, scope=None):
        self.of = {}
        self.tensors = {}
        self.modules = {}                            # parameter -> path of the module that has it
        self.kinds = {}                              # path of a module -> its kind, and how many parameters it has
        self.prefixes = 0                                  # 1 if such paths begin with the name of a variable
        if params is not None and not isinstance(params, dict):
            model, params = model or params, None
        for name, tensor in (params or {}).items():
            self.note(tensor, name)
        if model is not None:
            self.note_model(model, "")
        self.note_scope(scope or {})

    def note(self, tensor, name):
        place = tensor.node or tensor
        self.of.setdefault(place, name)
        self.tensors.setdefault(place, tensor)

    def note_model(self, model, prefix):
        for path, module in model.named_modules():
            path = ".".join(part for part in (prefix, path) if part)
            count = sum(p.numel() for p in module.parameters() if not is_lazy(p))
            self.kinds.setdefault(path or type(model).__name__, (type(module).__name__, count))
            for name, p in [*module._parameters.items(), *module._buffers.items()]:
                if p is not None:
                    self.note(p, f"{path}.{name}" if path else name)
                    self.modules.setdefault(p, path or type(model).__name__)

    def note_scope(self, scope):
        shown = {k: v for k, v in scope.items() if k.isidentifier() and not k.startswith("_")}
        for name, value in shown.items():
            if isinstance(value, Tensor):
                self.note(value, name)
        models = [(k, v) for k, v in shown.items() if isinstance(v, Module)]
        self.prefixes = int(not self.modules)
        for name, model in sorted(models, key=lambda found: -len(list(found[1].modules()))):
            self.note_model(model, name)


# ------------------------------------------------------------------ the graph
def read(root, names, limit=None):
    """The vertices behind the tensor `root`, inputs first; at most about `limit`, those nearest to it."""
    place = root.node
    if place is None:
        raise RuntimeError("there is no graph behind this tensor: no recorded call made it" + (
            "" if root.needs_grad else ". It does not require grad: make its inputs with requires_grad=True, outside "
            "of no_grad()"))
    found = list(uses_behind(place))
    kept = set(found[:limit] if limit else found)
    order, values = values_behind(place, FEW, {place: root, **names.tensors})
    again = gradients_again(place, order, values) if any(p.parents and p.saved is None for p in order) else {}
    vertices = {}
    for p in order:
        if p in kept:
            vertices[p] = v = vertex(f"v{len(vertices)}", p, names, values)
            if v.kind == "op":
                v.grad = again.get(p) if v.grad is None else v.grad
                if not v.freed and not isinstance(p, OutputNode):
                    remember(p, v.value if v.value is None or v.value.size <= FEW else None, v.note, FEW)
    more = Vertex("more", None, "more", f"{len(found) - len(kept):,} more", (), note="not drawn")
    for p, v in vertices.items():
        for i, parent in enumerate(p.parents):
            v.parents.append((None if parent is None else vertices.get(parent, more), input_name(p, i)))
    made = list(vertices.values())
    return [more, *made] if len(kept) < len(found) else made


def vertex(key, place, names, values):
    """A place as a Vertex, without its parents yet."""
    name = names.of.get(place, "")
    known = values.get(place)
    known = None if known is None else numpy_of(place.backend, known)
    if place.parents:
        shape = place.shape if not isinstance(place.shape, tuple) or not any(
            isinstance(n, tuple) for n in place.shape) else ()
        word = word_at(place)
        made = Vertex(key, place, "op", op_name(place), tuple(shape), name, word.get("note") or note_of(place),
                      word.get("value") if known is None else known, kept_gradient(place))
        made.grad = word.get("grad") if made.grad is None else made.grad
        made.freed = isinstance(place.op, Op) and place.saved is None
        made.module = next((names.modules[p] for p in place.parents if p in names.modules), "")
        return made
    grad = None if place._grad is None else numpy_of(place.backend, place._grad.array)
    return Vertex(key, place, "leaf", name or "leaf", tuple(place.array.shape), name, "", known, grad,
                  module=names.modules.get(place, ""))


def numpy_of(backend, array):
    """A raw array as NumPy's."""
    return backend.backend.to_host(array)


def op_name(place):
    if isinstance(place, OutputNode):
        return f"output {place.op}"
    return place.op.name if isinstance(place.op, Op) else place.name()


def input_name(place, i):
    if not isinstance(place.op, Op):
        return "" if isinstance(place, OutputNode) else f"argument {i}"
    inputs = place.op.inputs
    return inputs[i].name if i < len(inputs) and inputs[0].kind != "variadic" else f"{inputs[0].name}[{i}]"


def note_of(place):
    """The attributes of a call that the tape knows, and its inputs without gradient: ``dim=1``, ``input constant``."""
    op = place.op
    if not isinstance(op, Op):
        return ""
    attrs, known = dict(op.attrs), dict(zip(op.saved_fields, place.saved or ()))
    numbers = {x.name: known[x.name] for x in op.inputs if isinstance(known.get(x.name), (int, float))}
    words = [f"{name}={value}" for name, value in numbers.items()]
    words += [f"{name}={value}" for name, value in known.items() if name in attrs and value is not attrs[name]
              and isinstance(value, (int, float, str, tuple))]
    words += [f"{x.name} constant" for x, parent in zip(op.inputs, place.parents) if parent is None
              and x.name not in numbers and not x.optional and x.kind in ("tensor", "number")]
    return ", ".join(words)


def kept_gradient(place):
    """The gradient that `retain_grad` has kept of a computed tensor, if any."""
    for ref in place.hooks.retain if place.hooks is not None else ():
        tensor = ref()
        if tensor is not None and tensor._grad is not None:
            return numpy_of(place.backend, tensor._grad.array)
    return None
