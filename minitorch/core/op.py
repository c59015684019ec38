"""The op table's machinery: how a row is written, and the call that is generated from it.

A row holds all there is to an op: its forward pass on raw arrays, a derivative rule for each input, its
documentation and its domain. Everything else is derived from the registry `OPS`: functions, methods, in-place
methods, `out=`, gradient checks, parity tests, reference pages.

    sin = ufunc("sin", "The sine of `input` (radians), elementwise.",
                input=lambda F, g, input: g * F.cos(input))

    @op(input=lambda F, g, out, dim: out * (g - F.sum(g * out, dim=dim, keepdim=True)))
    def softmax(F, input, *, dim): ...

- The keyword is the input being differentiated, `g` the gradient of the output.
- A rule is given what its parameters name: inputs, `out`, attributes, or ``<input>_shape`` and ``<input>_dtype``;
  the tape keeps only that.
- A rule uses operators and ``F.<op>``, nothing else, because it runs twice: on raw arrays, F being the Backend, and
  on tensors, F being `recorded`, when the backward pass is itself recorded.
- ``joint=rule(F, g, needs, ...)`` returns the gradients of all inputs as a tuple, where they share work; `needs`
  says which of them are asked for.
- An attribute `dtype` is not the forward pass's business: where it is given, the first input is cast to it before.
- An op whose forward pass returns a tuple has several outputs; then `g` is a tuple with None for an unused one.
- ``keeps=("mean", "rstd")``: the forward pass returns ``(result, mean, rstd)``, of which callers get the result and
  rules, by these names, the rest. What is kept is a constant to a recorded backward pass: a rule hands it to a
  backward op, whose own rules know what it stands for.
"""

import functools
import inspect
import linecache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import graph, registry
from .grad_mode import grad_mode
from .graph import Node, Selected, Several
from .registry import FUNCTIONS, METHODS, NAMES, OPS, late
from .template import takes_out, write_call, write_pull

__all__ = ["OPS", "Op", "op", "ufunc", "composite", "method", "recorded", "FUNCTIONS", "METHODS", "Number",
           "Other"]

# What may stand where a row says Number without further ado: a tensor or one of these.
NUMBERS = frozenset({int, float})
f32, f64 = np.dtype("float32"), np.dtype("float64")


class recorded:
    """The ops on tensors, as a namespace: what F is while a backward pass is recorded."""


if TYPE_CHECKING:          # to a type checker: arrays, of whatever library the backend has, or numbers
    Number: TypeAlias = Any
    Other: TypeAlias = Any
else:
    class Number:
        """Annotation of an input that may be a Python number instead of a tensor."""

    class Other:
        """Annotation of an input whose dtype stands apart: an index, a mask, a condition."""


class Input:
    """One array argument: `name`, `kind` ("tensor", "number", "other" or "variadic"), and whether None will do."""

    def __init__(self, parameter):
        self.name = parameter.name
        self.optional = parameter.default is None
        self.kind = ("variadic" if parameter.kind is parameter.VAR_POSITIONAL else
                     {Number: "number", Other: "other"}.get(parameter.annotation, "tensor"))


class Op:
    """A differentiable function of tensors, defined in one place. See the head of this file.

    `promotion` says what dtype the inputs are brought to first: "common" (PyTorch's promotion), "float" (the same,
    and integers become the default float), "same" (they must agree), "numbers" (they must agree, and numbers are cast
    to them), "first" (all are cast to the first one's), "floating" (they must agree and be floats), "any" (as they
    come, but 16-bit floats are computed in float32) or None (the forward pass takes any). `refuses` names the kinds of
    dtypes, as NumPy's letters, that it does not take after that ("b" bools, "iub" all but floats), `check` is a
    function of the raw inputs before that; `of_numbers` says that all inputs may be Python numbers, `native`
    that 16-bit floats are not computed in float32. `xp_name` names
    the array module's function that is the forward pass; the row's function then has a docstring only. `view` says
    that the result shares memory with the first input. `outputs` is 1, or a tuple of bools that says which outputs
    have a gradient, or "list" for any number that all have one. `lean` is the forward pass of an op that `keeps`
    something, without that: for calls that are not recorded.

    For tests and docs: `shapes` ("* n k, * k m -> * n m"), `domain` (input name to a range, where not all of
    [-2, 2] will do), `kinks` (where it is not differentiable: "zero", "ties", "steps"), and `sample`, a function of a
    `minitorch.testing.strategies.Draw` that returns inputs and attributes, for ops that these words cannot describe.
    """

    recorded = recorded

    def __init__(self, name, forward, inputs, attrs, rules, doc, promotion=None, view=False, joint=None,
                 outputs=1, keeps=(), shapes=None, domain=None, sample=None, kinks=None, node_name=None, xp_name=None,
                 refuses="", check=None, of_numbers=False, native=False, lean=None):
        self.name, self.forward, self.inputs, self.attrs, self.__doc__ = name, forward, inputs, attrs, doc
        self.promotion, self.view, self.outputs, self.keeps = promotion, view, outputs, keeps
        self.shapes, self.domain, self.sample, self.kinks = shapes, domain or {}, sample, kinks
        self.xp_name, self.refuses, self.check = xp_name, refuses, check
        self.of_numbers, self.native, self.lean = of_numbers, native, lean
        self.node_name = node_name or camel_case(name) + "Backward0"
        self.rules, self.joint = {x.name: rules.get(x.name) for x in inputs}, joint
        unknown = set(rules) - set(self.rules)
        if unknown:
            raise TypeError(f"op {name}: a rule for {sorted(unknown)}, which are not inputs")
        if name in OPS:
            raise TypeError(f"op {name}: there is a row of this name already")
        self.describe_saved()
        OPS[name] = self

    def describe_saved(self):
        """Which values the rules read (`reads`), and where each one stands in the graph (`saved_places`)."""
        names = [x.name for x in self.inputs]
        skip = 3 if self.joint else 2
        rules = {None: self.joint} if self.joint else self.rules
        self.reads = {x: parameters_of(r)[skip:] for x, r in rules.items() if r}
        self.saved_fields = list(dict.fromkeys(f for fields in self.reads.values() for f in fields))
        known = {*names, "out", *self.keeps, *dict(self.attrs), *(x + f for f in ("_shape", "_dtype") for x in names)}
        unknown = set(self.saved_fields) - known
        if unknown:
            raise TypeError(f"op {self.name}: a rule asks for {sorted(unknown)}, which it does not have")
        variadic = any(x.kind == "variadic" for x in self.inputs)
        places = {x: slice(None, -1) if variadic else i for i, x in enumerate(names)} | {"out": -1}
        self.saved_places = [places.get(f) for f in self.saved_fields]
        self.saves_arrays = any(p is not None for p in self.saved_places) or bool(self.keeps)
        self.differentiable = bool(self.reads)
        self.casts = any(k == "dtype" for k, _ in self.attrs) and self.name != "to_dtype"

    def bind(self, backend):
        """The forward pass as a function on `backend`'s arrays, with all that it keeps."""
        if self.xp_name:                                   # the array module's own function
            return getattr(backend.xp, self.xp_name)
        return MethodType(self.forward, backend)

    def parameter_names(self):
        """The names of its inputs and attributes, as kernels take them: attributes by name, a list of tensors last."""
        inputs, attrs = [x.name for x in self.inputs], [k for k, _ in self.attrs]
        return attrs + inputs if self.inputs[0].kind == "variadic" else inputs + attrs

    def __repr__(self):
        return f"<op {self.name}>"


def parameters_of(function):
    """The names of a function's parameters (`inspect.signature` would take most of the package's import time)."""
    code = function.__code__
    return list(code.co_varnames[:code.co_argcount])


def camel_case(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


# ------------------------------------------------------------------ the three ways to define a function
def ufunc(name, doc, xp_name=None, *, promotion="common", inputs=None, numbers=None, **options):
    """Define an elementwise op that the array modules have; rules are given by input name.

    `numbers` names the inputs that may be Python numbers: all, if there are several and nothing else is said.
    """
    how, rules = split_options(options)
    names = inputs or list(rules) or ["input"]
    numbers = numbers if numbers is not None else names if len(names) > 1 else ()
    parameters = [Input(inspect.Parameter(x, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                          annotation=Number if x in numbers else inspect.Parameter.empty))
                  for x in names]
    public = {k: how.pop(k) for k in list(how) if k in PUBLIC}
    public.setdefault("inplace", True)
    row = Op(name, None, parameters, [], rules, doc, promotion, xp_name=xp_name or name, **how)
    return publish(compile_call(row), name, **public)


def op(**options):
    """Define an op by its forward pass on raw arrays: ``def name(F, *inputs, *, attributes)``."""
    def define(forward):
        how, rules = split_options(options)
        public = {k: how.pop(k) for k in list(how) if k in PUBLIC}
        params = list(inspect.signature(forward).parameters.values())[1:]
        inputs = [Input(p) for p in params if p.kind is not p.KEYWORD_ONLY]
        attrs = [(p.name, p.default) for p in params if p.kind is p.KEYWORD_ONLY]
        row = Op(forward.__name__, forward, inputs, attrs, rules, forward.__doc__, **how)
        return publish(compile_call(row), forward.__name__, **public)
    return define


def composite(function=None, *, out=False, **public):
    """Publish a plain function of other ops; it needs no rule of its own. `out` lets it take ``out=`` too."""
    if function is None:
        return lambda f: composite(f, out=out, **public)
    return publish(with_out(function, out == "exact") if out else function, function.__name__, **public)


def with_out(function, exact=False):
    """`function` with a keyword `out`: the tensor, or tuple of tensors, to write the result into.

    With `exact` it must have the result's type; otherwise a type that the result can be cast to will do.
    """
    @functools.wraps(function)
    def call(*args, out=None, **kwargs):
        if kwargs:
            for theirs, ours in NUMPY_NAMES:               # ``x.max(axis=0, keepdims=True)``
                if theirs in kwargs and ours in found.parameters:
                    kwargs[ours] = kwargs.pop(theirs)
        if out is None:
            return function(*args, **kwargs)
        return registry.write_out(function.__name__, function, args, kwargs, out, exact=exact)

    found = inspect.signature(function)
    extra = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = found.replace(parameters=[*found.parameters.values(), extra])
    return call


NUMPY_NAMES = (("axis", "dim"), ("keepdims", "keepdim"))
OPTIONS = {"promotion", "view", "joint", "outputs", "keeps", "shapes", "domain", "sample", "kinks", "node_name",
           "refuses", "check", "xp_name", "of_numbers", "native", "lean"}
PUBLIC = {"namespace", "method", "inplace", "aliases", "public_name"}


def split_options(options):
    """Keywords that describe the op, and those that are rules."""
    how = {k: v for k, v in options.items() if k in OPTIONS or k in PUBLIC}
    return how, {k: v for k, v in options.items() if k not in how}


def method(function=None, *, name=None):
    """Make a function a method of Tensor: for methods that take what their function does not, as ``x.view(2, 3)``."""
    if function is None:
        return lambda f: method(f, name=name)
    METHODS[name or function.__name__] = function
    return function


class Public:
    """A public function: where it is found, and which methods come from it."""

    def __init__(self, call, name, namespace, method, inplace):
        self.call, self.name, self.namespace, self.method, self.inplace = call, name, namespace, method, inplace


def publish(call, name, *, namespace="", method=None, inplace=False, aliases=(), public_name=None):
    """Enter a function in the registry of public names.

    `namespace` is "" for the package itself, else such as "nn.functional"; None keeps an op internal. `method` and
    `inplace` say whether Tensor has it as a method and as ``name_``; a method by default only in the package.
    """
    call.formula = Formula(call)
    call.explain = call.formula.explain
    if not hasattr(call, "__wrapped__"):
        call.__module__ = "minitorch" + (f".{namespace}" if namespace else "")
    if namespace is None:
        return call
    method = namespace == "" if method is None else method
    if public_name:
        call.__name__ = call.__qualname__ = public_name
    for alias in (public_name or name, *aliases):
        FUNCTIONS[namespace, alias] = Public(call, alias, namespace, method, inplace)
    return call


# ------------------------------------------------------------------ generating the call
def compile_call(row):
    """Write the function that users call, as `dataclasses` writes an ``__init__``.

    Written out, not looped over ``*inputs``, for a real signature and half the cost; ``print(op.source)`` shows
    it. Two are made from one template: the one users call, for float32 and float64 on one device, and ``row.bare``,
    for which `minitorch/core/call.py` prepares everything else. Each is compiled when it is first called.
    """
    rules = {f"rule_{x}": r for x, r in row.rules.items()}
    row.pull = deferred("pull", f"<minitorch rule of {row.name}>", lambda: write_pull(row),
                        rules | {"joint": row.joint})
    row.bare = deferred(row.name, f"<minitorch op {row.name}, any dtype>", lambda: write_call(row, bare=True),
                        {"op": row})
    call = row.call = deferred(row.name, f"<minitorch op {row.name}>", lambda: write_call(row, bare=False), {"op": row})
    call.__doc__, call.op, call.source, row.formula = row.__doc__, row, Source(row), Formula(call)
    call.__signature__ = public_signature(row)
    is_variadic = row.inputs[0].kind == "variadic"         # rules spell the call as on raw arrays: F.join(*pieces)
    setattr(recorded, row.name, staticmethod((lambda *t, **attrs: call(t, **attrs)) if is_variadic else call))
    return call


def public_signature(row):
    P = inspect.Parameter
    parameters = [P(x.name, P.POSITIONAL_OR_KEYWORD, default=None if x.optional else P.empty) for x in row.inputs]
    parameters += [P(k, P.POSITIONAL_OR_KEYWORD, default=d) for k, d in row.attrs]
    if takes_out(row):
        parameters.append(P("out", P.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters, __validate_parameters__=False)


def as_method(call):
    """A public function as a method: the same code, its first parameter called ``self``, as `inspect` then shows."""
    row = getattr(call, "op", None)
    if row is not None:
        twin = deferred(row.name, f"<minitorch method {row.name}>", lambda: write_call(row, bare=False), {"op": row})
        twin.__doc__, twin.op, twin.source = call.__doc__, row, call.source
        twin.formula, twin.explain = call.formula, call.explain
    else:
        twin = FunctionType(call.__code__, call.__globals__, call.__name__, call.__defaults__, call.__closure__)
        twin.__kwdefaults__, twin.__doc__ = call.__kwdefaults__, call.__doc__
    twin.__qualname__ = "Tensor." + call.__name__
    code = call.__code__
    if hasattr(call, "__signature__") or not code.co_argcount or code.co_varnames[0] in code.co_cellvars:
        first, *rest = inspect.signature(call).parameters.values()
        twin.__signature__ = inspect.Signature([first.replace(name="self"), *rest], __validate_parameters__=False)
    else:                                                  # cheaper than a Signature, and there are hundreds
        twin.__code__ = code.replace(co_varnames=("self", *code.co_varnames[1:]))
    return twin


class Source:
    """The text of a generated call: ``print(minitorch.mul.source)``."""

    def __init__(self, row):
        self.row = row

    def __str__(self):
        return write_call(self.row, bare=False)

    __repr__ = __str__


class Formula:
    """A function's formula and derivative rules: ``print(minitorch.mul.formula)``, ``minitorch.mul.explain()``."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __str__(self):
        return late.formula(self.call)

    __repr__ = __str__

    def explain(self):
        """What the function computes, how its gradients come about, and what the graph keeps for them."""
        return Text(late.explain(self.call))


class Text(str):
    """Words that a prompt shows as they are, without quotes."""

    __repr__ = str.__str__


def stub(*args, **kwargs):
    return load()(*args, **kwargs)                         # noqa: F821  (see `deferred`)


def deferred(name, filename, write, scope):
    """A function whose source is written and compiled when it is first called.

    Importing the package would otherwise take most of its time compiling ops that the program never calls. The
    function stays the same object: its code is exchanged, so whoever holds it sees the change.
    """
    namespace = {"__name__": "minitorch.generated"}
    function = FunctionType(stub.__code__, namespace, name)
    function.__qualname__ = name                           # pickle finds functions by it

    def load():
        source = write()
        namespace.update(NAMES, **scope)
        exec(compile(source, filename, "exec"), namespace)
        made = namespace.pop(name)
        linecache.cache[filename] = (len(source), None, [line + "\n" for line in source.splitlines()], filename)
        function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        function.__code__ = made.__code__
        return function

    namespace["load"] = load
    return function


# What generated code may name. `graph` is the module, because its clock moves.
NAMES.update({"graph": graph, "grad_mode": grad_mode, "Node": Node, "Several": Several, "Selected": Selected,
         "NUMBERS": NUMBERS, "f32": f32, "f64": f64, "new": object.__new__, "asarray": np.asarray,
         "required": inspect.Parameter.empty})


def finish(**names):
    """Give generated code what is defined only after this module."""
    NAMES.update(names)
