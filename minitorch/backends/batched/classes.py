"""Batching rules derived from the definitions, by class.

The column `dims` of a definition says which (`ops/dims.py`):

- "elementwise": the op is. The hidden axis is one more leading dimension; arrays of fewer
  dimensions get some of size 1 behind it.
- "along": one array and an attribute `dim`. Dimensions are counted one further.
- "labelled": others with that column. The labels of a call say how (`ways.py`).
- "reference": views, which take one method of the array, and ops without that column. The reference
  runs on batched arrays, whose functions know of the axis.
"""

from functools import cache

from ...core.backend import result_only
from ...core.errors import checked_dim, worded
from ...ops.dims import is_along, is_elementwise, is_leading
from ...utils._pytree import tree_map
from .array import NoStrides, Unbatched, aligned, wrapped
from .loop import run
from .ways import by_labels

__all__ = ["class_of", "derived", "without_strides"]


def class_of(op):
    """The class of an op's rule, a word."""
    if is_elementwise(op) or is_leading(op):
        return "elementwise"
    if is_along(op):
        return "along"
    return "reference" if op.dims is None or op.view else "labelled"


def derived(op, full, general=None):
    """The rule of an op, a function of the backend and what the op takes; with `full`, it returns
    all that is kept. `general`: one written by hand, for all that does not follow from `dims`."""
    by_hand, general = general, general or CLASSES[class_of(op)](op, full)
    if class_of(op) != "labelled" or full and op.keeps and by_hand:
        return general
    return by_labels(op, full, general)


@cache
def without_strides(op, full):
    """The rule of a view of arrays that do not lie in one memory."""
    return by_labels(op, full, lambda F, *arrays, **attrs: run(
        F, op, full, arrays, attrs, NoStrides("vmap: the array has no strides")))


def elementwise(op, full):
    name = f"full_{op.name}" if full else op.name
    if op.forward is None:
        def call(F, *arrays, out=None, **attrs):
            if out is not None:
                return written(F, out, call(F, *arrays, **attrs))
            return wrapped(F, getattr(F.inner, name)(*aligned(F, arrays), **attrs))
    else:                                                  # its kernels may take operands to have one shape
        def call(F, *arrays, **attrs):
            return wrapped(F, getattr(F.inner, name)(*of_one_size(F, aligned(F, arrays)), **attrs))
    return call


def written(F, out, result):
    """The array `out`, of a tensor, with `result` written to it. RuntimeError if there is memory
    for one element only: a loop would write all of them to that."""
    try:
        F.xp.copyto(out, result, casting="unsafe")
    except Unbatched as error:
        raise worded(RuntimeError(*error.args)) from None
    return out


def of_one_size(F, arrays):
    """Values of equally many dimensions with hidden axes of one size."""
    sizes = {x.shape[0] for x in arrays if hasattr(x, "ndim") and x.ndim}
    if len(sizes) < 2:
        return arrays
    n = max([x.ndim for x in arrays if hasattr(x, "ndim")])
    size, broadcast_to = F.size, F.inner.xp.broadcast_to
    return [broadcast_to(x, (size, *x.shape[1:])) if hasattr(x, "ndim") and x.ndim == n and x.shape[0] != size else x
            for x in arrays]


def along(op, full):
    """An op of one array along `dim`: None, (), an int or a tuple."""
    name, default = f"full_{op.name}" if full else op.name, dict(op.attrs)["dim"]

    def call(F, input, **attrs):
        x, dim, keepdim = input.value, attrs.get("dim", default), attrs.get("keepdim", False)
        inner, n = getattr(F.inner, name), input.ndim
        if dim.__class__ is bool:                          # ``x.var(True)``: `unbiased`
            return op.forward(F, input, **attrs)
        if dim is None or dim.__class__ in (tuple, list) and not dim:
            found = inner(x.reshape((x.shape[0], input.size)), **{**attrs, "dim": 1})
            return shaped(F, found, (1,) * n if keepdim else ()) if n != 1 else wrapped(F, found)
        several = dim.__class__ in (tuple, list)
        dims = tuple([checked_dim(d, n) + 1 for d in dim]) if several else checked_dim(dim, n) + 1
        if not n:
            return shaped(F, inner(x.reshape((x.shape[0], 1)), **{**attrs, "dim": 1}), ())
        return wrapped(F, inner(x, **{**attrs, "dim": dims}))
    return call


def shaped(F, result, shape):
    """A result, or each of several, in another shape."""
    return tree_map(lambda y: y.reshape(shape), wrapped(F, result))


def reference(op, full):
    if op.xp_name:
        return lambda F, *arrays, **attrs: getattr(F.xp, op.xp_name)(*arrays, **attrs)
    return result_only(op.forward) if op.keeps and not full else op.forward


CLASSES = {"elementwise": elementwise, "along": along, "labelled": reference,
           "reference": reference}
