"""How tests call a definition on inputs that are drawn for it, and find the tensors in its result."""

from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor


def definitions_with_inputs():
    """The definitions whose inputs can be drawn: those with a sample, or without a variadic input."""
    return [op for op in OPS.values() if op.sample or not any(x.kind == "variadic" for x in op.inputs)]


def outputs_of(op, inputs, attrs):
    """The tensors that a definition's recorded call gives; its inputs are one list where it takes any number."""
    return tensors_in(op.call(list(inputs), **attrs) if op.inputs[0].kind == "variadic" else op.call(*inputs, **attrs))


def tensors_in(out):
    """The tensors in a result, which is one or several in a row."""
    return [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, Tensor)]


def each(function, x):
    """`function` of what is in nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        items = [each(function, v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return function(x)
