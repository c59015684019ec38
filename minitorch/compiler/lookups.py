"""Lowering of ops that look up elements by number: classes of losses, and rows of tables.

Their references branch on values, and so cannot be traced.
"""

from __future__ import annotations

import numpy as np

from .indexed import Indexed, Lookup
from .items import OP, NoLowering, is_number, lowers
from .loops import Effect, Kernel, Ref
from .program import Value

__all__ = ["Lookups"]

I32, I64 = np.dtype(np.int32), np.dtype(np.int64)


class Lookups(Indexed):
    """A part of `Lowering`."""

    # -- classes: numbers of columns ---------------------------------------------------------------
    def class_axis(self, x, target):
        """The dimension of the classes of (N, C, *) or (C,), and all with it at the end."""
        if x.dtype.char not in "fd" or target.dtype.kind != "i" or target.dtype.itemsize < 4:
            raise NoLowering("classes of another kind")
        axis = 1 if len(x.shape) > 1 else 0
        if 0 in x.shape:
            raise NoLowering("no class")
        return axis, [*[d for d in range(len(x.shape)) if d != axis], axis]

    def by_class(self, name, x, target, ignore_index):
        """A kernel whose columns are classes, with its parts.

        Returns it, how refs of `x` are turned, the target, which is -1 if ignored, and whether a
        column is it.
        """
        axis, order = self.class_axis(x, target)
        kernel = Kernel(tuple(x.shape[d] for d in order), name)
        strides = (*self.ref(target).strides, 0)
        row = self.target(kernel, target, strides, x.shape[axis], ignore_index)
        at = kernel.test("equal", kernel.add("column", (), I32, level="e"), row)
        return kernel, lambda v: self.turned(v, x.shape, order), row, at

    def turned(self, v, shape, order):
        r = self.ref(v, shape)
        return r.moved([r.strides[d] for d in order])

    def target(self, kernel, target, strides, classes, ignore_index):
        """The target of each row, checked; -1 if it is ignored."""
        number = kernel.load(self.ref(target).moved(strides))
        return kernel.add("index", [number], I32, value=("target", classes, ignore_index))

    def targets(self, name, target, classes, ignore_index):
        """A kernel over targets, and the target of each element."""
        kernel = Kernel(target.shape or (1,), name)
        strides = self.ref(target).strides or (0,)
        return kernel, self.target(kernel, target, strides, classes, ignore_index)

    def counts(self, kernel, row):
        """A node that is true for targets that are not ignored."""
        return kernel.test("greater_equal", row, kernel.const(0, I32))

    def class_at(self, kernel, row, stride, ref, level):
        """The element of a ref at the target's class; at class 0 where it is ignored."""
        safe = kernel.cast(kernel.apply("maximum", row, kernel.const(0, I32)), I64)
        further = kernel.apply("multiply", safe, kernel.const(stride, I64))
        return kernel.add("gather", [further], ref.dtype, level=level, ref=ref)

    def share(self, kernel, row, weight, dtype):
        """The weight of each target, 0 of those that are ignored."""
        one = kernel.const(1, dtype)
        if weight is not None:
            if weight.dtype != dtype or len(weight.shape) != 1:
                raise NoLowering("weights of another kind")
            r = self.ref(weight)
            nowhere = r.moved([0] * len(kernel.dims))
            one = self.class_at(kernel, row, r.strides[0], nowhere, row.level)
        return kernel.apply("select", self.counts(kernel, row), one, kernel.const(0, dtype))

    def temporary(self, dtype):
        return Value("made", np.empty((), dtype))

    def class_reduction(self, kernel, how, loss, share, out, place, reduction):
        """Add the effects of the loss of each target; the items that come after the kernel.

        `how` is the effect that adds up losses: "sum" or "rowsum".
        """
        if reduction == "none":
            kernel.store(place, loss)
            return []
        if reduction == "sum":
            self.gather(kernel, how, out, loss)
            return []
        total, number = self.temporary(out.dtype), self.temporary(out.dtype)
        self.gather(kernel, how, total, loss)
        self.gather(kernel, how, number, share)
        return self.map("mean", out, [total, number], lambda k, a, b: k.apply("divide", a, b))

    def gather(self, kernel, how, v, x):
        """Add up a node in a value of one element."""
        ref = Ref(v, v, 0, (0,) * len(kernel.dims), v.dtype)
        kernel.effects.append(Effect(how, ref, x))

    def weighed(self, kernel, row, share, loss, weight):
        """A loss times its weight; 0 if the target is ignored, even for a NaN."""
        loss = loss if weight is None else kernel.apply("multiply", loss, share)
        return kernel.apply("select", self.counts(kernel, row), loss, kernel.const(0, loss.dtype))

    @lowers(OP, "nll_loss")
    def op_nll_loss(self, i, x, target, weight=None, *, ignore_index=-100, reduction="mean"):
        axis, order = self.class_axis(x, target)
        r, out = self.ref(x), i.results[0]
        kernel, row = self.targets("nll_loss", target, x.shape[axis], ignore_index)
        share = self.share(kernel, row, weight, x.dtype)
        ref = r.moved([r.strides[d] for d in order[:-1]] or (0,))
        level = "e" if "e" in (row.level, kernel.level(ref)) else "r"
        value = self.class_at(kernel, row, r.strides[axis], ref, level)
        loss = self.weighed(kernel, row, share, kernel.apply("negative", value), weight)
        place = self.ref(out, kernel.dims) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "sum", loss, share, out, place, reduction)]

    @lowers(OP, "cross_entropy")
    def op_cross_entropy(self, i, x, target, weight=None, *, ignore_index=-100, reduction="mean"):
        kernel, turned, row, at = self.by_class("cross_entropy", x, target, ignore_index)
        if kernel.dims[-1] == 1:
            raise NoLowering("one class")
        out, *kept = i.results
        value = kernel.load(turned(x))
        shifted = kernel.apply("subtract", value, kernel.reduce("max", value))
        powers = kernel.apply("exp", shifted)
        total = kernel.reduce("sum", powers)
        zero = kernel.const(0, x.dtype)
        picked = kernel.reduce("sum", kernel.apply("select", at, shifted, zero))
        loss = kernel.apply("subtract", kernel.apply("log", total), picked)
        share = self.share(kernel, row, weight, x.dtype)
        loss = self.weighed(kernel, row, share, loss, weight)
        for v, node in zip(kept, (powers, total)):
            kernel.store(turned(v), node)
        place = self.ref(out).moved((*self.ref(out).strides, 0)) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "rowsum", loss, share, out, place, reduction)]

    def target_scale(self, kernel, row, grad, target, weight, out, ignore_index, reduction):
        """The gradient of each target's loss; the items before the kernel."""
        real, items = out.dtype, []
        if is_number(grad):
            g = self.operand(kernel, grad, real)
        elif not grad.shape:
            g = kernel.load(self.ref(grad, kernel.dims))
        else:
            g = kernel.load(self.ref(grad).moved((*self.ref(grad).strides, 0)))
        share = self.share(kernel, row, weight, real)
        if reduction == "mean":
            counting, count = self.counted(target, weight, real, kernel.dims[-1], ignore_index)
            items.append(counting)
            g = self.divided(kernel, g, kernel.load(self.ref(count, kernel.dims)))
        return self.weighed(kernel, row, share, g, weight), items

    def counted(self, target, weight, dtype, classes, ignore_index):
        """A kernel that adds up the weights of all targets, and where."""
        count = self.temporary(dtype)
        kernel, row = self.targets("count", target, classes, ignore_index)
        self.gather(kernel, "sum", count, self.share(kernel, row, weight, dtype))
        return kernel, count

    def divided(self, kernel, g, count):
        """A gradient shared by all targets; 0 if there are none."""
        zero = kernel.const(0, g.dtype)
        none = kernel.test("equal", count, zero)
        return kernel.apply("select", none, kernel.apply("multiply", g, zero),
                            kernel.apply("divide", g, count))

    @lowers(OP, "nll_loss_backward")
    def op_nll_loss_backward(self, i, grad, target, weight=None, *, ignore_index=-100,
                             reduction="mean", shape=()):
        out = i.results[0]
        kernel, turned, row, at = self.by_class("nll_loss_backward", out, target, ignore_index)
        g, items = self.target_scale(kernel, row, grad, target, weight, out, ignore_index,
                                     reduction)
        found = kernel.apply("select", at, kernel.apply("negative", g), kernel.const(0, out.dtype))
        kernel.store(turned(out), found)
        return [*items, kernel]

    @lowers(OP, "cross_entropy_backward")
    def op_cross_entropy_backward(self, i, grad, x, target, weight=None, powers=None, totals=None,
                                  *, ignore_index=-100, reduction="mean"):
        out = i.results[0]
        kernel, turned, row, at = self.by_class("cross_entropy", out, target, ignore_index)
        if kernel.dims[-1] == 1:
            raise NoLowering("one class")
        if x is not None:
            value = kernel.load(turned(x))
            shifted = kernel.apply("subtract", value, kernel.reduce("max", value))
            powers = kernel.apply("exp", shifted)
            total = kernel.reduce("sum", powers)
        else:
            powers, total = kernel.load(turned(powers)), kernel.load(turned(totals))
        g, items = self.target_scale(kernel, row, grad, target, weight, out, ignore_index,
                                     reduction)
        share = kernel.apply("multiply", powers, kernel.apply("divide", g, total))
        chosen = kernel.apply("select", at, g, kernel.const(0, out.dtype))
        kernel.store(turned(out), kernel.apply("subtract", share, chosen))
        return [*items, kernel]

    # -- probabilities -----------------------------------------------------------------------------
    @lowers(OP, "binary_cross_entropy")
    def op_binary_cross_entropy(self, i, x, target, weight=None, *, reduction="mean"):
        out, real, shape = i.results[0], x.dtype, x.shape
        inputs = [v for v in (x, target, weight) if v is not None]
        if real.char not in "fd" or any(v.dtype != real for v in inputs) or 0 in shape:
            raise NoLowering("operands of these types")
        kernel = Kernel(shape or (1,), "binary_cross_entropy")
        value, wanted, *scale = (kernel.load(self.ref(v, kernel.dims)) for v in inputs)
        check = ("d" if real.char == "d" else "m") + "_probability"
        value = kernel.add("index", [value], real, value=(check,))
        one, least = kernel.const(1, real), kernel.const(-100, real)
        logs = [kernel.apply("log1p", kernel.apply("negative", value)), kernel.apply("log", value)]
        terms = [kernel.apply("multiply", share, kernel.apply("maximum", x, least))
                 for share, x in zip((kernel.apply("subtract", wanted, one), wanted), logs)]
        loss = kernel.apply("subtract", *terms)
        for w in scale:
            loss = kernel.apply("multiply", loss, w)
        place = self.ref(out, kernel.dims) if reduction == "none" else None
        return [kernel, *self.class_reduction(kernel, "sum", loss, one, out, place, reduction)]

    # -- tables: numbers of rows -------------------------------------------------------------------
    def rows_of(self, index, table):
        """The dimensions in a kernel, the ref and the lookup of the rows that an index names."""
        r, lead = self.ref(table), len(index.shape)
        look = Lookup(index, (*self.ref(index).strides, 0), table.shape[0], r.strides[0], kind=1)
        return (*index.shape, table.shape[1]), r.moved([0] * lead + [r.strides[1]]), [look]

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
                padding = kernel.const(padding_idx * lookups[0].stride, row.dtype)
                padded = kernel.test("equal", row, padding)
                x = kernel.apply("select", padded, kernel.const(0, x.dtype), x)
            kernel.effects.append(Effect("add", ref, x, row))
            return [kernel]
        return self.changed(None, i.results[0], "add", add)
