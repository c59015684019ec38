"""Batching rules derived from the definitions, by class.

- "elementwise": the op is one of NumPy's elementwise functions, or in `ops/elementwise`. The hidden axis is one more
  leading dimension; arrays of fewer dimensions get some of size 1 behind it.
- "along": one array and an attribute `dim`. Dimensions are counted one further.
- "reference": the reference on batched arrays, whose functions know of the axis.
"""

from types import MethodType

from .array import aligned, wrapped

__all__ = ["class_of", "derived"]


def class_of(op):
    """The class of an op's rule, a word."""
    if op.forward is None or op.forward.__module__.startswith("minitorch.ops.elementwise."):
        return "elementwise"
    arrays = [x for x in op.inputs if x.kind != "number"]
    if len(op.inputs) == 1 and arrays and "dim" in dict(op.attrs) and arrays[0].kind == "tensor" and (
            not op.by_values and op.promotion is not None or op.outputs == 1):
        return "along"
    return "reference"


def derived(F, op, full):
    """The rule of an op on the backend `F`; with `full`, with all that it keeps."""
    return CLASSES[class_of(op)](F, op, full)


def elementwise(F, op, full):
    inner = getattr(F.inner, f"full_{op.name}" if full else op.name)

    if op.forward is None:
        def call(*arrays, **attrs):
            return wrapped(F, inner(*aligned(F, arrays), **attrs))
    else:                                                  # its kernels may take operands to have one shape
        def call(*arrays, **attrs):
            return wrapped(F, inner(*of_one_size(F, aligned(F, arrays)), **attrs))
    call.lean = True
    return call


def of_one_size(F, arrays):
    """Values of equally many dimensions with hidden axes of one size."""
    sizes = {x.shape[0] for x in arrays if hasattr(x, "ndim") and x.ndim}
    if len(sizes) < 2:
        return arrays
    n = max([x.ndim for x in arrays if hasattr(x, "ndim")])
    size, broadcast_to = F.size, F.inner.xp.broadcast_to
    return [broadcast_to(x, (size, *x.shape[1:])) if hasattr(x, "ndim") and x.ndim == n and x.shape[0] != size else x
            for x in arrays]


def reference(F, op, full):
    if op.xp_name:
        return getattr(F.xp, op.xp_name)
    return MethodType(op.forward, F)


CLASSES = {"elementwise": elementwise, "along": reference, "reference": reference}
