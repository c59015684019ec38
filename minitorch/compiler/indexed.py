"""Lowering of reading and writing by indices: ``x[i]``, ``x[i] = y``, gather, scatter, index_select
and their kin.

All of them look up elements of an array: for each element of a kernel, the address is given by the
strides of its dimensions plus offsets that are read from memory. These indices are checked where
they are read, so that no write goes past an array's end; the references check by reading the
values, and so cannot be traced. An element that is written several times is written in the order of
the indices, as by NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..extend import is_half, is_inexact
from .items import CALL, OP, NoLowering, lowers
from .loops import AT, Effect, Kernel, Ref
from .program import Value

__all__ = ["ELEMENT", "FLAT", "Indexed", "Lookup", "PROBABILITY"]

# the errors of gather, of ``x[i]``, of take, and of a value that is not a probability
ELEMENT, SLICE, FLAT, PROBABILITY = 3, 4, 5, 6
I64 = np.dtype(np.int64)


class Lookup(NamedTuple):
    """Numbers that an index array gives along a dimension of `size`, whose elements are `stride`
    apart.

    `strides` are those of the index for the dimensions of a kernel. `check` is the function of C:
    "element" takes numbers from 0 on, "wrapped" negative ones too. `kind` is the error, `dim` the
    dimension that it names.
    """

    index: Value  # type: ignore[assignment]              # not tuple's method
    strides: tuple
    size: int
    stride: int
    check: str = "element"
    kind: int = SLICE
    dim: int = 0


class Indexed:
    """A part of `Lowering`."""

    # -- what all of them do -----------------------------------------------------------------------
    def looked_up(self, kernel, ref, lookups):
        """Where the elements of a ref lie: the ref, and how much further on than it says."""
        if not lookups or 0 in kernel.dims:
            raise NoLowering("nothing is looked up")
        found = None
        for look in lookups:
            if look.index.dtype.kind != "i" or look.index.dtype.itemsize < 4 or not look.size:
                raise NoLowering("indices of another kind")
            number = kernel.load(self.ref(look.index).moved(look.strides))
            check = look.check, look.size, look.kind + 8 * look.dim
            node = kernel.add("index", [number], I64, value=check)
            if look.stride != 1:
                node = kernel.apply("multiply", node, kernel.const(look.stride, I64))
            found = node if found is None else kernel.apply("add", found, node)
        return ref, found

    def picked(self, name, dims, to, ref, lookups):
        """``to = x[...]``, from the ref of `x` and its lookups: a kernel over the result."""
        if 0 in dims:
            return []
        kernel = Kernel(tuple(dims) or (1,), name)
        ref, further = self.looked_up(kernel, ref, lookups)
        level = "e" if "e" in (further.level, kernel.level(ref)) else "r"
        x = kernel.add("gather", [further], ref.dtype, level=level, ref=ref)
        kernel.store(to, x)
        return [kernel]

    def put_at(self, name, dims, ref, lookups, x, how="put"):
        """``x[...] = y``, or another of `AT`: a kernel over the indices, in their order."""
        if 0 in dims:
            return []
        number = not isinstance(x, Value)
        check_put(how, ref, lookups, None if number else x)
        kernel = Kernel(tuple(dims) or (1,), name)
        ref, further = self.looked_up(kernel, ref, lookups)
        node = x if number or self.is_number(x) else kernel.load(self.ref(x, kernel.dims))
        kernel.effects.append(Effect(how, ref, self.operand(kernel, node, ref.dtype), further))
        return [kernel]

    def changed(self, x, out, how, change):
        """Make `out` a copy of `x`, or zeros if that is None, and apply `change` to it.

        16-bit floats are added up in float32.
        """
        wide = how != "put" and is_half(out.dtype)
        target = Value("made", np.empty(out.shape, np.float32)) if wide else out
        items = self.fill(target, 0) if x is None else self.copied(x, target)
        return [*items, *change(target), *(self.copied(target, out) if wide else [])]

    @staticmethod
    def is_number(x):
        return x.kind == "constant" and x.example.size == 1

    def along(self, v, dims, axis):
        """A ref of a value for the dimensions `dims` that stays where it is along one of them."""
        if len(v.shape) != len(dims) or not dims:
            raise NoLowering("shapes")
        r = self.ref(v)
        return r.moved([0 if d == axis else s for d, s in enumerate(r.strides)]), r.strides[axis]

    # -- an index for every element ----------------------------------------------------------------
    def elements(self, v, index, dim):
        """The ref of ``v[..., index, ...]`` and its lookup.

        The index has as many dimensions, none of them larger but `dim`.
        """
        dims, axis = index.shape, dim % max(len(index.shape), 1)
        if any(n > m for d, (n, m) in enumerate(zip(dims, v.shape)) if d != axis):
            raise NoLowering("shapes")
        ref, stride = self.along(v, dims, axis)
        strides = self.ref(index).strides
        return ref, [Lookup(index, strides, v.shape[axis], stride, kind=ELEMENT, dim=axis)]

    @lowers(OP, "gather")
    def op_gather(self, i, x, index, *, dim):
        out = self.ref(i.results[0], index.shape or (1,))
        return self.picked("gather", index.shape, out, *self.elements(x, index, dim))

    @lowers(OP, "gather_backward")
    def op_gather_backward(self, i, grad, index, *, shape, dim):
        out = i.results[0]
        if grad.shape != index.shape:
            raise NoLowering("shapes")
        return self.changed(None, out, "add", lambda out: self.put_at(
            "gather_backward", index.shape, *self.elements(out, index, dim), grad, "add"))

    @lowers(OP, "scatter")
    def op_scatter(self, i, x, index, src, *, dim, how="put"):
        out = i.results[0]
        if how != "put" and src.shape != index.shape:
            raise NoLowering("shapes")
        return self.changed(x, out, how, lambda out: self.put_at(
            i.what, index.shape, *self.elements(out, index, dim), src, how))

    @lowers(OP, "scatter_add")
    def op_scatter_add(self, i, x, index, src, *, dim):
        return self.op_scatter(i, x, index, src, dim=dim, how="add")

    @lowers(OP, "scatter_reduce_prod")
    def op_scatter_reduce_prod(self, i, x, index, src, *, dim):
        return self.op_scatter(i, x, index, src, dim=dim, how="multiply")

    @lowers(OP, "scatter_reduce_extremum")
    def op_scatter_reduce_extremum(self, i, x, index, src, *, dim, name):
        return self.op_scatter(i, x, index, src, dim=dim, how=name)

    @lowers(CALL, "take_along_axis")
    def np_take_along_axis(self, i, x, index, axis):
        ref, (look,) = self.elements(x, index, axis)
        look = look._replace(check="wrapped", kind=SLICE)
        out = self.ref(i.results[0], index.shape)
        return self.picked("take_along_axis", index.shape, out, ref, [look])

    @lowers(CALL, "put_along_axis")
    def np_put_along_axis(self, i, x, index, values, axis):
        ref, (look,) = self.elements(x, index, axis)
        look = look._replace(check="wrapped", kind=SLICE)
        return self.put_at("put_along_axis", index.shape, ref, [look], values)

    # -- an index for every slice ------------------------------------------------------------------
    def slices(self, v, index, dim):
        """The dimensions of ``v``'s slices that a vector names, their ref and their lookup."""
        if not v.shape or len(index.shape) > 1:
            raise NoLowering("shapes")
        axis = dim % len(v.shape)
        dims = tuple(index.example.size if d == axis else n for d, n in enumerate(v.shape))
        step = self.ref(index).strides[0] if index.shape else 0
        ref, stride = self.along(v, dims, axis)
        strides = tuple(step if d == axis else 0 for d in range(len(dims)))
        return dims, ref, [Lookup(index, strides, v.shape[axis], stride, dim=axis)]

    @lowers(OP, "index_select")
    def op_index_select(self, i, x, index, *, dim):
        dims, ref, lookups = self.slices(x, index, dim)
        return self.picked("index_select", dims, self.ref(i.results[0], dims), ref, lookups)

    def into_slices(self, i, out, index, dim, src, how):
        dims, ref, lookups = self.slices(out, index, dim)
        if isinstance(src, Value) and src.shape not in (dims, ()):
            raise NoLowering("shapes")
        return self.put_at(i.what, dims, ref, lookups, src, how)

    @lowers(OP, "index_select_backward")
    def op_index_select_backward(self, i, grad, index, *, shape, dim):
        return self.changed(None, i.results[0], "add", lambda out: self.into_slices(
            i, out, index, dim, grad, "add"))

    @lowers(OP, "index_add")
    def op_index_add(self, i, x, index, source, *, dim, how="add"):
        return self.changed(x, i.results[0], how, lambda out: self.into_slices(
            i, out, index, dim, source, how))

    @lowers(OP, "index_copy")
    def op_index_copy(self, i, x, index, source, *, dim):
        return self.op_index_add(i, x, index, source, dim=dim, how="put")

    @lowers(OP, "index_fill")
    def op_index_fill(self, i, x, index, value, *, dim):
        out = i.results[0]
        dims, ref, (look,) = self.slices(out, index, dim)
        look = look._replace(check="wrapped")
        return [*self.copied(x, out), *self.put_at("index_fill", dims, ref, [look], value)]

    # -- elements by their number ------------------------------------------------------------------
    def by_number(self, v, index):
        if not v.example.flags.c_contiguous or not v.shape:
            raise NoLowering("layout")
        r = self.ref(v).moved([0] * max(len(index.shape), 1))
        strides = self.ref(index).strides or (0,)
        return r, [Lookup(index, strides, v.example.size, 1, "wrapped", FLAT)]

    @lowers(OP, "take")
    def op_take(self, i, x, index):
        out = self.ref(i.results[0], index.shape or (1,))
        return self.picked("take", index.shape, out, *self.by_number(x, index))

    @lowers(OP, "put")
    def op_put(self, i, x, index, source, *, accumulate):
        out = i.results[0]
        if isinstance(source, Value) and source.shape not in (index.shape, ()):
            raise NoLowering("shapes")
        how = "add" if accumulate else "put"
        return self.changed(x, out, how, lambda out: self.put_at(
            "put", index.shape, *self.by_number(out, index), source, how))

    # -- NumPy's brackets --------------------------------------------------------------------------
    def bracketed(self, x, index):
        """The dimensions of ``x[index]``, where arrays are among the indices; its ref and its
        lookups.

        The dimensions of arrays and numbers, which broadcast, stand in the place of these if they
        are neighbours, else in front.
        """
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, Value) and part.dtype.kind != "i" or isinstance(part, (list, bool))
               for part in index):
            raise NoLowering("an index by arrays of another kind")
        index, source = without_ellipsis(index, len(x.shape)), self.ref(x)
        slices, offset, looks = parts_of(index, x.shape, source)
        common = np.broadcast_shapes(*[part.shape for part, *_ in looks])
        arrays = [n for n, part in enumerate(index) if isinstance(part, (Value, int))]
        neighbours = arrays[-1] - arrays[0] < len(arrays)
        front = arrays[0] if neighbours else 0             # slices before the arrays' dimensions
        lead, rest = slices[:front], slices[front:]
        dims = (*[n for n, _ in lead], *common, *[n for n, _ in rest])
        strides = [*[s for _, s in lead], *[0] * len(common), *[s for _, s in rest]]
        lookups = []
        for part, size, stride, dim in looks:
            inner = (*[0] * len(lead), *self.ref(part, common).strides, *[0] * len(rest))
            lookups.append(Lookup(part, inner, size, stride, "wrapped", SLICE, dim))
        return dims, Ref(source.root, source.anchor, offset, strides, source.dtype), lookups

    @lowers(["index"])
    def read_at(self, i, x, index):
        """``x[index]`` for an index with arrays."""
        dims, ref, lookups = self.bracketed(x, index)
        if dims != i.results[0].shape or not dims:
            raise NoLowering("shapes")
        return self.picked("index", dims, self.ref(i.results[0], dims), ref, lookups)

    def write_at(self, target, index, value, how="put"):
        """``target[index] = value`` for an index with arrays, or ``ufunc.at``."""
        mask = isinstance(index, Value) and index.dtype == bool and index.shape == target.shape
        if mask and how == "put" and not isinstance(value, Value):
            return self.write_masked(target, index, value)
        dims, ref, lookups = self.bracketed(target, index)
        if isinstance(value, Value) and len(value.shape) > len(dims):
            raise NoLowering("shapes")
        if not dims:
            raise NoLowering("one element")
        self.kind(target)
        name = "index_put" if how == "put" else "index_add"
        return self.put_at(name, dims, ref, lookups, value, how)

    def write_masked(self, target, mask, value):
        """``target[mask] = value`` for a mask of all elements and a number: a choice."""
        dtype = target.dtype

        def chosen(kernel, m, x, y):
            return kernel.add("select", [m, self.operand(kernel, x, dtype), y], dtype)
        return self.map("masked", target, [mask, value, target], chosen)

    @lowers(["at"])
    def combined_at(self, i, target, index, value):
        """``ufunc.at(target, index, value)``."""
        if i.what not in AT or not isinstance(target, Value):
            raise NoLowering("arguments")
        return self.write_at(target, index, value, i.what)

    @lowers(CALL, "take")
    def np_take(self, i, x, index, axis=None, **kwargs):
        if kwargs or axis is None or not isinstance(index, Value):
            raise NoLowering("arguments")
        return self.read_at(i, x, (*[slice(None)] * (axis % len(x.shape)), index))


def check_put(how, ref, lookups, x):
    """NoLowering for an array that cannot be put where lookups say; None for a number."""
    wrong = x is None or x.dtype != ref.dtype and not is_half(x.dtype)
    if how != "put" and (wrong or is_half(ref.dtype)):
        raise NoLowering("operands of these types")
    if x is not None and is_inexact(x.dtype) and ref.dtype.kind in "iu":
        raise NoLowering("from floats to integers")
    read = [look.index.root for look in lookups] + ([] if x is None else [x.root])
    if any(root is ref.root for root in read):
        raise NoLowering("operands overlap what is written")


def parts_of(index, shape, ref):
    """The parts of an index with arrays into an array of a shape, at a ref.

    Returns (dimension, stride) of the slices that are dimensions of the result, the offset, and
    (array, size, stride, dimension) for each array.
    """
    slices, looks, offset, dim = [], [], ref.offset, 0
    for part in index:
        if part is None:
            slices.append((1, 0))
            continue
        size, stride = shape[dim], ref.strides[dim]
        if isinstance(part, Value):
            looks.append((part, size, stride, dim))
        elif isinstance(part, slice):
            start, stop, step = part.indices(size)
            slices.append((len(range(start, stop, step)), stride * step))
            offset += start * stride
        else:
            offset += (part + size * (part < 0)) * stride
        dim += 1
    return slices, offset, looks


def without_ellipsis(index, ndim):
    """An index with a part for each dimension."""
    named = sum(part is not None and part is not Ellipsis for part in index)
    rest = [slice(None)] * (ndim - named)
    if Ellipsis not in index:
        return [*index, *rest]
    at = next(n for n, part in enumerate(index) if part is Ellipsis)
    return [*index[:at], *rest, *index[at + 1:]]
