"""Memory that is written to: elements that share it, and inputs that lie in it."""

import numpy as np

from .arrays import owner, pointer
from .registry import OPS
from .tensor import wrap

__all__ = ["consistent", "extent", "may_overlap", "overlaps", "require_apart", "require_consistent",
           "require_no_overlap", "shared_memory"]


def may_overlap(a, b):
    """Whether two arrays lie in one stretch of memory; True also for arrays of a device, which
    NumPy cannot ask."""
    return (not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray))
            or np.may_share_memory(a, b))


def overlaps(array):
    """Whether elements share memory, as those of an expanded tensor do."""
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
    """RuntimeError if elements that are to be written share memory."""
    if not array.flags.forc and overlaps(array):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor "
                           "refers to a single memory location. Please clone() the tensor before "
                           "performing the operation.")


def consistent(array, result, repeated):
    """`result`, the tensor that is to be written to `array`: RuntimeError if elements that share
    memory would differ.

    Of such elements only the last one has a gradient in the tensor returned, since memory holds one
    of them.
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
    """RuntimeError unless elements of `array` that share memory are to be given equal `values`.

    Elements of expanded tensors may be written at all only if `repeated`. PyTorch looks at expanded
    tensors only; what it computes in windows that overlap otherwise depends on the order in which
    it visits the elements.
    """
    if not array.flags.forc and overlaps(array):
        expanded = any(not step and n > 1 for n, step in zip(array.shape, array.strides))
        if expanded and not repeated or not agree(array, values):
            require_no_overlap(array)


def agree(array, values):
    """Whether all elements of an array that overlaps itself keep the `values` written to it; it is
    left as it was."""
    before = array.copy()
    array[...] = values
    kept = array.copy()
    array[...] = before
    values = values.astype(array.dtype)
    return bool(((kept == values) | (values != values)).all())


def steps(array):
    """Size and stride of the dimensions that lead anywhere: one of size 1 is not seen in memory."""
    return [(n, step) for n, step in zip(array.shape, array.strides) if n != 1]


def require_apart(target, *sources):
    """RuntimeError if a source of a write (a tensor) lies in the memory of the target, but not in
    the same places.

    As in PyTorch, where either has gaps or repeats elements they are taken to be apart: all values
    are computed before the first is written.
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
    """The error about an input in the memory that is written to."""
    return RuntimeError("unsupported operation: some elements of the input tensor and the "
                        "written-to tensor refer to a single memory location. Please clone() the "
                        "tensor before performing the operation.")


def extent(array):
    """Where the memory of an array begins and ends, if its elements fill it without gaps and
    repetition."""
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides)) + array.itemsize
    if array.size and reach == array.nbytes and (array.flags.forc or not overlaps(array)):
        return pointer(array), pointer(array) + reach
