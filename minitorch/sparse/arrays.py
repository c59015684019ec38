"""`SparseArray`: what a sparse tensor has in the place of NumPy's array, a pattern and a raw array of values.

The engine adds gradients up and gives them to hooks and leaves without knowing what they are: a sparse one knows how it
is added to another and to an array.
"""

from math import prod
from typing import Any

import numpy as np

from ..extend import FunctionNode
from .patterns import Pattern

__all__ = ["NoElements", "SparseArray", "densified", "joined"]


class NoElements(NotImplementedError, AttributeError):
    """Something asks for elements that a sparse array does not have."""


class SparseArray(np.lib.mixins.NDArrayOperatorsMixin):
    """The entries of a sparse tensor: their `pattern`, and `values`, an array (entries, *dense sizes)."""

    base = strides = None                                  # it is nobody's view and has no strides
    __hash__ = object.__hash__                             # type: ignore[assignment]
    as_tensor: Any = None                                  # the leaf around it that `core.tensor.wrap` asks for

    def __init__(self, pattern, values):
        self.pattern, self.values = pattern, values
        self.shape = pattern.sizes + values.shape[1:]

    dtype = property(lambda self: self.values.dtype)
    itemsize = property(lambda self: self.values.dtype.itemsize)
    nbytes = property(lambda self: self.values.nbytes)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))

    def astype(self, dtype):
        """The same entries with their values as `dtype`."""
        return SparseArray(self.pattern, self.values.astype(dtype))

    def item(self):
        """The only element, as a Python number."""
        return densified(self).item()

    def copy(self, *order):
        """The same pattern with values of its own; no order of elements."""
        return self.refuse() if order else SparseArray(self.pattern, self.values.copy())

    def fill(self, value):
        """Forget all entries; only 0 can fill a sparse array."""
        if value:
            raise RuntimeError("a sparse tensor can be filled with 0 only")
        self.pattern = emptied(self.pattern)
        self.values = self.values[:0].copy()

    def sent_to(self, parent):
        """This gradient as a graph node takes it: an array, for all but leaves and functions of tensors."""
        takes_it = not parent.parents or isinstance(parent.parents[0], FunctionNode)
        return self if takes_it else densified(self)

    def refuse(self, *args, **options):
        """Raise `NoElements`; an op that a function without an answer calls does so, too."""
        raise NoElements("sparse tensors have no array of all elements: `x.to_dense()` has one")

    def __array_function__(self, function, types, args, kwargs):
        if function is np.shares_memory or function is np.may_share_memory:
            return args[0] is args[1]
        return self.refuse()

    __array__ = __getitem__ = __setitem__ = refuse
    __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = refuse
    __getattr__ = refuse

    # -- sums of gradients -----------------------------------------------------------------------------------
    def __add__(self, other):
        if isinstance(other, SparseArray):
            return joined(self, other)
        return other + self                                # an array, which asks `__array_ufunc__`

    __iadd__ = __add__                                     # a sum of its own

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        """``array + sparse`` and ``array += sparse``: an array; which values are finite or NaN."""
        # questions of anomaly mode, which hold of zeros or do not
        if ufunc in (np.isfinite, np.isnan, np.isinf) and not out:
            return ufunc(self.values)
        dense = inputs[0] if inputs[1] is self else inputs[1]
        if ufunc is not np.add or method != "__call__" or not isinstance(
                dense, self.pattern.F.ndarray):
            self.refuse()
        if out is not None:
            add_into(out[0], self)
            return out[0]
        return add_into(dense.astype(np.result_type(dense, self.values), copy=True), self)

    def __radd__(self, other):
        return add_into(other.copy(), self)


def emptied(pattern):
    """A pattern of the same layout and sizes without entries."""
    xp = pattern.F.xp
    if pattern.layout == "sparse_coo":
        return Pattern(pattern.F, pattern.sizes, indices=xp.zeros((len(pattern.sizes), 0), "int64"), coalesced=True)
    return Pattern(pattern.F, pattern.sizes, layout=pattern.layout, compressed=pattern.compressed * 0,
                   plain=pattern.plain[:0])


def joined(a, b):
    """The sum of two sparse arrays: in the pattern that they share, merged if both are in order, else one after the
    other; two of a compressed layout stay in it."""
    if a.shape != b.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != "
                           f"{list(b.shape)}")
    pattern, F = a.pattern, a.pattern.F
    if pattern is b.pattern:
        return SparseArray(pattern, a.values + b.values)
    if len(pattern.sizes) != len(b.pattern.sizes):
        raise RuntimeError(f"add: expected 'self' and 'other' to have same number of sparse dimensions, but "
                           f"{len(pattern.sizes)} != {len(b.pattern.sizes)}")
    indices = F.xp.concatenate([pattern.indices, b.pattern.indices], 1)
    both = SparseArray(Pattern(F, pattern.sizes, indices=indices), F.xp.concatenate([a.values, b.values]))
    if pattern.layout == "sparse_coo" and not (pattern.coalesced and b.pattern.coalesced):
        return both
    both = coalesced(both)
    if pattern.layout == "sparse_coo":
        return both
    found, order = both.pattern.compressed_as(pattern.layout)
    return SparseArray(found, both.values if order is None else both.values[order])


def coalesced(array):
    """The array with each place once, in order: the values at one place are added up."""
    if array.pattern.coalesced:
        return array
    pattern, place, _ = array.pattern.merged
    return SparseArray(pattern, summed(array.pattern.F, array.values, place, pattern.nnz))


def summed(F, values, place, n):
    """(n, ...): the sums of the values that go to each place."""
    flat = values.reshape(len(values), prod(values.shape[1:]))
    if values.dtype.kind == "b":
        return F.segment_sum(flat.astype("uint8"), place, n=n).astype(bool).reshape(n, *values.shape[1:])
    return F.segment_sum(flat, place, n=n).reshape(n, *values.shape[1:])


def rows_of(array, sparse_dims):
    """An array with its first dimensions as one."""
    return array.reshape(prod(array.shape[:sparse_dims]), *array.shape[sparse_dims:])


def densified(array):
    """All elements of a sparse array, as an array."""
    pattern, F = array.pattern, array.pattern.F
    if not pattern.once:
        array = coalesced(array)
        pattern = array.pattern
    out = F.xp.zeros((pattern.numel, *array.values.shape[1:]), array.dtype)
    out[pattern.keys] = array.values
    return out.reshape(array.shape)


def add_into(out, array):
    """Add a sparse array to an array, in place; returns the array."""
    if not array.pattern.once:
        array = coalesced(array)
    if out.shape != array.shape:
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(out.shape)} "
                           f"while other has size {list(array.shape)} (FYI: dense-sparse addition does not currently "
                           "support broadcasting)")
    out[tuple(array.pattern.indices)] += array.values
    return out
