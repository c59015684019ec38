"""Lowering: from the instructions of a program to row kernels, matrix products, copies and calls.

An instruction is lowered by the handler of its kind and name; the parts of `Lowering` have one for
each that has a loop (`items.lowers`). For an op without a handler, its reference is run on the
arrays of the trace, and the instructions of that run are lowered in its place. An instruction
without a lowering stays a call of NumPy or of the op's own kernel. Targets of losses and rows of
embeddings have handlers, since their references branch on values.
"""

from __future__ import annotations

from ..backends.native import called
from ..backends.numpy_names import REDUCES
from ..utils._pytree import tree_map
from . import c_words
from .elementwise import CONSTANT, UFUNCS, Elementwise
from .items import CALL, OP, Call, NoLowering, handlers_of, into, lowers
from .lookups import Lookups
from .loops import Kernel, Ref
from .program import Value
from .references import References
from .sums import Sums

__all__ = ["Lowering"]

EMPTY = ("call", "empty"), ("call", "empty_like")          # their values are undefined


def is_called(i):
    """True if an op has a native kernel for its arguments that is to be called."""
    found = called().kernels.get(i.what)
    if found is None or not found.called:
        return False
    args, kwargs = tree_map(lambda v: v.sample if isinstance(v, Value) else v, (i.args, i.kwargs))
    return all([asked is True or asked(None, *args, **kwargs)
                for asked in (found.called, found.supports)])


class Lowering(Elementwise, Sums, Lookups, References):
    """The items of one program, fused; `notes` list the remaining calls, with reasons."""

    most_products = 1          # of a reference that is taken in place of a kernel
    printer = c_words          # the module that defines the supported scalar functions

    def __init__(self, program, base, outside=()):
        self.program, self.base, self.outside = program, base, set(outside)
        self.items: list = []
        self.notes: list[str] = []
        self.makers: dict = {}
        self.written = {v.root for i in program.instructions for v in i.writes}
        self.kept = {v.root for v in program.held()}
        self.called: dict = {}
        self.summed: dict = {}  # a sum -> (its operand, the dimensions)
        self.constants: list = []  # values that became constants in the present instruction
        for i in program.instructions:
            for item in self.lowered_or_called(i):
                self.emit(item)
        items, self.items = self.items, []  # once more: by now kernels have more in common
        for item in items:
            self.emit(item)

    # -- one instruction ---------------------------------------------------------------------------
    def lowered_or_called(self, i):
        try:
            items = self.lowered(i)
            for item in items:
                item.origin = [i]
            return items
        except NoLowering as why:
            self.note(i, str(why))
            self.makers.update((r, i) for r in i.results)
            return [] if i.is_view() else [Call(i)]

    def note(self, i, why):
        self.called.setdefault(f"{i.name}: {why}", []).append(i)

    def lowered(self, i):
        """The items of an instruction; NoLowering if it must be called."""
        if i.kind == "effect" or not i.pure:
            raise NoLowering("it happens outside arrays")
        self.makers.update((r, i) for r in i.results)
        if i.is_view() or self.folded(i):
            return []
        if i.kind in OP and self.program.in_c and is_called(i):
            raise NoLowering("its kernel is in C")
        handler = HANDLERS.get(i.key) or HANDLERS.get((i.kind, None))
        if handler is None:
            raise NoLowering("there is no loop for it")
        return handler(self, i, *i.args, **i.kwargs)

    def folded(self, i):
        """Fold run-invariant values into constants."""
        if i.writes or not i.results or i.key in EMPTY or i.op and i.op.by_values:
            return False
        if isinstance(i.template, tuple) or any(v.kind != "constant" for v in i.operands()):
            return False
        if not all(self.may_be_constant(r) for r in i.results):
            return False
        for r in i.results:
            r.kind = "constant"
            self.constants.append(r)
        return True

    def may_be_constant(self, v):
        return (v.root is v and v not in self.written and v not in self.kept
                and v.nbytes <= CONSTANT)

    @lowers(["reduce"])
    def reduced_by(self, i, *args, **kwargs):
        return self.reduction(i, UFUNCS.get(i.what, i.what), *args, **kwargs)

    @lowers(CALL, " ".join(REDUCES))
    def reduced_by_name(self, i, *args, **kwargs):
        return self.reduction(i, REDUCES[i.what], *args, **kwargs)

    @lowers(["accumulate"])
    def accumulated(self, i, *args, **kwargs):
        return self.running(i, UFUNCS.get(i.what, i.what), *args, **kwargs)

    # -- memory ------------------------------------------------------------------------------------
    def place(self, v):
        """(the value at which its memory begins, the offset in bytes)."""
        if v.kind != "made" or v.root is v or v in self.outside:
            return v, 0
        maker = self.makers.get(v)
        if maker is None:
            raise NoLowering("a view that nobody made")
        source = next((u for u in maker.operands() if u.root is v.root), None)
        if source is None:
            raise NoLowering("a view of something else")
        anchor, offset = self.place(source)
        return anchor, offset + into(v.example) - into(source.example)

    def ref(self, v, shape=None, strides=None):
        """A value as broadcast to a shape."""
        size = v.dtype.itemsize
        if v.dtype.name not in c_words.TYPES or not v.dtype.isnative:
            raise NoLowering(f"no C type for {v.dtype}")
        anchor, offset = self.place(v)
        if anchor.kind != "constant" and not getattr(anchor.example.flags, "aligned", True):
            raise NoLowering("memory that is not aligned")
        shape = v.shape if shape is None else shape
        if strides is None:
            lead = len(shape) - len(v.shape)
            if lead < 0 or any(n not in (1, m) for n, m in zip(v.shape, shape[lead:])):
                raise NoLowering(f"{v.shape} against {shape}")
            if any(s % size for s in v.example.strides) or offset % size:
                raise NoLowering("strides between elements")
            own = [0 if n == 1 else s // size for n, s in zip(v.shape, v.example.strides)]
            strides = [0] * lead + own
        return Ref(v.root, anchor, offset // size, strides, v.dtype)

    def free_of(self, out, refs, shape):
        """NoLowering if writing to `out` may change values that the others still read."""
        for r in refs:
            if not r.same(out) and not r.apart(shape, out, shape):
                raise NoLowering("operands overlap what is written")

    # -- fusion ------------------------------------------------------------------------------------
    def emit(self, item):
        """Add an item; a kernel goes into the earliest kernel it reads from that can take it."""
        if isinstance(item, Kernel):
            reads, writes = item.roots_read(), item.roots_written()
            for n in range(len(self.items) - 1, max(-1, len(self.items) - 40), -1):
                other = self.items[n]
                if isinstance(other, Call) and other.barrier:
                    break
                theirs = other.roots_written()
                if isinstance(other, Kernel) and (theirs & reads or other.roots_read() & reads):
                    both = self.joined(other, item)
                    if both is not None:
                        self.items[n] = both
                        return
                if theirs & (reads | writes) or other.roots_read() & writes:
                    break
        self.items.append(item)

    @staticmethod
    def joined(one, two):
        """Both kernels as one; None if they do not go together."""
        pairs = ((one, two.expressed(one.dims)), (one.expressed(two.dims), two))
        for a, b in pairs:
            if a is not None and b is not None and a.takes(b):
                a.take(b)
                return a
        return None


HANDLERS = handlers_of(Lowering)
