"""The functions that users call: generated from the definitions, and compiled on their first call.
"""

import inspect
import linecache
from types import FunctionType

import numpy as np

from . import call, dtypes, graph
from .complex import ComplexMultiOutputNode, ComplexNode
from .grad_mode import grad_mode, mixed_precision
from .graph import MultiOutputNode, Node, OutputNode
from .layouts import LAID_OUT
from .older import older
from .ranges import number_of
from .recording import recorded, restored, tied
from .template import takes_out, write_call, write_pull
from .tensor import Tensor, mark_view
from .typed import TypedMultiOutputNode, TypedNode

__all__ = ["NUMBERS", "compile_call", "deferred"]


# The types of Python numbers that a `Number` input may have in the fast call.
NUMBERS = frozenset({int, float})
f32, f64, i32, i64 = map(np.dtype, ("float32", "float64", "int32", "int64"))

# The names that generated code may use. `graph` is the module, because its `version_counter` and
# `node_hooks` are rebound.
NAMES = dict(Tensor=Tensor, new=object.__new__, mark_view=mark_view, laid_out=LAID_OUT, graph=graph,
             grad_mode=grad_mode, Node=Node, MultiOutputNode=MultiOutputNode, OutputNode=OutputNode,
             TypedNode=TypedNode, TypedMultiOutputNode=TypedMultiOutputNode,
             ComplexNode=ComplexNode, ComplexMultiOutputNode=ComplexMultiOutputNode,
             recorded=recorded, restored=restored, tied=tied, general=call.general,
             cast_first=call.cast_first, failed=call.failed, unsupported=call.unsupported,
             older=older, number_of=number_of, autocast=mixed_precision, autocast_call=call.autocast_call,
             NUMBERS=NUMBERS,
             SCALARS=frozenset({*np.sctypeDict.values(), Tensor}), f32=f32, f64=f64, i32=i32,
             i64=i64, as_np=dtypes.as_np, asarray=np.asarray, required=inspect.Parameter.empty)


def compile_call(op):
    """Generate the function that users call, as `dataclasses` generates an ``__init__``.

    Its source is written out for each op instead of looping over ``*inputs``: so it has a real
    signature and half the cost. ``print(op.source)`` shows it. One template gives two functions:
    the one that users call, for float32 or float64 on one device, and ``op.bare``, for all other
    inputs once `minitorch/core/call.py` has converted them. Each is compiled on its first call.
    """
    vjps = {f"vjp_{x}": r for x, r in op.vjps.items()}
    op.pull = deferred("pull", f"<minitorch gradient of {op.name}>", lambda: write_pull(op),
                        vjps | {"op": op, "joint": op.joint, "together": op.together})
    op.bare = deferred(op.name, f"<minitorch op {op.name}, any dtype>",
                       lambda: write_call(op, bare=True), {"op": op})
    call = op.call = deferred(op.name, f"<minitorch op {op.name}>",
                              lambda: write_call(op, bare=False), {"op": op})
    call.__doc__, call.op = op.__doc__, op
    call.__signature__ = public_signature(op)
    # formulas call F.cat(*pieces)
    spread = (lambda *t, **attrs: call(t, **attrs)) if op.variadic else call
    setattr(recorded, op.name, staticmethod(spread))
    return call


def public_signature(op):
    P = inspect.Parameter
    parameters = [P(x.name, P.POSITIONAL_OR_KEYWORD, default=None if x.optional else P.empty)
                  for x in op.inputs]
    parameters += [P(k, P.POSITIONAL_OR_KEYWORD, default=d) for k, d in op.attrs]
    if takes_out(op):
        parameters.append(P("out", P.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters, __validate_parameters__=False)


def stub(*args, **kwargs):
    return load()(*args, **kwargs)                         # noqa: F821  (see `deferred`)


def deferred(name, filename, write, scope):
    """A function whose source is written and compiled on its first call.

    Otherwise the import would spend most of its time compiling ops that the program never calls.
    The function starts with the code of `stub`; the first call replaces that code in the same
    object, so all references to the function see the change.
    """
    namespace = {"__name__": "minitorch.generated"}
    function = FunctionType(stub.__code__, namespace, name)
    function.__qualname__ = name                           # pickle finds functions by it

    def load():
        source = write()
        namespace.update(NAMES, **scope)
        exec(compile(source, filename, "exec"), namespace, own := {})
        made = own[name]           # from a dict of this call: two threads may call at once
        linecache.cache[filename] = (len(source), None, [line + "\n"
                                                         for line in source.splitlines()], filename)
        target = namespace.get("target", function)     # `autograd.dispatch` may have set another
        target.__defaults__, target.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        target.__code__ = made.__code__
        return target

    namespace["load"] = load
    return function
