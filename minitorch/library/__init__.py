"""``torch.library``: operators of the user's own: kernels by device, shapes, derivative formulas, batching rules.

    @torch.library.custom_op("mylib::sin", mutates_args=())
    def sin(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    sin.register_autograd(lambda ctx, g: g * ctx.x.cos(), setup_context=keep_x)

An operator is one node of the graph, whatever its kernel calls. It is also ``torch.ops.mylib.sin``. A compiled function
that calls an operator whose kernel leaves tensors runs eagerly.
"""

from .check import OpCheckError, opcheck
from .operators import OPERATORS, CustomOpDef, operator
from .schema import infer_schema, parse

__all__ = ["CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "impl", "impl_abstract", "infer_schema",
           "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_vmap"]

EVERYWHERE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "default", "")


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make a function an operator; usable as a decorator.

    name: "namespace::name". mutates_args: the names of arguments that it writes to, ``()`` for none, "unknown" for all.
    device_types: the kinds of devices that the function computes on (default: all). schema: ``(Tensor x) -> Tensor``;
        default: what the annotations say. Results must be new memory: return a ``clone()``, not an argument.

    >>> import minitorch
    >>> @minitorch.library.custom_op("docs::doubled", mutates_args=())
    ... def doubled(x: minitorch.Tensor) -> minitorch.Tensor:
    ...     return x * 2
    >>> doubled(minitorch.ones(2)), minitorch.ops.docs.doubled(minitorch.ones(1))
    (tensor([2., 2.]), tensor([2.]))
    """
    if fn is None:
        return lambda fn: custom_op(name, fn, mutates_args=mutates_args, device_types=device_types, schema=schema)
    _checked(name)
    text = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
    made = CustomOpDef(name, parse(text)[1])
    made.__name__, made.__doc__, made._init_fn = fn.__name__, fn.__doc__, fn
    made.register_kernel(device_types, fn)
    return made


def _checked(name):
    """`name`, if it is one of an operator and not taken by one with another meaning."""
    namespace, _, rest = name.partition("::")
    if not (namespace and rest and "::" not in rest):
        raise ValueError(f"the name of an operator is namespace::name, such as mylib::sin, not {name!r}")
    if "." in rest:
        raise ValueError(f"operators have no overloads here: {name!r}")
    return name


def _word(kind):
    """The kind of device that a dispatch key or a type of device names; None: all."""
    if kind in EVERYWHERE:
        return None
    if kind.lower() in ("cpu", "cuda", "meta", "sim"):
        return kind.lower()
    raise NotImplementedError(f"unknown kind of kernel {kind!r}: expected CPU, CUDA, Meta, "
                              "CompositeExplicitAutograd or CompositeImplicitAutograd; derivatives "
                              "are given by register_autograd")


class Library:
    """Operators of one namespace: `define` them by schema, `impl` gives kernels.

    kind: "DEF" (one for a namespace), "FRAGMENT" (further ones), or "IMPL", which only gives kernels.

    >>> import minitorch
    >>> lib = minitorch.library.Library("docs2", "DEF")
    >>> lib.define("scaled(Tensor x, float by=2.0) -> Tensor")
    'scaled'
    >>> lib.impl("scaled", lambda x, by=2.0: x * by, "CompositeExplicitAutograd")
    >>> minitorch.ops.docs2.scaled(minitorch.ones(2), by=3.0)
    tensor([3., 3.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported library type: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Make an operator by its schema, such as ``sin(Tensor x) -> Tensor``; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError("a Library of kind IMPL defines no operators, it only gives kernels")
        (_, name, _), parsed = parse(schema)
        if name is None or f"{self.ns}::{name}" in OPERATORS:
            raise RuntimeError(f"operator {self.ns}::{name} already exists, or has no name: "
                               f"{schema!r}")
        CustomOpDef(f"{self.ns}::{name}", parsed, apart=False)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Let `fn` compute an operator on "CPU", "CUDA", "Meta" or everywhere ("CompositeExplicitAutograd")."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        found = operator(name if "::" in name else f"{self.ns}::{name}")
        kind = _word(dispatch_key or self.dispatch_key)
        if kind == "meta":
            found.register_fake(fn)
        else:
            found.register_kernel(kind, fn)


def define(qualname, schema, *, lib=None, tags=()):
    """Make an operator: ``define("mylib::sin", "(Tensor x) -> Tensor")``; `impl` gives its kernels.

    Called with a function's name alone it is a decorator in PyTorch's older interface, which is not there.
    """
    _checked(qualname)
    namespace, _, name = qualname.partition("::")
    (lib or Library(namespace, "FRAGMENT")).define(f"{name}{schema}")


def impl(qualname, types, func=None, *, lib=None):
    """Let `func` compute an operator on devices of these types: "cpu", "cuda", "default", or a list. A decorator."""
    def register(func):
        for kind in [types] if isinstance(types, str) else types:
            Library(operator(qualname).namespace, "IMPL").impl(qualname, func, kind)
        return func
    return register if func is None else register(func) and None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """`CustomOpDef.register_kernel` of an operator or its name."""
    return operator(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """`CustomOpDef.register_fake` of an operator or its name; a decorator without `func`."""
    found = operator(op)
    return found.register_fake if func is None else found.register_fake(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """`CustomOpDef.register_autograd` of an operator or its name."""
    operator(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op, func=None, /, *, lib=None):
    """`CustomOpDef.register_vmap` of an operator or its name; a decorator without `func`."""
    return operator(op).register_vmap(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """`CustomOpDef.register_autocast` of an operator or its name."""
    operator(op).register_autocast(device_type, cast_inputs)
