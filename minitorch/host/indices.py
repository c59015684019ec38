"""Translation of indices: everything that PyTorch takes between the brackets of ``x[...]``, as NumPy takes it.

No op definitions: those that read and write by such indices are in `ops/indexing/index.py`.
"""

import numpy as np

from ..core.tensor import Tensor
from ..explain.callers import warn

__all__ = ["ALL", "is_array", "parse"]

ALL = slice(None)


def parse(x, item):
    """An index in two steps, as PyTorch takes it: first the views (basic), then the arrays (or None).

    Integers select before index arrays do: ``x[0, :, [1, 2]]`` is ``x[0][:, [1, 2]]``, where NumPy would broadcast
    the 0 as an array and move its dimension to the front.
    """
    if item.__class__ is int and x.array.ndim:
        return (item,), None
    if item.__class__ is tuple and 0 < len(item) <= x.array.ndim and all([p.__class__ is int for p in item]):
        return item, None
    parts = [clean(p, x.backend) for p in as_parts(item)]
    used = sum([n_dims(p) for p in parts])
    if len(parts) > 1 and sum(p is Ellipsis for p in parts) > 1:
        parts = with_one_ellipsis(parts, x.array.ndim - used)
    if used > x.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.array.ndim}")
    if not any(map(is_array, parts)):
        return tuple(parts), None
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    basic, advanced = in_two_steps(parts, x.array.ndim - used, x.array.shape)
    while advanced[-1] is ALL:
        advanced.pop()
    return (None if all(b is ALL for b in basic) else tuple(basic)), tuple(advanced)


def in_two_steps(parts, left, shape):
    """The views among the parts of an index, and the arrays; Ellipsis is `left` dimensions."""
    basic, advanced = [], []
    for p in parts:
        if p is Ellipsis:
            basic += [ALL] * left
            advanced += [ALL] * left
        elif is_array(p):
            if 0 in p.shape and p.dtype == bool:           # NumPy lets them through, whatever they lie on
                check_mask(p.shape, shape, sum([b is not None for b in basic]))
            basic += [ALL] * n_dims(p) or [None]
            advanced.append(p if n_dims(p) else p.reshape(1))
        else:
            basic.append(p)
            advanced += [] if p.__class__ is int else [ALL]
    return basic, advanced


def check_mask(mask, shape, dim):
    """IndexError if a mask of the shape `mask` does not fit the dimensions of `shape` from `dim` on."""
    for d, (n, size) in enumerate(zip(mask, shape[dim:])):
        if n != size:
            raise IndexError(f"The shape of the mask {list(mask)} at index {d} does not match the shape of the indexed "
                             f"tensor {list(shape)} at index {dim + d}")


def as_parts(item):
    """The index between the brackets as a sequence of parts, one or more for each dimension."""
    if isinstance(item, tuple):
        return item
    if isinstance(item, list) and len(item) < 32 and any(isinstance(i, PARTS) for i in item):
        warn("Using a non-tuple sequence for multidimensional indexing is deprecated: a list of lists, of "
             "tensors or of slices is treated as a tuple. Use x[tuple(seq)] instead of x[seq], or "
             "x[torch.tensor(seq)] to index dimension 0 with all of it.")
        return item
    return (item,)


PARTS = (list, tuple, range, Tensor, np.ndarray, slice, type(None), type(...))


def with_one_ellipsis(parts, left):
    """The parts without further Ellipses, which PyTorch takes where they stand for nothing.

    Each stands for the `left` dimensions that no other part uses: behind the second one there are none any more.
    """
    first, second = [i for i, p in enumerate(parts) if p is Ellipsis][:2]
    if left and any(p is not Ellipsis for p in parts[second:]):
        raise IndexError("an index can only have a single ellipsis ('...') before other parts: put one of them")
    return [p for i, p in enumerate(parts) if p is not Ellipsis or i == first]


def is_array(part):
    """True if a part is an array of any backend, not an int, a slice, None or Ellipsis."""
    return hasattr(part, "ndim")


def n_dims(part):
    """How many dimensions of the tensor a part uses up."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_array(part) and part.dtype == bool else 1


INDEX_DTYPES = tuple(map(np.dtype, ("int64", "int32", "uint8", "bool")))


def clean(part, backend):
    """One part of an index: an int, a slice, None, Ellipsis, or the backend's array of integers or bools."""
    if part is None or part is Ellipsis or part.__class__ is int:
        return part
    if isinstance(part, slice):
        return clean_slice(part)
    if isinstance(part, (bool, np.bool_)):
        return backend.from_host(np.array(bool(part)))
    if isinstance(part, (Tensor, np.ndarray, list, tuple, range)):
        return clean_array(part, backend)
    if hasattr(part, "__index__"):
        return part.__index__()
    raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                     f"indices (got {type(part).__name__})")


def clean_array(part, backend):
    """A tensor, array or sequence as the backend's array of integers or bools; an int if 0-d."""
    array, is_tensor = array_of(part, backend), isinstance(part, Tensor)
    if array.ndim == 0 and array.dtype.kind in "iu":
        return array if is_tensor and part.backend.depth else int(array)
    if array.dtype.kind not in "iub" or is_tensor and array.dtype not in INDEX_DTYPES:
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not "
                         f"{part.dtype if is_tensor else array.dtype}")
    if array.dtype == np.uint8:
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        array = array.astype(bool)
    if array.__class__ is not backend.ndarray:
        array = backend.asarray(array) if is_tensor else backend.from_host(array)
    return array if backend.level is None else backend.detached(array)[0]  # without tangents


def array_of(part, backend):
    """The array of a tensor, on the backend's device, of a NumPy array, or made of a sequence."""
    if isinstance(part, Tensor):
        return part.array if part.backend is backend else part.to(backend.device).array
    if isinstance(part, np.ndarray):
        return part
    if not isinstance(part, range):
        part = [p.tolist() if isinstance(p, Tensor) else p for p in part]
    array = np.asarray(part)
    return array if array.size else array.astype(np.int64)


def clean_slice(s):
    """A slice with plain bounds; PyTorch knows no negative step."""
    start, stop, step = (p if p is None or p.__class__ is int else p.__index__() for p in (s.start, s.stop, s.step))
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero: use flip() to reverse a dimension")
    return slice(start, stop, step)
