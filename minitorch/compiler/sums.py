"""Lowering of reductions and of matrix products."""

from __future__ import annotations

import math

import numpy as np

from .items import NoLowering, Product, as_blas
from .loops import Effect, Kernel, Ref, restride
from .program import Value

__all__ = ["ALIASES", "Sums"]

ALIASES = {"sum": "add", "max": "maximum", "min": "minimum", "amax": "maximum", "amin": "minimum",
           "all": "logical_and", "any": "logical_or"}
REDUCE = {"add": "sum", "maximum": "max", "minimum": "min", "logical_and": "min", "logical_or": "max"}


class Sums:
    """A part of `Lowering`."""

    # -- reductions ----------------------------------------------------------------------------------------
    def reduction(self, i, ufunc, x, axis=0, dtype=None, out=None, keepdims=False, **kwargs):
        """``ufunc.reduce``, or the method or function of that name, whose axis is None by default."""
        if not i.name.endswith(".reduce"):
            axis = i.kwargs.get("axis", i.args[1] if len(i.args) > 1 else None)
            if ufunc != "add" and len(i.args) > 2:
                raise NoLowering("arguments")
        if out is not None or not isinstance(x, Value) or ufunc not in REDUCE or not x.shape:
            raise NoLowering("arguments")
        kind, result = REDUCE[ufunc], i.results[0]
        if set(kwargs) - {"initial"} or (kwargs and not (kind == "max" and kwargs["initial"] == -math.inf
                                                         and x.dtype.char in "fd")):
            raise NoLowering("arguments")
        axes = range(len(x.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = {a % len(x.shape) for a in axes}
        if kind == "sum" and dtype is not None and np.dtype(dtype) != result.dtype:
            raise NoLowering("dtype")
        if ufunc.startswith("logical"):
            work = np.dtype(bool)
        else:
            work = result.dtype
        self.kind(x, result)
        if kind == "sum" and work.char not in "fd" and work.kind != "i" or not result.example.flags.c_contiguous:
            raise NoLowering("dtype")
        if 0 in x.shape:
            raise NoLowering("nothing in it")
        if kind == "sum" and work.char in "fd":
            if x in self.summed:                           # a sum in two steps, as NumPy is asked for: in one
                inner, before = self.summed[x]
                rest = [d for d in range(len(inner.shape)) if d not in before]
                x, axes = inner, before | {rest[a] for a in axes}
            if not {x.root, result.root} & self.written and not keepdims:
                self.summed[result] = x, axes
        return self.reduced(ufunc, kind, x, axes, result, work)

    def reduced(self, name, kind, x, axes, result, work):
        """A kernel that reduces `x` over some dimensions; results lie without gaps."""
        source, shape = self.ref(x), x.shape
        axes = {a for a in axes if shape[a] != 1}
        target, stride = [0] * len(shape), 1
        for d in reversed(range(len(shape))):
            if d not in axes and shape[d] != 1:
                target[d], stride = stride, stride * shape[d]
        order = sorted((d for d in range(len(shape)) if shape[d] != 1), key=lambda d: (-abs(source.strides[d]), d))
        rest = [d for d in order if d not in axes]
        reduced = [d for d in order if d in axes]
        if kind != "sum":                                  # maxima need rows: reduced dimensions come last
            order = rest + reduced
        dims = tuple(shape[d] for d in order) or (1,)
        ref = source.moved([source.strides[d] for d in order] or [0])
        to = Ref(result, result, 0, [target[d] for d in order] or [0], result.dtype)
        if result.root is not result:
            raise NoLowering("a view")
        kernel = Kernel(dims, name if name.startswith("logical") else kind)
        if not axes:
            kernel.store(to, kernel.cast(kernel.load(ref), work))
            return [kernel]
        if order == rest + reduced:
            return self.by_rows(kernel, kind, ref, to, len(rest), work)
        kernel.effects.append(Effect("sum", to, kernel.cast(kernel.load(ref), work)))
        return [kernel]

    def by_rows(self, kernel, kind, ref, to, lead, work):
        """A reduction of the last dimensions: of rows, where these are one in memory."""
        dims, columns = kernel.dims, math.prod(kernel.dims[lead:])
        row = restride(dims[lead:], ref.strides[lead:], (columns,))
        if row is None and kind != "sum":
            raise NoLowering("dimensions that are not one in memory")
        if row is None or kind == "sum" and not lead and len(dims) > 1:    # everything: in the shape of neighbours
            kernel.effects.append(Effect("sum", to, kernel.cast(kernel.load(ref), work)))
            return [kernel]
        kernel.dims = (*dims[:lead], columns)
        ref, to = ref.moved((*ref.strides[:lead], *row)), to.moved((*to.strides[:lead], 0))
        kernel.store(to, kernel.reduce(kind, kernel.cast(kernel.load(ref), work)))
        return [kernel]

    # -- products ------------------------------------------------------------------------------------------
    def np_matmul(self, i, a, b, out=None):
        out = i.results[0] if out is None else out
        if not all(isinstance(v, Value) for v in (a, b, out)) or out.root is not out:
            raise NoLowering("operands")
        self.kind(out)
        if any(v.dtype != out.dtype for v in (a, b)) or out.dtype.char not in "fd":
            raise NoLowering("dtypes")
        if len(a.shape) < 1 or len(b.shape) < 1 or 0 in (*a.shape, *b.shape):
            raise NoLowering("shapes")
        if len(a.shape) == 1 or len(b.shape) == 1:
            return self.by_vector(a, b, out)
        if not out.example.flags.c_contiguous:
            raise NoLowering("layout")
        shape, inner = out.shape, a.shape[-1]
        lead = len(shape)
        strides = []
        for v in (a, b):
            r = self.ref(v)
            s = [0] * (lead - len(v.shape)) + list(r.strides)
            strides.append(r.moved(s))
        if not all(as_blas(v.shape, r.strides) for v, r in zip((a, b), strides)):
            raise NoLowering("the layout of an operand")
        return [Product(*strides, self.ref(out), shape, inner)]

    def np_dot(self, i, a, b, out=None):
        if isinstance(b, Value) and isinstance(a, Value) and (len(a.shape) > 2 or len(b.shape) > 2):
            raise NoLowering("dot of more dimensions")
        return self.np_matmul(i, a, b, out)

    op_gemm = np_matmul

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
        if abs(m.strides[0]) < abs(m.strides[1]) and dims[0] > 1:      # rows of memory are the columns here
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
