"""Checks before a write: elements of the target that share memory, and inputs that overlap it."""

import numpy as np

from .arrays import owner, pointer
from .registry import OPS
from .tensor import wrap

__all__ = ["consistent", "extent", "may_overlap", "overlaps", "require_apart", "require_consistent",
           "require_no_overlap", "shared_memory"]


def may_overlap(a, b):
    """True if the memory of two arrays may overlap. It is always True for arrays of a device, about
    which NumPy cannot tell."""
    return (not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray))
            or np.may_share_memory(a, b))


def overlaps(array):
    """True if elements of an array share memory, as in an expanded tensor."""
    if not array.size:
        return False
    steps = sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1)
    reach = 0
    for stride, n in steps:
        if stride <= reach:
            return True
        reach += stride * (n - 1)
    return False


def require_no_overlap(array):
    """RuntimeError if elements of an array that will be written to share memory."""
    if not array.flags.forc and overlaps(array):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor "
                           "refers to a single memory location. Please clone() the tensor before "
                           "performing the operation.")


def consistent(array, result, repeated):
    """The tensor `result`, which is about to be written to `array`. RuntimeError if elements that
    share memory would get different values.

    In the tensor returned, only the last of such elements has a gradient: the memory holds the
    value of one of them.
    """
    require_consistent(array, result.array, repeated)
    if not result.needs_grad or not overlaps(array):
        return result
    places = sum([(result.backend.xp.arange(n) * step).reshape((n,) + (1,) * (array.ndim - i - 1))
                  for i, (n, step) in enumerate(zip(array.shape, array.strides))])
    order = result.backend.xp.arange(array.size).reshape(array.shape)
    last = result.backend.xp.zeros(int(places.max()) + 1, "int64")
    last[places.ravel()] = order.ravel()
    return OPS["where"].call(wrap(last[places] == order, result.backend), result, result.detach())


def require_consistent(array, values, repeated):
    """RuntimeError unless elements of `array` that share memory would get equal `values`.

    An expanded tensor is refused unless `repeated`. PyTorch checks expanded tensors only; in other
    overlapping views its result depends on the order in which it visits the elements.
    """
    if not array.flags.forc and overlaps(array):
        expanded = any(not step and n > 1 for n, step in zip(array.shape, array.strides))
        if expanded and not repeated or not agree(array, values):
            require_no_overlap(array)


def agree(array, values):
    """True if every element of an array that overlaps itself still has its value after `values`
    are written to it. The array is restored."""
    before = array.copy()
    array[...] = values
    kept = array.copy()
    array[...] = before
    values = values.astype(array.dtype)
    return bool(((kept == values) | (values != values)).all())


def steps(array):
    """Size and stride of each dimension but those of size 1, whose stride has no effect."""
    return [(n, step) for n, step in zip(array.shape, array.strides) if n != 1]


def require_apart(target, *sources):
    """RuntimeError if a source of a write (a tensor) partly overlaps the memory of the target.

    As in PyTorch, arrays with gaps or repeated elements pass. That is safe, because all values are
    computed before the first is written.
    """
    for x in sources:
        source = getattr(x, "array", target)
        if (source is target or (source.base is None and target.base is None)
            or not may_overlap(source, target) or owner(source) is not owner(target)):
            continue
        a, b = extent(target), extent(source)
        if a and b and a[0] < b[1] and b[0] < a[1] and (a != b or steps(source) != steps(target)):
            raise shared_memory()


def shared_memory():
    """The error for an input that overlaps the memory that is written to."""
    return RuntimeError("unsupported operation: some elements of the input tensor and the "
                        "written-to tensor refer to a single memory location. Please clone() the "
                        "tensor before performing the operation.")


def extent(array):
    """The addresses at which the memory of an array begins and ends; None if its elements leave
    gaps or repeat."""
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides)) + array.itemsize
    if array.size and reach == array.nbytes and (array.flags.forc or not overlaps(array)):
        return pointer(array), pointer(array) + reach
