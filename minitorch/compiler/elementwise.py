"""Lowering of elementwise work: scalar functions, choices, copies, fills and joins."""

from __future__ import annotations

import itertools

import numpy as np

from ..extend import is_half, is_inexact
from ..utils._pytree import tree_leaves
from . import c_words
from .items import CALL, OP, NoLowering, is_basic, is_number, lowers, weak
from .loops import Kernel
from .program import Instruction, Value

__all__ = ["CONSTANT", "Elementwise", "UFUNCS"]

UFUNCS = {"fabs": "absolute", "conjugate": "positive"}      # the same for real numbers
CONSTANT = 1 << 22         # bytes up to which a run-invariant result is computed now


class Elementwise:
    """A part of `Lowering`."""

    # -- elementwise -------------------------------------------------------------------------------
    @lowers(OP, "erf")
    def op_erf(self, i, x):
        return self.scalar(i, "erf", x)

    @lowers(OP, "sigmoid")
    def op_sigmoid(self, i, x):
        return self.scalar(i, "sigmoid", x)

    def scalar(self, i, op, x):
        """An op that is one function of C."""
        out = i.results[0]
        if x.dtype != out.dtype or out.dtype.char not in "fd":
            raise NoLowering(f"no scalar function for {x.dtype}")
        return self.map(op, out, [x], lambda kernel, x: kernel.add(op, [x], out.dtype))

    def map(self, name, out, args, body, shape=None):
        """One kernel: ``out = body(kernel, *args)``; args are values, numbers are left to
        `body`."""
        shape = out.shape if shape is None else shape
        if 0 in shape:
            return []
        target = self.ref(out)
        order = dims_by_memory(shape, target.strides)
        kernel = Kernel(tuple(shape[d] for d in order) or (1,), name)

        def turned(ref):
            return ref.moved([ref.strides[d] for d in order] or [0])
        refs = [turned(self.ref(a, shape)) if isinstance(a, Value) and not is_number(a) else None
                for a in args]
        target = turned(target)
        self.free_of(target, [r for r in refs if r is not None], kernel.dims)
        nodes = [kernel.load(r) if r is not None else a for a, r in zip(args, refs)]
        kernel.store(target, body(kernel, *nodes))
        return [kernel]

    def operand(self, kernel, x, dtype):
        """A node of a dtype, from a node, a number or a constant of one element."""
        if isinstance(x, Value):
            x = self.base.to_host(x.example).reshape(())[()]
        if hasattr(x, "level"):
            return kernel.cast(x, dtype)
        if isinstance(x, np.generic) and is_half(x.dtype):
            x = float(x)
        plain = not isinstance(x, np.generic) or x.dtype.kind in "fiub"        # not bfloat16
        if isinstance(x, complex) or not plain:
            raise NoLowering("a number of another kind")
        return kernel.const(x, dtype)

    @lowers(["ufunc"])
    def elementwise(self, i, *args, out=None, dtype=None, **kwargs):
        """A ufunc."""
        ufunc = getattr(np, i.what, None)
        if ufunc is None:
            raise NoLowering("there is no loop for it")
        args, more = args[:ufunc.nin], args[ufunc.nin:]
        if more:
            out = more[0]
        if kwargs or ufunc.nout != 1 or ufunc.signature or len(args) != ufunc.nin:
            raise NoLowering("arguments")
        out = i.results[0] if out is None else out
        if not isinstance(out, Value):
            raise NoLowering("several results")
        *loop, result = types_of(ufunc, args, dtype)
        if i.results and out is i.results[0] and out.dtype != result:
            raise NoLowering("a result of another type")
        op = UFUNCS.get(i.what, i.what)
        if not self.printer.supported(op, loop[-1]) or result.name not in c_words.TYPES:
            raise NoLowering(f"no scalar function for {loop[-1]}")
        f32 = np.dtype(np.float32)
        wide = f32 if is_half(result) else result          # computed so, and rounded

        def body(kernel, *nodes):
            nodes = [self.operand(kernel, x, t) for x, t in zip(nodes, loop)]
            nodes = [kernel.cast(x, f32) if is_half(x.dtype) else x for x in nodes]
            return kernel.add(op, nodes, wide)
        return self.map(i.what, out, args, body)

    @lowers(CALL, "where")
    def np_where(self, i, condition, x, y):
        out = i.results[0]
        types = np.dtype(bool), out.dtype, out.dtype

        def body(kernel, *nodes):
            nodes = [self.operand(kernel, x, t) for x, t in zip(nodes, types)]
            return kernel.add("select", nodes, out.dtype)
        self.kind(out)
        return self.map("where", out, [condition, x, y], body)

    def kind(self, *values):
        for v in values:
            if v.dtype.name not in c_words.TYPES:
                raise NoLowering(f"no C type for {v.dtype}")

    @lowers(CALL, "clip")
    def np_clip(self, i, x, low=None, high=None, out=None, **kwargs):
        low, high = kwargs.pop("min", low), kwargs.pop("max", high)
        if kwargs or (low is None and high is None):
            raise NoLowering("arguments")
        out = i.results[0] if out is None else out
        self.kind(out)

        def body(kernel, x, low, high):
            x = self.operand(kernel, x, out.dtype)
            for op, end in (("maximum", low), ("minimum", high)):
                if end is not None:
                    x = kernel.add(op, [x, self.operand(kernel, end, out.dtype)], out.dtype)
            return x
        return self.map("clip", out, [x, low, high], body)

    @lowers(["method"], "item")
    def number(self, i, x):
        return self.copied(x, i.results[0])

    @lowers(CALL, "astype")
    def np_astype(self, i, x, dtype=None, order="K", **kwargs):
        if set(kwargs) - {"copy"}:
            raise NoLowering("arguments")
        return self.copied(x, i.results[0])

    def copied(self, x, out):
        """A copy, of another type if need be."""
        if isinstance(x, Value) and is_inexact(x.dtype) and out.dtype.kind in "iu":
            # C does not define the conversion of numbers outside the range
            raise NoLowering("from floats to integers")
        self.kind(out)
        return self.map("copy", out, [x], lambda kernel, x: self.operand(kernel, x, out.dtype))

    @lowers(CALL, "array copy ascontiguousarray")
    def np_array(self, i, x, dtype=None, **kwargs):
        if not isinstance(x, Value) or set(kwargs) - {"order", "copy"}:
            raise NoLowering("arguments")
        if i.what == "copy" and dtype not in (None, "C", "K", "A", "F"):       # its order
            raise NoLowering("arguments")
        return self.copied(x, i.results[0])

    @lowers(CALL, "reshape ravel flatten")
    def np_reshape(self, i, x, *shape, **kwargs):
        """A reshape that has to copy: elements in the order of the indices."""
        if kwargs:
            raise NoLowering("arguments")
        out = i.results[0]
        self.kind(out)
        if 0 in x.shape:
            return []
        kernel = Kernel(tuple(n for n in x.shape if n != 1) or (1,), "reshape")
        keep = [d for d, n in enumerate(x.shape) if n != 1]
        dense, stride = [], 1
        for n in reversed(kernel.dims):
            dense.append(0 if n == 1 else stride)
            stride *= n
        if not out.example.flags.c_contiguous:
            raise NoLowering("layout")
        a, b = self.ref(x), self.ref(out, x.shape, dense[::-1])
        kernel.store(b, kernel.load(a.moved([a.strides[d] for d in keep] or [0])))
        return [kernel]

    @lowers(["write"])
    def written_at(self, i, target, index, value):
        return self.assign(target, index, value)

    def assign(self, target, index, value):
        """``target[index] = value`` for slices and numbers."""
        if any(isinstance(v, Value) for v in tree_leaves(index)):
            return self.write_at(target, index, value)
        if not is_basic(index):
            raise NoLowering("an index by lists")
        return self.store_into(self.view(target, index), value)

    def store_into(self, view, value):
        if isinstance(value, Value) and is_inexact(value.dtype) and view.dtype.kind in "iu":
            raise NoLowering("from floats to integers")
        if isinstance(value, Value) and len(value.shape) > len(view.shape):
            raise NoLowering("shapes")
        if not (isinstance(value, (Value, bool, int, float, np.generic))
                and isinstance(view.example, self.base.ndarray)):
            raise NoLowering("a value of another kind")
        self.kind(view)
        return self.map("copy", view, [value],
                        lambda kernel, x: self.operand(kernel, x, view.dtype))

    @lowers(CALL, "copyto")
    def np_copyto(self, i, target, value, casting=None, **kwargs):
        if kwargs:
            raise NoLowering("arguments")
        return self.store_into(target, value)

    @lowers(CALL, "fill")
    def np_fill(self, i, target, value):
        return self.store_into(target, value)

    def filled(self, i, value):
        return self.fill(i.results[0], value)

    def fill(self, out, value):
        self.kind(out)
        return self.map("fill", out, [value], lambda kernel, x: self.operand(kernel, x, out.dtype))

    @lowers(CALL, "zeros zeros_like")
    def np_zeros(self, i, *args, **kwargs):
        return self.filled(i, 0)

    @lowers(CALL, "ones ones_like")
    def np_ones(self, i, *args, **kwargs):
        return self.filled(i, 1)

    @lowers(CALL, "full full_like")
    def np_full(self, i, shape, value, *args, **kwargs):
        return self.filled(i, value)

    @lowers(CALL, "empty empty_like")
    def np_empty(self, i, *args, **kwargs):
        self.kind(i.results[0])
        return []

    @lowers(CALL, "concatenate")
    def np_concatenate(self, i, pieces, axis=0, **kwargs):
        if kwargs or axis is None:
            raise NoLowering("arguments")
        out, at, found = i.results[0], 0, []
        for p in pieces:
            index = (slice(None),) * (axis % len(out.shape)) + (slice(at, at + p.shape[axis]),)
            found += self.assign(out, index, p)
            at += p.shape[axis]
        return found

    @lowers(CALL, "stack")
    def np_stack(self, i, pieces, axis=0, **kwargs):
        if kwargs:
            raise NoLowering("arguments")
        lead = (slice(None),) * (axis % len(i.results[0].shape))
        return [item for n, p in enumerate(pieces)
                for item in self.assign(i.results[0], (*lead, n), p)]

    @lowers(CALL, "roll")
    def np_roll(self, i, x, shift, axis=None):
        """Copy slices to their new places, those at the end of a dimension to its beginning."""
        out, found = i.results[0], []
        shifts, axes = (s if isinstance(s, tuple) else (s,) for s in (shift, axis))
        if axis is None or len(shifts) != len(axes):
            raise NoLowering("arguments")
        if len({a % len(x.shape) for a in axes}) < len(axes):
            raise NoLowering("arguments")
        if 0 in x.shape:
            return []
        cuts = []                                          # for each dimension (from, to) in pairs
        for d, n in enumerate(x.shape):
            by = sum(s for s, a in zip(shifts, axes) if a % len(x.shape) == d) % n
            both = [(slice(0, n - by), slice(by, n)), (slice(n - by, n), slice(0, by))]
            cuts.append(both if by else both[:1])
        for cut in itertools.product(*cuts):
            piece = self.view(x, tuple(a for a, _ in cut))
            found += self.assign(out, tuple(b for _, b in cut), piece)
        return found

    def view(self, x, index):
        """A basic index of a value, as a new one."""
        v = Value("made", x.example[index], root=x.root)
        self.makers[v] = Instruction("index", "getitem", (x, index), results=[v])
        return v

    @lowers(CALL, "tril")
    def np_tril(self, i, x, k=0):
        return self.triangle(i, x, np.tri(*x.shape[-2:], k, bool))

    @lowers(CALL, "triu")
    def np_triu(self, i, x, k=0):
        return self.triangle(i, x, ~np.tri(*x.shape[-2:], k - 1, bool))

    def triangle(self, i, x, mask):
        if mask.nbytes > CONSTANT or len(x.shape) < 2:
            raise NoLowering("a large mask")
        return self.np_where(i, Value("constant", self.base.from_host(mask)), x, 0)


def dims_by_memory(shape, strides):
    """The dimensions with more than one element, in the order in which they lie in memory; or the
    last one."""
    order = sorted(range(len(shape)), key=lambda d: (-abs(strides[d]) if shape[d] != 1 else 0, d))
    return [d for d in order if shape[d] != 1] or order[-1:]


def types_of(ufunc, args, dtype):
    """The types that a ufunc takes its operands in and returns, by NumPy's rules."""
    kinds = [weak(a) for a in args]
    asked = np.dtype(dtype) if dtype is not None else None
    try:
        found = ufunc.resolve_dtypes((*kinds, asked))
    except TypeError:
        raise NoLowering("operands of these types")
    if asked is not None and found[-1] != asked:
        raise NoLowering("dtype")
    return found
