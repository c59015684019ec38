"""The decorators by which op definitions and composites are written, and the registry of public names.

    sin = ufunc("sin", "The sine of `input` (radians), elementwise.",
                input=lambda F, g, input: g * F.cos(input))

    @op(autocast="float32", input=lambda F, g, out, dim: out * (g - F.sum(g * out, dim=dim, keepdim=True)))
    def softmax(F, input, *, dim): ...

A keyword that is not a column of `Op` is the input being differentiated; `g` is the gradient of the
output. A function of other ops that needs no formula of its own is a `composite`; a method whose
signature is not that of the function of its name is a `method`.
"""

import functools
import inspect
from dataclasses import MISSING, fields

from ..core.call import cast_call, overridden
from ..core.generate import compile_call
from ..core.grad_mode import mixed_precision
from ..core.op import Input, Number, Op, Other
from ..core.out import write_out
from ..core.registry import FUNCTIONS, METHODS, late
from ..core.template import NUMPY_NAMES
from .guarded import guarded, is_pending

__all__ = ["composite", "method", "op", "publish", "ufunc"]


def ufunc(name, doc, xp_name=None, *, promotion="common", inputs=None, numbers=None, **options):
    """Define an op that is one of NumPy's ufuncs; derivative formulas are given by input name.

    It is elementwise: this decorator says ``dims="*"`` for it.
    `numbers` names the inputs that may be Python numbers: by default all, if there are several.
    """
    how, vjps = split_options(options)
    names = inputs or list(vjps) or ["input"]
    numbers = numbers if numbers is not None else names if len(names) > 1 else ()
    parameters = [Input(x, "number" if x in numbers else "tensor") for x in names]
    public = {k: how.pop(k) for k in list(how) if k in PUBLIC}
    public.setdefault("inplace", True)
    definition = Op(name=name, forward=None, inputs=parameters, attrs=[], vjps=vjps, doc=doc, promotion=promotion,
             dims="*", xp_name=xp_name or name, **how)
    return defined(definition, public)


def op(*, name=None, **options):
    """Define an op by its forward pass on raw arrays: ``def name(F, *inputs, *, attributes)``.

    `name` is the op's name where the module uses it for something else: the internal op softmax is ``_softmax`` in its
    module, beside the public function `softmax` that checks its arguments and calls it.
    """
    def define(forward):
        op_name = name or forward.__name__
        if not (op_name.isascii() and op_name.isidentifier()):           # it becomes source, as in `compile_call`
            raise ValueError(f"the name of an op must be an ASCII identifier, got {op_name!r}")
        if op_name.startswith("full_"):                    # a backend would compute another op
            raise ValueError(f"the name of an op must not start with full_, got {op_name!r}: "
                             f"F.full_x is the op x with what it keeps for its backward pass")
        how, vjps = split_options(options)
        public = {k: how.pop(k) for k in list(how) if k in PUBLIC}
        inputs, attrs, scalars = inputs_and_attributes(forward)
        if "dtype" in dict(attrs) and "casts" not in how:
            raise TypeError(f"op {op_name} has an attribute dtype: say casts=True if the first input "
                            f"is cast to it before the call, or False if the forward pass reads it")
        definition = Op(name=op_name, forward=forward, inputs=inputs, attrs=attrs, scalars=scalars, vjps=vjps,
                        doc=forward.__doc__, **how)
        return defined(definition, public)
    return define


def inputs_and_attributes(forward):
    """The inputs, the attributes with their defaults, and the scalars of ``def name(F, *inputs, *, attributes)``."""
    code, defaults, kinds = forward.__code__, forward.__defaults__ or (), forward.__annotations__
    n, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    optional = {x for x, default in zip(names[n - len(defaults):n], defaults) if default is None}
    inputs = [Input(x, {Number: "number", Other: "other"}.get(kinds.get(x), "tensor"), x in optional)
              for x in names[1:n]]
    if code.co_flags & inspect.CO_VARARGS:
        inputs.append(Input(names[end], "variadic"))
    given = forward.__kwdefaults__ or {}
    attrs = [(x, given.get(x, inspect.Parameter.empty)) for x in names[n:end]]
    return inputs, attrs, tuple([x for x, _ in attrs if kinds.get(x) in (float, float | None)])


def defined(definition, public):
    """The function that users call, published."""
    call = compile_call(definition)
    return publish(call, definition.name, **public)


def composite(function=None, *, out=False, overlap=True, autocast=None, **public):
    """Publish a plain function of other ops; it needs no derivative formula of its own.

    ``dims="*"`` says that it works element by element, as for an `Op`. Without it nested and masked
    tensors run the function as it is written, op by op.
    `out` lets it take ``out=`` too: True, or "exact" if that must have the result's type; `overlap` and `autocast` as
    for an `Op`, but `autocast` may also be "off": nothing is cast inside.
    """
    if function is None:
        return lambda f: composite(f, out=out, overlap=overlap, autocast=autocast, **public)
    call = with_out(function, out == "exact", overlap) if out else guarded(function)
    return publish(casting(call, autocast) if autocast else call, function.__name__, **public)


def casting(function, autocast):
    """`function`, casting its inputs in mixed precision as the words `autocast` say, unless it is given ``out=``."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if mixed_precision.enabled:
            how = autocast if kwargs.get("out") is None else "off"
            return cast_call(function, how, args, kwargs)
        return function(*args, **kwargs)
    call.autocast = autocast
    return call


def with_out(function, exact=False, overlap=True):
    """`function` with a keyword `out`: the tensor, or tuple of tensors, to write the result into.

    With `exact` it must have the result's type; otherwise a type that the result can be cast to will do. With
    `overlap` it may be an input of the call.
    """
    @functools.wraps(function)
    def call(*args, out=None, **kwargs):
        if kwargs:
            for theirs, ours in NUMPY_NAMES.items():       # ``x.max(axis=0, keepdims=True)``
                if theirs in kwargs and ours in signature.parameters:
                    kwargs[ours] = kwargs.pop(theirs)
        try:
            if out is None:
                return function(*args, **kwargs)
            return write_out(function.__name__, function, args, kwargs, out, exact=exact, overlap=overlap)
        except Exception as error:
            answer = overridden(call, {**dict(zip(signature.parameters, args)), **kwargs})
            if answer is not None:
                return answer[0]
            found = late.explain_call(error, function, args, kwargs, call.__name__)
            if found is error:
                raise
            raise found from None

    signature = inspect.signature(function)
    extra = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), extra])
    return call


OPTIONS = {f.name for f in fields(Op) if f.default is not MISSING or f.default_factory is not MISSING}
PUBLIC = {"namespace", "method", "inplace", "aliases", "public_name"}


def split_options(options):
    """Keywords that are columns, and those that are derivative formulas."""
    how = {k: v for k, v in options.items() if k in OPTIONS or k in PUBLIC}
    return how, {k: v for k, v in options.items() if k not in how}


def method(function=None, *, name=None):
    """Make a function a method of Tensor: for methods that take what their function does not, as ``x.view(2, 3)``."""
    if function is None:
        return lambda f: method(f, name=name)
    call = METHODS[name or function.__name__] = function if is_pending(function) else guarded(function)
    return call


class Public:
    """A public function: where it is found, and which methods come from it."""

    def __init__(self, call, name, namespace, method, inplace):
        self.call, self.name, self.namespace, self.method, self.inplace = call, name, namespace, method, inplace


def publish(call, name, *, namespace="", method=None, inplace=False, aliases=(), public_name=None,
            dims=None):
    """Enter a function in the registry of public names.

    `namespace` is "" for the package itself, else a name such as "nn.functional"; None keeps an op
    internal. `method` and `inplace` make it a method of Tensor, and an in-place one, ``name_``; by
    default, functions of the package itself are methods. With `inplace` "repeated" it may write to
    expanded tensors. `dims` is that column for a function without a definition.
    """
    call.dims = dims or getattr(getattr(call, "op", call), "dims", None)
    call.source, call.formula = Source(call), Formula(call)
    call.explain = call.formula.explain
    if not hasattr(call, "__wrapped__") or is_pending(call):
        call.__module__ = "minitorch" + (f".{namespace}" if namespace else "")
    if namespace is None:
        return call
    method = namespace == "" if method is None else method
    if public_name:
        call.__name__ = call.__qualname__ = public_name
    for alias in (public_name or name, *aliases):
        FUNCTIONS[namespace, alias] = Public(call, alias, namespace, method, inplace)
    return call


# ------------------------------------------------------------------ texts of a public function
class Source:
    """The text of a function, generated or written: ``print(minitorch.mul.source)``."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __str__(self):
        return late.source(self.call)

    def __repr__(self):
        return str(self)


class Formula(Source):
    """A function's formula and derivative formulas: ``print(minitorch.mul.formula)``, ``minitorch.mul.explain()``."""

    __slots__ = ()

    def __str__(self):
        return late.formula(self.call)

    def explain(self):
        """The function's formula, its derivative formulas and the values that the graph keeps for them, in words."""
        return Text(late.explain(self.call))


class Text(str):
    """Words that a prompt shows as they are, without quotes."""

    __repr__ = str.__str__
