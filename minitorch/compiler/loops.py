"""Row kernels: the one form of all computation by loops, and the rule by which they are fused.

A kernel has a domain `dims`, the last of which are the columns, and statements on it. A statement makes a value for
each element ("e"), for each row ("r") or once and for all ("k"): a load, a map (a scalar function), a reduction of a
row. Its effects are stores, sums over some dimensions of the domain, and rows added to those of a table. Softmax,
normalisations, losses, masks and gradients of biases are all of this form.

Which passes over a row it takes is found, not written: what needs a reduction belongs to a later pass than that. So two
kernels are fused by putting their statements one after the other, if no memory is in the way (`Kernel.takes`).
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["AT", "Effect", "Kernel", "Node", "Ref", "restride"]

MOST = 160                 # statements of a kernel: beyond, registers are short


def restride(shape, strides, dims):
    """Strides for the same elements in the same order as an array of other dimensions; None if there are none."""
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
    """Elements of memory: the Value that it begins at (`anchor`), an offset, a stride for each dimension of a domain.

    Offset and strides count elements. `root` stands for the memory: two of the same root may overlap.
    """

    def __init__(self, root, anchor, offset, strides, dtype):
        self.root, self.anchor, self.offset, self.strides = root, anchor, offset, tuple(strides)
        self.dtype = np.dtype(dtype)

    def same(self, other):
        return (self.root is other.root and self.anchor is other.anchor and self.offset == other.offset
                and self.strides == other.strides and self.dtype == other.dtype)

    def moved(self, strides):
        return Ref(self.root, self.anchor, self.offset, strides, self.dtype)

    def extent(self, dims):
        """The bytes that it may touch: from, to."""
        ends = [(n - 1) * s for n, s in zip(dims, self.strides)]
        low, high = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        size = self.dtype.itemsize
        return (self.offset + low) * size, (self.offset + high + 1) * size

    def apart(self, dims, other, other_dims):
        """Whether it certainly touches no byte of another one."""
        if self.root is not other.root:
            return True
        if self.anchor is not other.anchor:
            return False
        (a, b), (c, d) = self.extent(dims), other.extent(other_dims)
        return b <= c or d <= a


class Node:
    """A value of a kernel: `op`, arguments, dtype, level ("k", "r", "e"); of a load its `ref`, of a number its `value`.

    Ops besides scalar functions: const, load, cast, column (its number), sum, max, min, prod (of a row), running (sum
    or another of these, up to each column), across (up to each row of the last dimension of rows), index (a number that
    looks something up, checked by the function of C that `value` names, with its arguments), gather (the element of
    `ref` that lies `args[0]` further on).
    """

    __slots__ = ("op", "args", "dtype", "level", "ref", "value")

    def __init__(self, op, args=(), dtype=None, level="k", ref=None, value=None):
        self.op, self.args, self.dtype, self.level, self.ref, self.value = op, list(args), dtype, level, ref, value


REDUCTIONS = ("sum", "max", "min", "prod")
SPECIAL = (*REDUCTIONS, "running", "across", "column", "gather")   # which know rows from columns
AT = ("put", "add", "multiply", "maximum", "minimum")      # effects on the elements that are looked up


class Effect:
    """A change that a kernel makes to memory: `kind`, place and value.

    Kinds are store; sum, max, min and prod, over the dimensions in which the ref has stride 0; rowsum, which takes one
    value from each row; put, add and others of `AT`, which change the element that lies `row` further on, one after
    the other.
    """

    __slots__ = ("kind", "ref", "x", "row")

    def __init__(self, kind, ref, x, row=None):
        self.kind, self.ref, self.x, self.row = kind, ref, x, row


class Kernel:
    """See the head of this file. `names` are the ops that it came from, `origin` the instructions of the program."""

    def __init__(self, dims, name):
        self.dims, self.names = tuple(dims), [name]
        self.nodes: list[Node] = []
        self.effects: list[Effect] = []
        self.origin: list = []

    # -- building ------------------------------------------------------------------------------------------
    def add(self, op, args=(), dtype=None, **more):
        """A new statement."""
        node = Node(op, args, dtype, more.pop("level", None) or level_of(args), **more)
        self.nodes.append(node)
        return node

    def const(self, value, dtype):
        return Node("const", (), np.dtype(dtype), "k", value=value)

    def load(self, ref):
        """The elements of memory: the value that was stored there, if this kernel did."""
        for e in reversed(self.effects):
            if e.kind == "store" and e.ref.same(ref):
                return e.x if e.x.dtype == ref.dtype else self.cast(e.x, ref.dtype)
        for n in self.nodes:
            if n.op == "load" and n.ref.same(ref) and not any(e.ref.root is ref.root for e in self.effects):
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

    # -- memory --------------------------------------------------------------------------------------------
    def reads(self):
        return [n.ref for n in self.nodes if n.ref is not None]

    def writes(self):
        return [e.ref for e in self.effects]

    def roots_read(self):
        return dict.fromkeys([r.root for r in self.reads()]).keys()

    def roots_written(self):
        return dict.fromkeys([r.root for r in self.writes()]).keys()

    def whole(self, ref):
        """Whether a ref stands for all of its root: it is read or written at places that are computed."""
        return any(n.ref is ref and n.op == "gather" for n in self.nodes) or any(
            e.ref is ref and e.kind != "store" for e in self.effects)

    def plain(self):
        """Whether it only maps and stores elements, so that its domain may be cut in other ways."""
        return not any(n.op in SPECIAL for n in self.nodes) and all(
            e.kind == "store" for e in self.effects)

    def in_order(self):
        """Whether columns have to follow each other, so that its loops do not vectorise."""
        return any(n.op in ("running", "across") for n in self.nodes)

    # -- fusion --------------------------------------------------------------------------------------------
    def expressed(self, dims):
        """This kernel on another domain of the same rows and columns (or on rows alone); None if it cannot be."""
        if dims == self.dims:
            return self
        size, rows = math.prod(self.dims), math.prod(dims[:-1])
        if self.plain():
            if size == math.prod(dims):
                turn = lambda ref: restride(self.dims, ref.strides, dims)
            elif size == rows and dims[-1] > 1:
                turn = lambda ref: outer(restride(self.dims, ref.strides, dims[:-1]))
            else:
                return None
        elif self.dims[-1] == dims[-1] and math.prod(self.dims[:-1]) == rows:
            turn = lambda ref: whole_rows(restride(self.dims[:-1], ref.strides[:-1], dims[:-1]), ref.strides[-1])
        else:
            return None
        refs = {}
        for ref in (*self.reads(), *self.writes()):
            strides = turn(ref)
            if strides is None:
                return None
            refs[ref] = ref.moved(strides)
        made = Kernel(dims, "")
        made.names, made.origin, mapping = list(self.names), list(self.origin), {}
        for n in self.nodes:
            x = Node(n.op, [mapping.get(a, a) for a in n.args], n.dtype, n.level, refs.get(n.ref), n.value)
            if n.op == "load":
                x.level = made.level(x.ref)
            elif n.op not in SPECIAL:
                x.level = level_of(x.args)
            mapping[n] = x
            made.nodes.append(x)
        made.effects = [Effect(e.kind, refs[e.ref], mapping.get(e.x, e.x), mapping.get(e.row, e.row))
                        for e in self.effects]
        return made

    def takes(self, other):
        """Whether `other`, which comes later and is on the same domain, may run in this kernel's loops."""
        if len(self.nodes) + len(other.nodes) > MOST or self.in_order() or other.in_order():
            return False
        theirs_read, theirs_written = other.reads(), other.writes()
        for e in self.effects:
            for r in (*theirs_read, *theirs_written):
                if not e.ref.apart(self.dims, r, other.dims) or self.whole(e.ref) or other.whole(r):
                    if r.root is e.ref.root and not (e.kind == "store" and r.same(e.ref) and not other.whole(r)):
                        return False
        for w in theirs_written:
            for r in self.reads():
                if r.root is w.root and (self.whole(r) or other.whole(w) or not r.same(w)) and (
                        self.whole(r) or other.whole(w) or not r.apart(self.dims, w, other.dims)):
                    return False
        return True

    def take(self, other):
        """Put the statements of `other` after this kernel's own."""
        mapping: dict = {}
        for n in other.nodes:
            n.args = [mapping.get(a, a) for a in n.args]
            if n.args and n.op not in SPECIAL:             # of one column a value of a row may be one of an element now
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
        return next((m for m in self.nodes if m.op == n.op and m.dtype == n.dtype and m.value == n.value
                     and m.ref is None and len(m.args) == len(n.args) and all(map(alike, m.args, n.args))), None)

    def prune(self):
        """Remove what no effect needs, and stores that later ones overwrite."""
        last = {(e.ref.anchor, e.ref.offset, e.ref.strides, e.ref.dtype): e for e in self.effects if e.kind == "store"}
        self.effects = [e for e in self.effects if e.kind != "store" or e is last[
            e.ref.anchor, e.ref.offset, e.ref.strides, e.ref.dtype]]
        live: set = set()
        todo = [x for e in self.effects for x in (e.x, e.row) if x is not None]
        while todo:
            n = todo.pop()
            if n not in live:
                live.add(n)
                todo += n.args
        self.nodes = [n for n in self.nodes if n in live]

    def collapse(self):
        """Join neighbouring dimensions where all arrays allow it: rows with rows, with columns if none is special."""
        refs = [*{id(r): r for r in (*self.reads(), *self.writes())}.values()]
        special = not self.plain() or any(n.level == "r" and any(n.ref.strides) for n in self.nodes if n.op == "load")
        special = special or any(e.ref.strides[-1] == 0 for e in self.effects if self.dims[-1] > 1)
        across = any(n.op == "across" for n in self.nodes)
        dims, strides = list(self.dims), [[s * (n > 1) for n, s in zip(self.dims, r.strides)] for r in refs]
        keep = [d for d in range(len(dims)) if dims[d] != 1 or d == len(dims) - 1]
        dims, strides = [dims[d] for d in keep], [[s[d] for d in keep] for s in strides]
        d = len(dims) - 2 - special - across
        while d >= 0:
            if all(s[d] == s[d + 1] * dims[d + 1] for s in strides):
                for s in strides:
                    s[d:d + 2] = [s[d + 1]]
                dims[d:d + 2] = [dims[d] * dims[d + 1]]
            d -= 1
        if len(dims) == 1:
            dims, strides = [1, *dims], [[0, *s] for s in strides]
        self.dims = tuple(dims)
        for r, s in zip(refs, strides):
            r.strides = tuple(s)


def level_of(args):
    """The level of a scalar function of some values."""
    levels = {a.level for a in args}
    return "e" if "e" in levels else "r" if "r" in levels else "k"


def alike(a, b):
    """Whether two arguments are the same value; numbers by what they are."""
    return a is b or (a.op == b.op == "const" and a.dtype == b.dtype and repr(a.value) == repr(b.value))


def outer(strides):
    return None if strides is None else (*strides, 0)


def whole_rows(strides, last):
    return None if strides is None else (*strides, last)
