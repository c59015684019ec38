"""Lowering of reductions and of matrix products."""

from __future__ import annotations

import math

import numpy as np

from ..extend import is_half
from . import c_words
from .items import CALL, OP, NoLowering, Product, as_blas, lowers
from .loops import REDUCED, Effect, Kernel, Ref, restride
from .program import Value

__all__ = ["Sums"]

# ufunc -> the kernel's reduction: of bools the least tells whether all are true
REDUCE = {**REDUCED, "logical_and": "min", "logical_or": "max"}
RUNNING = {**REDUCED, "logaddexp": "logaddexp"}


def by_memory(shape, strides, without=-1):
    """The dimensions with more than one element, in the order in which they lie in memory."""
    dims = [d for d in range(len(shape)) if shape[d] != 1 and d != without]
    return sorted(dims, key=lambda d: (-abs(strides[d]), d))


def asked_axis(i, ufunc, axis):
    """The axis of ``ufunc.reduce``, or of a method or function, where it is None by default."""
    if i.name.endswith(".reduce"):
        return axis
    if ufunc != "add" and len(i.args) > 2:             # not a dtype, but an array for the result
        raise NoLowering("arguments")
    return i.kwargs.get("axis", i.args[1] if len(i.args) > 1 else None)


def axes_of(x, axis):
    """The dimensions that an axis, a tuple of axes or None refers to."""
    if not x.shape:
        return set()
    if axis is None:
        return set(range(len(x.shape)))
    return {a % len(x.shape) for a in ((axis,) if isinstance(axis, int) else axis)}


def check_start(kind, x, initial=None, **others):
    """NoLowering for a reduction that does not start with its neutral value."""
    lowest = kind == "max" and initial == -math.inf and x.dtype.char in "fd"
    if others or not (initial is None or lowest):
        raise NoLowering("arguments")


class Sums:
    """A part of `Lowering`."""

    most_of_short_rows = 4096                              # elements, beyond which NumPy is faster

    # -- reductions --------------------------------------------------------------------------------
    def reduction(self, i, ufunc, x, axis=0, dtype=None, out=None, keepdims=False, **kwargs):
        """``ufunc.reduce``, or the method or function of that name."""
        axis = asked_axis(i, ufunc, axis)
        result = i.results[0] if out is None else out
        if not isinstance(x, Value) or not isinstance(result, Value):
            raise NoLowering("arguments")
        if ufunc not in REDUCE or is_half(x.dtype):
            raise NoLowering("arguments")
        if out is not None and out.root is x.root:
            raise NoLowering("operands overlap what is written")
        kind = REDUCE[ufunc]
        check_start(kind, x, **kwargs)
        axes = axes_of(x, axis)
        work = np.dtype(bool) if ufunc.startswith("logical") else result.dtype
        self.check_types(kind, x, dtype, result, work)
        if 0 in x.shape:
            raise NoLowering("nothing in it")
        if kind == "sum" and work.char in "fd":
            x, axes = self.summed_at_once(x, axes, result, keepdims)
        return self.reduced(ufunc, kind, x, axes, result, work)

    def check_types(self, kind, x, dtype, result, work):
        """NoLowering for a sum or product in other types than those of C."""
        adds_up = kind in ("sum", "prod")
        if adds_up and dtype is not None and np.dtype(dtype) != result.dtype:
            raise NoLowering("dtype")
        self.kind(x, result)
        if adds_up and work.char not in "fdilqhb":
            raise NoLowering("dtype")

    def summed_at_once(self, x, axes, result, keepdims):
        """The array and the dimensions of a sum; of a sum of a sum those of both in one."""
        if x in self.summed:
            inner, before = self.summed[x]
            rest = [d for d in range(len(inner.shape)) if d not in before]
            x, axes = inner, before | {rest[a] for a in axes}
        if not {x.root, result.root} & self.written and not keepdims:
            self.summed[result] = x, axes
        return x, axes

    def reduced(self, name, kind, x, axes, result, work):
        """A kernel that reduces `x` over some dimensions."""
        source, shape = self.ref(x), x.shape
        axes = {a for a in axes if shape[a] != 1}
        target = self.strides_of_result(shape, axes, result)
        if result.root is not result:
            raise NoLowering("a view")
        order = by_memory(shape, source.strides)
        ref = source.moved([source.strides[d] for d in order] or [0])
        to = Ref(result, result, 0, [target[d] for d in order] or [0], result.dtype)
        dims = tuple(shape[d] for d in order) or (1,)
        kernel = Kernel(dims, name if name.startswith("logical") else kind)
        if not axes:
            kernel.store(to, kernel.cast(kernel.load(ref), work))
            return [kernel]
        lead = len(order) - len(axes)
        if axes == {*order[lead:]}:                        # the last ones in memory
            return self.by_rows(kernel, kind, ref, to, lead, work)
        self.spread(kernel, kind, ref, to, work)
        return [kernel]

    def strides_of_result(self, shape, axes, result):
        """Strides of a result for the dimensions of its operand, which is reduced over `axes`."""
        placed = iter([s for n, s in zip(result.shape, self.ref(result).strides) if n != 1])
        return [0 if d in axes or n == 1 else next(placed) for d, n in enumerate(shape)]

    def spread(self, kernel, kind, ref, to, work):
        """A reduction over any dimensions, row by row into an array.

        Of maxima and products one of each row first.
        """
        if kind != "sum" and to.strides[-1] == 0 and 1 < kernel.dims[-1] < 16 and (
                math.prod(kernel.dims) > self.most_of_short_rows):
            # such as windows of pooling, which NumPy takes side by side
            raise NoLowering("short rows")
        x = kernel.cast(kernel.load(ref), work)
        if kind != "sum" and to.strides[-1] == 0 and kernel.dims[-1] > 1:
            x = kernel.reduce(kind, x)
        kernel.effects.append(Effect(kind, to, x))

    def by_rows(self, kernel, kind, ref, to, lead, work):
        """A reduction of the last dimensions: of rows, where these are one in memory."""
        dims, columns = kernel.dims, math.prod(kernel.dims[lead:])
        row = restride(dims[lead:], ref.strides[lead:], (columns,))
        everything = kind == "sum" and not lead and len(dims) > 1      # in the shape of neighbours
        if row is None or everything:
            self.spread(kernel, kind, ref, to, work)
            return [kernel]
        kernel.dims = (*dims[:lead], columns)
        ref, to = ref.moved((*ref.strides[:lead], *row)), to.moved((*to.strides[:lead], 0))
        kernel.store(to, kernel.reduce(kind, kernel.cast(kernel.load(ref), work)))
        return [kernel]

    # -- places of extremes ------------------------------------------------------------------------
    def rows_along(self, name, x, axis, *outs):
        """A kernel whose columns are one dimension of `x`; its elements; refs of `outs`.

        These lack that dimension, or have one element in it.
        """
        shape, source = x.shape, self.ref(x)
        order = [*by_memory(shape, source.strides, axis), axis]
        kernel = Kernel(tuple(shape[d] for d in order), name)
        found = []
        for out in outs:
            strides = list(self.ref(out).strides)
            if len(strides) < len(shape):
                strides.insert(axis, 0)
            elif out.shape != shape:
                strides[axis] = 0
            found.append(self.ref(out).moved([strides[d] for d in order]))
        node = kernel.load(source.moved([source.strides[d] for d in order]))
        if is_half(x.dtype):
            node = kernel.cast(node, np.dtype(np.float32))
        return kernel, node, *found

    def first_place(self, kernel, x, kind):
        """The extreme of each row, and the first column where it is; a NaN is the extreme."""
        found, i64 = kernel.reduce(kind, x), np.dtype(np.int64)
        here = kernel.test("equal", x, found)
        if x.dtype.kind == "f":                            # bfloat16 is float32 within kernels
            here = kernel.test("logical_or", here, kernel.test("isnan", x))
        columns = kernel.cast(kernel.add("column", (), np.dtype(np.int32), level="e"), i64)
        columns = kernel.apply("select", here, columns, kernel.const(kernel.dims[-1], i64))
        return found, kernel.reduce("min", columns)

    @lowers(OP, "extremum")
    def op_extremum(self, i, x, *, dim, keepdim, name):
        self.kind(*i.results)
        if not x.shape or 0 in x.shape or x.shape[dim] == 1:
            raise NoLowering("no dimension, or nothing in it")
        kernel, nodes, *refs = self.rows_along(name, x, dim % len(x.shape), *i.results)
        for ref, node in zip(refs, self.first_place(kernel, nodes, name[3:])):
            kernel.store(ref, node)
        return [kernel]

    @lowers(CALL, "argmax")
    def np_argmax(self, i, x, axis=None, out=None, keepdims=False, name="argmax"):
        self.kind(x)
        dense = x.example.flags.c_contiguous and x.shape and x.example.size > 1
        if axis is None and dense and out is None:         # of all elements
            kernel = Kernel((x.example.size,), name)
            nodes, to = kernel.load(self.ref(x, kernel.dims, (1,))), self.ref(i.results[0], (1,))
            nodes = kernel.cast(nodes, np.dtype(np.float32)) if is_half(x.dtype) else nodes
            kernel.store(to.moved((0,)), self.first_place(kernel, nodes, name[3:])[1])
            return [kernel]
        if out is not None or axis is None or 0 in x.shape or x.shape[axis] == 1:
            raise NoLowering("arguments")
        kernel, nodes, ref = self.rows_along(name, x, axis % len(x.shape), i.results[0])
        kernel.store(ref, self.first_place(kernel, nodes, name[3:])[1])
        return [kernel]

    @lowers(CALL, "argmin")
    def np_argmin(self, i, x, axis=None, out=None, keepdims=False):
        return self.np_argmax(i, x, axis, out, keepdims, "argmin")

    @lowers(OP, "put_along_dim")
    def op_put_along_dim(self, i, x, index, *, shape, dim):
        """Zeros, and one element of each row."""
        self.kind(x, index)
        out, axis = i.results[0], dim % len(shape)
        if index.shape != x.shape or x.shape[axis] != 1 or 0 in shape:
            raise NoLowering("several places in a row")
        to = self.ref(out)
        order = [*by_memory(shape, to.strides, axis), axis]
        kernel = Kernel(tuple(shape[d] for d in order), "put")
        refs = [self.ref(v, shape) for v in (x, index)]
        value, place = (kernel.load(r.moved([r.strides[d] for d in order])) for r in refs)
        column = kernel.add("column", (), np.dtype(np.int32), level="e")
        column = kernel.cast(column, index.dtype)
        here = kernel.test("equal", column, place)
        found = kernel.apply("select", here, value, kernel.const(0, value.dtype))
        kernel.store(to.moved([to.strides[d] for d in order]), found)
        return [kernel]

    # -- running sums ------------------------------------------------------------------------------
    def running(self, i, ufunc, x, axis=0, dtype=None, out=None):
        """``ufunc.accumulate``, along rows or from row to row."""
        result = i.results[0]
        if out is not None or ufunc not in RUNNING or not isinstance(x, Value):
            raise NoLowering("arguments")
        if 0 in x.shape or not x.shape:
            raise NoLowering("arguments")
        adds_up = result.dtype.char in "fd" or result.dtype.kind == "i"
        if not adds_up or x.dtype.name not in c_words.TYPES:
            raise NoLowering("dtype")
        axis %= len(x.shape)
        order, name = by_memory(x.shape, self.ref(x).strides), "cum" + RUNNING[ufunc]
        if x.shape[axis] > 1 and axis != order[-1]:
            op, (kernel, nodes, to) = "across", self.rows_across(name, x, result, axis, order)
        else:
            op, (kernel, nodes, to) = "running", self.rows_along(name, x, axis, result)
        nodes = kernel.cast(nodes, result.dtype)
        kernel.store(to, kernel.add(op, [nodes], result.dtype, level="e", value=RUNNING[ufunc]))
        return [kernel]

    def rows_across(self, name, x, out, axis, order):
        """A kernel whose last row dimension is the given one, and its columns those inside it in
        memory."""
        a, b = self.ref(x), self.ref(out)
        inner = order[order.index(axis) + 1:]
        sizes = [x.shape[d] for d in inner]
        joined = [restride(sizes, [r.strides[d] for d in inner], (math.prod(sizes),))
                  for r in (a, b)]
        lead = [d for d in order if d != axis and d not in inner]
        if None in joined:                                 # there are gaps: the last of them alone
            *others, last = inner
            lead, sizes = [*lead, *others], sizes[-1:]
            joined = [(r.strides[last],) for r in (a, b)]
        kernel = Kernel((*[x.shape[d] for d in (*lead, axis)], math.prod(sizes)), name)
        refs = [r.moved((*[r.strides[d] for d in (*lead, axis)], *columns))
                for r, columns in zip((a, b), joined)]
        return kernel, kernel.load(refs[0]), refs[1]

    # -- products ----------------------------------------------------------------------------------
    multiplies = staticmethod(as_blas)                     # True for a supported layout

    @lowers(["ufunc"], "matmul")
    @lowers(OP, "gemm")
    def np_matmul(self, i, a, b, out=None):
        out = i.results[0] if out is None else out
        self.check_product(a, b, out)
        if 1 in (len(a.shape), len(b.shape)):
            return self.by_vector(a, b, out)
        if not out.example.flags.c_contiguous:
            raise NoLowering("layout")
        refs = [self.broadcast(v, len(out.shape)) for v in (a, b)]
        if not all(self.multiplies(v.shape, r.strides) for v, r in zip((a, b), refs)):
            raise NoLowering("the layout of an operand")
        return [Product(*refs, self.ref(out), out.shape, a.shape[-1])]

    def check_product(self, a, b, out):
        """NoLowering unless two arrays of floats are multiplied into one that is not a view."""
        if not all(isinstance(v, Value) for v in (a, b, out)) or out.root is not out:
            raise NoLowering("operands")
        self.kind(out)
        if {a.dtype, b.dtype} != {out.dtype} or out.dtype.char not in "fd":
            raise NoLowering("dtypes")
        if not a.shape or not b.shape or 0 in (*a.shape, *b.shape):
            raise NoLowering("shapes")

    def broadcast(self, v, ndim):
        """A ref of a value with dimensions in front, along which it is the same."""
        r = self.ref(v)
        return r.moved([0] * (ndim - len(v.shape)) + list(r.strides))

    @lowers(CALL, "dot")
    def np_dot(self, i, a, b, out=None):
        values = isinstance(a, Value) and isinstance(b, Value)
        if values and max(len(a.shape), len(b.shape)) > 2:
            raise NoLowering("dot of more dimensions")
        return self.np_matmul(i, a, b, out)

    def by_vector(self, a, b, out):
        """A product with a vector: sums of products along rows; with ones, just sums."""
        if len(a.shape) == 1 and len(b.shape) > 1:
            if len(b.shape) > 2:
                raise NoLowering("a vector times matrices")
            matrix, vector, dims = b, a, (b.shape[1], b.shape[0])
            m = self.ref(matrix)
            m = m.moved(m.strides[::-1])
        else:
            if len(a.shape) > 2:
                raise NoLowering("matrices times a vector")
            matrix, vector, dims = a, b, (1, a.shape[0]) if len(a.shape) == 1 else a.shape
            m = self.ref(matrix)
            m = m if len(a.shape) == 2 else m.moved((0, *m.strides))
        v = self.ref(vector)
        v = v.moved((0, *v.strides))
        ones = vector.kind == "constant" and bool((vector.example == 1).all())
        to = Ref(out, out, 0, (1 if dims[0] > 1 else 0, 0), out.dtype)
        # rows of memory are the columns here
        if abs(m.strides[0]) < abs(m.strides[1]) and dims[0] > 1:
            kernel = Kernel(dims[::-1], "sum" if ones else "dot")
            x = kernel.load(m.moved(m.strides[::-1]))
            if not ones:
                x = kernel.add("multiply", [x, kernel.load(v.moved(v.strides[::-1]))], out.dtype)
            kernel.effects.append(Effect("sum", to.moved((0, to.strides[0])), x))
            return [kernel]
        kernel = Kernel(dims, "sum" if ones else "dot")
        x = kernel.load(m)
        if not ones:
            x = kernel.add("multiply", [x, kernel.load(v)], out.dtype)
        kernel.store(to, kernel.reduce("sum", x))
        return [kernel]
