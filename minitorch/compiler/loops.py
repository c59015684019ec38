"""Row kernels: the one form of all computation by loops, and the rule by which they are fused.

A kernel has a domain `dims`, whose last dimension is the columns, and statements on it. A statement
makes a value for each element ("e"), for each row ("r") or once and for all ("k"): a load, a map (a
scalar function), a reduction of a row. Its effects are stores, sums over some dimensions of the
domain, and rows added to those of a table. Softmax, normalisations, losses, masks and gradients of
biases are all of this form.

The passes over a row are derived, not written down: a statement that needs a reduction belongs to a
later pass than the reduction. So two kernels are fused by joining their lists of statements, unless
a conflict in memory forbids it (`Kernel.takes`).
"""

from __future__ import annotations

import math

import numpy as np

from ..backends.numpy_names import REDUCES, is_truth

__all__ = ["AT", "Effect", "Kernel", "Node", "Ref", "restride"]

MOST = 160                 # statements of a kernel: beyond, registers are short


def restride(shape, strides, dims):
    """Strides for the same elements in the same order under other dimensions, or None."""
    pairs = [[n, s] for n, s in zip(shape, strides) if n != 1]
    found, k = [], len(pairs) - 1
    for n in reversed(dims):
        if n == 1:
            found.append(0)
            continue
        if k < 0:
            return None
        left, stride = n, pairs[k][1]
        while True:
            m, s = pairs[k]
            if m > left:                                   # a part of this dimension
                if m % left:
                    return None
                pairs[k] = [m // left, s * left]
                break
            if left % m:
                return None
            left //= m
            k -= 1
            if left == 1:
                break
            if k < 0 or pairs[k][1] != s * m:
                return None
        found.append(stride)
    return tuple(reversed(found)) if k < 0 else None


class Ref:
    """Elements of memory: an `anchor`, the Value that it begins at, an offset and strides.

    There is a stride for each dimension of a domain. Offset and strides count elements. `root`
    stands for the memory: two of the same root may overlap.
    """

    def __init__(self, root, anchor, offset, strides, dtype):
        self.root, self.anchor, self.offset, self.strides = root, anchor, offset, tuple(strides)
        self.dtype = np.dtype(dtype)

    def same(self, other):
        return self.root is other.root and self.key() == other.key()

    def key(self):
        """A key that is equal for refs to the same elements."""
        return self.anchor, self.offset, self.strides, self.dtype

    def moved(self, strides):
        """The same memory with other strides."""
        return Ref(self.root, self.anchor, self.offset, strides, self.dtype)

    def extent(self, dims):
        """The bytes that it may touch: from, to."""
        ends = [(n - 1) * s for n, s in zip(dims, self.strides)]
        low, high = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        size = self.dtype.itemsize
        return (self.offset + low) * size, (self.offset + high + 1) * size

    def apart(self, dims, other, other_dims):
        """True if it certainly touches no byte of another one."""
        if self.root is not other.root:
            return True
        if self.anchor is not other.anchor:
            return False
        (a, b), (c, d) = self.extent(dims), other.extent(other_dims)
        return b <= c or d <= a


class Node:
    """A value of a kernel: `op`, arguments, dtype, level ("k", "r", "e"); of a load its `ref`, of a
    number its `value`.

    Ops besides scalar functions: const, load, cast, column (its number), sum, max, min, prod (of a
    row), running (sum or another of these, up to each column), across (up to each row of the last
    dimension of rows), index (a number that looks something up, checked by the function of C that
    `value` names, with its arguments), gather (the element of `ref` that lies `args[0]` further
    on).
    """

    __slots__ = ("op", "args", "dtype", "level", "ref", "value")

    def __init__(self, op, args=(), dtype=None, level="k", ref=None, value=None):
        self.op, self.args, self.dtype = op, list(args), dtype
        self.level, self.ref, self.value = level, ref, value


# ufunc -> its reduction here, which has the first of NumPy's names for it
REDUCED = {ufunc: name for name, ufunc in reversed(REDUCES.items()) if not is_truth(ufunc)}
REDUCTIONS = tuple(REDUCED.values())
SPECIAL = (*REDUCTIONS, "running", "across", "column", "gather")   # which know rows from columns
AT = ("put", *REDUCED)     # effects on the elements that are looked up


class Effect:
    """A change that a kernel makes to memory: `kind`, place and value.

    Kinds are store; sum, max, min and prod, over the dimensions in which the ref has stride 0;
    rowsum, which takes one value from each row; put, add and others of `AT`, which change the
    element that lies `row` further on, one after the other.
    """

    __slots__ = ("kind", "ref", "x", "row")

    def __init__(self, kind, ref, x, row=None):
        self.kind, self.ref, self.x, self.row = kind, ref, x, row


class Kernel:
    """See the head of this file.

    `names` are the ops that it came from, `origin` the instructions of the program.
    """

    def __init__(self, dims, name):
        self.dims, self.names = tuple(dims), [name]
        self.nodes: list[Node] = []
        self.effects: list[Effect] = []
        self.origin: list = []

    # -- building ----------------------------------------------------------------------------------
    def add(self, op, args=(), dtype=None, **more):
        """A new statement."""
        node = Node(op, args, dtype, more.pop("level", None) or level_of(args), **more)
        self.nodes.append(node)
        return node

    def apply(self, op, *args):
        """A scalar function whose result has the type of its last operand."""
        return self.add(op, args, args[-1].dtype)

    def test(self, op, *args):
        """A scalar function whose result is a bool."""
        return self.add(op, args, np.dtype(bool))

    def const(self, value, dtype):
        return Node("const", (), np.dtype(dtype), "k", value=value)

    def load(self, ref):
        """The elements of memory: the value that was stored there, if this kernel did."""
        for e in reversed(self.effects):
            if e.kind == "store" and e.ref.same(ref):
                return e.x if e.x.dtype == ref.dtype else self.cast(e.x, ref.dtype)
        if not any(e.ref.root is ref.root for e in self.effects):
            for n in self.nodes:
                if n.op == "load" and n.ref.same(ref):
                    return n
        return self.add("load", (), ref.dtype, level=self.level(ref), ref=ref)

    def level(self, ref):
        return "r" if ref.strides[-1] == 0 or self.dims[-1] == 1 else "e"

    def cast(self, x, dtype):
        if x.dtype == dtype:
            return x
        return self.add("cast", [x], np.dtype(dtype))

    def reduce(self, kind, x):
        """A reduction of each row."""
        return self.add(kind, [x], x.dtype, level="r")

    def store(self, ref, x):
        self.effects.append(Effect("store", ref, self.cast(x, ref.dtype)))

    # -- memory ------------------------------------------------------------------------------------
    def reads(self):
        return [n.ref for n in self.nodes if n.ref is not None]

    def writes(self):
        return [e.ref for e in self.effects]

    def roots_read(self):
        return dict.fromkeys([r.root for r in self.reads()]).keys()

    def roots_written(self):
        return dict.fromkeys([r.root for r in self.writes()]).keys()

    def whole(self, ref):
        """True if a ref stands for all of its root: its places are computed."""
        return any(n.ref is ref and n.op == "gather" for n in self.nodes) or any(
            e.ref is ref and e.kind != "store" for e in self.effects)

    def plain(self):
        """True if it only maps and stores elements: its domain may be cut in other ways."""
        return not any(n.op in SPECIAL for n in self.nodes) and all(
            e.kind == "store" for e in self.effects)

    def in_order(self):
        """True if columns have to follow each other: its loops do not vectorise."""
        return any(n.op in ("running", "across") for n in self.nodes)

    # -- fusion ------------------------------------------------------------------------------------
    def expressed(self, dims):
        """This kernel on another domain of the same rows and columns, or on rows alone.

        None if it cannot be.
        """
        if dims == self.dims:
            return self
        refs = {}
        for ref in (*self.reads(), *self.writes()):
            strides = self.strides_on(ref, dims)
            if strides is None:
                return None
            refs[ref] = ref.moved(strides)
        made = Kernel(dims, "")
        made.names, made.origin, mapping = list(self.names), list(self.origin), {}
        for n in self.nodes:
            args = [mapping.get(a, a) for a in n.args]
            x = Node(n.op, args, n.dtype, n.level, refs.get(n.ref), n.value)
            if n.op == "load":
                x.level = made.level(x.ref)
            elif n.op not in SPECIAL:
                x.level = level_of(x.args)
            mapping[n] = x
            made.nodes.append(x)
        made.effects = [
            Effect(e.kind, refs[e.ref], mapping.get(e.x, e.x), mapping.get(e.row, e.row))
            for e in self.effects]
        return made

    def strides_on(self, ref, dims):
        """The strides of a ref on another domain; None if there are none."""
        size, rows = math.prod(self.dims), math.prod(dims[:-1])
        if not self.plain():                               # the columns stay
            if self.dims[-1] != dims[-1] or math.prod(self.dims[:-1]) != rows:
                return None
            found, column = restride(self.dims[:-1], ref.strides[:-1], dims[:-1]), ref.strides[-1]
        elif size == math.prod(dims):
            return restride(self.dims, ref.strides, dims)
        elif size == rows and dims[-1] > 1:                # elements become rows
            found, column = restride(self.dims, ref.strides, dims[:-1]), 0
        else:
            return None
        return None if found is None else (*found, column)

    def takes(self, other):
        """True if `other`, which comes later on the same domain, may run in this kernel's loops."""
        if len(self.nodes) + len(other.nodes) > MOST or self.in_order() or other.in_order():
            return False
        written = other.writes()
        used = [(e.ref, r, e.kind == "store" and not other.whole(r)) for e in self.effects
                for r in (*other.reads(), *written) if r.root is e.ref.root]
        used += [(r, w, not self.whole(r) and not other.whole(w)) for r in self.reads()
                 for w in written if r.root is w.root]
        return all(self.is_ahead(mine, other, theirs, in_step) for mine, theirs, in_step in used)

    def is_ahead(self, mine, other, theirs, in_step):
        """True if this kernel uses each element of memory before `other` does, in one loop.

        That is so for the same ref on both sides, if both go over it in step.
        """
        if in_step and mine.same(theirs):
            return True
        whole = self.whole(mine) or other.whole(theirs)
        return not whole and mine.apart(self.dims, theirs, other.dims)

    def take(self, other):
        """Put the statements of `other` after this kernel's own."""
        mapping: dict = {}
        for n in other.nodes:
            n.args = [mapping.get(a, a) for a in n.args]
            # of one column a value of a row may be one of an element now
            if n.args and n.op not in SPECIAL:
                n.level = level_of(n.args)
            if n.op == "load":
                mapping[n] = self.load(n.ref)
            else:
                same = self.find(n)
                if same is None:
                    self.nodes.append(n)
                else:
                    mapping[n] = same
        for e in other.effects:
            e.x, e.row = mapping.get(e.x, e.x), mapping.get(e.row, e.row)
            self.effects.append(e)
        self.names += other.names
        self.origin += other.origin

    def find(self, n):
        """A statement that computes the same already."""
        if n.ref is not None:
            return None
        return next((m for m in self.nodes if computes_same(m, n)), None)

    def prune(self):
        """Remove statements that no effect needs, and stores that later ones overwrite."""
        last = {e.ref.key(): e for e in self.effects if e.kind == "store"}
        self.effects = [e for e in self.effects
                        if e.kind != "store" or e is last[e.ref.key()]]
        live: set = set()
        todo = [x for e in self.effects for x in (e.x, e.row) if x is not None]
        while todo:
            n = todo.pop()
            if n not in live:
                live.add(n)
                todo += n.args
        self.nodes = [n for n in self.nodes if n in live]

    def collapse(self):
        """Join neighbouring dimensions where all arrays allow it.

        Rows are joined with rows, and with columns if none is special.
        """
        refs = [*{id(r): r for r in (*self.reads(), *self.writes())}.values()]
        across = any(n.op == "across" for n in self.nodes)
        apart = self.has_columns() + across                # dimensions at the end that stay
        keep = [d for d, n in enumerate(self.dims) if n != 1 or d == len(self.dims) - 1]
        dims = [self.dims[d] for d in keep]
        strides = [[r.strides[d] if self.dims[d] > 1 else 0 for d in keep] for r in refs]
        join(dims, strides, len(dims) - 2 - apart)
        if len(dims) == 1:
            dims, strides = [1, *dims], [[0, *s] for s in strides]
        self.dims = tuple(dims)
        for r, s in zip(refs, strides):
            r.strides = tuple(s)

    def has_columns(self):
        """True if columns are other than rows: something has one value for a whole row."""
        if not self.plain():
            return True
        if any(n.op == "load" and n.level == "r" and any(n.ref.strides) for n in self.nodes):
            return True
        return self.dims[-1] > 1 and any(e.ref.strides[-1] == 0 for e in self.effects)


def level_of(args):
    """The level of a scalar function of some values."""
    levels = {a.level for a in args}
    return "e" if "e" in levels else "r" if "r" in levels else "k"


def alike(a, b):
    """True if two arguments are the same value; numbers are compared by value."""
    if a is b:
        return True
    return (a.op == b.op == "const" and a.dtype == b.dtype
            and repr(a.value) == repr(b.value))                    # of NaNs and signs of 0 too


def computes_same(a, b):
    """True if two nodes without memory are the same function of the same values."""
    return (a.op == b.op and a.dtype == b.dtype and a.value == b.value and a.ref is None
            and len(a.args) == len(b.args) and all(map(alike, a.args, b.args)))


def join(dims, strides, last):
    """Join dimensions up to number `last` with the next where all strides allow it, in place."""
    for d in range(last, -1, -1):
        if all(s[d] == s[d + 1] * dims[d + 1] for s in strides):
            for s in strides:
                s[d:d + 2] = [s[d + 1]]
            dims[d:d + 2] = [dims[d] * dims[d + 1]]
