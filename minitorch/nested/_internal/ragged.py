"""`Call`: one call of an op on batches of ragged elements, and what its index notation says of it.

`bind` gives each dimension a label, the batch and the ragged dimension too. A batch goes through
the op as its first dimension, or is combined together with the ragged one; and a result is ragged
as an input is, or dense. Everything else is refused. How a call is computed then: `ways.py`.
"""

import math
from functools import lru_cache

from ... import Tensor, jagged
from ...extend import worded
from ...ops.dims import column_of, is_elementwise, parse
from ...ops.labels import bind
from .batch import Batch
from .nested_int import LARGE

__all__ = ["Call", "extent", "refused"]

# Index notation of ops whose random numbers go by the place of an element in memory.
BY_PLACE = dict.fromkeys(["dropout", "attention_dropout"], "*")
BATCH, RAGGED = "batch dimension", "ragged dim"


def extent(x):
    """The shape of a tensor, with stand-ins for the ragged sizes."""
    if not isinstance(x, Batch):
        return x.array.shape
    key = x._inner.array.shape, getattr(x, "_ragged_idx", None)
    if key not in x._kept:
        x._kept[key] = (len(x), *[n if n.__class__ is int else n.stand_in
                                  for n in x.element_sizes()])
    return x._kept[key]


def refused(op, why, error=RuntimeError):
    """The error for a call of `op` that nested tensors refuse."""
    return worded(error(f"{op.name}(): not supported for NestedTensor: {why}"))


@lru_cache(maxsize=1024)
def bound_once(op, shapes, attrs, text):
    """`bind`, once for calls of the same shapes and attributes: (name, value) pairs."""
    return bind(op, shapes, {k: unpacked(v) for k, v in attrs}, text)


def packed(x):
    """A value with a tuple in place of each slice, which has no hash."""
    if x.__class__ is tuple:
        return tuple([packed(y) for y in x])
    return (slice, x.start, x.stop, x.step) if x.__class__ is slice else x


def unpacked(x):
    """The inverse of `packed`."""
    if x.__class__ is not tuple:
        return x
    return slice(*x[1:]) if x[:1] == (slice,) else tuple([unpacked(y) for y in x])


class Call:
    """One call of an op on nested tensors of one layout, and the labels of its dimensions.

    `nested`: the places of the nested inputs; `first`: the first of them. `batch`: the label of the
    dimension that counts elements; `ragged`: those of ragged dimensions.
    """

    def __init__(self, op, inputs, attrs):
        self.op, self.inputs, self.attrs = op, inputs, attrs
        self.nested = [i for i, x in enumerate(inputs) if isinstance(x, Batch)]
        self.first = inputs[self.nested[0]]
        self.jagged = self.first.layout is jagged
        self.text = BY_PLACE.get(op.name) or column_of(op.dims, {**dict(op.attrs), **attrs})
        if self.text is None:
            raise worded(NotImplementedError(
                f"{op.name}() is not supported for nested tensors: it has no index notation for "
                f"this call, the column `dims`"))
        self.check_list()
        self.shapes = [None if x is None else extent(x) if isinstance(x, (Batch, Tensor)) else ()
                       for x in inputs]
        if self.jagged and is_elementwise(op):             # a dense operand may be a padded one
            self.shapes = [self.as_padded(*both) for both in zip(inputs, self.shapes)]
        self.bound = self.bind(attrs)
        self.batch, self.whole = self.bound.ins[self.nested[0]][0], self.bound.whole
        if self.bound.reduction and attrs[self.bound.reduction] != "none":
            self.whole = self.bind({**attrs, self.bound.reduction: "none"}).whole
        self.ragged = list(dict.fromkeys(
            [label for i in self.nested for label, n in zip(self.bound.ins[i], self.shapes[i])
             if n > LARGE]))
        self.check_batch()
        if self.jagged:
            self.check_ragged()

    # -- labels ----------------------------------------------------------------------------------
    def bind(self, attrs):
        pairs = tuple([(k, packed(v)) for k, v in attrs.items()])
        try:
            return bound_once(self.op, tuple(self.shapes), pairs, self.text)
        except TypeError:                                  # an array is an attribute
            return bind(self.op, self.shapes, attrs, self.text)
        except ValueError:
            raise self.mismatch() from None

    def check_list(self):
        """RuntimeError for a list of results, one for each place along the ragged dimension."""
        for term in parse(self.text).outs:
            d = self.attrs.get(term.each)
            if d.__class__ is int and extent(self.first)[d] > LARGE:
                raise refused(self.op, f"a result for each place along the {RAGGED}")

    def as_padded(self, x, shape):
        """`shape` with the ragged size, if a dense tensor has places for the longest element."""
        nt = self.first
        r = nt._ragged_idx - nt.dim() + len(shape or ())
        if isinstance(x, Batch) or r < 0 or shape[r] < max(2, nt._get_max_seqlen()):
            return shape
        return (*shape[:r], extent(nt)[nt._ragged_idx], *shape[r + 1:])

    def mismatch(self):
        """The error for shapes that do not fit the notation."""
        shapes = [shape for shape in self.shapes if shape]
        if parse(self.text).ins[0].flat:
            return refused(self.op, f"cannot view shape {shapes[0]} as {self.attrs['shape']}")
        if len(shapes) == 1:
            return refused(self.op, f"shape {shapes[0]} for {self.text!r}", NotImplementedError)
        return worded(RuntimeError(
            f"{self.op.name}(): cannot call it with inputs of shapes "
            f"{', '.join(map(str, shapes))}: ragged dimensions need the same offsets tensor, or a "
            f"size of 1"))

    def passes(self, label):
        """True if a dimension goes through the op: in all results, each index on its own."""
        return label not in self.whole and all([label in labels for labels in self.bound.outs])

    def is_gone(self, label):
        """True if no result has a dimension."""
        return not any([label in labels for labels in self.bound.outs])

    def is_combined(self, label):
        return label not in self.whole and self.is_gone(label)

    def are_reduced_together(self, labels):
        """True if dimensions go, in no order: combined, or named by one attribute such as `dim`."""
        if all([self.is_combined(label) for label in labels]):
            return True
        word = self.batch[0]
        stays = [n for found, shape in zip(self.bound.outs, self.bound.out_shapes)
                 for label, n in zip(found, shape) if label[0] == word]
        return word in self.attrs and set(stays) <= {1} and all(
            [self.is_gone(label) and label[0] == word for label in labels])

    # -- what is refused -------------------------------------------------------------------------
    def check_batch(self):
        """The batch stays the first dimension, or goes with the ragged one."""
        b, bound = self.batch, self.bound
        if bound.column.ins[0].flat and math.prod(bound.out_shapes[0]) != math.prod(self.shapes[0]):
            raise self.mismatch()
        if any([bound.ins[i][0] != b for i in self.nested]):
            raise self.mismatch()
        if not self.passes(b) and not all([self.is_gone(label) for label in (b, *self.ragged)]):
            raise refused(self.op, f"over the {BATCH} (dim=0) but not the ragged dimension")
        for labels, shape in zip(bound.outs, bound.out_shapes):
            if b in labels and shape[labels.index(b)] != len(self.first):
                raise refused(self.op, f"it joins the {BATCH} with another one")
            if b in labels and labels[0] != b:
                moved = any([labels[0] in found for found in bound.ins if found])
                raise refused(self.op, f"the {BATCH} has to stay the first",
                              ValueError if moved else RuntimeError)

    def check_ragged(self):
        """A result is ragged as an input is; PyTorch also refuses to take places along it."""
        bound, ragged = self.bound, self.ragged
        if any([bound.ins[i].count(r) > 1 for i in self.nested for r in ragged]):
            raise refused(self.op, f"it pairs the {RAGGED} with a dense one", NotImplementedError)
        if bound.column.by == "moving" and any([r in self.whole and self.is_gone(r)
                                                for r in ragged]):
            raise refused(self.op, f"places along the {RAGGED}, which an element may not have")
        for shape in bound.out_shapes:
            found = [n for n in shape if n > LARGE]
            if len(found) > 1:
                raise refused(self.op, f"a result with two dimensions like the {RAGGED}")
            if found and not any([found[0] in self.shapes[i] for i in self.nested]):
                raise refused(self.op, f"a result with other sizes along the {RAGGED}")
        for r in ragged:
            beside = [x for x in bound.sizes if x[0] == r[0] and x[0] in self.attrs
                      and x not in (r, self.batch) and self.is_gone(x)]
            if beside and self.is_gone(r) and not self.is_gone(self.batch):
                raise refused(self.op, f"reducing along the {RAGGED} and a dense one")
