"""Lowering of what is looked up by number: classes of losses and rows of tables, whose references decide by values."""

from __future__ import annotations

import numpy as np

from .indexed import Indexed, Lookup
from .items import OP, NoLowering, is_number, lowers
from .loops import Effect, Kernel, Ref
from .program import Value

__all__ = ["Lookups"]

BOOL, I32 = np.dtype(bool), np.dtype(np.int32)


class Lookups(Indexed):
    """A part of `Lowering`."""

    # -- classes: numbers of columns -----------------------------------------------------------------------------
    def class_axis(self, x, target):
        """The dimension of the classes of (N, C, *) or (C,), and all dimensions with it at the end."""
        if x.dtype.char not in "fd" or target.dtype.kind != "i" or target.dtype.itemsize < 4:
            raise NoLowering("classes of another kind")
        axis = 1 if len(x.shape) > 1 else 0
        if 0 in x.shape:
            raise NoLowering("no class")
        return axis, [*[d for d in range(len(x.shape)) if d != axis], axis]

    def by_class(self, name, x, target, ignore_index):
        """A kernel whose columns are classes; how refs of `x` are turned; the target, -1 if ignored; whether a column
        is it."""
        axis, order = self.class_axis(x, target)
        kernel = Kernel(tuple(x.shape[d] for d in order), name)
        row = self.target(kernel, target, (*self.ref(target).strides, 0), x.shape[axis], ignore_index)
        at = kernel.add("equal", [kernel.add("column", (), I32, level="e"), row], BOOL)
        return kernel, lambda v: self.turned(v, x.shape, order), row, at

    def turned(self, v, shape, order):
        r = self.ref(v, shape)
        return r.moved([r.strides[d] for d in order])

    def target(self, kernel, target, strides, classes, ignore_index):
        number = kernel.load(self.ref(target).moved(strides))
        return kernel.add("index", [number], I32, value=("target", classes, ignore_index))

    def counts(self, kernel, row):
        return kernel.add("greater_equal", [row, kernel.const(0, I32)], BOOL)

    def share(self, kernel, row, weight, dtype):
        """The weight of each target, 0 of those that are ignored."""
        one = kernel.const(1, dtype)
        if weight is not None:
            if weight.dtype != dtype or len(weight.shape) != 1:
                raise NoLowering("weights of another kind")
            r = self.ref(weight)
            safe = kernel.cast(kernel.add("maximum", [row, kernel.const(0, I32)], I32), np.dtype(np.int64))
            safe = kernel.add("multiply", [safe, kernel.const(r.strides[0], safe.dtype)], safe.dtype)
            one = kernel.add("gather", [safe], dtype, level=row.level, ref=r.moved([0] * len(kernel.dims)))
        return kernel.add("select", [self.counts(kernel, row), one, kernel.const(0, dtype)], dtype)

    def temporary(self, dtype):
        return Value("made", np.empty((), dtype))

    def class_reduction(self, kernel, how, loss, share, out, place, reduction):
        """The effects of the loss of each target; what is left to do after them. `how`: "sum" or "rowsum"."""
        nowhere = (0,) * len(kernel.dims)
        if reduction == "none":
            kernel.store(place, loss)
            return []
        if reduction == "sum":
            kernel.effects.append(Effect(how, Ref(out, out, 0, nowhere, out.dtype), loss))
            return []
        total, number = self.temporary(out.dtype), self.temporary(out.dtype)
        for v, x in ((total, loss), (number, share)):
            kernel.effects.append(Effect(how, Ref(v, v, 0, nowhere, v.dtype), x))
        return self.map("mean", out, [total, number], lambda k, a, b: k.add("divide", [a, b], out.dtype))

    def weighed(self, kernel, row, share, loss, weight):
        """A loss times its weight; 0, whatever it is, where the target is ignored."""
        loss = loss if weight is None else kernel.add("multiply", [loss, share], loss.dtype)
        return kernel.add("select", [self.counts(kernel, row), loss, kernel.const(0, loss.dtype)], loss.dtype)

    @lowers(OP, "nll_loss")
    def op_nll_loss(self, i, x, target, weight=None, *, ignore_index=-100, reduction="mean"):
        axis, order = self.class_axis(x, target)
        kernel, r, out = Kernel(target.shape or (1,), "nll_loss"), self.ref(x), i.results[0]
        row = self.target(kernel, target, self.ref(target).strides or (0,), x.shape[axis], ignore_index)
        share, i64 = self.share(kernel, row, weight, x.dtype), np.dtype(np.int64)
        safe = kernel.cast(kernel.add("maximum", [row, kernel.const(0, I32)], I32), i64)
        ref = r.moved([r.strides[d] for d in order[:-1]] or (0,))
        value = kernel.add("gather", [kernel.add("multiply", [safe, kernel.const(r.strides[axis], i64)], i64)], x.dtype,
                           level="e" if "e" in (row.level, kernel.level(ref)) else "r", ref=ref)
        loss = self.weighed(kernel, row, share, kernel.add("negative", [value], x.dtype), weight)
        place = self.ref(out, kernel.dims) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "sum", loss, share, out, place, reduction)]

    @lowers(OP, "cross_entropy")
    def op_cross_entropy(self, i, x, target, weight=None, *, ignore_index=-100, reduction="mean"):
        kernel, turned, row, at = self.by_class("cross_entropy", x, target, ignore_index)
        if kernel.dims[-1] == 1:
            raise NoLowering("one class")
        real, results = x.dtype, list(i.results)
        value = kernel.load(turned(x))
        shifted = kernel.add("subtract", [value, kernel.reduce("max", value)], real)
        powers = kernel.add("exp", [shifted], real)
        total = kernel.reduce("sum", powers)
        picked = kernel.reduce("sum", kernel.add("select", [at, shifted, kernel.const(0, real)], real))
        loss = kernel.add("subtract", [kernel.add("log", [total], real), picked], real)
        share = self.share(kernel, row, weight, real)
        loss = self.weighed(kernel, row, share, loss, weight)
        if len(results) == 3:
            kernel.store(turned(results[1]), powers)
            kernel.store(turned(results[2]), total)
        out = results[0]
        place = self.ref(out).moved((*self.ref(out).strides, 0)) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "rowsum", loss, share, out, place, reduction)]

    def target_scale(self, kernel, row, grad, target, weight, out, ignore_index, reduction):
        """The gradient of each target's loss; the items before the kernel: of a mean the sum of the weights."""
        real, classes, items = out.dtype, kernel.dims[-1], []
        if is_number(grad):
            g = self.operand(kernel, grad, real)
        elif not grad.shape:
            g = kernel.load(self.ref(grad, kernel.dims))
        else:
            g = kernel.load(self.ref(grad).moved((*self.ref(grad).strides, 0)))
        share = self.share(kernel, row, weight, real)
        if reduction == "mean":
            count = self.temporary(real)
            counting = Kernel(target.shape or (1,), "count")
            label = self.target(counting, target, self.ref(target).strides or (0,), classes, ignore_index)
            counting.effects.append(Effect("sum", Ref(count, count, 0, (0,) * len(counting.dims), real),
                                           self.share(counting, label, weight, real)))
            items.append(counting)
            n = kernel.load(self.ref(count, kernel.dims))
            none = kernel.add("equal", [n, kernel.const(0, real)], BOOL)
            g = kernel.add("select", [none, kernel.add("multiply", [g, kernel.const(0, real)], real),
                                      kernel.add("divide", [g, n], real)], real)
        return self.weighed(kernel, row, share, g, weight), items

    @lowers(OP, "nll_loss_backward")
    def op_nll_loss_backward(self, i, grad, target, weight=None, *, ignore_index=-100, reduction="mean", shape=()):
        out = i.results[0]
        kernel, turned, row, at = self.by_class("nll_loss_backward", out, target, ignore_index)
        g, items = self.target_scale(kernel, row, grad, target, weight, out, ignore_index, reduction)
        zero = kernel.const(0, out.dtype)
        kernel.store(turned(out), kernel.add("select", [at, kernel.add("negative", [g], out.dtype), zero], out.dtype))
        return [*items, kernel]

    @lowers(OP, "cross_entropy_backward")
    def op_cross_entropy_backward(self, i, grad, x, target, weight=None, powers=None, totals=None, *,
                                  ignore_index=-100, reduction="mean"):
        out, real = i.results[0], i.results[0].dtype
        kernel, turned, row, at = self.by_class("cross_entropy", out, target, ignore_index)
        if kernel.dims[-1] == 1:
            raise NoLowering("one class")
        if x is not None:
            value = kernel.load(turned(x))
            powers = kernel.add("exp", [kernel.add("subtract", [value, kernel.reduce("max", value)], real)], real)
            total = kernel.reduce("sum", powers)
        else:
            powers, total = kernel.load(turned(powers)), kernel.load(turned(totals))
        g, items = self.target_scale(kernel, row, grad, target, weight, out, ignore_index, reduction)
        share = kernel.add("multiply", [powers, kernel.add("divide", [g, total], real)], real)
        chosen = kernel.add("select", [at, g, kernel.const(0, real)], real)
        kernel.store(turned(out), kernel.add("subtract", [share, chosen], real))
        return [*items, kernel]

    # -- probabilities -------------------------------------------------------------------------------------------
    @lowers(OP, "binary_cross_entropy")
    def op_binary_cross_entropy(self, i, x, target, weight=None, *, reduction="mean"):
        out, real, shape = i.results[0], x.dtype, x.shape
        if real.char not in "fd" or target.dtype != real or weight is not None and weight.dtype != real or 0 in shape:
            raise NoLowering("operands of these types")
        kernel = Kernel(shape or (1,), "binary_cross_entropy")
        value, wanted, *scale = (kernel.load(self.ref(v, kernel.dims)) for v in (x, target, weight) if v is not None)
        value = kernel.add("index", [value], real, value=("md"[real.char == "d"] + "_probability",))
        one, least = kernel.const(1, real), kernel.const(-100, real)
        logs = [kernel.add("log1p", [kernel.add("negative", [value], real)], real), kernel.add("log", [value], real)]
        terms = [kernel.add("multiply", [share, kernel.add("maximum", [x, least], real)], real)
                 for share, x in zip((kernel.add("subtract", [wanted, one], real), wanted), logs)]
        loss = kernel.add("subtract", terms, real)
        for w in scale:
            loss = kernel.add("multiply", [loss, w], real)
        place = self.ref(out, kernel.dims) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "sum", loss, one, out, place, reduction)]

    # -- tables: numbers of rows -----------------------------------------------------------------------------------
    def rows_of(self, index, table):
        """The dimensions in a kernel, the ref and the lookup of the table's rows that an index names."""
        r, lead = self.ref(table), len(index.shape)
        return (*index.shape, table.shape[1]), r.moved([0] * lead + [r.strides[1]]), [
            Lookup(index, (*self.ref(index).strides, 0), table.shape[0], r.strides[0], kind=1)]

    @lowers(OP, "embedding")
    def op_embedding(self, i, index, table, *, padding_idx, scale_grad_by_freq):
        dims, ref, lookups = self.rows_of(index, table)
        return self.picked("embedding", dims, self.ref(i.results[0], dims), ref, lookups)

    @lowers(OP, "embedding_backward")
    def op_embedding_backward(self, i, grad, index, *, rows, padding_idx, scale_grad_by_freq):
        if scale_grad_by_freq or grad.shape[:-1] != index.shape:
            raise NoLowering("options")

        def add(out):
            dims, ref, lookups = self.rows_of(index, out)
            kernel = Kernel(dims, "embedding_backward")
            ref, row = self.looked_up(kernel, ref, lookups)
            x = kernel.cast(kernel.load(self.ref(grad)), out.dtype)
            if padding_idx >= 0:
                padded = kernel.add("equal", [row, kernel.const(padding_idx * lookups[0].stride, row.dtype)], BOOL)
                x = kernel.add("select", [padded, kernel.const(0, x.dtype), x], x.dtype)
            kernel.effects.append(Effect("add", ref, x, row))
            return [kernel]
        return self.changed(None, i.results[0], "add", add)
