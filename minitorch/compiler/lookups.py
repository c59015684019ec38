"""Lowering of what is looked up by number: classes of losses and rows of tables, whose references decide by values."""

from __future__ import annotations

import numpy as np

from .items import NoLowering, is_number
from .loops import Effect, Kernel, Ref
from .program import Value

__all__ = ["Lookups"]


class Lookups:
    """A part of `Lowering`."""

    # -- classes and tables: row numbers, whose references decide by values -----------------------------------
    def op_cross_entropy(self, i, x, target, weight=None, *, ignore_index=-100, reduction="mean"):
        kernel, x, at, row = self.by_class(x, target, weight, ignore_index)
        f32, results = np.dtype(np.float32), list(i.results)
        value = kernel.load(x)
        shifted = kernel.add("subtract", [value, kernel.reduce("max", value)], f32)
        powers = kernel.add("exp", [shifted], f32)
        total = kernel.reduce("sum", powers)
        picked = kernel.reduce("sum", kernel.add("select", [at, shifted, kernel.const(0, f32)], f32))
        loss = kernel.add("subtract", [kernel.add("log", [total], f32), picked], f32)
        loss = kernel.add("select", [self.counts(kernel, row), loss, kernel.const(0, f32)], f32)
        if len(results) == 3:
            kernel.store(self.ref(results[1], kernel.dims), powers)
            kernel.store(self.ref(results[2], kernel.dims), total)
        kernel.names = ["cross_entropy"]
        return [kernel, *self.class_reduction(kernel, loss, row, results[0], reduction)]

    def by_class(self, x, target, weight, ignore_index):
        """A kernel for (N, C) classes; the ref of `x`; whether a column is the target; the target, -1 if ignored."""
        if weight is not None or len(x.shape) != 2 or target.dtype != np.int64 or x.dtype != np.float32:
            raise NoLowering("weights, or classes in other shapes")
        if 0 in x.shape or x.shape[1] == 1:
            raise NoLowering("no class, or one")
        kernel, i32 = Kernel(x.shape, "cross_entropy"), np.dtype(np.int32)
        where = self.ref(target)
        where = where.moved((*where.strides, 0))
        row = kernel.add("index", (), i32, level="r", ref=where, value=("target", x.shape[1], ignore_index))
        at = kernel.add("equal", [kernel.add("column", (), i32, level="e"), row], np.dtype(bool))
        return kernel, self.ref(x), at, row

    def counts(self, kernel, row):
        return kernel.add("greater_equal", [row, kernel.const(0, row.dtype)], np.dtype(bool))

    def temporary(self):
        return Value("made", np.empty((), np.float32))

    def class_reduction(self, kernel, loss, row, out, reduction):
        """The effects of a loss for each row; what is left to do after them."""
        if reduction == "none":
            r = self.ref(out)
            kernel.store(r.moved((*r.strides, 0)), loss)
            return []
        if reduction == "sum":
            kernel.effects.append(Effect("rowsum", Ref(out, out, 0, (0, 0), out.dtype), loss))
            return []
        total, number = self.temporary(), self.temporary()
        for v, x in ((total, loss), (number, kernel.cast(self.counts(kernel, row), np.dtype(np.float32)))):
            kernel.effects.append(Effect("rowsum", Ref(v, v, 0, (0, 0), v.dtype), x))
        return self.map("mean", out, [total, number], lambda k, a, b: k.add("divide", [a, b], out.dtype))

    def op_cross_entropy_backward(self, i, grad, x, target, weight=None, powers=None, totals=None, *,
                                  ignore_index=-100, reduction="mean"):
        out, f32, items = i.results[0], np.dtype(np.float32), []
        kernel, _, at, row = self.by_class(out, target, weight, ignore_index)
        if x is not None:
            value = kernel.load(self.ref(x))
            powers = kernel.add("exp", [kernel.add("subtract", [value, kernel.reduce("max", value)], f32)], f32)
            total = kernel.reduce("sum", powers)
        else:
            powers, total = (kernel.load(self.ref(v, out.shape)) for v in (powers, totals))
        number = is_number(grad)
        if number or not grad.shape:
            g = self.operand(kernel, grad, f32) if number else kernel.load(self.ref(grad, out.shape))
        else:
            r = self.ref(grad)
            g = kernel.load(r.moved((*r.strides, 0)))
        if reduction == "mean":
            count = self.temporary()
            counting = Kernel((target.shape[0],), "count")
            label = counting.add("index", (), row.dtype, level="e", ref=self.ref(target), value=row.value)
            x = counting.cast(self.counts(counting, label), f32)
            counting.effects.append(Effect("sum", Ref(count, count, 0, (0,), f32), x))
            items.append(counting)
            n = kernel.load(self.ref(count, out.shape))
            none = kernel.add("equal", [n, kernel.const(0, f32)], np.dtype(bool))
            g = kernel.add("select", [none, kernel.add("multiply", [g, kernel.const(0, f32)], f32),
                                      kernel.add("divide", [g, n], f32)], f32)
        g = kernel.add("select", [self.counts(kernel, row), g, kernel.const(0, f32)], f32)
        share = kernel.add("multiply", [powers, kernel.add("divide", [g, total], f32)], f32)
        chosen = kernel.add("select", [at, g, kernel.const(0, f32)], f32)
        kernel.store(self.ref(out), kernel.add("subtract", [share, chosen], f32))
        return [*items, kernel]

    def rows_of(self, index, rows, width, out_shape):
        """A kernel over looked-up rows of a table, and the number of each."""
        if index.dtype != np.int64 or not index.example.flags.c_contiguous or 0 in out_shape or not rows:
            raise NoLowering("indices of another kind")
        kernel = Kernel((index.example.size, width), "embedding")
        r = self.ref(index)
        return kernel, kernel.add("index", (), index.dtype, level="r", value=("checked", rows),
                                  ref=Ref(r.root, r.anchor, r.offset, (1, 0), r.dtype))

    def op_embedding(self, i, index, table, *, padding_idx, scale_grad_by_freq):
        self.kind(table)
        out, (rows, width) = i.results[0], table.shape
        if not out.example.flags.c_contiguous:
            raise NoLowering("layout")
        kernel, row = self.rows_of(index, rows, width, out.shape)
        r = self.ref(table)
        x = kernel.add("gather", [row], table.dtype, level="e", ref=r.moved((0, r.strides[1])), value=r.strides[0])
        kernel.store(self.ref(out, kernel.dims, (width, 1)), x)
        return [kernel]

    def op_embedding_backward(self, i, grad, index, *, rows, padding_idx, scale_grad_by_freq):
        out, width = i.results[0], grad.shape[-1]
        if scale_grad_by_freq or grad.dtype != np.float32 or not grad.example.flags.c_contiguous:
            raise NoLowering("options")
        kernel, row = self.rows_of(index, rows, width, grad.shape)
        kernel.names = ["embedding_backward"]
        x = kernel.load(self.ref(grad, kernel.dims, (width, 1)))
        if padding_idx >= 0:
            padded = kernel.add("equal", [row, kernel.const(padding_idx, row.dtype)], np.dtype(bool))
            x = kernel.add("select", [padded, kernel.const(0, x.dtype), x], x.dtype)
        kernel.effects.append(Effect("scatter", Ref(out, out, 0, (0, 1), out.dtype), x, row))
        return [kernel]
